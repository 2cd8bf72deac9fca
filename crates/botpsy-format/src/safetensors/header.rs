//! The header of one safetensors file.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use botpsy_tensor::{DType, TensorView};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::{DTYPES, limit};
use crate::json::{List, Object, Pairs, in_field, parse, shown, with_path};
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
    FormatError::check_limit(file, "header length", limit::HEADER_BYTES, length)?;
    let (json, data) = rest.split_at_checked(length as usize).ok_or_else(|| truncated(8 + length, "header"))?;
    if json.first() != Some(&b'{') {
        return Err(FormatError::malformed(file, "header", "does not begin with `{`"));
    }
    let raw: RawHeader = parse(file, json)?;
    let mut entries = Vec::new();
    for (name, tensor) in raw.tensors {
        entries.push(entry_of(file, name, tensor, data)?);
    }
    check_layout(file, &entries, data.len())?;
    let start = 8 + json.len();
    for entry in &mut entries {
        entry.range = start + entry.range.start..start + entry.range.end;
    }
    Ok(Header { metadata: raw.metadata.unwrap_or_default(), entries })
}

/// Checks one tensor on its own; its range counts from the start of the data.
fn entry_of(file: &str, name: String, raw: RawTensor, data: &[u8]) -> Result<Entry> {
    let dtype = DTYPES.iter().find(|(known, _)| *known == raw.dtype).map(|(_, dtype)| *dtype);
    let Some(dtype) = dtype else {
        return Err(FormatError::UnsupportedDType { file: file.to_owned(), tensor: name, dtype: shown(&raw.dtype) });
    };
    let (from, to) = raw.data_offsets;
    let bytes = usize::try_from(from).ok().zip(usize::try_from(to).ok()).and_then(|(from, to)| data.get(from..to));
    let Some(bytes) = bytes else {
        let problem = format!("data_offsets {from}..{to} do not lie in the {} bytes of data", data.len());
        return Err(FormatError::malformed(file, format!("tensor {name}"), problem));
    };
    match TensorView::new(dtype, raw.shape.0, bytes) {
        Ok(view) => Ok(Entry { name, dtype, shape: view.shape().to_vec(), range: from as usize..to as usize }),
        Err(source) => Err(FormatError::Tensor { file: file.to_owned(), tensor: name, source }),
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

/// What a tensor may be called: names stand in errors, so no control characters, which would act on the terminal.
pub(super) fn check_name(name: &str) -> std::result::Result<(), String> {
    match name.chars().find(|ch| ch.is_control()) {
        _ if name.len() > limit::NAME_BYTES => {
            Err(format!("bytes of the name: at most {} accepted, found {}", limit::NAME_BYTES, name.len()))
        }
        Some(ch) => Err(format!("control character {ch:?} in the name")),
        None if name == METADATA => Err("the name is taken by the metadata".to_owned()),
        None => Ok(()),
    }
}

pub(super) const METADATA: &str = "__metadata__";

/// The header as JSON says it, tensors in order.
struct RawHeader {
    metadata: Option<Vec<(String, String)>>,
    tensors: Vec<(String, RawTensor)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTensor {
    #[serde(deserialize_with = "dtype")]
    dtype: String,
    #[serde(deserialize_with = "shape")]
    shape: List<usize, { limit::DIMS }>,
    #[serde(deserialize_with = "data_offsets")]
    data_offsets: (u64, u64),
}

with_path! {
    dtype "dtype"
    shape "shape"
    data_offsets "data_offsets"
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = RawHeader;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<RawHeader, A::Error> {
                let (mut metadata, mut tensors) = (None, Vec::new());
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        let strings = map.next_value::<Pairs<String, { limit::METADATA }>>();
                        let before = metadata.replace(strings.map_err(|error| in_field(METADATA, error))?.0);
                        if before.is_some() {
                            return Err(in_field(METADATA, A::Error::custom("stands twice")));
                        }
                        continue;
                    }
                    let field = format!("tensor {}", shown(&name));
                    check_name(&name).map_err(|problem| in_field(&field, A::Error::custom(problem)))?;
                    if tensors.len() == limit::TENSORS {
                        let problem = format!("tensors: at most {} accepted", limit::TENSORS);
                        return Err(A::Error::custom(problem));
                    }
                    let tensor = map.next_value::<Object<RawTensor>>().map_err(|error| in_field(&field, error))?;
                    tensors.push((name, tensor.0));
                }
                let mut seen = HashSet::with_capacity(tensors.len());
                match tensors.iter().find(|(name, _)| !seen.insert(name.as_str())) {
                    Some((name, _)) => Err(in_field(format_args!("tensor {name}"), A::Error::custom("stands twice"))),
                    None => Ok(RawHeader { metadata, tensors }),
                }
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
