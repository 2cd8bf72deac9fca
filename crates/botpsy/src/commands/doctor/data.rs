//! The owner's data, policy and time zone.

use std::fs;
use std::path::Path;
use std::process::{self, Command};

use super::{Check, State, size};
use crate::failure::message;
use crate::owner;
use crate::settings::{Origin, Settings};

/// With less space on the disk a note may not be written.
const LITTLE_SPACE: u64 = 100_000_000;

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    let folders = [("data", &settings.data), ("calendar", &settings.calendar), ("notes", &settings.notes)];
    let mut checks: Vec<Check> = folders.map(|(name, folder)| self::folder(name, &folder.value)).into();
    let is_usable = checks.iter().all(|check| check.state != State::Problem);
    checks.extend(space(&settings.data.value));
    match settings.data.value.join("botpsy.db").exists() {
        true if is_usable => checks.extend(database(settings)),
        true => {}
        false => checks.push(Check::ok("database", "none yet; it is made when it is needed")),
    }
    checks.push(policy(settings));
    checks.push(zone(settings));
    checks
}

fn folder(name: &'static str, path: &Path) -> Check {
    let shown = path.display();
    if !path.exists() {
        return Check::ok(name, format!("{shown} (not there yet; it is made when it is needed)"));
    }
    if !path.is_dir() {
        let help = "move that file away, or name another folder with `botpsy config set`";
        return Check::problem(name, format!("{shown} is not a folder"), help);
    }
    let trial = path.join(format!(".botpsy-doctor-{}", process::id()));
    let written = fs::write(&trial, "").and_then(|()| fs::remove_file(&trial));
    match written.and_then(|()| fs::read_dir(path).map(drop)) {
        Ok(()) => Check::ok(name, format!("{shown} can be read and written")),
        Err(error) => {
            Check::problem(name, format!("{shown}: {error}"), "make the folder yours and writable, and see to the disk")
        }
    }
}

/// What the system's `df` says; nothing where there is none.
fn space(path: &Path) -> Option<Check> {
    let there = path.ancestors().find(|path| path.exists())?;
    let output = Command::new("df").arg("-Pk").arg("--").arg(there).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let free = text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()? * 1024;
    Some(match free < LITTLE_SPACE {
        true => Check::problem("disk", format!("{} free", size(free)), "make room: changes could not be written down"),
        false => Check::ok("disk", format!("{} free", size(free))),
    })
}

fn database(settings: &Settings) -> Vec<Check> {
    let backup = "copy the data folder away before anything else; then put a backup of botpsy.db in its place";
    let desk = match owner::open(settings) {
        Ok(desk) => desk,
        Err(error) => return vec![Check::problem("database", message(&error), backup)],
    };
    let sound = match desk.store().check() {
        Ok((wrong, version)) if wrong.is_empty() => Check::ok("database", format!("sound, version {version}")),
        Ok((wrong, _)) => Check::problem("database", wrong.join("; "), backup),
        Err(error) => Check::problem("database", error.to_string(), backup),
    };
    let log = match desk.verify_log() {
        Ok(Ok((rows, _))) => Check::ok("log", format!("{rows} rows, all as they were written")),
        Ok(Err(fault)) => Check::problem(
            "log",
            fault.to_string(),
            "somebody changed the log, or the disk did: look at the rows before that one, and at a backup",
        ),
        Err(error) => Check::problem("log", error.to_string(), backup),
    };
    vec![sound, log, events(&desk)]
}

/// Calendar files that cannot be read.
fn events(desk: &botpsy_agent::journal::Desk) -> Check {
    match desk.store().stored_events() {
        Ok((events, broken)) if broken.is_empty() => Check::ok("events", events.len().to_string()),
        Ok((events, broken)) => {
            let first = &broken[0];
            let text = format!("{}, and {} not readable: {}: {}", events.len(), broken.len(), first.path, first.why);
            Check::note("events", text, "`botpsy agenda` names each file; correct or remove them")
        }
        Err(error) => Check::problem("events", error.to_string(), "make the folder readable"),
    }
}

fn policy(settings: &Settings) -> Check {
    let shown = settings.policy_file.display();
    match settings.policy() {
        Ok(policy) if settings.policy_file.exists() => {
            Check::ok("policy", format!("{}, from {shown}", format!("{:?}", policy.profile).to_lowercase()))
        }
        Ok(policy) => Check::ok(
            "policy",
            format!("{}, built in (no file {shown})", format!("{:?}", policy.profile).to_lowercase()),
        ),
        Err(error) => Check::problem("policy", message(&error), "correct it; `botpsy policy show` prints a whole one"),
    }
}

fn zone(settings: &Settings) -> Check {
    let origin = match settings.zone.origin {
        Origin::Default => "the system's",
        Origin::File => "from the settings file",
        Origin::Environment(name) => name,
    };
    match settings.zone.value.iana_name() {
        Some(name) if name != "Etc/Unknown" => Check::ok("time zone", format!("{name} ({origin})")),
        _ => Check::problem(
            "time zone",
            format!("not known ({origin})"),
            "name it: `botpsy config set timezone Europe/Berlin`",
        ),
    }
}
