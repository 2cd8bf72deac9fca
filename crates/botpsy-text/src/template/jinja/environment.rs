//! Jinja under Python, as far as chat templates notice the difference.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value, escape_formatter};
use minijinja_contrib::pycompat;

use crate::template::whitespace::{is_space, trim};
use crate::tokenizer::{SENTINEL, unguard};
use crate::tool_call::python::python_scalar;

use super::tojson::tojson;
use super::value::PrintedNumber;
use super::{Refusal, bounds};

/// Whether the strings of a conversation are as they came, or guarded.
#[derive(Clone, Copy)]
pub(super) enum Strings {
    Plain,
    Guarded,
}

/// An environment without a loader that prints values as Python does.
pub(super) fn python_like(strings: Strings) -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the default delimiters are valid"));
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_recursion_limit(200);
    environment.set_formatter(print);
    match strings {
        Strings::Plain => environment.set_unknown_method_callback(method),
        Strings::Guarded => environment.set_unknown_method_callback(guarded_method),
    }
    // These build containers that nobody measures, or print more than they were given; chat templates have no use for
    // them.
    for filter in ["batch", "chain", "groupby", "pprint", "slice", "zip"] {
        environment.remove_filter(filter);
    }
    environment.remove_global("debug");
    bounds::add_checks(&mut environment);
    environment.add_function("raise_exception", raise_exception);
    environment.add_filter("tojson", tojson);
    environment.add_filter("string", string);
    environment.add_filter("trim", strip_filter);
    environment.add_test("number", |value: &Value| is_number(value) || value.kind() == ValueKind::Bool);
    environment.add_test("integer", is_integer);
    environment.add_test("sequence", is_sequence);
    environment.add_test("float", |value: &Value| is_number(value) && !is_integer(value));
    environment
}

fn raise_exception(message: &Value) -> Result<Value, Error> {
    let refusal = Refusal(message.to_string());
    Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(refusal))
}

fn print(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match float_text(value) {
        Some(text) => Ok(out.write_str(&text)?),
        None => escape_formatter(out, state, value),
    }
}

/// Python's `str`.
fn string(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() == ValueKind::String {
        return Ok(value.clone());
    }
    let text = float_text(value).unwrap_or_else(|| value.to_string());
    state.consume_fuel(text.len() as u64 / 16)?;
    Ok(Value::from(text))
}

/// Floats that a template reckons are printed by the engine without exponents; Python's `repr` has them.
fn float_text(value: &Value) -> Option<String> {
    if value.kind() != ValueKind::Number || value.is_integer() {
        return None;
    }
    let number = serde_json::Number::from_f64(f64::try_from(value.clone()).ok()?)?;
    Some(python_scalar(&serde_json::Value::Number(number)))
}

fn is_number(value: &Value) -> bool {
    value.kind() == ValueKind::Number || value.downcast_object_ref::<PrintedNumber>().is_some()
}

fn is_integer(value: &Value) -> bool {
    value.downcast_object_ref::<PrintedNumber>().map_or_else(|| value.is_integer(), PrintedNumber::is_integer)
}

/// Whatever has a length and items; in Jinja what is undefined has them too.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Undefined)
}

fn strip_filter(value: &Value, chars: Option<&str>) -> Value {
    let text = value.to_string();
    Value::from(strip(&text, chars))
}

fn strip<'a>(text: &'a str, chars: Option<&str>) -> &'a str {
    match chars {
        Some(chars) => text.trim_matches(|ch| chars.contains(ch)),
        None => trim(text),
    }
}

fn method(state: &mut State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return pycompat::unknown_method_callback(state, value, method, args);
    };
    match (method, args) {
        ("strip", []) => Ok(Value::from(trim(text))),
        ("lstrip", []) => Ok(Value::from(text.trim_start_matches(is_space))),
        ("rstrip", []) => Ok(Value::from(text.trim_end_matches(is_space))),
        // `{:>999999999}` would be allocated before it is paid for.
        ("format", _) if text.contains(':') => Err(Error::new(ErrorKind::InvalidOperation, "format with a width")),
        _ => pycompat::unknown_method_callback(state, value, method, args),
    }
}

/// What a text begins and ends with is asked of the text as it was before it was guarded: templates recognize a
/// wrapped tool response by that.
fn guarded_method(state: &mut State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) if matches!(name, "startswith" | "endswith") && text.contains(SENTINEL) => {
            method(state, &Value::from(unguard(text)), name, args)
        }
        _ => method(state, value, name, args),
    }
}
