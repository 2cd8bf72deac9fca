//! Fields of JSON objects, with errors that name file and field.

use serde_json::{Map, Value};

use super::shown;
use crate::{FormatError, Result};

/// An object, and what its fields' names start with in errors.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) file: &'a str,
    pub(crate) prefix: &'a str,
    pub(crate) object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The value of a field that is there and not `null`.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn typed<T>(&self, name: &str, expected: &'static str, get: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || wrong_type(self.file, &self.path(name), expected, value);
        get(value).map(Some).ok_or_else(wrong)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// An integer of at least 0; `2.0` counts.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<u64>> {
        self.typed(name, "an integer of at least 0", whole)
    }

    pub(crate) fn integer32(&self, name: &str) -> Result<Option<u32>> {
        self.typed(name, "an integer from 0 to 2^32 - 1", |value| whole(value)?.try_into().ok())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>> {
        self.typed(name, "a number", |value| value.as_f64().filter(|x| x.is_finite()))
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>> {
        self.typed(name, "true or false", Value::as_bool)
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.typed(name, "a string", Value::as_str)
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<&'a Map<String, Value>>> {
        self.typed(name, "an object", Value::as_object)
    }

    fn list(&self, name: &str) -> Result<Option<&'a Vec<Value>>> {
        self.typed(name, "an array", Value::as_array)
    }

    /// Several strings.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>> {
        let text = |(i, value): (usize, &Value)| match value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(wrong_type(self.file, &self.path(&format!("{name}.{i}")), "a string", value)),
        };
        self.list(name)?.map(|list| list.iter().enumerate().map(text).collect()).transpose()
    }

    /// One token id, several, or none.
    pub(crate) fn ids(&self, name: &str) -> Result<Vec<u32>> {
        let id = |value: &Value| u32::try_from(whole(value)?).ok();
        let ids = self.typed(name, "a token id or a list of them", |value| match value {
            Value::Array(list) => list.iter().map(id).collect(),
            one => id(one).map(|id| vec![id]),
        })?;
        Ok(ids.unwrap_or_default())
    }
}

fn whole(value: &Value) -> Option<u64> {
    let fraction_free = |x: f64| (x >= 0.0 && x < 2f64.powi(53) && x.fract() == 0.0).then_some(x as u64);
    value.as_u64().or_else(|| fraction_free(value.as_f64()?))
}

pub(crate) fn wrong_type(file: &str, key: &str, expected: &'static str, found: &Value) -> FormatError {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => shown(n.as_str()),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    FormatError::WrongType { file: file.to_owned(), key: key.to_owned(), expected, found }
}
