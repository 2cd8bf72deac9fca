//! Changes, one after the other.

use botpsy_text::conversation::ToolCall;
use jiff::Zoned;
use rusqlite::{Row, Transaction};
use serde_json::{Value, json};

use super::audit::{Entry, Event, append};
use super::{Desk, Turn, apply_error};
use crate::store::{ApplyError, Change, StoreError};

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It may have happened, or a part of it.
    Begun,
    /// It has happened.
    Done,
    /// It has not happened, no part of it.
    Failed,
    /// It has happened and was taken back.
    Undone,
}

/// A change that was made, or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number, over all turns.
    pub id: i64,
    /// The turn that it belongs to.
    pub turn: i64,
    /// The session of that turn.
    pub session: String,
    /// The call that it carries out, as JSON.
    pub call: Value,
    /// What it changes.
    pub change: Change,
    /// How far it is.
    pub state: StepState,
    /// The step that this one takes back.
    pub undoes: Option<i64>,
    /// When, RFC 3339.
    pub made: String,
}

impl StepState {
    const ALL: [StepState; 4] = [StepState::Begun, StepState::Done, StepState::Failed, StepState::Undone];

    /// As it stands in the database.
    pub fn name(self) -> &'static str {
        match self {
            StepState::Begun => "begun",
            StepState::Done => "done",
            StepState::Failed => "failed",
            StepState::Undone => "undone",
        }
    }
}

pub(super) const STEP: &str =
    "SELECT steps.id, steps.turn, turns.session, steps.call, steps.change, steps.state, steps.undoes, steps.made
    FROM steps JOIN turns ON turns.id = steps.turn";

/// A row of [`STEP`]; `None` where it makes no sense.
pub(super) fn read(row: &Row) -> rusqlite::Result<Option<Step>> {
    let (call, change, state): (String, String, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let Some(state) = StepState::ALL.into_iter().find(|known| known.name() == state) else { return Ok(None) };
    let (Ok(call), Ok(change)) = (serde_json::from_str(&call), serde_json::from_str(&change)) else { return Ok(None) };
    let (id, turn, session, undoes, made) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(6)?, row.get(7)?);
    Ok(Some(Step { id, turn, session, call, change, state, undoes, made }))
}

/// A call as it is written down.
pub(crate) fn call_json(call: &ToolCall) -> Value {
    json!({ "name": call.name, "arguments": call.arguments })
}

impl Desk {
    /// Makes a change that was agreed to, and writes down before and after that it is made. Gives the number of the step.
    ///
    /// # Errors
    /// As [`Store::apply`](crate::store::Store::apply): then nothing has changed, and that is written down too.
    pub fn make(&self, turn: &Turn, call: &Value, change: &Change, now: &Zoned) -> Result<i64, ApplyError> {
        let step = self.begin(turn, call, change, None, now)?;
        self.carry_out(turn, step, change, now)?;
        Ok(step)
    }

    pub(super) fn begin(
        &self,
        turn: &Turn,
        call: &Value,
        change: &Change,
        undoes: Option<i64>,
        now: &Zoned,
    ) -> Result<i64, ApplyError> {
        let text = serde_json::to_string(change).unwrap_or_default();
        let begun = self.write(|transaction| {
            transaction.execute(
                "INSERT INTO steps (turn, call, change, state, undoes, made) VALUES (?, ?, ?, 'begun', ?, ?)",
                (turn.id, call.to_string(), text, undoes, now.timestamp().to_string()),
            )?;
            let step = transaction.last_insert_rowid();
            append(transaction, &entry(turn, Event::Begun, step, change, now, None))?;
            Ok(step)
        });
        begun.map_err(apply_error)
    }

    /// Makes a step that was begun true, in one transaction with the word that it is.
    pub(super) fn carry_out(&self, turn: &Turn, step: i64, change: &Change, now: &Zoned) -> Result<(), ApplyError> {
        let made = self.store.transact(|transaction| {
            let pending = self.store.apply_in(transaction, change)?;
            end(transaction, step, StepState::Begun, StepState::Done)?;
            append(transaction, &entry(turn, Event::Done, step, change, now, None))?;
            Ok(pending)
        });
        if let Err(error) = made {
            self.fail(turn, step, change, now, &error).map_err(apply_error)?;
            return Err(error);
        }
        Ok(())
    }

    pub(super) fn fail(
        &self,
        turn: &Turn,
        step: i64,
        change: &Change,
        now: &Zoned,
        error: &ApplyError,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            end(transaction, step, StepState::Begun, StepState::Failed)?;
            append(transaction, &entry(turn, Event::Failed, step, change, now, Some(&error.to_string())))
        })
    }

    /// The changes, the latest first, of a session or of all.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn steps(&self, session: Option<&str>, limit: usize) -> Result<Vec<Step>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let query = format!("{STEP} WHERE ?1 IS NULL OR turns.session = ?1 ORDER BY steps.id DESC LIMIT ?2");
        let steps = self.store.read_rows(|connection| {
            let mut statement = connection.prepare_cached(&query)?;
            let rows = statement.query_map((session, limit), read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(steps.into_iter().flatten().collect())
    }
}

/// Writes down how a step ended, which was in state `from` until now; `false` if it was not: another process was faster.
pub(super) fn end(transaction: &Transaction, step: i64, from: StepState, to: StepState) -> rusqlite::Result<bool> {
    let query = "UPDATE steps SET state = ? WHERE id = ? AND state = ?";
    Ok(transaction.execute(query, (to.name(), step, from.name()))? == 1)
}

/// What the log says of a step.
pub(super) fn entry(turn: &Turn, event: Event, step: i64, change: &Change, now: &Zoned, why: Option<&str>) -> Entry {
    let mut body = json!({ "step": step, "summary": change.summary });
    if let Some(why) = why {
        body["why"] = json!(why);
    }
    Entry { time: now.timestamp().to_string(), session: turn.session.clone(), turn: turn.id, event, body }
}
