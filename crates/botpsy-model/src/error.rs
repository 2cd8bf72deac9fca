//! What can be wrong with a model.

use botpsy_format::FormatError;
use botpsy_tensor::TensorError;

/// An error from loading or running a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file itself is wrong.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A tensor's bytes cannot be decoded.
    #[error("{file}: tensor {tensor}: {source}")]
    Tensor {
        /// The file.
        file: String,
        /// Name of the tensor in it.
        tensor: String,
        /// What is wrong.
        source: TensorError,
    },
    /// The file is sound but holds another kind of model.
    #[error("{file}: {field} is `{found}`; this program runs `{expected}`")]
    Architecture {
        /// The file.
        file: String,
        /// The key or field that says so.
        field: &'static str,
        /// What this program runs.
        expected: &'static str,
        /// What the file says.
        found: String,
    },
    /// A size is missing, out of range or at odds with another.
    #[error("{file}: {field}: {problem}")]
    Config {
        /// The file.
        file: String,
        /// The key or field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A tensor is not there.
    #[error("{file}: tensor {tensor} is missing")]
    MissingTensor {
        /// The file.
        file: String,
        /// Name of the tensor in it.
        tensor: String,
    },
    /// A tensor's shape is not the one that the sizes call for.
    #[error("{file}: tensor {tensor}: expected {expected:?}, found {found:?}")]
    Shape {
        /// The file.
        file: String,
        /// Name of the tensor in it.
        tensor: String,
        /// Dimensions by the model's sizes, outermost first.
        expected: Vec<usize>,
        /// Dimensions in the file, outermost first.
        found: Vec<usize>,
    },
    /// A token id that the vocabulary does not have.
    #[error("token id {id} is not in the vocabulary of {vocab_size}")]
    Token {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocab_size: usize,
    },
}
