//! What a suite promises.

use serde::Serialize;
use serde_json::{Map, Value};

/// One thing that is promised.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Its name: `S1`.
    pub bar: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// The numbers behind it.
    pub values: Map<String, Value>,
    /// What breaks it, by name.
    pub breaks: Vec<String>,
}

impl Bar {
    /// A bar that holds when nothing breaks it and the numbers are right.
    pub(crate) fn new(bar: &'static str, is_right: bool, values: Value, breaks: Vec<String>) -> Bar {
        let values = match values {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        Bar { bar, holds: is_right && breaks.is_empty(), values, breaks }
    }
}
