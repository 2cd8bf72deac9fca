//! `tojson` as `transformers` defines it: Python's `json.dumps` with `ensure_ascii=False`.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use serde_json::{Map, Number};

use crate::tokenizer::SENTINEL;
use crate::tool_call::python::json_spaced;

use super::value::PrintedNumber;

/// Deeper values are refused, as a parser of JSON would refuse them.
const MAX_DEPTH: usize = 128;

pub(super) fn tojson(state: &State<'_, '_>, value: &Value, kwargs: Kwargs) -> Result<Value, Error> {
    let style = Style::read(&kwargs)?;
    let value = to_json(value, 0)?;
    let text = match style {
        None => json_spaced(&value),
        Some(style) => {
            let mut text = String::new();
            style.write(&value, 0, &mut text);
            text
        }
    };
    state.consume_fuel(text.len() as u64 / 16)?;
    Ok(Value::from(text))
}

/// The value as JSON; whatever Python could not serialize is an error.
fn to_json(value: &Value, depth: usize) -> Result<serde_json::Value, Error> {
    if depth > MAX_DEPTH {
        return Err(refusal("tojson: the value is nested too deeply"));
    }
    if let Some(number) = value.downcast_object_ref::<PrintedNumber>() {
        return number_value(number.as_str());
    }
    match value.kind() {
        ValueKind::None => Ok(serde_json::Value::Null),
        ValueKind::Bool => Ok(value.is_true().into()),
        ValueKind::Number => number_value(&value.to_string()),
        ValueKind::String => Ok(value.as_str().unwrap_or_default().into()),
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.map(|item| to_json(&item, depth + 1)).collect::<Result<Vec<_>, _>>().map(Into::into)
        }
        ValueKind::Map => {
            let mut fields = Map::new();
            for key in value.try_iter()? {
                let item = value.get_item(&key)?;
                fields.insert(key_text(&key)?, to_json(&item, depth + 1)?);
            }
            Ok(fields.into())
        }
        kind => Err(refusal(&format!("tojson: {kind} is not serializable"))),
    }
}

fn number_value(printed: &str) -> Result<serde_json::Value, Error> {
    let literal = match printed {
        "inf" => "1e999",
        "-inf" => "-1e999",
        finite => finite,
    };
    let number: Number = literal.parse().map_err(|_| refusal("tojson: not a number"))?;
    Ok(serde_json::Value::Number(number))
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::None | ValueKind::Bool | ValueKind::Number => Ok(json_spaced(&to_json(key, 0)?)),
        kind => Err(refusal(&format!("tojson: {kind} cannot be a key"))),
    }
}

fn refusal(message: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.to_owned())
}

/// What the arguments of `tojson` ask for, where it is not the default.
struct Style {
    /// What one level is indented by; nothing is indented without it.
    indent: Option<String>,
    between_items: String,
    after_key: String,
    ensure_ascii: bool,
    sort_keys: bool,
}

impl Style {
    fn read(kwargs: &Kwargs) -> Result<Option<Style>, Error> {
        let indent: Option<Value> = kwargs.get("indent")?;
        let separators: Option<(String, String)> = match kwargs.get::<Option<Value>>("separators")? {
            Some(pair) if !pair.is_none() => Some(two_texts(&pair)?),
            _ => None,
        };
        let ensure_ascii = kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
        let sort_keys = kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
        kwargs.assert_all_used()?;
        let indent = match indent {
            Some(indent) if !indent.is_none() => Some(match indent.as_str() {
                Some(text) => text.to_owned(),
                None => " ".repeat(usize::from(u8::try_from(indent).map_err(|_| refusal("tojson: bad indent"))?)),
            }),
            _ => None,
        };
        if indent.is_none() && separators.is_none() && !ensure_ascii && !sort_keys {
            return Ok(None);
        }
        let default_comma = if indent.is_some() { "," } else { ", " };
        let (between_items, after_key) = separators.unwrap_or_else(|| (default_comma.to_owned(), ": ".to_owned()));
        Ok(Some(Style { indent, between_items, after_key, ensure_ascii, sort_keys }))
    }

    fn write(&self, value: &serde_json::Value, depth: usize, out: &mut String) {
        match value {
            serde_json::Value::Array(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.open_item(index, depth + 1, out);
                    self.write(item, depth + 1, out);
                }
                self.line(depth, out);
                out.push(']');
            }
            serde_json::Value::Object(fields) if !fields.is_empty() => {
                let mut fields: Vec<_> = fields.iter().collect();
                if self.sort_keys {
                    fields.sort_by_key(|(key, _)| *key);
                }
                out.push('{');
                for (index, (key, item)) in fields.into_iter().enumerate() {
                    self.open_item(index, depth + 1, out);
                    self.scalar(&serde_json::Value::from(key.as_str()), out);
                    out.push_str(&self.after_key);
                    self.write(item, depth + 1, out);
                }
                self.line(depth, out);
                out.push('}');
            }
            scalar => self.scalar(scalar, out),
        }
    }

    fn open_item(&self, index: usize, depth: usize, out: &mut String) {
        if index > 0 {
            out.push_str(&self.between_items);
        }
        self.line(depth, out);
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
    }

    fn scalar(&self, value: &serde_json::Value, out: &mut String) {
        let text = json_spaced(value);
        if !self.ensure_ascii {
            out.push_str(&text);
            return;
        }
        for ch in text.chars() {
            // Control characters are escaped already. The sentinel guards text from outside and must stay one character.
            if (' '..='~').contains(&ch) || ch == SENTINEL {
                out.push(ch);
            } else {
                let mut units = [0; 2];
                for unit in ch.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
}

fn two_texts(pair: &Value) -> Result<(String, String), Error> {
    let parts: Vec<Value> = pair.try_iter()?.take(3).collect();
    match parts.as_slice() {
        [first, second] if first.as_str().is_some() && second.as_str().is_some() => {
            Ok((first.to_string(), second.to_string()))
        }
        _ => Err(refusal("tojson: separators must be two strings")),
    }
}
