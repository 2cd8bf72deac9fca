//! What can be wrong with a file.

use std::io;
use std::path::Path;

use botpsy_tensor::TensorError;

/// A file that cannot be read or written, or does not say what its format promises. Every message names the file, and the
/// field, key or tensor where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The operating system refused.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A declared length reaches past the end.
    #[error("{file}: {field}: needs {needed} bytes, {left} are left")]
    Truncated {
        /// The file.
        file: String,
        /// What was being read.
        field: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are there.
        left: u64,
    },
    /// A number above what we accept.
    #[error("{file}: {field}: at most {limit} accepted, found {found}")]
    Limit {
        /// The file.
        file: String,
        /// What is limited.
        field: String,
        /// The limit.
        limit: u64,
        /// What the file holds.
        found: u64,
    },
    /// Anything else that the format forbids.
    #[error("{file}: {field}: {problem}")]
    Malformed {
        /// The file.
        file: String,
        /// Where in the file.
        field: String,
        /// What is wrong, with what was expected and what was found.
        problem: String,
    },
    /// A value of another type than the reader needs.
    #[error("{file}: {key}: expected {expected}, found {found}")]
    WrongType {
        /// The file.
        file: String,
        /// Key or path of the field.
        key: String,
        /// The type that is needed.
        expected: &'static str,
        /// What the file holds.
        found: String,
    },
    /// A key that is not there.
    #[error("{file}: {key}: missing, expected {expected}")]
    MissingKey {
        /// The file.
        file: String,
        /// Key or path of the field.
        key: String,
        /// The type that is needed.
        expected: &'static str,
    },
    /// A tensor that is not there.
    #[error("{file}: tensor {name}: missing")]
    MissingTensor {
        /// The file.
        file: String,
        /// Name of the tensor.
        name: String,
    },
    /// A tensor of a type that we do not decode.
    #[error("{file}: tensor {tensor}: type {dtype} is not supported")]
    UnsupportedDType {
        /// The file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// The type's name or number.
        dtype: String,
    },
    /// A tensor whose type, shape and bytes disagree.
    #[error("{file}: tensor {tensor}: {source}")]
    Tensor {
        /// The file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// What disagrees.
        source: TensorError,
    },
    /// Text that is not the JSON we expect.
    #[error("{file}: {source}")]
    Json {
        /// The file.
        file: String,
        /// What the parser said, with line and column.
        source: serde_json::Error,
    },
}

impl FormatError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { file: path.display().to_string(), source }
    }

    pub(crate) fn malformed(file: &str, field: impl ToString, problem: impl ToString) -> Self {
        Self::Malformed { file: file.to_owned(), field: field.to_string(), problem: problem.to_string() }
    }

    /// `Err` if `found` is above `limit`.
    pub(crate) fn check_limit(file: &str, field: impl ToString, limit: u64, found: u64) -> Result<(), Self> {
        if found <= limit {
            return Ok(());
        }
        Err(Self::Limit { file: file.to_owned(), field: field.to_string(), limit, found })
    }
}

/// Results of this crate.
pub type Result<T, E = FormatError> = std::result::Result<T, E>;
