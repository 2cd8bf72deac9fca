//! Bytes on disk: GGUF and safetensors, read and written, and the JSON files beside Hugging Face weights.
//!
//! Every file is taken for hostile: sizes are checked before anything is allocated, and an error names the file and the
//! field. This crate never decodes a value, fills in a default or knows what a tensor is for. Its main types are
//! [`Gguf`], [`SafeTensors`] and [`FormatError`].
//!
//! ```
//! use botpsy_format::SafeTensors;
//!
//! let header = br#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
//! let file = [&(header.len() as u64).to_le_bytes()[..], header, &[7, 9]].concat();
//! let tensors = SafeTensors::from_bytes(file.into(), "example")?;
//! assert_eq!(tensors.tensor("x")?.bytes(), [7, 9]);
//! assert_eq!(tensors.tensor("y").unwrap_err().to_string(), "example: tensor y: missing");
//! # Ok::<(), botpsy_format::FormatError>(())
//! ```

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
