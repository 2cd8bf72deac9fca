//! Random work on one store, for `checks/two_processes.py`, which runs it twice at once.
//!
//! `run FOLDER NAME SEED SECONDS` works and prints at its end what must be there; `check FOLDER` prints what is there.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use botpsy_agent::journal::{Desk, Event, StepState, What};
use botpsy_agent::store::{ApplyError, Change, Folders, Op, Place, Reminder, ReminderKind, ReminderState, Table};
use jiff::{SignedDuration, Zoned};
use serde_json::{Value, json};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// The note that both write to.
const SHARED: &str = "shared.md";

/// What one process did, and therefore expects to find.
#[derive(Default)]
struct Work {
    name: String,
    random: u64,
    /// Its own notes.
    notes: BTreeMap<String, String>,
    /// Its lines in the shared note.
    lines: Vec<String>,
    /// Reminders that it was the first to see, its own or not.
    fired: Vec<String>,
    /// Reminders that it made.
    made: Vec<String>,
    actions: usize,
    conflicts: usize,
}

fn main() -> Fallible<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let printed = match words[..] {
        ["run", folder, name, seed, seconds] => {
            run(Path::new(folder), name, seed.parse()?, Duration::from_secs(seconds.parse()?))?
        }
        ["check", folder] => check(Path::new(folder))?,
        _ => return Err("run FOLDER NAME SEED SECONDS, or check FOLDER".into()),
    };
    Ok(writeln!(io::stdout(), "{printed}")?)
}

fn open(root: &Path) -> Fallible<Desk> {
    let folders = Folders { data: root.join("data"), calendar: root.join("calendar"), notes: root.join("notes") };
    Ok(Desk::open(folders, &Zoned::now())?.0)
}

fn run(root: &Path, name: &str, seed: u64, time: Duration) -> Fallible<Value> {
    let desk = open(root)?;
    let mut work = Work { name: name.to_owned(), random: seed | 1, ..Work::default() };
    let started = Instant::now();
    while started.elapsed() < time {
        match work.below(10) {
            0..3 => work.write_note(&desk)?,
            3..5 => work.write_shared(&desk)?,
            5..7 => work.undo(&desk)?,
            7 => work.remind(&desk)?,
            8 => work.fire(&desk)?,
            // As a program that is started again and again.
            _ => drop(open(root)?),
        }
        work.actions += 1;
    }
    Ok(json!({
        "name": work.name, "notes": work.notes, "lines": work.lines, "fired": work.fired, "made": work.made,
        "actions": work.actions, "conflicts": work.conflicts,
    }))
}

impl Work {
    /// A random number below `n` (xorshift).
    fn below(&mut self, n: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % n
    }

    /// Makes a change in a turn of its own; whether it happened, or somebody else was there first.
    fn make(&mut self, desk: &Desk, op: Op) -> Fallible<bool> {
        let now = Zoned::now();
        let turn = desk.begin_turn(&self.name, "random work", &now)?;
        let change = Change {
            summary: "Work".to_owned(),
            details: vec![],
            warnings: vec![],
            ops: vec![op],
            result: Value::Null,
        };
        let made = desk.make(&turn, &json!({ "name": "work" }), &change, &now);
        desk.end_turn(&turn)?;
        match made {
            Ok(_) => Ok(true),
            Err(ApplyError::Conflict { .. }) => {
                self.conflicts += 1;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn write_note(&mut self, desk: &Desk) -> Fallible<()> {
        let (place, number) = (self.below(20), self.below(1_000_000));
        let path = format!("{}-{place}.md", self.name);
        let before = self.notes.get(&path).cloned();
        let after = format!("{} {number}\n", self.name);
        let op = Op::File { place: Place::Notes, path: path.clone(), before, after: Some(after.clone()) };
        // Nobody else writes it.
        if !self.make(desk, op)? {
            return Err(format!("{path}: somebody else was there").into());
        }
        self.notes.insert(path, after);
        Ok(())
    }

    fn write_shared(&mut self, desk: &Desk) -> Fallible<()> {
        let (notes, _) = desk.store().notes()?;
        let before = notes.into_iter().find(|note| note.path == SHARED).map(|note| note.text);
        let line = format!("{}-{}", self.name, self.actions);
        let after = format!("{}{line}\n", before.as_deref().unwrap_or_default());
        let op = Op::File { place: Place::Notes, path: SHARED.to_owned(), before, after: Some(after) };
        if self.make(desk, op)? {
            self.lines.push(line);
        }
        Ok(())
    }

    /// Takes back the latest change, if it is one of its own notes.
    fn undo(&mut self, desk: &Desk) -> Fallible<()> {
        let Ok(steps) = desk.undoable(&What::Session(self.name.clone())) else { return Ok(()) };
        let Some(step) = steps.first() else { return Ok(()) };
        let [Op::File { path, before, .. }] = &step.change.ops[..] else { return Ok(()) };
        if path == SHARED {
            return Ok(());
        }
        let (_, error) = desk.undo(std::slice::from_ref(step), &Zoned::now());
        if let Some(error) = error {
            return Err(error.into());
        }
        match before {
            Some(before) => self.notes.insert(path.clone(), before.clone()),
            None => self.notes.remove(path),
        };
        Ok(())
    }

    fn remind(&mut self, desk: &Desk) -> Fallible<()> {
        let id = format!("{}-{}", self.name, self.actions);
        let due = Zoned::now().checked_sub(SignedDuration::from_secs(1))?;
        let reminder = Reminder {
            kind: ReminderKind::Timer,
            text: id.clone(),
            made: due.timestamp(),
            due,
            rrule: None,
            state: ReminderState::Waiting,
            id: id.clone(),
        };
        let op = Op::Row { table: Table::Reminders, id: id.clone(), before: None, after: Some(reminder.row()) };
        if self.make(desk, op)? {
            self.made.push(id);
        }
        Ok(())
    }

    fn fire(&mut self, desk: &Desk) -> Fallible<()> {
        let fired = &mut self.fired;
        Ok(desk.fire_due(&Zoned::now(), &mut |reminder| fired.push(reminder.id.clone()))?)
    }
}

fn check(root: &Path) -> Fallible<Value> {
    let desk = open(root)?;
    let mut last = Vec::new();
    desk.fire_due(&Zoned::now(), &mut |reminder| last.push(reminder.id.clone()))?;
    let log = match desk.verify_log()? {
        Ok((rows, _)) => json!(rows),
        Err(fault) => json!(fault.to_string()),
    };
    let told = desk.log_rows(None)?.into_iter().filter(|row| row.entry.event == Event::Reminder);
    let told: Vec<Value> = told.map(|row| row.entry.body["id"].clone()).collect();
    let notes = desk.store().notes()?.0.into_iter().map(|note| (note.path, note.text));
    let begun = desk.steps(None, usize::MAX)?.into_iter().filter(|step| step.state == StepState::Begun).count();
    let reminders = desk.store().reminders(&ReminderState::ALL)?;
    let states: BTreeMap<String, &str> =
        reminders.into_iter().map(|reminder| (reminder.id, reminder.state.name())).collect();
    let (wrong, _) = desk.store().check()?;
    Ok(json!({
        "log": log, "told": told, "last": last, "notes": notes.collect::<BTreeMap<_, _>>(), "begun": begun,
        "reminders": states, "wrong": wrong,
    }))
}
