//! Values the way Python prints them: the chat template was written for Jinja under Python, and the model was trained
//! on what came out of it.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// A value the way Jinja under Python prints it in a template.
///
/// Strings are raw; `True`, `False` and `None`; integers keep their digits; floats are Python's `repr` (`0.5`, `1e-07`,
/// `1e+16`). Lists and objects, which a template hands to `tojson` first, are printed by [`json_spaced`].
pub fn python_scalar(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => python_number(number.as_str(), NonFinite::Repr),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => json_spaced(value),
    }
}

/// JSON as the `tojson` of Hugging Face prints it: `", "` and `": "` between parts, key order kept, neither non-ASCII
/// characters nor `<`, `>`, `&`, `'` escaped, numbers as Python prints them.
pub fn json_spaced(value: &Value) -> String {
    let mut out = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut out, PythonJson))
        .expect("a Value serializes to memory without errors");
    String::from_utf8(out).expect("JSON text is UTF-8")
}

/// The separators and numbers of Python's `json.dumps(value, ensure_ascii=False)`.
struct PythonJson;

impl Formatter for PythonJson {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_number_str<W: ?Sized + io::Write>(&mut self, out: &mut W, value: &str) -> io::Result<()> {
        out.write_all(python_number(value, NonFinite::Json).as_bytes())
    }
}

/// How a float outside the range of `f64` is written: Python reads `1e999` as infinity.
#[derive(Clone, Copy)]
enum NonFinite {
    /// `inf`, as `repr` writes it.
    Repr,
    /// `Infinity`, as `json.dumps` writes it.
    Json,
}

/// A JSON number as Python prints it after reading it: an `int` unless it has a fraction or an exponent.
fn python_number(text: &str, non_finite: NonFinite) -> String {
    if !text.contains(['.', 'e', 'E']) {
        return if text == "-0" { "0".to_owned() } else { text.to_owned() };
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => float_repr(number),
        Ok(number) => {
            let sign = if number < 0.0 { "-" } else { "" };
            let name = match non_finite {
                NonFinite::Repr => "inf",
                NonFinite::Json => "Infinity",
            };
            format!("{sign}{name}")
        }
        Err(_) => text.to_owned(),
    }
}

/// Python's `repr` of a finite float: the shortest digits that read back to it, in positional form from 1e-4 up to,
/// not including, 1e16.
fn float_repr(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a decimal exponent");
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    let plain = format!("{number}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn scalars_print_as_in_python() {
        for (json, python) in [
            ("null", "None"),
            ("true", "True"),
            ("false", "False"),
            ("\"a\\nb\"", "a\nb"),
            ("1", "1"),
            ("-0", "0"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1.0", "1.0"),
            ("-0.0", "-0.0"),
            ("0.5", "0.5"),
            ("1e2", "100.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e-7", "1e-07"),
            ("1.5e-300", "1.5e-300"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("123456789012345678.0", "1.2345678901234568e+17"),
            ("1e999", "inf"),
            ("-1e999", "-inf"),
            ("[1, 2.50]", "[1, 2.5]"),
        ] {
            assert_eq!(python_scalar(&value(json)), python, "{json}");
        }
    }

    #[test]
    fn json_has_spaces_and_no_escapes_but_its_own() {
        let json = r#"{"z":[1,2.0,1e-7,1e999,null,true],"a":{},"é<>&'":"ü\u0001\"\\\n/\u007f","e":[]}"#;
        let printed = "{\"z\": [1, 2.0, 1e-07, Infinity, null, true], \"a\": {}, \"é<>&'\": \
                       \"ü\\u0001\\\"\\\\\\n/\u{7f}\", \"e\": []}";
        assert_eq!(json_spaced(&value(json)), printed);
    }
}
