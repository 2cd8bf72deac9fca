//! What is done, written down before and after it is done, in the owner's database.
//!
//! A change is first written as a *step* that has begun; then files, rows and the step's new state become true in one transaction. So
//! after a kill at any moment the next start knows what was begun, brings it to its end (every step of a change is either as before or
//! as after) and tells the owner. A process that is still alive holds a lock on its run's file; its steps are left alone.
//!
//! | table | a row is |
//! | --- | --- |
//! | `sessions`, `messages` | a conversation, and each of its messages as JSON |
//! | `turns` | a request of the owner: `open`, `ended`, or `broken` when its process died |
//! | `steps` | a change: `begun`, `done`, `failed` (nothing was changed) or `undone` |
//! | `audit` | what happened, each row with the hash of the one before; see [`audit`] |

pub mod audit;
mod firing;
mod recover;
mod run;
mod sessions;
mod steps;
mod undo;

use std::sync::{Mutex, PoisonError};

use jiff::Zoned;
use rusqlite::Transaction;

use crate::store::{ApplyError, Folders, Store, StoreError};

pub use audit::{Entry, Event, Fault};
pub use recover::{Recovered, RecoveredStep};
pub use sessions::{Saved, SavedMessage, export};
pub(crate) use steps::call_json;
pub use steps::{Step, StepState};
pub use undo::{UndoError, Undone, What};

use run::Run;

/// The owner's data, with the journal of what is done to it by this process.
#[derive(Debug)]
pub struct Desk {
    store: Store,
    run: Run,
    /// Turns of dead processes of which the owner was not told for sure yet. They stay open until this process goes on with
    /// something or ends well: one that is killed before it can tell leaves them to the next one.
    untold: Mutex<Vec<i64>>,
}

/// A request of the owner that is being worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The session that it is in.
    pub session: String,
    /// Its number, over all sessions.
    pub id: i64,
}

impl Desk {
    /// Opens the owner's data, and brings to an end what killed processes have left.
    ///
    /// # Errors
    /// If the data cannot be opened, or what was left cannot be written down.
    pub fn open(folders: Folders, now: &Zoned) -> Result<(Desk, Recovered), StoreError> {
        let store = Store::open(folders)?;
        let run = Run::start(&store.folders().data)?;
        let desk = Desk { store, run, untold: Mutex::new(Vec::new()) };
        let recovered = desk.recover(now)?;
        Ok((desk, recovered))
    }

    /// The data.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Begins to work on a request.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn begin_turn(&self, session: &str, request: &str, now: &Zoned) -> Result<Turn, StoreError> {
        self.told()?;
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO turns (session, run, request, state, made) VALUES (?, ?, ?, 'open', ?)",
                (session, self.run.id(), request, now.timestamp().to_string()),
            )?;
            Ok(Turn { session: session.to_owned(), id: transaction.last_insert_rowid() })
        })
    }

    /// The request was worked on to its end.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn end_turn(&self, turn: &Turn) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("UPDATE turns SET state = 'ended' WHERE id = ?", [turn.id]).map(drop)
        })
    }

    /// Writes down that something happened.
    ///
    /// # Errors
    /// If it cannot be written down: then it must not happen either.
    pub fn log(&self, entry: &Entry) -> Result<(), StoreError> {
        self.write(|transaction| audit::append(transaction, entry))
    }

    /// The owner was told what [`Recovered`] says.
    fn told(&self) -> Result<(), StoreError> {
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        if untold.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let query = "UPDATE turns SET state = 'broken' WHERE id = ? AND state = 'open'";
            untold.iter().try_for_each(|turn| transaction.execute(query, [turn]).map(drop))
        })?;
        untold.clear();
        Ok(())
    }

    /// Writes rows while nobody else does.
    fn write<T>(&self, work: impl FnOnce(&Transaction) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.store.with_rows(work)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // Where it cannot be written, the next start tells again.
        let _ = self.told();
    }
}

/// What the database said, as the error of a change.
fn apply_error(error: StoreError) -> ApplyError {
    match error {
        StoreError::Database { source, .. } => ApplyError::Database(source),
        other => ApplyError::Refused { what: "the journal".to_owned(), why: other.to_string() },
    }
}
