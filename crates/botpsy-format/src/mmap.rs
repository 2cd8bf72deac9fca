//! A file as memory.
#![allow(unsafe_code, reason = "mapping a file is unsafe: its bytes are another process's to change")]

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::{FormatError, Result};

/// A read-only mapping of a whole file.
///
/// Whoever truncates the file meanwhile ends this process with SIGBUS; replacing it (write, then rename), as our writers
/// do, is harmless.
#[derive(Debug)]
pub struct Mmap {
    map: memmap2::Mmap,
}

impl Mmap {
    /// Maps the regular file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened or mapped, or is a folder, a pipe or a device.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| FormatError::io(path, source);
        // Asked before opening: opening a pipe would wait for a writer.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the mapping is read-only and private to this value; every length is checked against the mapped length
        // before use and no reader assumes that two looks at a byte agree. Truncation by others is documented above.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(Self { map })
    }

    /// The file's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.map
    }

    /// Tells the system that the whole pages inside `range` will not be read again soon, so that they leave this process's
    /// resident set. Reading them again is allowed and fetches them anew. Does nothing outside Linux.
    ///
    /// For loaders that copy weights out piece by piece.
    ///
    /// # Panics
    /// If `range` is not inside the file.
    pub fn release(&self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.map.len(), "{range:?} of {} bytes", self.map.len());
        #[cfg(target_os = "linux")]
        {
            const PAGE: usize = 4096;
            let (start, end) = (range.start.next_multiple_of(PAGE), range.end / PAGE * PAGE);
            if start < end {
                // SAFETY: the mapping is read-only and backed by a file, so dropped pages come back with the same bytes.
                let advised =
                    unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
                // Advice that is refused only costs memory.
                drop(advised);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_pages_read_the_same_again() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/reference/tiny-heads/imatrix.gguf"));
        let map = Mmap::open(path).unwrap();
        let before = map.as_bytes().to_vec();
        map.release(100..before.len());
        map.release(5..5);
        assert_eq!(map.as_bytes(), before);
        assert_eq!(before, fs::read(path).unwrap());
    }

    #[test]
    fn a_folder_is_refused() {
        let error = Mmap::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err().to_string();
        assert_eq!(error, concat!(env!("CARGO_MANIFEST_DIR"), ": not a regular file"));
    }
}
