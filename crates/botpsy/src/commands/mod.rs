//! One file per command.

mod agenda;
mod ask;
mod bench;
mod chat;
mod completions;
mod config;
mod convert;
pub(crate) mod daemon;
mod detokenize;
mod doctor;
mod eval;
mod generate;
mod import;
mod inspect;
mod log;
mod logits;
mod parse;
mod policy;
mod render;
mod serve;
mod time;
mod tokenize;
mod tools;
mod undo;
mod welcome;

use crate::args::{Cli, Command};
use crate::failure::Exit;

/// Runs what the command line asks for.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        None => welcome::run(),
        Some(Command::Ask(args)) => ask::run(&args),
        Some(Command::Chat(args)) => chat::run(&args),
        Some(Command::Undo(args)) => undo::run(&args),
        Some(Command::Log(args)) => log::run(&args),
        Some(Command::Agenda(args)) => agenda::run(&args),
        Some(Command::Daemon(args)) => daemon::run(&args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Tools(args)) => tools::run(&args),
        Some(Command::Policy(args)) => policy::run(&args),
        Some(Command::Config(args)) => config::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Generate(args)) => generate::run(&args),
        Some(Command::Logits(args)) => logits::run(&args),
        Some(Command::Tokenize(args)) => tokenize::run(&args),
        Some(Command::Detokenize(args)) => detokenize::run(&args),
        Some(Command::Render(args)) => render::run(&args),
        Some(Command::Parse(args)) => parse::run(&args),
        Some(Command::Inspect(args)) => inspect::run(&args),
        Some(Command::Convert(args)) => convert::run(&args),
        Some(Command::Time(args)) => time::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Eval(args)) => eval::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
    }
}
