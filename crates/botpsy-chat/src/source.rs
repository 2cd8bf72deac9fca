//! Where a model comes from.

use std::path::PathBuf;

use botpsy_format::FileBytes;
use botpsy_model::Checkpoint;

use crate::ChatError;

/// Where a model comes from.
#[derive(Clone, Debug)]
pub enum ModelSource {
    /// A GGUF file, or a folder with safetensors.
    Path(PathBuf),
    /// A GGUF file inside the program; the label names it.
    Embedded(&'static [u8], &'static str),
}

impl ModelSource {
    /// Opens it without loading any weights.
    ///
    /// # Errors
    /// If it cannot be read or is no checkpoint.
    pub fn open(&self) -> Result<Checkpoint, ChatError> {
        Ok(match self {
            ModelSource::Path(path) => Checkpoint::open(path)?,
            ModelSource::Embedded(bytes, label) => Checkpoint::from_bytes(FileBytes::from(*bytes), label)?,
        })
    }
}
