//! The owner's data on disk, and the one way to change it.
//!
//! A change is planned as a list of [`Op`]s, each with what is there before and what is there afterwards. So a preview, the change
//! itself, what repairs it after a kill, and undo are the same list, read in different ways.
//!
//! | what | where |
//! | --- | --- |
//! | alarms, timers, reminders; what is remembered | `botpsy.db` (SQLite) in the data folder |
//! | events | one `.ics` file each in the calendar folder, as vdirsyncer and khal keep them |
//! | notes and lists | Markdown files in the notes folder |

mod apply;
mod calendar;
mod change;
mod database;
mod files;
pub mod ics;
mod import;
mod notes;
mod rows;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

pub use apply::{Applied, ApplyError, Pending};
pub use calendar::{Agenda, Broken, StoredEvent};
pub use change::{Change, Op, Place, Table};
pub use import::Import;
pub use notes::Note;
pub use rows::{Memory, Reminder, ReminderKind, ReminderState};
pub(crate) use words::has_words;
pub use words::{new_id, normalize};

/// The owner's data: a database, a folder of events, a folder of notes.
#[derive(Debug)]
pub struct Store {
    /// Locked while it is read from or written to; the lock between processes is SQLite's.
    connection: Mutex<Connection>,
    folders: Folders,
}

/// Where the owner's data lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The database, and what else only this program reads.
    pub data: PathBuf,
    /// Events.
    pub calendar: PathBuf,
    /// Notes and lists.
    pub notes: PathBuf,
}

/// Why the owner's data cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or folder.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database.
    #[error("{}: {source}", path.display())]
    Database {
        /// Its file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The database was written by a later version of this program.
    #[error("{}: version {found} of the data, this program knows up to {known}", path.display())]
    Later {
        /// Its file.
        path: PathBuf,
        /// The version that it has.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
}

impl Store {
    /// Opens what lies in `folders`; what is not there is made, for the owner's eyes only.
    ///
    /// # Errors
    /// If a folder or the database cannot be made, opened or brought to this version.
    pub fn open(folders: Folders) -> Result<Store, StoreError> {
        let make =
            |path: &Path| files::make_folder(path).map_err(|source| StoreError::File { path: path.into(), source });
        let [data, calendar, notes] = [&folders.data, &folders.calendar, &folders.notes].map(|path| make(path));
        let folders = Folders { data: data?, calendar: calendar?, notes: notes? };
        let connection = Mutex::new(database::open(&folders.data.join("botpsy.db"))?);
        let store = Store { connection, folders };
        store.sweep()?;
        Ok(store)
    }

    /// Where it lies, with links resolved.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Reads the whole database and looks whether it is sound: what is wrong, in words, and the version of the data.
    ///
    /// # Errors
    /// If it cannot be read at all.
    pub fn check(&self) -> Result<(Vec<String>, i64), StoreError> {
        self.read_rows(|connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            let mut wrong = rows.collect::<rusqlite::Result<Vec<String>>>()?;
            wrong.retain(|line| line != "ok");
            Ok((wrong, connection.pragma_query_value(None, "user_version", |row| row.get(0))?))
        })
    }

    fn root(&self, place: Place) -> &Path {
        match place {
            Place::Calendar => &self.folders.calendar,
            Place::Notes => &self.folders.notes,
        }
    }

    /// A panic elsewhere leaves no half-done work behind: an open transaction is rolled back when it is dropped.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn database_error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.folders.data.join("botpsy.db"), source }
    }
}
