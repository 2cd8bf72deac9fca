//! Answers that are JSON.

use serde_json::{Value, json};

use super::document::{MAX_LEAST, MAX_REPETITIONS, has_long_number};
use super::pattern::repetitions;
use super::vocabulary::{GrammarError, Grammars};
use crate::tokenizer::Tokenizer;

/// What the whole content of an answer must be.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that this schema allows.
    JsonSchema(Value),
}

impl AnswerFormat {
    /// The schema.
    pub(super) fn schema(&self) -> Value {
        match self {
            AnswerFormat::JsonObject => json!({ "type": "object" }),
            AnswerFormat::JsonSchema(schema) => schema.clone(),
        }
    }

    /// Refuses a schema that cannot be enforced.
    ///
    /// # Errors
    /// With the place and what is wrong there.
    pub fn check(&self, grammars: &Grammars) -> Result<(), GrammarError> {
        let schema = self.schema();
        let impossible = impossible(&schema, 0);
        let problem = match grammars.check_json(&schema) {
            _ if impossible.is_some() => "asks for more than can be written".to_owned(),
            Ok(()) => return Ok(()),
            Err(problem) => problem,
        };
        let mut field = "response_format.json_schema.schema".to_owned();
        let culprit = impossible.or_else(|| culprit(grammars, &schema, 0));
        culprit.iter().flatten().rev().for_each(|key| field.extend([".", key]));
        // The first lines of a compiler's message may only repeat the pattern.
        let problem = problem.lines().rfind(|line| line.starts_with("error: ")).unwrap_or(&problem).to_owned();
        Err(GrammarError { field, problem })
    }

    /// Whether `text` could be written to the end.
    pub fn accepts(&self, grammars: &Grammars, tokenizer: &Tokenizer, text: &str) -> bool {
        let Ok(mut matcher) = grammars.json(&self.schema()) else { return false };
        let mut ids = tokenizer.encode_untrusted(text).into_iter();
        ids.all(|id| matcher.consume_token(id.0).is_ok()) && matcher.is_accepting().unwrap_or(false)
    }
}

/// Deepest nesting of a schema that is searched.
const MAX_DEPTH: usize = 64;

/// The path, last step first, to the first keyword that cannot be compiled by itself.
fn culprit(grammars: &Grammars, schema: &Value, depth: usize) -> Option<Vec<String>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let further = |key: String, value: &Value| {
        let mut path = culprit(grammars, value, depth + 1)?;
        path.push(key);
        Some(path)
    };
    match schema {
        Value::Object(node) => node.iter().find_map(|(key, value)| match key.as_str() {
            "pattern" | "format" if value.is_string() => {
                let alone = json!({ "type": "string", key: value });
                grammars.check_json(&alone).is_err().then(|| vec![key.clone()])
            }
            _ => further(key.clone(), value),
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| further(i.to_string(), item)),
        _ => None,
    }
}

/// The path, last step first, to a keyword that asks for more than can be written, or for a number that cannot be held to.
fn impossible(schema: &Value, depth: usize) -> Option<Vec<String>> {
    let further = |key: String, value: &Value| {
        let mut path = impossible(value, depth + 1)?;
        path.push(key);
        Some(path)
    };
    match schema {
        // Deeper ones are refused by whoever compiles them.
        _ if depth > 128 => None,
        Value::Object(node) => node.iter().find_map(|(key, value)| match key.as_str() {
            "minItems" | "minLength" | "minProperties" if value.as_f64().is_some_and(|least| least > MAX_LEAST) => {
                Some(vec![key.clone()])
            }
            "const" | "enum" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
                if has_long_number(value) =>
            {
                Some(vec![key.clone()])
            }
            "pattern" if value.as_str().is_some_and(|pattern| repetitions(pattern) > MAX_REPETITIONS) => {
                Some(vec![key.clone()])
            }
            _ => further(key.clone(), value),
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| further(i.to_string(), item)),
        _ => None,
    }
}
