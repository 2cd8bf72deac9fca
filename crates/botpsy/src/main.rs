//! The `botpsy` program: a model of the Qwen3.5 family on the command line, from files to tool calls.
//!
//! One file per command under `commands`, raw flags under `args`. Nothing is computed here: the libraries below do that,
//! and this crate turns flags into their requests, and their answers and errors into text, JSON and exit codes.

mod answer;
mod answering;
mod args;
mod commands;
mod embedded;
mod failure;
mod home;
mod input;
mod interrupt;
mod model_flags;
mod output;
mod owner;
mod settings;
mod terminal;

use std::process::ExitCode;

use botpsy_kernels::OutOfMemory;
use clap::Parser;

use failure::Exit;

/// Gives memory back soon after it was freed, whoever freed it: a server runs for weeks on the threads of many clients.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let exit = std::panic::catch_unwind(run).unwrap_or_else(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(error) => failure::report(&failure::failed(*error, MORE_MEMORY)),
        Err(panic) => std::panic::resume_unwind(panic),
    });
    match exit {
        Exit::Done => ExitCode::SUCCESS,
        other => ExitCode::from(other as u8),
    }
}

const MORE_MEMORY: &str = "close other programs, or take a smaller model, --ctx, --depth or --batch";

fn run() -> Exit {
    // Too little memory is told as an error, not as a fault of the program.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload().is::<OutOfMemory>() {
            hook(panic);
        }
    }));
    let cli = args::Cli::parse_from(args::words(std::env::args_os()));
    commands::run(cli).unwrap_or_else(|error| failure::report(&error))
}
