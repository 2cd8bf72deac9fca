//! A process that works on the data: a file that it holds a lock on as long as it lives.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store::{StoreError, new_id};

/// The folder of such files, in the data folder.
const FOLDER: &str = "runs";

/// Between making a file and locking it no more time passes than this.
const YOUNG: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Run {
    id: String,
    path: PathBuf,
    /// The lock ends when it is closed, by us or by a kill.
    _file: File,
}

impl Run {
    pub(super) fn start(data: &Path) -> Result<Run, StoreError> {
        let folder = data.join(FOLDER);
        let failed = |path: &Path, source| StoreError::File { path: path.into(), source };
        fs::create_dir_all(&folder).map_err(|source| failed(&folder, source))?;
        let id = new_id("r-");
        let path = folder.join(&id);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|source| failed(&path, source))?;
        file.lock().map_err(|source| failed(&path, source))?;
        Ok(Run { id, path, _file: file })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // What remains of it tells nothing: its lock is gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a run still lives. The file of a dead one is removed.
pub(super) fn is_alive(data: &Path, id: &str) -> io::Result<bool> {
    let path = data.join(FOLDER).join(id);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(false),
        },
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the files of runs that ended without anybody noticing. Young ones stay: a run makes its file before it locks it.
pub(super) fn sweep(data: &Path) -> io::Result<()> {
    for entry in fs::read_dir(data.join(FOLDER))? {
        let entry = entry?;
        let is_old = |made: SystemTime| made.elapsed().is_ok_and(|age| age > YOUNG);
        // What another process has just removed is gone.
        let is_old = entry.metadata().and_then(|about| about.modified()).is_ok_and(is_old);
        if let Some(name) = entry.file_name().to_str().filter(|_| is_old) {
            is_alive(data, name)?;
        }
    }
    Ok(())
}
