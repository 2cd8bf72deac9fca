//! Flags of `botpsy doctor`.

use std::path::PathBuf;

use clap::Args;

const DOCTOR_HELP: &str = "\
Each line is ok, a note, or a problem with the next step. With --json the result is one object:
  {\"healthy\", \"checks\": [{\"name\", \"state\": \"ok\"|\"note\"|\"problem\", \"text\", \"help\"}]}
Exit code 1 if there is a problem.";

/// Looks whether all that BotPsy needs is there and in order.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_HELP)]
pub(crate) struct DoctorArgs {
    /// A GGUF file, a safetensors folder, or `embedded` [default: the model of the settings]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
