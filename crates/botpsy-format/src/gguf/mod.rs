//! GGUF, versions 2 and 3, little endian: metadata, tensor infos, aligned tensor data.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `GGUF` |
//! | 4 | version, u32 |
//! | 8, 8 | tensor count, metadata count, u64 |
//! | per entry | key (u64 length, bytes), value type (u32), value; an array is item type (u32), count (u64), items |
//! | per tensor | name (u64 length, bytes), dimension count (u32), dimensions innermost first (u64), type (u32), offset (u64) |
//! | padding | to the alignment (`general.alignment`, else 32) |
//! | data | each tensor at its offset from here |

mod cursor;
mod metadata;
mod read;
mod value;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use botpsy_tensor::{DType, TensorView};

pub use metadata::Metadata;
pub use value::{FromGguf, GgufArray, GgufValue, StringArray};
pub use write::{GgufData, GgufWriter};

use crate::{FileBytes, FormatError, Result};

/// The metadata key of the alignment.
const ALIGNMENT_KEY: &str = "general.alignment";
/// The alignment of a file that names none.
const DEFAULT_ALIGNMENT: usize = 32;

/// What we accept. Real files stay far below; the limits keep a hostile one from costing memory.
mod limit {
    pub(super) const TENSORS: u64 = 65_535;
    pub(super) const KEYS: u64 = 65_535;
    pub(super) const KEY_BYTES: u64 = 256;
    pub(super) const NAME_BYTES: u64 = 256;
    pub(super) const DIMS: u64 = 4;
    /// One string: the longest in use are chat templates.
    pub(super) const STRING_BYTES: u64 = 1 << 20;
    /// One array: the longest in use are vocabularies and merges.
    pub(super) const ARRAY_BYTES: u64 = 64 << 20;
    pub(super) const ALIGNMENT: usize = 1 << 16;
}

/// Numbers of the value types.
mod type_id {
    pub(super) const U8: u32 = 0;
    pub(super) const I8: u32 = 1;
    pub(super) const U16: u32 = 2;
    pub(super) const I16: u32 = 3;
    pub(super) const U32: u32 = 4;
    pub(super) const I32: u32 = 5;
    pub(super) const F32: u32 = 6;
    pub(super) const BOOL: u32 = 7;
    pub(super) const STRING: u32 = 8;
    pub(super) const ARRAY: u32 = 9;
    pub(super) const U64: u32 = 10;
    pub(super) const I64: u32 = 11;
    pub(super) const F64: u32 = 12;
}

/// An open GGUF file whose header has been read and whose tensors are proven to lie inside it.
pub struct Gguf {
    file: String,
    bytes: FileBytes,
    version: u32,
    alignment: usize,
    metadata: Metadata,
    tensors: Vec<GgufTensor>,
    index: HashMap<String, usize>,
}

/// One tensor's place in a GGUF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgufTensor {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    range: Range<usize>,
}

impl GgufTensor {
    /// The file's name for it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Dimensions, outermost first (the file lists them innermost first).
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its bytes' place in the file.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

impl Gguf {
    /// Maps the file at `path` and reads its header.
    ///
    /// # Errors
    /// If the file cannot be mapped, is not GGUF v2 or v3, breaks a rule of the format or a limit, or holds a tensor of a
    /// type that is not decoded; the message names the field.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_bytes(FileBytes::open(path)?, &path.display().to_string())
    }

    /// Reads the header of `bytes`; `label` stands for the file's name in errors.
    ///
    /// # Errors
    /// As [`Gguf::open`].
    pub fn from_bytes(bytes: FileBytes, label: &str) -> Result<Self> {
        let header = read::header(label, bytes.as_bytes(), bytes.as_bytes().len() as u64)?;
        let index = header.tensors.iter().enumerate().map(|(i, tensor)| (tensor.name.clone(), i)).collect();
        Ok(Self {
            file: label.to_owned(),
            bytes,
            version: header.version,
            alignment: header.alignment,
            metadata: header.metadata,
            tensors: header.tensors,
            index,
        })
    }

    /// The file's name, as errors show it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Alignment of tensor data, in bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Keys and values.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors, in the file's order.
    pub fn tensors(&self) -> &[GgufTensor] {
        &self.tensors
    }

    /// The place of the tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<&GgufTensor> {
        self.index.get(name).map(|&i| &self.tensors[i])
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'_>> {
        let missing = || FormatError::MissingTensor { file: self.file.clone(), name: name.to_owned() };
        let tensor = self.find(name).ok_or_else(missing)?;
        let bytes = &self.bytes.as_bytes()[tensor.range()];
        TensorView::new(tensor.dtype, tensor.shape.clone(), bytes).map_err(|source| FormatError::Tensor {
            file: self.file.clone(),
            tensor: name.to_owned(),
            source,
        })
    }

    /// Lets the system take back the pages of this tensor, once its values have been copied out. Views stay valid.
    pub fn release(&self, name: &str) {
        if let Some(tensor) = self.find(name) {
            self.bytes.release(tensor.range());
        }
    }
}

impl fmt::Debug for Gguf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gguf({}, {} keys, {} tensors)", self.file, self.metadata.len(), self.tensors.len())
    }
}
