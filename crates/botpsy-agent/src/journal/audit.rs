//! The log: what happened, in rows that hold each other.
//!
//! The hash of a row is the SHA-256 of its canonical JSON: `[seq, time, session, turn, event, body, previous]`, `previous` being the
//! hash of the row before, 64 zeros for the first. Whoever changes, removes or swaps rows breaks the chain; cutting rows off at the end
//! shows when the hash of the last row, which is told at the end of each session, is missing.

use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Desk;
use crate::store::StoreError;

/// What comes before the first row.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The owner said something: `text`, `now`, `zone`, and what else the gate begins the turn with.
    User,
    /// Text by others that the owner handed over: `source`, `text`.
    Untrusted,
    /// The gate decided about a call: `call`, `decision`, `rule`, `reason`, `origins`, hashes of policy and tool.
    Decision,
    /// The owner was asked: the question, and the answer.
    Question,
    /// A call was carried out, or not: `call`, the `result` that the model was told, and the `ms` that it took.
    Result,
    /// A change was begun, done, not done, brought to its end after a kill, or taken back: `step`, `summary`.
    Begun,
    /// See [`Event::Begun`].
    Done,
    /// See [`Event::Begun`].
    Failed,
    /// See [`Event::Begun`].
    Recovered,
    /// See [`Event::Begun`].
    Undone,
    /// What a turn ended with: `answer`.
    Answer,
    /// A reminder made itself heard, or was missed: `id`, `state`.
    Reminder,
}

/// Something to be written down.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, RFC 3339.
    pub time: String,
    /// In which session; empty outside of one.
    pub session: String,
    /// In which turn; 0 outside of one.
    pub turn: i64,
    /// What kind of thing.
    pub event: Event,
    /// What exactly.
    pub body: Value,
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number, from 1 without gaps.
    pub seq: i64,
    /// What it says.
    pub entry: Entry,
    /// Its hash.
    pub hash: String,
}

/// What is wrong with the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {seq}: {what}")]
pub struct Fault {
    /// The first row that does not hold.
    pub seq: i64,
    /// What does not hold.
    pub what: String,
}

struct Raw {
    seq: i64,
    time: String,
    session: String,
    turn: i64,
    event: String,
    body: String,
    previous: String,
    hash: String,
}

/// Appends a row inside of a transaction.
pub(super) fn append(transaction: &Transaction, entry: &Entry) -> rusqlite::Result<()> {
    let last: Option<(i64, String)> = transaction
        .query_row("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (last, previous) = last.unwrap_or((0, NOTHING.to_owned()));
    let event = json!(entry.event).as_str().unwrap_or_default().to_owned();
    let (time, session, body) = (entry.time.clone(), entry.session.clone(), entry.body.to_string());
    let mut raw = Raw { seq: last + 1, time, session, turn: entry.turn, event, body, previous, hash: String::new() };
    raw.hash = hash_of(&raw);
    transaction.execute(
        "INSERT INTO audit (seq, time, session, turn, event, body, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (raw.seq, raw.time, raw.session, raw.turn, raw.event, raw.body, raw.previous, raw.hash),
    )?;
    Ok(())
}

fn hash_of(raw: &Raw) -> String {
    let parts = json!([raw.seq, raw.time, raw.session, raw.turn, raw.event, raw.body, raw.previous]);
    hex(&Sha256::digest(parts.to_string()))
}

/// Bytes as they are written in the log.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Desk {
    /// The rows of a session, or of all; a row that makes no sense is told as a [`Fault`] by [`Desk::verify_log`], and left out here.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn log_rows(&self, session: Option<&str>) -> Result<Vec<Row>, StoreError> {
        let raws = self.store.read_rows(read_all)?;
        let rows = raws.into_iter().filter(|raw| session.is_none_or(|session| raw.session == session));
        Ok(rows.filter_map(row).collect())
    }

    /// Checks the whole log: how many rows it has, and the hash of the last one, which is what the owner was told.
    ///
    /// # Errors
    /// If the database cannot be read; inside, the first thing that does not hold.
    pub fn verify_log(&self) -> Result<Result<(i64, String), Fault>, StoreError> {
        let raws = self.store.read_rows(read_all)?;
        let turns = self.store.read_rows(|connection| {
            connection.query_row("SELECT count(*) FROM turns", [], |row| row.get::<_, i64>(0))
        })?;
        if raws.is_empty() && turns > 0 {
            return Ok(Err(Fault { seq: 1, what: "it and all others are missing".to_owned() }));
        }
        Ok(verify(&raws))
    }

    /// The hash of the last row.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn log_head(&self) -> Result<String, StoreError> {
        let head = self.store.read_rows(|connection| {
            let query = "SELECT hash FROM audit ORDER BY seq DESC LIMIT 1";
            connection.query_row(query, [], |row| row.get::<_, String>(0)).optional()
        })?;
        Ok(head.unwrap_or_else(|| NOTHING.to_owned()))
    }
}

fn read_all(connection: &Connection) -> rusqlite::Result<Vec<Raw>> {
    let query = "SELECT seq, time, session, turn, event, body, previous, hash FROM audit ORDER BY seq";
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([], |row| {
        Ok(Raw {
            seq: row.get(0)?,
            time: row.get(1)?,
            session: row.get(2)?,
            turn: row.get(3)?,
            event: row.get(4)?,
            body: row.get(5)?,
            previous: row.get(6)?,
            hash: row.get(7)?,
        })
    })?;
    rows.collect()
}

fn row(raw: Raw) -> Option<Row> {
    let event = serde_json::from_value(Value::String(raw.event)).ok()?;
    let body = serde_json::from_str(&raw.body).ok()?;
    let entry = Entry { time: raw.time, session: raw.session, turn: raw.turn, event, body };
    Some(Row { seq: raw.seq, entry, hash: raw.hash })
}

fn verify(raws: &[Raw]) -> Result<(i64, String), Fault> {
    let mut previous = NOTHING;
    for (raw, seq) in raws.iter().zip(1..) {
        let fault = |what: &str| Err(Fault { seq, what: what.to_owned() });
        if raw.seq != seq {
            return fault(&format!("it is missing, row {} stands in its place", raw.seq));
        }
        if raw.previous != previous {
            return fault("the row before it is another one than when it was written");
        }
        if raw.hash != hash_of(raw) {
            return fault("it was changed after it was written");
        }
        previous = &raw.hash;
    }
    Ok((raws.len() as i64, previous.to_owned()))
}
