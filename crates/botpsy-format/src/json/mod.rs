//! JSON files from strangers: read within limits, with errors that name file and field.
//!
//! Depth is bounded by the parser (128). Large lists are read straight into their elements; what becomes a tree of
//! [`Value`]s is counted first, because such a tree takes a hundred times the memory of its text.

mod bounded;
mod fields;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de;
use serde_json::{Map, Value};

pub(crate) use bounded::{List, Object, Pairs};
pub(crate) use fields::{Fields, wrong_type};

use crate::{FormatError, Result};

/// A tokenizer of 250,000 tokens has 20 MB.
const MAX_FILE_BYTES: u64 = 64 << 20;
const MAX_VALUES: u64 = 200_000;

/// Reads a file that is no larger than a tokenizer may be; also its name for errors.
pub(crate) fn read_bytes(path: &Path) -> Result<(String, Vec<u8>)> {
    let file = path.display().to_string();
    let failed = |source| FormatError::io(path, source);
    // Asked before opening: opening a pipe would wait for a writer, and a device has no end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    FormatError::check_limit(&file, "file size", MAX_FILE_BYTES, bytes.len() as u64)?;
    Ok((file, bytes))
}

/// Parses `bytes` as a `T`.
pub(crate) fn parse<'a, T: Deserialize<'a>>(file: &str, bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|source| FormatError::Json { file: file.to_owned(), source })
}

/// Parses a text whose outermost value is an object.
pub(crate) fn object(file: &str, bytes: &[u8]) -> Result<Map<String, Value>> {
    // Every value but the first stands behind one of these.
    let n_values = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{' | b',')).count();
    FormatError::check_limit(file, "values", MAX_VALUES, n_values as u64)?;
    match parse(file, bytes)? {
        Value::Object(object) => Ok(object),
        other => Err(wrong_type(file, "file", "an object", &other)),
    }
}

/// `error` with the field in front.
pub(crate) fn in_field<E: de::Error>(field: impl Display, error: E) -> E {
    E::custom(format_args!("{field}: {}", shown(&error.to_string())))
}

/// Functions that deserialize a field and put its path in front of an error.
macro_rules! with_path {
    ($($name:ident $path:literal)*) => {$(
        fn $name<'de, D: serde::Deserializer<'de>, T: serde::Deserialize<'de>>(deserializer: D) -> std::result::Result<T, D::Error> {
            T::deserialize(deserializer).map_err(|error| $crate::json::in_field($path, error))
        }
    )*};
}

pub(crate) use with_path;

/// Text of a file as an error may show it: not much of it, and nothing that acts on a terminal.
pub(crate) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let mut shown = String::new();
    for ch in text.chars().take(MAX_CHARS) {
        match ch.is_control() {
            true => shown.extend(ch.escape_default()),
            false => shown.push(ch),
        }
    }
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push_str("...");
    }
    shown
}
