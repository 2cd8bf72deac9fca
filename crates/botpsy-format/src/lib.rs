//! Bytes on disk.
mod bytes;
mod error;
pub mod gguf;
mod hf;
mod json;
mod mmap;
mod part_file;
pub mod safetensors;

pub use bytes::FileBytes;
pub use error::{FormatError, Result};
pub use gguf::{Gguf, GgufArray, GgufData, GgufTensor, GgufValue, GgufWriter, StringArray};
pub use hf::{GenerationConfig, HfConfig, TokenizerConfig, TokenizerEntry, TokenizerFile};
pub use mmap::Mmap;
pub use part_file::PartFile;
pub use safetensors::{SafeTensor, SafeTensors};
