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
    /// A link is followed: the file that it leads to is the one to be replaced.
    ///
    /// # Errors
    /// If something other than a file stands there (a device, a folder), or the system refuses.
    pub fn create(path: &Path) -> Result<Self> {
        let io = |source| FormatError::io(path, source);
        let path = match fs::metadata(path) {
            Ok(target) if !target.is_file() => {
                return Err(FormatError::malformed(
                    &path.display().to_string(),
                    "output",
                    "is there and is no regular file",
                ));
            }
            Ok(_) => fs::canonicalize(path).map_err(io)?,
            Err(_) => path.to_owned(),
        };
        let part = path.with_added_extension("part");
        let file = File::create(&part).map_err(|source| FormatError::io(&path, source))?;
        Ok(Self { path, part, out: Some(BufWriter::with_capacity(1 << 16, file)) })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_or_a_folder_is_not_replaced() {
        for path in ["/dev/null", "/"] {
            let error = PartFile::create(Path::new(path)).expect_err("no regular file");
            assert_eq!(error.to_string(), format!("{path}: output: is there and is no regular file"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = std::env::temp_dir().join(format!("botpsy-part-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut part = PartFile::create(&link).unwrap();
        part.write_all(b"new").unwrap();
        part.commit().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::remove_dir_all(&folder).unwrap();
    }
}
