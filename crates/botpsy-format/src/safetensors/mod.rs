//! Safetensors: one file, or a folder of shards with an index.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | length of the header, u64 little endian |
//! | header | JSON: per tensor `{"dtype","shape","data_offsets":[from, to]}`, and `__metadata__` with strings |
//! | data | tensors at their offsets from here, without gaps |

mod header;
mod index;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use botpsy_tensor::{DType, TensorView};

pub use write::{NewTensor, write_file, write_sharded};

use crate::{FileBytes, FormatError, Result};

/// What is read at most.
mod limit {
    pub(super) const HEADER_BYTES: u64 = 100 << 20;
    pub(super) const TENSORS: usize = 65_535;
    pub(super) const METADATA: usize = 65_535;
    pub(super) const NAME_BYTES: usize = 256;
    /// A video's convolution has five.
    pub(super) const DIMS: usize = 8;
}

/// The one file of a folder without an index.
const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Open safetensors, from one file or from all shards of a folder.
pub struct SafeTensors {
    file: String,
    shards: Vec<FileBytes>,
    metadata: Vec<(String, String)>,
    tensors: Vec<SafeTensor>,
    index: HashMap<String, usize>,
}

/// One tensor's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeTensor {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    shard: usize,
    range: Range<usize>,
}

impl SafeTensor {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Dimensions, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Length of its bytes.
    pub fn size_bytes(&self) -> usize {
        self.range.len()
    }
}

impl SafeTensors {
    /// Opens a file, or a folder that holds `model.safetensors` or else `model.safetensors.index.json`.
    ///
    /// # Errors
    /// If a file cannot be mapped, breaks a rule of the format or a limit, or holds a tensor of an unknown type.
    pub fn open(path: &Path) -> Result<Self> {
        let file = path.display().to_string();
        if !path.is_dir() {
            return Self::from_bytes(FileBytes::open(path)?, &file);
        }
        let (single, index) = (path.join(SINGLE), path.join(INDEX));
        if single.exists() || !index.exists() {
            return Ok(Self { file, ..Self::open(&single)? });
        }
        let mut all = Self::empty(file);
        let weight_map = index::read(&index)?;
        for shard in weight_map.shards() {
            let path = path.join(shard);
            all.add(FileBytes::open(&path)?, &path.display().to_string())?;
        }
        weight_map.check(&all)?;
        Ok(all)
    }

    /// Reads the header of `bytes`; `label` stands for the file's name in errors.
    ///
    /// # Errors
    /// As [`SafeTensors::open`].
    pub fn from_bytes(bytes: FileBytes, label: &str) -> Result<Self> {
        let mut one = Self::empty(label.to_owned());
        one.add(bytes, label)?;
        Ok(one)
    }

    fn empty(file: String) -> Self {
        Self { file, shards: Vec::new(), metadata: Vec::new(), tensors: Vec::new(), index: HashMap::new() }
    }

    fn add(&mut self, bytes: FileBytes, label: &str) -> Result<()> {
        let header = header::read(label, bytes.as_bytes())?;
        let shard = self.shards.len();
        for entry in header.entries {
            let at = self.tensors.len();
            if self.index.insert(entry.name.clone(), at).is_some() {
                return Err(FormatError::malformed(label, format!("tensor {}", entry.name), "stands in two shards"));
            }
            let header::Entry { name, dtype, shape, range } = entry;
            self.tensors.push(SafeTensor { name, dtype, shape, shard, range });
        }
        self.metadata.extend(header.metadata);
        self.shards.push(bytes);
        Ok(())
    }

    /// The file or folder, as errors show it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The strings of `__metadata__`.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// All tensors, in the files' order.
    pub fn tensors(&self) -> &[SafeTensor] {
        &self.tensors
    }

    /// The place of the tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<&SafeTensor> {
        self.index.get(name).map(|&i| &self.tensors[i])
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'_>> {
        let missing = || FormatError::MissingTensor { file: self.file.clone(), name: name.to_owned() };
        let tensor = self.find(name).ok_or_else(missing)?;
        let bytes = &self.shards[tensor.shard].as_bytes()[tensor.range.clone()];
        TensorView::new(tensor.dtype, tensor.shape.clone(), bytes).map_err(|source| FormatError::Tensor {
            file: self.file.clone(),
            tensor: name.to_owned(),
            source,
        })
    }

    /// Lets the system take back the pages of this tensor, once its values have been copied out. Views stay valid.
    pub fn release(&self, name: &str) {
        if let Some(tensor) = self.find(name) {
            self.shards[tensor.shard].release(tensor.range.clone());
        }
    }
}

impl fmt::Debug for SafeTensors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafeTensors({}, {} shards, {} tensors)", self.file, self.shards.len(), self.tensors.len())
    }
}

/// The name of a dtype in safetensors, for those that have one.
fn dtype_name(dtype: DType) -> Option<&'static str> {
    DTYPES.iter().find(|(_, d)| *d == dtype).map(|(name, _)| *name)
}

const DTYPES: [(&str, DType); 10] = [
    ("F64", DType::F64),
    ("F32", DType::F32),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("I64", DType::I64),
    ("I32", DType::I32),
    ("I16", DType::I16),
    ("I8", DType::I8),
    ("U8", DType::U8),
    ("BOOL", DType::Bool),
];
