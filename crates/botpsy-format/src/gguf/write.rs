//! Writing GGUF, version 3.

use std::io::Write;
use std::path::Path;

use botpsy_tensor::DType;

use super::metadata::Metadata;
use super::value::{GgufArray, GgufValue};
use super::{GgufTensor, read, type_id};
use crate::{FormatError, PartFile, Result};

/// A GGUF file to be: its metadata and the tensors it will hold, both in the order in which they are written.
///
/// ```
/// use botpsy_format::{Gguf, GgufValue, GgufWriter};
/// use botpsy_tensor::DType;
///
/// let mut writer = GgufWriter::new("small.gguf");
/// writer.insert("general.architecture", GgufValue::String("qwen35".into()))?;
/// writer.tensor("scale", DType::F32, &[1])?;
/// let mut data = writer.begin(Vec::new())?;
/// data.write(&1.5f32.to_le_bytes())?;
/// let gguf = Gguf::from_bytes(data.finish()?.into(), "small.gguf")?;
/// assert_eq!(gguf.tensor("scale")?.bytes(), 1.5f32.to_le_bytes());
/// # Ok::<(), botpsy_format::FormatError>(())
/// ```
#[derive(Debug)]
pub struct GgufWriter {
    file: String,
    metadata: Metadata,
    tensors: Vec<NewTensor>,
}

#[derive(Debug)]
struct NewTensor {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    size: u64,
}

impl GgufWriter {
    /// Nothing yet; `label` names the file in errors.
    pub fn new(label: &str) -> Self {
        Self { file: label.to_owned(), metadata: Metadata::new(label), tensors: Vec::new() }
    }

    /// Appends a metadata entry. `general.alignment` sets the alignment of the tensors, which else is 32.
    ///
    /// # Errors
    /// If the key was used before.
    pub fn insert(&mut self, key: &str, value: GgufValue) -> Result<()> {
        self.metadata.insert(key.to_owned(), value)
    }

    /// Appends a tensor; `shape` is outermost first.
    ///
    /// # Errors
    /// If a row is not whole blocks or the size overflows.
    pub fn tensor(&mut self, name: &str, dtype: DType, shape: &[usize]) -> Result<()> {
        let size = read::size(&self.file, &format_args!("tensor {name}"), dtype, shape)?;
        self.tensors.push(NewTensor { name: name.to_owned(), dtype, shape: shape.to_vec(), size });
        Ok(())
    }

    /// Writes the header to `out`. The tensors' bytes follow through the value returned.
    ///
    /// # Errors
    /// If `out` refuses, GGUF has no such tensor type, or our reader would refuse the header.
    pub fn begin<W: Write>(self, mut out: W) -> Result<GgufData<W>> {
        let alignment = read::alignment(&self.file, &self.metadata)?;
        let (header, file_len) = self.header(alignment as u64)?;
        // One set of rules: what we write is what we read.
        let tensors = read::header(&self.file, &header, file_len)?.tensors;
        let written = out.write_all(&header);
        written.map_err(|source| FormatError::Io { file: self.file.clone(), source })?;
        Ok(GgufData { file: self.file, out, alignment, tensors, current: 0, written: 0 })
    }

    /// As [`begin`](Self::begin), to the file at `path`, which appears under its name only when what
    /// [`finish`](GgufData::finish) returns is committed.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn create(self, path: &Path) -> Result<GgufData<PartFile>> {
        self.begin(PartFile::create(path)?)
    }

    /// The header's bytes, padded to where the data starts, and the length of the whole file.
    fn header(&self, alignment: u64) -> Result<(Vec<u8>, u64)> {
        let mut bytes = Vec::from(*b"GGUF\x03\0\0\0");
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in self.metadata.iter() {
            put_string(&mut bytes, key);
            put_value(&mut bytes, value);
        }
        let mut offset = 0u64;
        for tensor in &self.tensors {
            let NewTensor { name, dtype, shape, size } = tensor;
            put_string(&mut bytes, name);
            bytes.extend((shape.len() as u32).to_le_bytes());
            bytes.extend(shape.iter().rev().flat_map(|&dim| (dim as u64).to_le_bytes()));
            let type_id = dtype.ggml_id().ok_or_else(|| FormatError::UnsupportedDType {
                file: self.file.clone(),
                tensor: name.clone(),
                dtype: dtype.name().to_owned(),
            })?;
            bytes.extend(type_id.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            let end = offset.checked_add(*size).and_then(|end| end.checked_next_multiple_of(alignment));
            offset = end.ok_or_else(|| {
                FormatError::malformed(&self.file, format_args!("tensor {name}"), "ends beyond any file")
            })?;
        }
        bytes.resize(bytes.len().next_multiple_of(alignment as usize), 0);
        let file_len = offset.saturating_add(bytes.len() as u64);
        Ok((bytes, file_len))
    }
}

fn put_string(bytes: &mut Vec<u8>, string: &str) {
    bytes.extend((string.len() as u64).to_le_bytes());
    bytes.extend(string.as_bytes());
}

fn put_value(bytes: &mut Vec<u8>, value: &GgufValue) {
    let mut put = |type_id: u32, value: &[u8]| {
        bytes.extend(type_id.to_le_bytes());
        bytes.extend(value);
    };
    match value {
        GgufValue::U8(x) => put(type_id::U8, &x.to_le_bytes()),
        GgufValue::I8(x) => put(type_id::I8, &x.to_le_bytes()),
        GgufValue::U16(x) => put(type_id::U16, &x.to_le_bytes()),
        GgufValue::I16(x) => put(type_id::I16, &x.to_le_bytes()),
        GgufValue::U32(x) => put(type_id::U32, &x.to_le_bytes()),
        GgufValue::I32(x) => put(type_id::I32, &x.to_le_bytes()),
        GgufValue::F32(x) => put(type_id::F32, &x.to_le_bytes()),
        GgufValue::Bool(x) => put(type_id::BOOL, &[u8::from(*x)]),
        GgufValue::U64(x) => put(type_id::U64, &x.to_le_bytes()),
        GgufValue::I64(x) => put(type_id::I64, &x.to_le_bytes()),
        GgufValue::F64(x) => put(type_id::F64, &x.to_le_bytes()),
        GgufValue::String(x) => {
            put(type_id::STRING, &[]);
            put_string(bytes, x);
        }
        GgufValue::Array(x) => {
            put(type_id::ARRAY, &[]);
            put_array(bytes, x);
        }
    }
}

fn put_array(bytes: &mut Vec<u8>, array: &GgufArray) {
    let type_id = match array {
        GgufArray::U8(_) => type_id::U8,
        GgufArray::I8(_) => type_id::I8,
        GgufArray::U16(_) => type_id::U16,
        GgufArray::I16(_) => type_id::I16,
        GgufArray::U32(_) => type_id::U32,
        GgufArray::I32(_) => type_id::I32,
        GgufArray::F32(_) => type_id::F32,
        GgufArray::Bool(_) => type_id::BOOL,
        GgufArray::String(_) => type_id::STRING,
        GgufArray::U64(_) => type_id::U64,
        GgufArray::I64(_) => type_id::I64,
        GgufArray::F64(_) => type_id::F64,
    };
    bytes.extend(type_id.to_le_bytes());
    bytes.extend((array.len() as u64).to_le_bytes());
    match array {
        GgufArray::U8(x) => bytes.extend(x),
        GgufArray::I8(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::U16(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::I16(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::U32(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::I32(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::F32(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::Bool(x) => bytes.extend(x.iter().map(|&x| u8::from(x))),
        GgufArray::String(x) => x.iter().for_each(|string| put_string(bytes, string)),
        GgufArray::U64(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::I64(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
        GgufArray::F64(x) => bytes.extend(x.iter().flat_map(|x| x.to_le_bytes())),
    }
}

/// The tensor data of a file that is being written: all tensors' bytes, in the order in which they were announced.
#[derive(Debug)]
pub struct GgufData<W> {
    file: String,
    out: W,
    alignment: usize,
    tensors: Vec<GgufTensor>,
    /// The tensor whose bytes come next, and how many of them are out.
    current: usize,
    written: usize,
}

impl<W: Write> GgufData<W> {
    /// The next bytes of the current tensor: all of it or a piece, but nothing of the tensor after it.
    ///
    /// # Errors
    /// If these are more bytes than the tensor has, or the writer refuses.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let left = self.tensors.get(self.current).map_or(0, |tensor| tensor.range.len() - self.written);
        if bytes.len() > left {
            let name = self.tensors.get(self.current).map_or("(after the last)", GgufTensor::name);
            let problem = format!("{left} bytes are left to write, found {}", bytes.len());
            return Err(FormatError::malformed(&self.file, format_args!("tensor {name}"), problem));
        }
        self.put(bytes)?;
        self.written += bytes.len();
        if bytes.len() == left && left > 0 {
            let len = self.written;
            self.put(&vec![0; len.next_multiple_of(self.alignment) - len])?;
            (self.current, self.written) = (self.current + 1, 0);
        }
        Ok(())
    }

    /// Ends the file and gives the writer back.
    ///
    /// # Errors
    /// If bytes are missing, or the writer refuses.
    pub fn finish(mut self) -> Result<W> {
        if let Some(tensor) = self.tensors.get(self.current) {
            let missing = tensor.range.len() - self.written;
            let problem = format!("{missing} bytes were not written");
            return Err(FormatError::malformed(&self.file, format_args!("tensor {}", tensor.name), problem));
        }
        let flushed = self.out.flush();
        flushed.map_err(|source| FormatError::Io { file: self.file, source })?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|source| FormatError::Io { file: self.file.clone(), source })
    }
}
