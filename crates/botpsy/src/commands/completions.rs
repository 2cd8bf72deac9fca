//! `botpsy completions`.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Exit;
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "botpsy", &mut script);
    output::result(&script)?;
    Ok(Exit::Done)
}
