//! Flags of `botpsy import`.

use std::path::PathBuf;

use clap::Args;

const IMPORT_HELP: &str = "\
What is there already stays as it is. All of it is one step: `botpsy undo` takes it back.

With --json the result is one object:
  {\"what\": \"events\"|\"notes\", \"new\", \"skipped\": [{\"path\", \"why\"}], \"imported\": true|false, \"step\"}
where `step` is the number of the step, or null. Without --yes nothing is imported then.";

/// Takes over events from an .ics file, or notes from a folder.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// A calendar file, or a folder with Markdown and text files
    #[arg(value_name = "FILE.ics|FOLDER")]
    pub(crate) from: PathBuf,
    /// Import without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
