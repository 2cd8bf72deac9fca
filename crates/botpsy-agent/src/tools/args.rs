//! Arguments of a call.

use serde_json::{Map, Value};

use crate::ToolError;

/// No text of a model that goes into the owner's data is longer.
const MAX_TEXT: usize = 100_000;

/// A text that must be there: in one line, without blanks around it.
pub(super) fn line(arguments: &Map<String, Value>, name: &str) -> Result<String, ToolError> {
    optional_line(arguments, name)?.ok_or_else(|| problem(name, "it is missing"))
}

/// A text in one line; an empty one counts as none.
pub(super) fn optional_line(arguments: &Map<String, Value>, name: &str) -> Result<Option<String>, ToolError> {
    let Some(text) = optional_block(arguments, name)? else { return Ok(None) };
    let line = one_line(&text);
    if line.len() > 1000 {
        return Err(problem(name, "it is too long for one line"));
    }
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// A text of one or more lines that must be there.
pub(super) fn block(arguments: &Map<String, Value>, name: &str) -> Result<String, ToolError> {
    optional_block(arguments, name)?.ok_or_else(|| problem(name, "it is missing"))
}

/// A text of one or more lines; an empty one counts as none.
pub(super) fn optional_block(arguments: &Map<String, Value>, name: &str) -> Result<Option<String>, ToolError> {
    let text = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => clean(text),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => return Err(problem(name, "it must be a text")),
    };
    if text.len() > MAX_TEXT {
        return Err(problem(name, "it is too long"));
    }
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Several texts; one text counts as several when commas or line ends stand in it.
pub(super) fn lines(arguments: &Map<String, Value>, name: &str) -> Result<Vec<String>, ToolError> {
    let texts: Vec<String> = match arguments.get(name) {
        Some(Value::Array(values)) => {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            values.iter().map(text).collect::<Option<_>>().ok_or_else(|| problem(name, "it must be a list of texts"))?
        }
        Some(Value::String(text)) => text.split([',', '\n']).map(str::to_owned).collect(),
        _ => return Err(problem(name, "it must be a list of texts")),
    };
    let texts: Vec<String> = texts.iter().map(|text| one_line(&clean(text))).filter(|text| !text.is_empty()).collect();
    match texts.len() {
        0 => Err(problem(name, "it is empty")),
        1..=200 => Ok(texts),
        _ => Err(problem(name, "these are too many")),
    }
}

/// A number.
pub(super) fn number(arguments: &Map<String, Value>, name: &str) -> Result<f64, ToolError> {
    let number = match arguments.get(name) {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().replace(',', "").parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| problem(name, "it must be a number"))
}

pub(super) fn problem(name: &str, problem: &str) -> ToolError {
    ToolError::Argument { name: name.to_owned(), problem: problem.to_owned() }
}

/// Without carriage returns and other control characters.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
