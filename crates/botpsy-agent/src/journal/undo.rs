//! Taking back.

use jiff::Zoned;
use rusqlite::OptionalExtension;
use serde_json::json;

use super::audit::{Event, append};
use super::steps::{self, STEP, Step, StepState, end, entry};
use super::{Desk, apply_error};
use crate::store::{ApplyError, StoreError};

/// What is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The latest change that is still there.
    Last,
    /// All changes of a session, the latest first.
    Session(String),
    /// One change, by its number.
    Step(i64),
}

/// A change that was taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    /// Its number.
    pub id: i64,
    /// What it did, in words.
    pub summary: String,
}

/// Why something was not taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no such change.
    #[error("{0}")]
    Nothing(String),
    /// What it changed has changed again since.
    #[error("step {id} ({summary}) was not taken back: {source}")]
    Apply {
        /// The number of the change.
        id: i64,
        /// What it did.
        summary: String,
        /// Why not.
        source: ApplyError,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Desk {
    /// What [`Desk::undo`] would take back, the latest first.
    ///
    /// # Errors
    /// [`UndoError::Nothing`], [`UndoError::Store`].
    pub fn undoable(&self, what: &What) -> Result<Vec<Step>, UndoError> {
        let is_there = |step: &Step| step.state == StepState::Done && step.undoes.is_none();
        match what {
            What::Last => {
                let query = format!(
                    "{STEP} WHERE steps.state = 'done' AND steps.undoes IS NULL ORDER BY steps.id DESC LIMIT 1"
                );
                let last =
                    self.store.read_rows(|connection| connection.query_row(&query, [], steps::read).optional())?;
                let last = last
                    .flatten()
                    .ok_or_else(|| UndoError::Nothing("nothing was changed yet, or all of it was taken back".into()))?;
                Ok(vec![last])
            }
            What::Session(session) => {
                let steps: Vec<Step> = self.steps(Some(session), usize::MAX)?.into_iter().filter(is_there).collect();
                match steps.is_empty() {
                    true => Err(UndoError::Nothing(format!("session {session} changed nothing that is still there"))),
                    false => Ok(steps),
                }
            }
            What::Step(id) => {
                let query = format!("{STEP} WHERE steps.id = ?");
                let step =
                    self.store.read_rows(|connection| connection.query_row(&query, [id], steps::read).optional())?;
                let nothing = |why: &str| UndoError::Nothing(format!("step {id} {why}"));
                let step = step.flatten().ok_or_else(|| nothing("is not known"))?;
                match step.state {
                    _ if step.undoes.is_some() => {
                        Err(nothing("takes another one back; ask for the change again instead"))
                    }
                    StepState::Done => Ok(vec![step]),
                    StepState::Undone => Err(nothing("was taken back already")),
                    StepState::Begun | StepState::Failed => Err(nothing("was not done")),
                }
            }
        }
    }

    /// Takes changes back, the latest first, and stops at the first that cannot be.
    ///
    /// # Errors
    /// What the first one could not be taken back for, with those before it, which are.
    pub fn undo(&self, steps: &[Step], now: &Zoned) -> (Vec<Undone>, Option<UndoError>) {
        let mut undone = Vec::new();
        for step in steps {
            if let Err(source) = self.undo_one(step, now) {
                let error = UndoError::Apply { id: step.id, summary: step.change.summary.clone(), source };
                return (undone, Some(error));
            }
            undone.push(Undone { id: step.id, summary: step.change.summary.clone() });
        }
        (undone, None)
    }

    fn undo_one(&self, step: &Step, now: &Zoned) -> Result<(), ApplyError> {
        let turn = self.begin_turn(&step.session, "", now).map_err(apply_error)?;
        let back = step.change.inverse();
        let call = json!({ "name": "undo", "arguments": { "step": step.id } });
        let id = self.begin(&turn, &call, &back, Some(step.id), now)?;
        let made = self.store.transact(|transaction| {
            let pending = self.store.apply_in(transaction, &back)?;
            end(transaction, id, StepState::Begun, StepState::Done)?;
            if !end(transaction, step.id, StepState::Done, StepState::Undone)? {
                return Err(ApplyError::Conflict { what: format!("step {}", step.id) });
            }
            append(transaction, &entry(&turn, Event::Undone, step.id, &step.change, now, None))?;
            Ok(pending)
        });
        if let Err(error) = &made {
            self.fail(&turn, id, &back, now, error).map_err(apply_error)?;
        }
        self.end_turn(&turn).map_err(apply_error)?;
        made.map(drop)
    }
}
