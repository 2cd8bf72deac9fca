//! What is left of processes that were killed.

use std::sync::PoisonError;

use jiff::Zoned;

use super::audit::{Event, append};
use super::steps::{self, STEP, Step, StepState, end, entry};
use super::{Desk, Turn, run};
use crate::store::{ApplyError, StoreError};

/// What was found of processes that were killed, and what became of it. The owner must be told.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Changes that had begun.
    pub steps: Vec<RecoveredStep>,
    /// Changes that were made to their end before the interruption: the number of each, and what it does in words. Whoever says the
    /// request again must know of them.
    pub made: Vec<(i64, String)>,
    /// Requests that were not worked on to their end, in the owner's words.
    pub requests: Vec<String>,
}

/// A change that a killed process had begun.
#[derive(Debug)]
pub struct RecoveredStep {
    /// Its number, for undo.
    pub id: i64,
    /// What it does, in words.
    pub summary: String,
    /// Why it could not be brought to its end, if it could not: then nothing of it was done.
    pub problem: Option<ApplyError>,
}

impl Recovered {
    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.made.is_empty() && self.requests.is_empty()
    }

    /// What the owner is told, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let step = |step: &RecoveredStep| match &step.problem {
            None => format!("an interruption was repaired, this is done: {} (step {})", step.summary, step.id),
            Some(problem) => format!("interrupted and not done: {}; {problem}", step.summary),
        };
        let request = |text: &String| format!("this request was interrupted before its end: \"{text}\"");
        let made = |(id, summary): &(i64, String)| format!("done before the interruption: {summary} (step {id})");
        let (steps, made) = (self.steps.iter().map(step), self.made.iter().map(made));
        made.chain(steps).chain(self.requests.iter().map(request)).collect()
    }
}

impl Desk {
    /// Brings to an end what dead processes have begun.
    pub(super) fn recover(&self, now: &Zoned) -> Result<Recovered, StoreError> {
        let mut recovered = Recovered::default();
        for turn in self.broken_turns()? {
            let made = self.of_turn(turn.id, "done")?;
            for step in self.of_turn(turn.id, "begun")? {
                let of = Turn { session: turn.session.clone(), id: turn.id };
                recovered.steps.extend(self.finish(&of, &step, now)?);
            }
            recovered.made.extend(made.into_iter().map(|step| (step.id, step.change.summary)));
            recovered.requests.extend(Some(turn.request).filter(|request| !request.is_empty()));
            self.untold.lock().unwrap_or_else(PoisonError::into_inner).push(turn.id);
        }
        let data = &self.store.folders().data;
        run::sweep(data).map_err(|source| StoreError::File { path: data.clone(), source })?;
        Ok(recovered)
    }

    /// Open turns of processes that are dead.
    fn broken_turns(&self) -> Result<Vec<Open>, StoreError> {
        let open = self.store.read_rows(|connection| {
            let mut statement =
                connection.prepare("SELECT id, session, run, request FROM turns WHERE state = 'open'")?;
            let rows = statement.query_map([], |row| {
                Ok(Open { id: row.get(0)?, session: row.get(1)?, run: row.get(2)?, request: row.get(3)? })
            })?;
            rows.collect::<rusqlite::Result<Vec<Open>>>()
        })?;
        let data = &self.store.folders().data;
        let mut broken = Vec::new();
        for turn in open {
            let alive = run::is_alive(data, &turn.run);
            if turn.run != self.run.id() && !alive.map_err(|source| StoreError::File { path: data.clone(), source })? {
                broken.push(turn);
            }
        }
        Ok(broken)
    }

    fn of_turn(&self, turn: i64, state: &str) -> Result<Vec<Step>, StoreError> {
        let query = format!("{STEP} WHERE steps.turn = ? AND steps.state = ? ORDER BY steps.id");
        let steps = self.store.read_rows(|connection| {
            let mut statement = connection.prepare(&query)?;
            statement.query_map((turn, state), steps::read)?.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(steps.into_iter().flatten().collect())
    }

    /// Brings one change to its end; what it comes from was agreed to already. `None` where another process did it.
    fn finish(&self, turn: &Turn, step: &Step, now: &Zoned) -> Result<Option<RecoveredStep>, StoreError> {
        let mut was_begun = false;
        let made = self.store.transact(|transaction| {
            was_begun = end(transaction, step.id, StepState::Begun, StepState::Done)?;
            if !was_begun {
                return Err(ApplyError::Conflict { what: format!("step {}", step.id) });
            }
            if let Some(undone) = step.undoes {
                end(transaction, undone, StepState::Done, StepState::Undone)?;
            }
            append(transaction, &entry(turn, Event::Recovered, step.id, &step.change, now, None))?;
            self.store.apply_in(transaction, &step.change)
        });
        let recovered = |problem| Some(RecoveredStep { id: step.id, summary: step.change.summary.clone(), problem });
        match made {
            Ok(_) => Ok(recovered(None)),
            Err(_) if !was_begun => Ok(None),
            Err(error) => {
                self.fail(turn, step.id, &step.change, now, &error)?;
                Ok(recovered(Some(error)))
            }
        }
    }
}

struct Open {
    id: i64,
    session: String,
    run: String,
    request: String,
}
