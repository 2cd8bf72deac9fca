//! A folder with an owner's data, and the program on it.

use std::fs;
use std::path::PathBuf;

use botpsy_agent::journal::Desk;
use botpsy_agent::store::{Change, Folders, Op, Reminder, ReminderKind, ReminderState, Store, Table};
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use crate::support::{Ran, command, finish, scratch};

pub(crate) struct Owner {
    pub(crate) home: PathBuf,
}

impl Owner {
    /// In Berlin, with nothing yet.
    pub(crate) fn new() -> Owner {
        let home = scratch("owner");
        fs::create_dir_all(&home).unwrap();
        let owner = Owner { home };
        owner.write("config.toml", "timezone = \"Europe/Berlin\"\n");
        owner
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = command(args);
        // No desktop of whoever runs the tests is written to.
        command.env("BOTPSY_HOME", &self.home).env("PATH", "/usr/bin:/bin").env("DBUS_SESSION_BUS_ADDRESS", "none:");
        finish(command, "")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.home.join(path)).unwrap()
    }

    fn folders(&self) -> Folders {
        let [data, calendar, notes] = ["", "calendar", "notes"].map(|name| self.home.join(name));
        Folders { data, calendar, notes }
    }

    /// The data, as a program has it.
    pub(crate) fn desk(&self) -> (Desk, Zoned) {
        let now = Zoned::now();
        (Desk::open(self.folders(), &now).unwrap().0, now)
    }

    /// Puts one reminder there.
    pub(crate) fn remind(&self, id: &str, kind: ReminderKind, due: &Zoned, rrule: Option<&str>) {
        let store = Store::open(self.folders()).unwrap();
        let (id, text, rrule) = (id.to_owned(), format!("the {id}"), rrule.map(str::to_owned));
        let (state, made) = (ReminderState::Waiting, Timestamp::UNIX_EPOCH);
        let reminder = Reminder { id: id.clone(), kind, text, due: due.clone(), rrule, state, made };
        let op = Op::Row { table: Table::Reminders, id, before: None, after: Some(reminder.row()) };
        let summary = "Test".to_owned();
        let change = Change { summary, details: vec![], warnings: vec![], ops: vec![op], result: Value::Null };
        store.apply(&change).unwrap();
    }

    /// The text without what differs from run to run.
    pub(crate) fn tidy(&self, text: &str) -> String {
        text.replace(self.home.canonicalize().unwrap().to_str().unwrap(), "HOME")
            .replace(self.home.to_str().unwrap(), "HOME")
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

pub(crate) fn at(text: &str) -> Zoned {
    format!("{text}[Europe/Berlin]").parse().unwrap()
}

/// An event of a calendar.
pub(crate) fn event(uid: &str, title: &str, lines: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{title}\r\n{lines}END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}
