//! The key-value part of a GGUF file.

use std::collections::HashMap;

use super::value::{FromGguf, GgufValue};
use crate::{FormatError, Result};

/// Metadata in the file's order, looked up by key. Keys are unique.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    file: String,
    entries: Vec<(String, GgufValue)>,
    index: HashMap<String, usize>,
}

impl Metadata {
    /// No entries yet; `file` is named in errors.
    pub(crate) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), entries: Vec::new(), index: HashMap::new() }
    }

    pub(crate) fn insert(&mut self, key: String, value: GgufValue) -> Result<()> {
        if self.index.insert(key.clone(), self.entries.len()).is_some() {
            return Err(FormatError::malformed(&self.file, format_args!("metadata {key}"), "appears twice"));
        }
        self.entries.push((key, value));
        Ok(())
    }

    /// The raw value of `key`.
    pub fn value(&self, key: &str) -> Option<&GgufValue> {
        self.index.get(key).map(|&i| &self.entries[i].1)
    }

    /// The value of `key`, or `None` if there is no such key.
    ///
    /// # Errors
    /// If the value has another type or is out of range.
    pub fn find<'a, T: FromGguf<'a>>(&'a self, key: &str) -> Result<Option<T>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        T::from_gguf(value).map(Some).ok_or_else(|| FormatError::WrongType {
            file: self.file.clone(),
            key: key.to_owned(),
            expected: T::EXPECTED,
            found: value.describe(),
        })
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// If it is missing, has another type or is out of range.
    pub fn get<'a, T: FromGguf<'a>>(&'a self, key: &str) -> Result<T> {
        self.find(key)?.ok_or_else(|| FormatError::MissingKey {
            file: self.file.clone(),
            key: key.to_owned(),
            expected: T::EXPECTED,
        })
    }

    /// Keys and values in the file's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &GgufValue)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
