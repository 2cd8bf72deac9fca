//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{FormatError, Result};

/// A file that is written under its name with `.part` added and gets its own name when it is committed. Dropped without
/// that, it is removed.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    part: PathBuf,
    /// `None` once committed.
    out: Option<BufWriter<File>>,
}

impl PartFile {
    /// Begins the file that will stand at `path`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(path: &Path) -> Result<Self> {
        let part = path.with_added_extension("part");
        let file = File::create(&part).map_err(|source| FormatError::io(&part, source))?;
        Ok(Self { path: path.to_owned(), part, out: Some(BufWriter::with_capacity(1 << 16, file)) })
    }

    /// Waits until the bytes are on disk, then gives the file its name, replacing what stood there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn commit(mut self) -> Result<()> {
        let out = self.out.take().expect("only commit takes it");
        let commit = || {
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&self.part, &self.path)
        };
        commit().map_err(|source| {
            remove(&self.part);
            FormatError::io(&self.path, source)
        })
    }

    fn out(&mut self) -> &mut BufWriter<File> {
        self.out.as_mut().expect("commit takes the whole value")
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out().flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if self.out.take().is_some() {
            remove(&self.part);
        }
    }
}

/// What was begun is of no use; that it cannot be removed either adds nothing to what is already going wrong.
fn remove(part: &Path) {
    let _ = fs::remove_file(part);
}
