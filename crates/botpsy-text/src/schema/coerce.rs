//! From the raw text of a parameter to a value of a type that its schema allows.

use serde_json::{Number, Value};

use super::{MAX_VALUE_DEPTH, Type, TypeSet, number, python_literal};

/// A value, and whether it has a type that the schema allows.
#[derive(Clone, Debug, PartialEq)]
pub enum Coerced {
    /// The value fits.
    Fits(Value),
    /// Nothing fits: the value as it was written.
    Raw(Value),
}

/// Reads a raw text as the first of these types that it can be and the schema allows: null, integer, number, boolean,
/// object, array, string.
///
/// Scalars are trimmed. `None` is null; `true` and `false` in any case, `1` and `0` are booleans; a number without a
/// fraction is an integer, with all its digits; lists and objects are JSON or Python literals. A string is taken as it
/// stands, and so is any text when the schema does not say.
pub fn coerce(raw: &str, types: TypeSet) -> Coerced {
    if types.is_empty() {
        return Coerced::Fits(Value::String(raw.to_owned()));
    }
    let text = raw.trim();
    match scalar(text, types).or_else(|| container(text, types)) {
        Some(value) => Coerced::Fits(value),
        None if types.allows(Type::String) => Coerced::Fits(Value::String(raw.to_owned())),
        None => Coerced::Raw(Value::String(raw.to_owned())),
    }
}

/// Fits a value that was written as JSON: a string where no string is allowed is read as [`coerce`] reads it, and a
/// number without a fraction becomes an integer. Other values stay as they are.
pub fn fit(value: Value, types: TypeSet) -> Coerced {
    match value {
        Value::String(text) if !types.is_empty() && !types.allows(Type::String) => coerce(&text, types),
        Value::Number(written) if types.allows(Type::Integer) => match number::read(written.as_str()) {
            Some(number) if types.allows_value(&number) => Coerced::Fits(number),
            _ => Coerced::Raw(Value::Number(written)),
        },
        value if types.allows_value(&value) => Coerced::Fits(value),
        value => Coerced::Raw(value),
    }
}

fn scalar(text: &str, types: TypeSet) -> Option<Value> {
    if types.allows(Type::Null) && matches!(text, "null" | "None") {
        return Some(Value::Null);
    }
    if types.allows(Type::Integer) {
        // A set with `number` has `integer` too; without it a fraction is refused. Where the text may stay a string, one
        // that is no number in JSON does, since reading it would lose a `+` or zeros: phone numbers, article numbers.
        let strict = types.allows(Type::String);
        let read = number::read(text).filter(|value| types.allows_value(value));
        if read.is_some() && (!strict || text.parse::<Number>().is_ok()) {
            return read;
        }
    }
    if types.allows(Type::Boolean) {
        if text == "1" || text.eq_ignore_ascii_case("true") {
            return Some(Value::Bool(true));
        }
        if text == "0" || text.eq_ignore_ascii_case("false") {
            return Some(Value::Bool(false));
        }
    }
    None
}

fn container(text: &str, types: TypeSet) -> Option<Value> {
    let wanted = |value: &Value| match value {
        Value::Object(_) => types.allows(Type::Object),
        Value::Array(_) => types.allows(Type::Array),
        _ => false,
    };
    if !text.starts_with(['{', '[', '(']) {
        return None;
    }
    let json = serde_json::from_str(text).ok().filter(|value| nested_at_most(value, MAX_VALUE_DEPTH));
    json.or_else(|| python_literal(text)).filter(wanted)
}

/// Whether lists and objects nest at most `levels` deep.
pub(crate) fn nested_at_most(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => false,
        (Value::Array(items), Some(levels)) => items.iter().all(|item| nested_at_most(item, levels)),
        (Value::Object(members), Some(levels)) => members.values().all(|member| nested_at_most(member, levels)),
        _ => true,
    }
}
