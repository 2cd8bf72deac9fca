//! `botpsy` alone.

use crate::failure::Exit;
use crate::output;

const TEXT: &str = "\
BotPsy runs small assistant models of the Qwen3.5 family on this computer: no account, no network.
A demonstration model is built in. It is weak; give a better one with -m FILE.

Three things to try:
  botpsy ask \"set a timer for 10 minutes\"
  botpsy chat
  botpsy inspect embedded

All commands: botpsy --help
";

pub(crate) fn run() -> anyhow::Result<Exit> {
    output::result(TEXT.as_bytes())?;
    Ok(Exit::Done)
}
