//! `botpsy import`.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, anyhow};
use botpsy_agent::journal::Desk;
use botpsy_agent::store::{Change, Import, Op, new_id};
use jiff::Zoned;
use serde_json::{Value, json};

use crate::args::ImportArgs;
use crate::failure::{Exit, OrFail, bad_input};
use crate::output::Screen;
use crate::settings::Settings;
use crate::{output, owner};

/// Names that are shown before one agrees.
const MAX_NAMED: usize = 12;

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    let name = args.from.display().to_string();
    let help = "give an .ics file, or a folder with Markdown and text files";
    let is_folder = fs::metadata(&args.from).with_context(|| name.clone()).or_bad_input(help)?.is_dir();
    let is_calendar = args.from.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("ics"));
    if !is_folder && !is_calendar {
        return Err(bad_input(anyhow!("{name}: neither an .ics file nor a folder"), help));
    }
    let settings = Settings::load()?;
    let desk = owner::open(&settings)?;
    let store = desk.store();
    let import = if is_folder { store.import_notes(&args.from) } else { store.import_ics(&args.from) };
    let import = import.or_bad_input(help)?;
    let what = if is_folder { "notes" } else { "events" };
    if !args.json {
        Screen::out().write(&told(&import, what))?;
    }
    let is_agreed = !import.change.ops.is_empty() && (args.yes || (!args.json && agreed()?));
    let step = if is_agreed { Some(carry_out(&desk, &import.change, &name, &settings.now())?) } else { None };
    match (args.json, step) {
        (true, _) => output::json(&as_json(&import, what, step))?,
        (false, Some(step)) => {
            let n = count(import.change.ops.len(), what);
            output::result(format!("Imported {n} (step {step}); `botpsy undo` takes it back.\n").as_bytes())?;
        }
        (false, None) => {}
    }
    Ok(Exit::Done)
}

/// One step in a turn of its own, so that it can be taken back as a whole.
fn carry_out(desk: &Desk, change: &Change, from: &str, now: &Zoned) -> anyhow::Result<i64> {
    let turn = desk.begin_turn(&new_id("import-"), &format!("import {from}"), now).map_err(owner::store_error)?;
    let call = json!({ "name": "import", "arguments": { "from": from } });
    let made = desk.make(&turn, &call, change, now);
    desk.end_turn(&turn).map_err(owner::store_error)?;
    made.or_failed("run it again: what is there by now stays as it is")
}

fn as_json(import: &Import, what: &str, step: Option<i64>) -> Value {
    let skipped: Vec<Value> =
        import.skipped.iter().map(|skipped| json!({ "path": skipped.path, "why": skipped.why })).collect();
    json!({
        "what": what, "new": import.change.ops.len(), "skipped": skipped, "imported": step.is_some(), "step": step,
    })
}

/// What would be imported, and what not.
fn told(import: &Import, what: &str) -> String {
    let ops = &import.change.ops;
    let text = format!("{} to import, {} left out\n", count(ops.len(), what), import.skipped.len());
    let paths = ops.iter().filter_map(|op| match op {
        Op::File { path, .. } => Some(path),
        Op::Row { .. } => None,
    });
    let new = paths.map(|path| format!("  + {path}\n")).collect();
    let left_out = import.skipped.iter().map(|skipped| format!("  - {}: {}\n", skipped.path, skipped.why)).collect();
    text + &first_ones(new) + &first_ones(left_out)
}

/// `1 event`, `2 events`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {}", if n == 1 { what.trim_end_matches('s') } else { what })
}

fn first_ones(lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(MAX_NAMED);
    let mut text: String = lines.into_iter().take(MAX_NAMED).collect();
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

/// Asks the owner, if there is one to ask.
fn agreed() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(bad_input(anyhow!("nothing was imported: nobody can be asked"), "look at it, and add --yes"));
    }
    io::stderr().write_all(b"Import this? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
