//! Plays the scripted day on stores in a folder, for checks from outside: kills, full disks, other programs.
//!
//! ```text
//! day FOLDER [--from N] [--owner attentive|careless|nobody]
//! ```
//!
//! Without `--from` the folder is prepared first. Prints a line when a request begins and when it ends, what was repaired, and
//! what was told. A request that was played to its end before is left out; of one that was interrupted, what was told to be done.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/it/day/plot.rs"]
mod plot;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use plot::Owner;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(root) = arguments.first().map(PathBuf::from) else {
        eprintln!("day FOLDER [--from N] [--owner attentive|careless|nobody]");
        return ExitCode::from(2);
    };
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).map(String::as_str)
    };
    let owner = match option("--owner") {
        Some("careless") => Owner::Careless,
        Some("nobody") => Owner::Nobody,
        _ => Owner::Attentive,
    };
    let from: Option<usize> = option("--from").and_then(|number| number.parse().ok());
    if from.is_none() {
        plot::prepare(&root);
    }
    let told = plot::play_from(&root, from.unwrap_or(0), owner, &mut |line| {
        if line.starts_with(char::is_uppercase) {
            println!("{line}");
            std::io::stdout().flush().unwrap();
        }
    });
    if told { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
