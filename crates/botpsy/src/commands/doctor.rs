//! `botpsy doctor`.

mod data;
mod endpoint;
mod machine;
mod model;

use serde_json::{Value, json};

use crate::args::DoctorArgs;
use crate::failure::{Exit, message};
use crate::settings::Settings;
use crate::{answering, output};

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// Worth knowing, and no fault.
    Note,
    Problem,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: &'static str,
    state: State,
    text: String,
    /// The next step, if there is one to take.
    help: Option<String>,
}

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let mut checks = machine::checks();
    match Settings::load() {
        Ok(settings) => {
            checks.push(Check::ok("settings", settings.file.display().to_string()));
            checks.extend(data::checks(&settings));
            match answering::settled(&settings) {
                Ok(Some(options)) if args.model.is_none() => checks.push(endpoint::check(options)),
                Err(error) if args.model.is_none() => {
                    checks.push(Check::problem("endpoint", message(&error), "correct the settings of the endpoint"));
                }
                _ => checks.extend(model::checks(args.model.as_ref().unwrap_or(&settings.model.value))),
            }
        }
        Err(error) => {
            checks.push(Check::problem("settings", message(&error), "correct the settings file"));
            checks.extend(args.model.iter().flat_map(|model| model::checks(model)));
        }
    }
    let is_healthy = checks.iter().all(|check| check.state != State::Problem);
    match args.json {
        true => {
            let lines: Vec<Value> = checks.iter().map(Check::json).collect();
            output::json(&json!({ "healthy": is_healthy, "checks": lines }))?;
        }
        false => output::Screen::out().write(&checks.iter().map(Check::line).collect::<String>())?,
    }
    Ok(if is_healthy { Exit::Done } else { Exit::Failed })
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Problem => "problem",
        }
    }
}

impl Check {
    fn ok(name: &'static str, text: impl Into<String>) -> Check {
        Check { name, state: State::Ok, text: text.into(), help: None }
    }

    fn note(name: &'static str, text: impl Into<String>, help: impl Into<String>) -> Check {
        Check { name, state: State::Note, text: text.into(), help: Some(help.into()) }
    }

    fn problem(name: &'static str, text: impl Into<String>, help: impl Into<String>) -> Check {
        Check { name, state: State::Problem, text: text.into(), help: Some(help.into()) }
    }

    fn line(&self) -> String {
        let help = self.help.as_ref().map(|help| format!("{:21}help: {help}\n", "")).unwrap_or_default();
        format!("{:<9}{:<12}{}\n{help}", self.state.name(), self.name, self.text)
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "state": self.state.name(), "text": self.text, "help": self.help })
    }
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000_000 => format!("{} kB", bytes / 1000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}
