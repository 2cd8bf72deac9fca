//! `botpsy undo`.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use botpsy_agent::assistant::preview;
use botpsy_agent::journal::{Desk, Step, UndoError, Undone, What};
use serde_json::{Value, json};

use crate::args::UndoArgs;
use crate::failure::{Exit, bad_input, failed};
use crate::owner::{Home, store_error};
use crate::terminal::{Owner, confirm};
use crate::{interrupt, output};

pub(crate) fn run(args: &UndoArgs) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let home = Home::open(true)?;
    let what = what(&args.what, &home.desk)?;
    let steps = home.desk.undoable(&what).map_err(undo_error)?;
    if !agreed(args, &steps, &cancel)? {
        output::note("nothing was taken back");
        return Ok(Exit::Done);
    }
    let (undone, error) = home.desk.undo(&steps, &home.settings.now());
    if args.json {
        let undone: Value = undone.iter().map(|done| json!({ "step": done.id, "summary": done.summary })).collect();
        output::json(&json!({ "undone": undone, "problem": error.as_ref().map(ToString::to_string) }))?;
    } else {
        output::result(undone.iter().map(told).collect::<String>().as_bytes())?;
    }
    error.map_or(Ok(Exit::Done), |error| Err(undo_error(error)))
}

fn told(undone: &Undone) -> String {
    format!("taken back: {} (step {})\n", undone.summary, undone.id)
}

/// What the word on the command line means.
fn what(word: &str, desk: &Desk) -> anyhow::Result<What> {
    if word == "last" {
        return Ok(What::Last);
    }
    if word == "session" {
        let last = desk.undoable(&What::Last).map_err(undo_error)?;
        return Ok(last.into_iter().next().map_or(What::Last, |step| What::Session(step.session)));
    }
    if let Ok(step) = word.parse() {
        return Ok(What::Step(step));
    }
    if word.starts_with("s-") {
        return Ok(What::Session(word.to_owned()));
    }
    let error = anyhow!("{word:?}: expected last, session, the name of a session, or the number of a change");
    Err(bad_input(error, "`botpsy log` shows both"))
}

/// Shows what would be taken back; several changes are asked about.
fn agreed(args: &UndoArgs, steps: &[Step], cancel: &AtomicBool) -> anyhow::Result<bool> {
    if args.yes || steps.len() < 2 {
        return Ok(true);
    }
    let shown = |step: &Step| format!("{}. {}", step.id, preview(&step.change));
    let list: String = steps.iter().map(shown).collect();
    let n = steps.len();
    match Owner::find(false) {
        Owner::There => Ok(confirm(&format!("{n} changes are taken back, the latest first:\n{list}"), cancel)),
        _ => {
            let error = anyhow!("{n} changes would be taken back, and nobody is there to be asked:\n{list}");
            Err(bad_input(error, "--yes agrees beforehand; `botpsy undo ID` takes back one"))
        }
    }
}

fn undo_error(error: UndoError) -> anyhow::Error {
    match error {
        UndoError::Store(error) => store_error(error),
        UndoError::Nothing(_) => bad_input(error, "`botpsy log` shows what was changed"),
        error => failed(error, "change it by hand, or undo first what was changed there later"),
    }
}
