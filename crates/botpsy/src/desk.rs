//! The owner's data, opened as the settings say.

use botpsy_agent::journal::Desk;
use botpsy_agent::store::StoreError;

use crate::failure::failed;
use crate::output;
use crate::settings::Settings;

/// Opens the owner's data, and tells what an interruption has left.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<Desk> {
    let (desk, recovered) = Desk::open(settings.folders(), &settings.now()).map_err(error)?;
    recovered.notes().iter().for_each(|note| output::note(note));
    Ok(desk)
}

/// An error of the owner's data, with the next step.
pub(crate) fn error(error: StoreError) -> anyhow::Error {
    let help = match &error {
        StoreError::Later { .. } => "use the newer version of this program that wrote it",
        _ => "`botpsy doctor` looks what is wrong",
    };
    failed(error, help)
}
