use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};
use serde_json::Number;

use crate::template::RenderInput;
use crate::tool_call::python::python_scalar;

/// The variables of a template; what a request adds comes first, so that all others win over it.
pub(super) fn context(input: &RenderInput<'_>, tokens: &[(String, String)]) -> Value {
    let mut variables: Vec<(Value, Value)> = Vec::new();
    variables.extend(input.kwargs.iter().map(|(name, value)| (Value::from(name.as_str()), from_json(value))));
    variables.extend(tokens.iter().map(|(name, text)| (Value::from(name.as_str()), Value::from(text.as_str()))));
    let tools = if input.tools.is_empty() { Value::from(()) } else { input.tools.iter().map(from_json).collect() };
    variables.push((Value::from("messages"), input.messages.iter().map(from_json).collect()));
    variables.push((Value::from("tools"), tools));
    variables.push((Value::from("add_generation_prompt"), Value::from(input.add_generation_prompt)));
    Value::from_pairs(variables)
}

/// A JSON value as templates see it. Written by hand: numbers keep the digits that the caller gave.
fn from_json(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(flag) => Value::from(*flag),
        serde_json::Value::Number(number) => from_number(number),
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => Value::from(items.iter().map(from_json).collect::<Vec<_>>()),
        serde_json::Value::Object(fields) => {
            Value::from_pairs(fields.iter().map(|(key, value)| (key.as_str(), from_json(value))))
        }
    }
}

fn from_number(number: &Number) -> Value {
    let printed = python_scalar(&serde_json::Value::Number(number.clone()));
    let value = if let Ok(integer) = printed.parse::<i64>() {
        Value::from(integer)
    } else if let Ok(integer) = printed.parse::<i128>() {
        Value::from(integer)
    } else {
        Value::from(printed.parse::<f64>().unwrap_or(f64::NAN))
    };
    if value.to_string() == printed { value } else { Value::from_object(PrintedNumber(printed)) }
}

/// A number that the engine would print in other digits than Python: `1e-07`, `1e+16`, an integer of fifty digits.
///
/// It can be printed, tested and written as JSON, not reckoned with.
pub(super) struct PrintedNumber(String);

impl PrintedNumber {
    /// The digits, as Python prints them.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'n'])
    }
}

impl fmt::Debug for PrintedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Object for PrintedNumber {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}
