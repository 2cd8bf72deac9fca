//! A file's bytes, wherever they live.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::{Mmap, Result};

/// The bytes of one file: mapped, embedded in the binary, or owned. Cheap to clone.
#[derive(Clone)]
pub struct FileBytes {
    source: Arc<Source>,
}

enum Source {
    Mapped(Mmap),
    Embedded(&'static [u8]),
    Owned(Vec<u8>),
}

impl FileBytes {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// As [`Mmap::open`].
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Source::Mapped(Mmap::open(path)?).into())
    }

    /// All bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &*self.source {
            Source::Mapped(map) => map.as_bytes(),
            Source::Embedded(bytes) => bytes,
            Source::Owned(bytes) => bytes,
        }
    }

    /// As [`Mmap::release`]; does nothing for bytes that are not mapped.
    pub fn release(&self, range: Range<usize>) {
        if let Source::Mapped(map) = &*self.source {
            map.release(range);
        }
    }
}

impl From<Source> for FileBytes {
    fn from(source: Source) -> Self {
        Self { source: Arc::new(source) }
    }
}

impl From<&'static [u8]> for FileBytes {
    fn from(bytes: &'static [u8]) -> Self {
        Source::Embedded(bytes).into()
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Source::Owned(bytes).into()
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &*self.source {
            Source::Mapped(_) => "mapped",
            Source::Embedded(_) => "embedded",
            Source::Owned(_) => "owned",
        };
        write!(f, "FileBytes({kind}, {} bytes)", self.as_bytes().len())
    }
}
