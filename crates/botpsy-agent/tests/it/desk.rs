//! An owner's data in a folder of its own, and all tools at hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use botpsy_agent::store::{Change, Folders, ReminderState, Store};
use botpsy_agent::{Plan, Tool, ToolError, World, tools};
use jiff::Zoned;
use serde_json::Value;

static COUNTER: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Desk {
    pub(crate) root: PathBuf,
    pub(crate) store: Store,
    pub(crate) now: Zoned,
    tools: Vec<Box<dyn Tool>>,
}

/// All files by their paths, and all rows as text.
pub(crate) type Snapshot = BTreeMap<String, Vec<u8>>;

impl Desk {
    /// At noon on Monday 30 November 2026, in Berlin.
    pub(crate) fn new() -> Desk {
        Desk::at("2026-11-30T12:00:00[Europe/Berlin]")
    }

    pub(crate) fn at(now: &str) -> Desk {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("botpsy-agent-{}-{number}", process::id()));
        fs::create_dir_all(&root).unwrap();
        let store = Store::open(folders(&root)).unwrap();
        Desk { store, root, now: now.parse().unwrap(), tools: tools::all() }
    }

    pub(crate) fn plan(&self, name: &str, arguments: Value) -> Result<Plan, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let world = World { store: &self.store, now: &self.now };
        tool.plan(arguments.as_object().unwrap(), world)
    }

    pub(crate) fn change(&self, name: &str, arguments: Value) -> Change {
        match self.plan(name, arguments).unwrap() {
            Plan::Change(change) => change,
            Plan::Answer(answer) => panic!("no change: {answer}"),
        }
    }

    pub(crate) fn answer(&self, name: &str, arguments: Value) -> Value {
        match self.plan(name, arguments).unwrap() {
            Plan::Answer(answer) => answer,
            Plan::Change(change) => panic!("a change: {change:?}"),
        }
    }

    pub(crate) fn error(&self, name: &str, arguments: Value) -> String {
        self.plan(name, arguments).unwrap_err().to_string()
    }

    /// Does it; before, checks that taking it back leaves everything as it was, to the byte.
    pub(crate) fn run(&self, name: &str, arguments: Value) -> Change {
        let change = self.change(name, arguments);
        self.there_and_back(&change);
        self.store.apply(&change).unwrap();
        change
    }

    pub(crate) fn there_and_back(&self, change: &Change) {
        let before = self.snapshot();
        self.store.apply(change).unwrap();
        let after = self.snapshot();
        assert!(before != after || change.ops.is_empty(), "nothing changed: {change:?}");
        self.store.apply(&change.inverse()).unwrap();
        assert_eq!(self.snapshot(), before, "taken back: {change:?}");
        self.store.apply(change).unwrap();
        assert_eq!(self.snapshot(), after, "done again: {change:?}");
        self.store.apply(&change.inverse()).unwrap();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut found = Snapshot::new();
        for folder in ["calendar", "notes"] {
            collect(&self.root, &self.root.join(folder), &mut found);
        }
        for reminder in self.store.reminders(&ReminderState::ALL).unwrap() {
            found.insert(format!("row {}", reminder.id), format!("{:?}", reminder.row()).into_bytes());
        }
        for memory in self.store.memories("", 1000).unwrap() {
            found.insert(format!("row {}", memory.id), format!("{:?}", memory.row()).into_bytes());
        }
        found
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// The titles of what happens between two moments in Berlin, with their times.
    pub(crate) fn agenda(&self, from: &str, to: &str) -> Vec<String> {
        let at =
            |text: &str| format!("{text}[{}]", self.now.time_zone().iana_name().unwrap()).parse::<Zoned>().unwrap();
        let agenda = self.store.events(&at(from), &at(to)).unwrap();
        let say = |start: &Zoned, end: &Zoned, days| tools::say_span(start, end, days);
        agenda
            .occurrences
            .iter()
            .map(|it| format!("{}: {}", it.title, say(&it.start, &it.end, it.is_all_day)))
            .collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

pub(crate) fn folders(root: &Path) -> Folders {
    Folders { data: root.join("data"), calendar: root.join("calendar"), notes: root.join("notes") }
}

fn collect(root: &Path, folder: &Path, found: &mut Snapshot) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.insert(name, Vec::new());
            collect(root, &path, found);
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// The named fields of an object or of each object of a list, as text.
pub(crate) fn fields(value: &Value, names: &[&str]) -> String {
    let one = |value: &Value| names.iter().map(|name| text(&value[name])).collect::<Vec<_>>().join(" | ");
    match value {
        Value::Array(values) => values.iter().map(one).collect::<Vec<_>>().join("\n"),
        value => one(value),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
