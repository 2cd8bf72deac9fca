//! The `botpsy` program: a model of the Qwen3.5 family on the command line, from files to tool calls.
//!
//! One file per command under `commands`, raw flags under `args`. Nothing is computed here: the libraries below do that,
//! and this crate turns flags into their requests, and their answers and errors into text, JSON and exit codes.

mod answer;
mod args;
mod commands;
mod embedded;
mod failure;
mod input;
mod interrupt;
mod model_flags;
mod output;

use std::process::ExitCode;

use clap::Parser;

use failure::Exit;

fn main() -> ExitCode {
    let exit = commands::run(args::Cli::parse()).unwrap_or_else(|error| failure::report(&error));
    match exit {
        Exit::Done => ExitCode::SUCCESS,
        other => ExitCode::from(other as u8),
    }
}
