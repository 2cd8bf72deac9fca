//! How a change becomes true: all of it or nothing.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::{Map, Value};

use super::files::{self, Swap};
use super::{Change, Op, Place, Store, StoreError, Table, database};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// How many steps were taken.
    pub done: usize,
    /// How many had nothing left to do.
    pub already: usize,
}

/// Why a change was not made. Whatever it was, nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Somebody else changed it in the meantime.
    #[error("{what} has changed in the meantime, so nothing was done")]
    Conflict {
        /// Which file or row.
        what: String,
    },
    /// A step that no change may take.
    #[error("{what}: {why}")]
    Refused {
        /// Which file or row.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file could not be read or written; on a full disk too.
    #[error("{what}: {source}; nothing was changed")]
    File {
        /// Which.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The database could not be read or written; on a full disk too.
    #[error("the database: {0}; nothing was changed")]
    Database(#[from] rusqlite::Error),
}

/// A change that is made but not yet final: it is put back when this is dropped, and stays when the transaction in which it was
/// made is committed by [`Store::transact`].
#[derive(Debug)]
pub struct Pending {
    swaps: Vec<(PathBuf, Swap)>,
    applied: Applied,
}

/// What remains to be done of a step.
enum State {
    Todo,
    Done,
}

impl Store {
    /// Makes a change: all of it, or nothing. A step that is done already is left as it is.
    ///
    /// # Errors
    /// If what is there is neither as it was nor as it is to be, or if it cannot be written.
    pub fn apply(&self, change: &Change) -> Result<Applied, ApplyError> {
        self.transact(|transaction| self.apply_in(transaction, change))
    }

    /// Finishes a change that a kill may have left half done: every step whose place is as before or as after is brought to after.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn repair(&self, change: &Change) -> Result<Applied, ApplyError> {
        self.apply(change)
    }

    /// Does `work` while no other process and no other thread changes anything, then makes it final.
    ///
    /// Inside of it the transaction is the only way to the database; the store's own reading functions would wait for ever.
    ///
    /// # Errors
    /// Those of `work`, and those of the database; everything is put back then.
    pub fn transact(
        &self,
        work: impl FnOnce(&Transaction) -> Result<Pending, ApplyError>,
    ) -> Result<Applied, ApplyError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let pending = work(&transaction)?;
        transaction.commit()?;
        Ok(pending.keep())
    }

    /// Writes rows that are no owner's data, while no other process and no other thread changes anything.
    pub(crate) fn with_rows<T>(&self, work: impl FnOnce(&Transaction) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let done = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        done().map_err(|source| self.database_error(source))
    }

    /// A row as it lies there inside of a transaction, `id` left out.
    pub(crate) fn row_in(
        &self,
        transaction: &Transaction,
        table: Table,
        id: &str,
    ) -> rusqlite::Result<Option<Map<String, Value>>> {
        database::get(transaction, table, id)
    }

    /// Reads rows.
    pub(crate) fn read_rows<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.connection();
        work(&connection).map_err(|source| self.database_error(source))
    }

    /// Makes a change inside of a transaction, so that other rows can be written with it.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn apply_in(&self, transaction: &Transaction, change: &Change) -> Result<Pending, ApplyError> {
        let mut todo = Vec::new();
        let mut places = HashSet::new();
        for op in &change.ops {
            let what = name(op);
            if !places.insert(what.clone()) {
                return Err(ApplyError::Refused { what, why: "named twice in one change".to_owned() });
            }
            match self.state(transaction, op, what)? {
                State::Todo => todo.push(op),
                State::Done => {}
            }
        }
        let applied = Applied { done: todo.len(), already: change.ops.len() - todo.len() };
        let mut pending = Pending { swaps: Vec::new(), applied };
        for op in &todo {
            self.stage(op, &mut pending)?;
        }
        for (path, swap) in &mut pending.swaps {
            swap.swap().map_err(|source| ApplyError::File { what: path.display().to_string(), source })?;
        }
        for op in &todo {
            if let Op::Row { table, id, after, .. } = op {
                database::put(transaction, *table, id, after.as_ref())?;
            }
        }
        Ok(pending)
    }

    /// Removes temporary files that a killed process left; whoever changes something now is waited for.
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        for place in [Place::Calendar, Place::Notes] {
            let root = self.root(place);
            let file_error = |source| StoreError::File { path: root.into(), source };
            if files::leftovers(root).map_err(file_error)?.is_empty() {
                continue;
            }
            let mut connection = self.connection();
            let lock = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let _lock = lock.map_err(|source| self.database_error(source))?;
            for path in files::leftovers(root).map_err(file_error)? {
                std::fs::remove_file(&path).map_err(|source| StoreError::File { path, source })?;
            }
        }
        Ok(())
    }

    fn state(&self, transaction: &Transaction, op: &Op, what: String) -> Result<State, ApplyError> {
        let (is_before, is_after) = match op {
            Op::File { place, path, before, after } => {
                let resolved = files::resolve(self.root(*place), path);
                let resolved = resolved.map_err(|why| ApplyError::Refused { what: what.clone(), why })?;
                let there = files::read(&resolved);
                let there = there.map_err(|source| ApplyError::File { what: what.clone(), source })?;
                let is = |text: &Option<String>| there.as_deref() == text.as_ref().map(|text| text.as_bytes());
                (is(before), is(after))
            }
            Op::Row { table, id, before, after } => {
                for row in [before, after].into_iter().flatten() {
                    let checked = database::check(*table, row);
                    checked.map_err(|why| ApplyError::Refused { what: what.clone(), why })?;
                }
                let there = database::get(transaction, *table, id)?;
                (there == *before, there == *after)
            }
        };
        match (is_before, is_after) {
            (_, true) => Ok(State::Done),
            (true, false) => Ok(State::Todo),
            (false, false) => Err(ApplyError::Conflict { what }),
        }
    }

    fn stage(&self, op: &Op, pending: &mut Pending) -> Result<(), ApplyError> {
        let Op::File { place, path, after, .. } = op else { return Ok(()) };
        let root = self.root(*place);
        let resolved = files::resolve(root, path).map_err(|why| ApplyError::Refused { what: name(op), why })?;
        let swap = Swap::stage(root, resolved, after.as_deref());
        let swap = swap.map_err(|source| ApplyError::File { what: name(op), source })?;
        pending.swaps.push((root.to_owned(), swap));
        Ok(())
    }
}

impl Pending {
    /// What was done.
    pub fn applied(&self) -> Applied {
        self.applied
    }

    fn keep(mut self) -> Applied {
        for (root, mut swap) in self.swaps.drain(..) {
            swap.keep(&root);
        }
        self.applied
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        for (_, swap) in self.swaps.iter_mut().rev() {
            swap.put_back();
        }
    }
}

/// What a step is about, for people.
fn name(op: &Op) -> String {
    match op {
        Op::File { place: Place::Calendar, path, .. } => format!("the calendar file `{path}`"),
        Op::File { place: Place::Notes, path, .. } => format!("the note `{path}`"),
        Op::Row { table, id, .. } => format!("`{id}` in the {}", table.name()),
    }
}
