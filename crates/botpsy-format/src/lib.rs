//! Bytes on disk.
mod bytes;
mod error;
pub mod gguf;
mod hf;
mod mmap;
pub mod safetensors;

pub use bytes::FileBytes;
pub use error::{FormatError, Result};
pub use gguf::{Gguf, GgufArray, GgufTensor, GgufValue, StringArray};
pub use hf::{GenerationConfig, HfConfig, TokenizerConfig, TokenizerEntry, TokenizerFile};
pub use mmap::Mmap;
pub use safetensors::{SafeTensor, SafeTensors};
