//! The header of a GGUF file: counts, metadata, tensor infos.
//!
//! Declared counts are loop bounds, never allocation sizes: each round reads at least one byte, so a lie ends at the end
//! of the file.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::Range;

use botpsy_tensor::DType;

use super::cursor::Cursor;
use super::metadata::Metadata;
use super::value::{GgufArray, GgufValue, StringArray};
use super::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, GgufTensor, limit, type_id};
use crate::{FormatError, Result};

/// What stands before the tensor data.
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) alignment: usize,
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<GgufTensor>,
}

/// Reads and checks the header at the start of `bytes`; every tensor's range is proven to lie inside a file of `file_len`
/// bytes.
pub(super) fn header(file: &str, bytes: &[u8], file_len: u64) -> Result<Header> {
    let cursor = &mut Cursor::new(file, bytes);
    let version = version(cursor)?;
    let n_tensors = cursor.u64(&"tensor count")?;
    FormatError::check_limit(file, "tensor count", limit::TENSORS, n_tensors)?;
    let n_keys = cursor.u64(&"metadata count")?;
    FormatError::check_limit(file, "metadata count", limit::KEYS, n_keys)?;

    let mut metadata = Metadata::new(file);
    for i in 0..n_keys {
        let key = cursor.name(limit::KEY_BYTES, &format_args!("metadata key {i}"))?;
        let field = format_args!("metadata {key}");
        let kind = cursor.u32(&field)?;
        metadata.insert(key.to_owned(), value(cursor, kind, &field)?)?;
    }
    let alignment = alignment(file, &metadata)?;
    let tensors = tensors(cursor, n_tensors, alignment, file_len)?;
    Ok(Header { version, alignment, metadata, tensors })
}

fn version(cursor: &mut Cursor<'_>) -> Result<u32> {
    let magic: [u8; 4] = cursor.array(&"magic")?;
    if magic != *b"GGUF" {
        let found = magic.escape_ascii();
        return Err(FormatError::malformed(cursor.file, "magic", format_args!("expected GGUF, found {found}")));
    }
    match cursor.u32(&"version")? {
        version @ (2 | 3) => Ok(version),
        version if matches!(version.swap_bytes(), 1..=3) => {
            Err(FormatError::malformed(cursor.file, "version", "the file is big-endian; only little-endian is read"))
        }
        version => {
            Err(FormatError::malformed(cursor.file, "version", format_args!("expected 2 or 3, found {version}")))
        }
    }
}

fn value(cursor: &mut Cursor<'_>, kind: u32, field: &dyn Display) -> Result<GgufValue> {
    Ok(match kind {
        type_id::U8 => GgufValue::U8(u8::from_le_bytes(cursor.array(field)?)),
        type_id::I8 => GgufValue::I8(i8::from_le_bytes(cursor.array(field)?)),
        type_id::U16 => GgufValue::U16(u16::from_le_bytes(cursor.array(field)?)),
        type_id::I16 => GgufValue::I16(i16::from_le_bytes(cursor.array(field)?)),
        type_id::U32 => GgufValue::U32(u32::from_le_bytes(cursor.array(field)?)),
        type_id::I32 => GgufValue::I32(i32::from_le_bytes(cursor.array(field)?)),
        type_id::F32 => GgufValue::F32(f32::from_le_bytes(cursor.array(field)?)),
        type_id::BOOL => GgufValue::Bool(boolean(cursor.file, cursor.array(field)?, field)?),
        type_id::STRING => GgufValue::String(cursor.string(limit::STRING_BYTES, field)?.to_owned()),
        type_id::ARRAY => GgufValue::Array(array(cursor, field)?),
        type_id::U64 => GgufValue::U64(u64::from_le_bytes(cursor.array(field)?)),
        type_id::I64 => GgufValue::I64(i64::from_le_bytes(cursor.array(field)?)),
        type_id::F64 => GgufValue::F64(f64::from_le_bytes(cursor.array(field)?)),
        _ => {
            return Err(FormatError::malformed(cursor.file, field, format_args!("unknown value type {kind}")));
        }
    })
}

fn boolean(file: &str, [byte]: [u8; 1], field: &dyn Display) -> Result<bool> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(FormatError::malformed(file, field, format_args!("a bool is 0 or 1, found {byte}"))),
    }
}

fn array(cursor: &mut Cursor<'_>, field: &dyn Display) -> Result<GgufArray> {
    let kind = cursor.u32(field)?;
    let len = cursor.u64(field)?;
    Ok(match kind {
        type_id::U8 => GgufArray::U8(items(cursor, len, field, u8::from_le_bytes)?),
        type_id::I8 => GgufArray::I8(items(cursor, len, field, i8::from_le_bytes)?),
        type_id::U16 => GgufArray::U16(items(cursor, len, field, u16::from_le_bytes)?),
        type_id::I16 => GgufArray::I16(items(cursor, len, field, i16::from_le_bytes)?),
        type_id::U32 => GgufArray::U32(items(cursor, len, field, u32::from_le_bytes)?),
        type_id::I32 => GgufArray::I32(items(cursor, len, field, i32::from_le_bytes)?),
        type_id::F32 => GgufArray::F32(items(cursor, len, field, f32::from_le_bytes)?),
        type_id::BOOL => {
            let file = cursor.file;
            let bytes = items(cursor, len, field, |byte: [u8; 1]| byte)?;
            GgufArray::Bool(bytes.into_iter().map(|byte| boolean(file, byte, field)).collect::<Result<_>>()?)
        }
        type_id::STRING => GgufArray::String(strings(cursor, len, field)?),
        type_id::ARRAY => {
            return Err(FormatError::malformed(cursor.file, field, "an array of arrays is not read"));
        }
        type_id::U64 => GgufArray::U64(items(cursor, len, field, u64::from_le_bytes)?),
        type_id::I64 => GgufArray::I64(items(cursor, len, field, i64::from_le_bytes)?),
        type_id::F64 => GgufArray::F64(items(cursor, len, field, f64::from_le_bytes)?),
        _ => {
            return Err(FormatError::malformed(cursor.file, field, format_args!("unknown item type {kind}")));
        }
    })
}

fn items<const N: usize, T>(
    cursor: &mut Cursor<'_>,
    len: u64,
    field: &dyn Display,
    item: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    FormatError::check_limit(cursor.file, format_args!("{field}: items"), limit::ARRAY_BYTES / N as u64, len)?;
    let bytes = cursor.take(len * N as u64, field)?;
    Ok(bytes.as_chunks().0.iter().map(|&bytes| item(bytes)).collect())
}

fn strings(cursor: &mut Cursor<'_>, len: u64, field: &dyn Display) -> Result<StringArray> {
    let mut strings = StringArray::default();
    for i in 0..len {
        let field = format_args!("{field}[{i}]");
        strings.push(cursor.string(limit::STRING_BYTES, &field)?);
        // The length prefix counts too: a run of empty strings also takes memory.
        FormatError::check_limit(
            cursor.file,
            format_args!("{field}: bytes of the array"),
            limit::ARRAY_BYTES,
            strings.text_len() as u64 + 8 * i,
        )?;
    }
    Ok(strings)
}

pub(super) fn alignment(file: &str, metadata: &Metadata) -> Result<usize> {
    match metadata.value(ALIGNMENT_KEY) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(&GgufValue::U32(found)) => match usize::try_from(found) {
            Ok(alignment) if alignment.is_power_of_two() && (8..=limit::ALIGNMENT).contains(&alignment) => {
                Ok(alignment)
            }
            _ => Err(FormatError::malformed(
                file,
                ALIGNMENT_KEY,
                format_args!("expected a power of two from 8 to {}, found {found}", limit::ALIGNMENT),
            )),
        },
        Some(other) => Err(FormatError::WrongType {
            file: file.to_owned(),
            key: ALIGNMENT_KEY.to_owned(),
            expected: "u32",
            found: other.describe(),
        }),
    }
}

/// Name, type, shape and offset into the data section, as the file declares them.
struct Info {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    size: u64,
    offset: u64,
}

fn tensors(cursor: &mut Cursor<'_>, n_tensors: u64, alignment: usize, file_len: u64) -> Result<Vec<GgufTensor>> {
    let mut infos = Vec::new();
    let mut names = HashSet::new();
    for i in 0..n_tensors {
        let info = info(cursor, i)?;
        if !names.insert(info.name.clone()) {
            return Err(FormatError::malformed(cursor.file, format_args!("tensor {}", info.name), "appears twice"));
        }
        infos.push(info);
    }
    let file = cursor.file;
    // `pos` is at most the length of a slice, so rounding up cannot overflow u64.
    let data_start = (cursor.pos() as u64).next_multiple_of(alignment as u64);
    let mut end_of_last = 0;
    let mut tensors = Vec::with_capacity(infos.len());
    for info in infos {
        let range = range(file, &info, alignment as u64, data_start, file_len, end_of_last)?;
        end_of_last = info.offset + info.size;
        tensors.push(GgufTensor { name: info.name, dtype: info.dtype, shape: info.shape, range });
    }
    Ok(tensors)
}

fn info(cursor: &mut Cursor<'_>, i: u64) -> Result<Info> {
    let file = cursor.file;
    let name = cursor.name(limit::NAME_BYTES, &format_args!("tensor name {i}"))?.to_owned();
    let field = &format_args!("tensor {name}");
    let n_dims = cursor.u32(field)?;
    FormatError::check_limit(file, format_args!("{field}: dimensions"), limit::DIMS, n_dims.into())?;
    let mut shape = Vec::new();
    for _ in 0..n_dims {
        let dim = cursor.u64(field)?;
        match usize::try_from(dim) {
            Ok(dim) if dim > 0 && dim <= isize::MAX as usize => shape.push(dim),
            _ => return Err(FormatError::malformed(file, field, format_args!("dimension of {dim}"))),
        }
    }
    shape.reverse();
    let type_id = cursor.u32(field)?;
    let offset = cursor.u64(field)?;
    let dtype = DType::from_ggml_id(type_id).ok_or_else(|| FormatError::UnsupportedDType {
        file: file.to_owned(),
        tensor: name.clone(),
        dtype: type_name(type_id),
    })?;
    let size = size(file, field, dtype, &shape)?;
    Ok(Info { name, dtype, shape, size, offset })
}

/// Bytes of a tensor.
pub(super) fn size(file: &str, field: &dyn Display, dtype: DType, shape: &[usize]) -> Result<u64> {
    let cols = shape.last().copied().unwrap_or(1);
    let block = dtype.block_len();
    if !cols.is_multiple_of(block) {
        let problem = format_args!("rows of {cols} values in {dtype}, whose blocks hold {block}");
        return Err(FormatError::malformed(file, field, problem));
    }
    let n_values = shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
    n_values
        .and_then(|n| (n / block).checked_mul(dtype.block_bytes()))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| FormatError::malformed(file, field, format_args!("size of {shape:?} overflows")))
}

/// Where the tensor lies in the file: aligned, after the one before it, and inside.
fn range(
    file: &str,
    info: &Info,
    alignment: u64,
    data_start: u64,
    file_len: u64,
    end_of_last: u64,
) -> Result<Range<usize>> {
    let field = format_args!("tensor {}", info.name);
    let malformed = |problem: std::fmt::Arguments<'_>| Err(FormatError::malformed(file, field, problem));
    let offset = info.offset;
    if !offset.is_multiple_of(alignment) {
        return malformed(format_args!("offset {offset} is not a multiple of the alignment {alignment}"));
    }
    if offset < end_of_last {
        return malformed(format_args!("offset {offset} lies before the end of the tensor before it, {end_of_last}"));
    }
    let start = data_start.checked_add(offset);
    let end = start.and_then(|start| start.checked_add(info.size));
    match (start, end) {
        (Some(start), Some(end)) if end <= file_len => Ok(start as usize..end as usize),
        _ => Err(FormatError::Truncated {
            file: file.to_owned(),
            field: field.to_string(),
            needed: info.size,
            left: file_len.saturating_sub(start.unwrap_or(u64::MAX)),
        }),
    }
}

/// Names of the types that ggml has and we do not decode.
fn type_name(id: u32) -> String {
    let name = match id {
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        29 => "IQ1_M",
        34 => "TQ1_0",
        35 => "TQ2_0",
        39 => "MXFP4",
        _ => return id.to_string(),
    };
    name.to_owned()
}
