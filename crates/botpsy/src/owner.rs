//! The owner's data, opened for a command.

use std::path::Path;

use botpsy_agent::assistant::{AssistantError, How, Toolbox};
use botpsy_agent::journal::Desk;
use botpsy_agent::policy::Policy;
use botpsy_agent::store::StoreError;

use crate::answering::Answering;
use crate::failure::failed;
use crate::settings::Settings;
use crate::{model_flags, output};

/// What the owner has settled, and the owner's data.
pub(crate) struct Home {
    pub(crate) settings: Settings,
    pub(crate) desk: Desk,
}

impl Home {
    /// Opens it; what an interruption left is told, and, unless `quiet`, where calendar and notes are when they were made just now.
    pub(crate) fn open(quiet: bool) -> anyhow::Result<Home> {
        let settings = Settings::load()?;
        let folders = settings.folders();
        let is_new = !folders.calendar.exists() || !folders.notes.exists();
        let desk = open(&settings)?;
        if is_new && !quiet {
            let folders = desk.store().folders();
            let (calendar, notes) = (shown(&folders.calendar), shown(&folders.notes));
            output::note(&format!(
                "your calendar is {calendar}, your notes and lists {notes}; `botpsy config` changes that"
            ));
        }
        Ok(Home { settings, desk })
    }

    /// What may happen when this model is asked, and the tools that there are.
    pub(crate) fn gate(&self, model: &Answering) -> anyhow::Result<(Policy, Toolbox)> {
        let mut policy = self.settings.policy()?;
        policy.demonstration_model |= model.remark().is_some();
        let toolbox = Toolbox::default().stated(&policy.annotations);
        Ok((policy, toolbox))
    }
}

/// Opens the owner's data, and tells what an interruption has left.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<Desk> {
    let (desk, recovered) = Desk::open(settings.folders(), &settings.now()).map_err(store_error)?;
    recovered.notes().iter().for_each(|note| output::note(note));
    Ok(desk)
}

/// How this model is asked. The demonstration model was made for a handful of tools without descriptions: shown more, it declines.
pub(crate) fn how(model: &Answering) -> How {
    match model.remark() {
        Some(_) => How { tool_tokens: 400, brief: true, ..How::default() },
        None => How::default(),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// An error of the owner's data, with the next step.
pub(crate) fn store_error(error: StoreError) -> anyhow::Error {
    let help = match &error {
        StoreError::Later { .. } => "use the newer version of this program that wrote it",
        _ => "check that this can be read and written; `botpsy doctor` looks what is wrong",
    };
    failed(error, help)
}

/// Why a turn ended before its end.
pub(crate) fn turn_error(error: AssistantError) -> anyhow::Error {
    match error {
        AssistantError::Chat(error) => model_flags::answer_error(error),
        AssistantError::Store(error) => store_error(error),
        error => failed(error, "run it again; if that does not help, report it"),
    }
}
