//! Alarms, timers and reminders, and what is remembered.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rusqlite::params_from_iter;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::words::normalize;
use super::{Store, StoreError, Table, ics};

/// Something that makes itself heard at its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Reminder {
    /// Its name.
    pub id: String,
    /// What it is.
    pub kind: ReminderKind,
    /// What it says.
    pub text: String,
    /// When it is due, or was, on the clocks of its zone.
    pub due: Zoned,
    /// As it stands after `RRULE:`, if it comes again; the clock stays the same over the year.
    pub rrule: Option<String>,
    /// What became of it.
    pub state: ReminderState,
    /// When it was made.
    pub made: Timestamp,
}

/// What makes itself heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReminderKind {
    /// It rings.
    Alarm,
    /// It rings after some time.
    Timer,
    /// It says something.
    Reminder,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReminderState {
    /// It is still to come.
    Waiting,
    /// It made itself heard.
    Fired,
    /// Nothing ran when it was due.
    Missed,
    /// The owner has seen it.
    Dismissed,
    /// The owner took it back.
    Cancelled,
}

/// Something that was remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its name.
    pub id: String,
    /// What is remembered.
    pub text: String,
    /// Who said it: the label of the text that it came from.
    pub origin: String,
    /// When.
    pub made: String,
}

impl ReminderKind {
    /// As it stands in the database.
    pub fn name(self) -> &'static str {
        match self {
            ReminderKind::Alarm => "alarm",
            ReminderKind::Timer => "timer",
            ReminderKind::Reminder => "reminder",
        }
    }

    fn named(name: &str) -> Option<ReminderKind> {
        [ReminderKind::Alarm, ReminderKind::Timer, ReminderKind::Reminder].into_iter().find(|kind| kind.name() == name)
    }
}

impl ReminderState {
    /// All of them.
    pub const ALL: [ReminderState; 5] = [
        ReminderState::Waiting,
        ReminderState::Fired,
        ReminderState::Missed,
        ReminderState::Dismissed,
        ReminderState::Cancelled,
    ];

    /// As it stands in the database.
    pub fn name(self) -> &'static str {
        match self {
            ReminderState::Waiting => "waiting",
            ReminderState::Fired => "fired",
            ReminderState::Missed => "missed",
            ReminderState::Dismissed => "dismissed",
            ReminderState::Cancelled => "cancelled",
        }
    }
}

impl Reminder {
    /// Its row, for an [`Op::Row`](super::Op::Row).
    pub fn row(&self) -> Map<String, Value> {
        let zone = self.due.time_zone().iana_name().unwrap_or("UTC");
        let row = json!({
            "kind": self.kind.name(),
            "text": self.text,
            "due": self.due.timestamp().to_string(),
            "zone": zone,
            "rrule": self.rrule,
            "state": self.state.name(),
            "made": self.made.to_string(),
        });
        row.as_object().cloned().unwrap_or_default()
    }

    /// When it comes again after `after`, if it does.
    pub fn next_after(&self, after: &Zoned) -> Option<Zoned> {
        ics::next_after(self.rrule.as_deref()?, &self.due, after)
    }
}

impl Memory {
    /// Its row, for an [`Op::Row`](super::Op::Row).
    pub fn row(&self) -> Map<String, Value> {
        let row = json!({ "text": self.text, "origin": self.origin, "made": self.made });
        row.as_object().cloned().unwrap_or_default()
    }
}

impl Store {
    /// What is in one of these states, by when it is due. A row that makes no sense is left out.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn reminders(&self, states: &[ReminderState]) -> Result<Vec<Reminder>, StoreError> {
        let marks = vec!["?"; states.len()].join(", ");
        let query = format!(
            "SELECT id, kind, text, due, zone, rrule, state, made FROM {} WHERE state IN ({marks}) ORDER BY due, id",
            Table::Reminders.name()
        );
        let read = || {
            let connection = self.connection();
            let mut statement = connection.prepare_cached(&query)?;
            let names = params_from_iter(states.iter().map(|state| state.name()));
            let rows = statement.query_map(names, |row| {
                let text = |i: usize| row.get::<_, String>(i);
                Ok((
                    text(0)?,
                    text(1)?,
                    text(2)?,
                    text(3)?,
                    text(4)?,
                    row.get::<_, Option<String>>(5)?,
                    text(6)?,
                    text(7)?,
                ))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().map_err(|source| self.database_error(source))?;
        let reminder = |(id, kind, text, due, zone, rrule, state, made): Row| {
            let zone = ics::find_zone(&zone).unwrap_or(TimeZone::UTC);
            Some(Reminder {
                kind: ReminderKind::named(&kind)?,
                due: due.parse::<Timestamp>().ok()?.to_zoned(zone),
                state: ReminderState::ALL.into_iter().find(|known| known.name() == state)?,
                made: made.parse().ok()?,
                id,
                text,
                rrule,
            })
        };
        Ok(rows.into_iter().filter_map(reminder).collect())
    }

    /// What was remembered with any of the words, the best first; without words the latest. At most `limit`.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn memories(&self, words: &str, limit: usize) -> Result<Vec<Memory>, StoreError> {
        let normal = normalize(words);
        let quoted: Vec<String> =
            normal.split(' ').filter(|word| !word.is_empty()).map(|word| format!("\"{word}\"*")).collect();
        let read = || -> rusqlite::Result<Vec<Memory>> {
            let connection = self.connection();
            let memory = |row: &rusqlite::Row| {
                Ok(Memory { id: row.get(0)?, text: row.get(1)?, origin: row.get(2)?, made: row.get(3)? })
            };
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            if quoted.is_empty() {
                let query = "SELECT id, text, origin, made FROM memories ORDER BY key DESC LIMIT ?";
                return connection.prepare_cached(query)?.query_map([limit], memory)?.collect();
            }
            let query = "SELECT id, memories.text, origin, made FROM memories_index
                JOIN memories ON memories.key = memories_index.rowid
                WHERE memories_index MATCH ? ORDER BY rank, key DESC LIMIT ?";
            let mut statement = connection.prepare_cached(query)?;
            statement.query_map((quoted.join(" OR "), limit), memory)?.collect()
        };
        read().map_err(|source| self.database_error(source))
    }
}

type Row = (String, String, String, String, String, Option<String>, String, String);
