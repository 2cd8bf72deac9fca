//! The header of one safetensors file.

use std::fmt;
use std::ops::Range;

use botpsy_tensor::DType;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{DTYPES, MAX_HEADER_BYTES, MAX_TENSORS};
use crate::{FormatError, Result};

pub(super) struct Header {
    pub(super) metadata: Vec<(String, String)>,
    pub(super) entries: Vec<Entry>,
}

/// A tensor whose bytes are proven to lie inside the file.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// From the start of the file.
    pub(super) range: Range<usize>,
}

/// The header as JSON says it, names in order and possibly repeated.
struct Raw(Vec<(String, RawEntry)>);

enum RawEntry {
    Metadata(Vec<(String, String)>),
    Tensor(RawTensor),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Raw, A::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let entry = match name.as_str() {
                        "__metadata__" => RawEntry::Metadata(map.next_value::<Strings>()?.0),
                        _ => RawEntry::Tensor(map.next_value()?),
                    };
                    entries.push((name, entry));
                }
                Ok(Raw(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// An object of strings, in order. Other values are passed over: they mean nothing to us.
struct Strings(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Strings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Strings, A::Error> {
                #[derive(Deserialize)]
                #[serde(untagged)]
                enum StringOr {
                    String(String),
                    Other(IgnoredAny),
                }
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, StringOr>()? {
                    if let StringOr::String(value) = value {
                        pairs.push((key, value));
                    }
                }
                Ok(Strings(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// Reads and checks the header: names unique, types known, shapes and offsets agreeing, tensors covering the data one after
/// another without gap or overlap.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Header> {
    let truncated = |needed: u64, field: &str| FormatError::Truncated {
        file: file.to_owned(),
        field: field.to_owned(),
        needed,
        left: bytes.len() as u64,
    };
    let (length, rest) = bytes.split_first_chunk().ok_or_else(|| truncated(8, "header length"))?;
    let length = u64::from_le_bytes(*length);
    FormatError::check_limit(file, "header length", MAX_HEADER_BYTES, length)?;
    let json = rest.get(..length as usize).ok_or_else(|| truncated(8 + length, "header"))?;
    let raw: Raw =
        serde_json::from_slice(json).map_err(|source| FormatError::Json { file: file.to_owned(), source })?;
    FormatError::check_limit(file, "tensors", MAX_TENSORS, raw.0.len() as u64)?;
    let (mut metadata, mut entries) = (None, Vec::new());
    for (name, entry) in raw.0 {
        match entry {
            RawEntry::Metadata(_) if metadata.is_some() => {
                return Err(FormatError::malformed(file, "__metadata__", "stands twice"));
            }
            RawEntry::Metadata(strings) => metadata = Some(strings),
            RawEntry::Tensor(tensor) => entries.push(entry_of(file, name, &tensor, rest.len() - json.len())?),
        }
    }
    check_names(file, &entries)?;
    check_layout(file, &entries, rest.len() - json.len())?;
    for entry in &mut entries {
        let start = 8 + json.len();
        entry.range = start + entry.range.start..start + entry.range.end;
    }
    Ok(Header { metadata: metadata.unwrap_or_default(), entries })
}

/// Checks one tensor on its own; its range counts from the start of the data.
fn entry_of(file: &str, name: String, raw: &RawTensor, data_len: usize) -> Result<Entry> {
    let wrong = |problem: String| FormatError::malformed(file, format!("tensor {name}"), problem);
    let dtype = DTYPES.iter().find(|(known, _)| *known == raw.dtype).map(|(_, dtype)| *dtype);
    let dtype = dtype.ok_or_else(|| FormatError::UnsupportedDType {
        file: file.to_owned(),
        tensor: name.clone(),
        dtype: raw.dtype.clone(),
    })?;
    let shape: Option<Vec<usize>> = raw.shape.iter().map(|d| usize::try_from(*d).ok()).collect();
    let shape = shape.ok_or_else(|| wrong(format!("shape {:?} is too large", raw.shape)))?;
    let n_values = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    let size = n_values.and_then(|n| n.checked_mul(dtype.block_bytes()));
    let [from, to] = raw.data_offsets;
    let range =
        usize::try_from(from).ok().zip(usize::try_from(to).ok()).filter(|(from, to)| from <= to && *to <= data_len);
    let Some((from, to)) = range else {
        return Err(wrong(format!("data_offsets {from}..{to} do not lie in the {data_len} bytes of data")));
    };
    if size != Some(to - from) {
        return Err(wrong(format!("shape {shape:?} of {} does not take {} bytes", raw.dtype, to - from)));
    }
    Ok(Entry { name, dtype, shape, range: from..to })
}

fn check_names(file: &str, entries: &[Entry]) -> Result<()> {
    let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(FormatError::malformed(file, format!("tensor {}", pair[0]), "stands twice")),
        None => Ok(()),
    }
}

fn check_layout(file: &str, entries: &[Entry], data_len: usize) -> Result<()> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_unstable_by_key(|entry| (entry.range.start, entry.range.end));
    let mut end = 0;
    for entry in sorted {
        if entry.range.start != end {
            let kind = if entry.range.start < end { "overlap" } else { "a gap" };
            let problem = format!("starts at {}, expected {end}: {kind}", entry.range.start);
            return Err(FormatError::malformed(file, format!("tensor {}", entry.name), problem));
        }
        end = entry.range.end;
    }
    if end != data_len {
        return Err(FormatError::malformed(file, "data", format!("{data_len} bytes, the tensors take {end}")));
    }
    Ok(())
}
