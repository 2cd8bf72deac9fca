//! From the schema of a parameter to a grammar of the raw text that stands for it, closer included.

use serde_json::{Value, json};

use super::document::{ADDED, Document, Told};
use super::vocabulary::Grammars;
use crate::conversation::ToolSpec;
use crate::schema::{Coerced, Type, TypeSet, coerce};
use crate::tool_call::{PARAMETER_CLOSE, ParseOptions, Stop, Thinking, ToolChoice, parse};

/// The grammar of a value, in Lark's form, and what of its schema it does not hold to.
pub(super) struct ValueGrammar {
    pub(super) lark: String,
    pub(super) told: Vec<Told>,
}

/// The parameter a grammar is made for.
pub(super) struct Place<'a> {
    pub(super) grammars: &'a Grammars,
    /// All tools: what one of them is called may be a tag inside a value of another.
    pub(super) tools: &'a [ToolSpec],
    pub(super) tool: &'a ToolSpec,
    pub(super) key: &'a str,
    /// As which types the reader takes it.
    pub(super) types: TypeSet,
}

/// What begins the rule of a value in JSON.
pub(super) const JSON_RULE: &str = "\njson: %json ";

const KINDS: [(Type, &str); 7] = [
    (Type::Null, "null"),
    (Type::Integer, "integer"),
    (Type::Number, "number"),
    (Type::Boolean, "boolean"),
    (Type::Object, "object"),
    (Type::Array, "array"),
    (Type::String, "string"),
];

/// Keywords that say something about values of one type, which raw text that may be of other types too is not held to.
const KEYWORDS: [(Type, &[&str]); 4] = [
    (Type::String, &["minLength", "maxLength", "pattern", "format"]),
    (Type::Integer, &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (Type::Array, &["items", "prefixItems", "additionalItems", "minItems", "maxItems"]),
    (
        Type::Object,
        &["properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties"],
    ),
];

/// Any text up to the first closer; the reader ends the value there too, as what follows is no text.
pub(super) fn any_text() -> String {
    format!("start: text \"\\n\"\ntext[suffix={}]: /(?s:.*)/\n", literal(PARAMETER_CLOSE))
}

impl Place<'_> {
    fn path(&self) -> String {
        format!("properties.{}", self.key)
    }

    /// The grammar for the parameter, whose schema this is.
    pub(super) fn value(&self, schema: &Value) -> ValueGrammar {
        let document = Document::new(self.grammars, &self.path(), schema, &self.tool.parameters);
        let types = self.types;
        let made = if let Some(candidates) = candidates(&document, document.value(), 0) {
            self.choices(&document, &candidates, types)
        } else if types.is_empty() || types.allows(Type::String) {
            self.text(&document, types)
        } else {
            self.json(&document, types)
        };
        let (lark, told) = match made {
            Ok(made) => made,
            Err(why) => (of_types(types), vec![Told { path: self.path(), why }]),
        };
        ValueGrammar { lark, told: document.told.into_iter().chain(told).collect() }
    }

    /// One of some values, as far as raw text can say them.
    fn choices(
        &self,
        document: &Document,
        candidates: &[Value],
        types: TypeSet,
    ) -> Result<(String, Vec<Told>), String> {
        let is_plain = document
            .value()
            .as_object()
            .is_some_and(|node| node.len() == 1 && ["enum", "const", "type"].iter().any(|key| node.contains_key(*key)));
        let fits = |value: &&Value| is_plain || self.grammars.allows(&document.schema, value);
        let allowed: Vec<&Value> = candidates.iter().filter(fits).collect();
        if allowed.iter().any(|value| value.is_array() || value.is_object())
            && !types.is_empty()
            && !types.allows(Type::String)
        {
            return self.json(document, types);
        }
        let is_among = |value: &Value| allowed.iter().any(|other| is_same(value, other));
        let reads = |text: &String| self.reads(text, types).is_some_and(|value| is_among(&value));
        let texts: Vec<String> = allowed.iter().flat_map(|value| spellings(value)).filter(reads).collect();
        if texts.is_empty() {
            return Err("none of the values can be written".to_owned());
        }
        let (empty, texts): (Vec<String>, Vec<String>) = texts.into_iter().partition(String::is_empty);
        let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
        let close = literal(&closer());
        let lark = match (texts.is_empty(), empty.is_empty()) {
            (false, true) => format!("start: value {close}\nvalue: {}\n", texts.join(" | ")),
            (false, false) => format!("start: value {close} | {close}\nvalue: {}\n", texts.join(" | ")),
            (true, _) => format!("start: {close}\n"),
        };
        self.grammars.check(&lark)?;
        Ok((lark, Vec::new()))
    }

    /// What the reader makes of a value that is written like this, if it takes it for one value.
    fn reads(&self, text: &str, types: TypeSet) -> Option<Value> {
        if !text.contains('<') {
            return match coerce(text, types) {
                Coerced::Fits(value) => Some(value),
                Coerced::Raw(_) => None,
            };
        }
        let (name, key) = (&self.tool.name, self.key);
        let close = closer();
        let text = format!("<tool_call>\n<function={name}>\n<parameter={key}>\n{text}{close}</function>\n</tool_call>");
        let (tools, tool_choice) = (self.tools, ToolChoice::Auto);
        let options = ParseOptions { tools, thinking: Thinking::Off, stop: Stop::Eos, tool_choice };
        let mut message = parse(&text, &options);
        let mut call =
            message.tool_calls.pop().filter(|_| message.tool_calls.is_empty() && message.content.is_none())?;
        call.arguments.remove(key).filter(|_| call.arguments.is_empty())
    }

    /// Any text, with what of the schema it may not fit.
    fn text(&self, document: &Document, types: TypeSet) -> Result<(String, Vec<Told>), String> {
        let types = if types.is_empty() { types.with(Type::String) } else { types };
        let mut told = Vec::new();
        if document.value().as_object().is_none_or(|node| node.keys().any(|key| key != "type")) {
            self.grammars.check_json(&document.schema)?;
            for (kind, name) in KINDS {
                if types.allows(kind) && self.grammars.check_json(&document.and_type(name.into())).is_err() {
                    return Err(format!("a text may be read as one of type {name}"));
                }
            }
            loose(document, document.value(), &self.path(), types, 0, &mut told);
        }
        Ok((any_text(), told))
    }

    /// JSON, and the other ways to write what is a word in it.
    fn json(&self, document: &Document, types: TypeSet) -> Result<(String, Vec<Told>), String> {
        let mut branches = Vec::new();
        let words = [(Type::Boolean, json!(true)), (Type::Boolean, json!(false)), (Type::Null, Value::Null)];
        for (kind, word) in words {
            if types.allows(kind) && self.grammars.allows(&document.schema, &word) {
                branches.extend(spellings(&word).iter().map(|text| literal(text)));
            }
        }
        // The reader takes the types from what is not enforced too.
        let schema = if document.told.is_empty() { document.schema.clone() } else { document.and_type(names(types)) };
        let lark = of_json(&branches, &schema);
        self.grammars.check(&lark)?;
        Ok((lark, Vec::new()))
    }
}

/// The keywords that raw text of these types is not held to.
fn loose(document: &Document, schema: &Value, path: &str, types: TypeSet, depth: usize, told: &mut Vec<Told>) {
    let Some(node) = schema.as_object().filter(|node| depth < 16 && !node.contains_key(ADDED)) else { return };
    let mut tell = |key: &str| {
        told.push(Told { path: format!("{path}.{key}"), why: "raw text is not held to it".to_owned() });
    };
    for key in node.keys() {
        let about = KEYWORDS.iter().find(|(_, keywords)| keywords.contains(&key.as_str())).map(|(kind, _)| *kind);
        if about.is_some_and(|kind| types.allows(kind)) || matches!(key.as_str(), "enum" | "const") {
            tell(key);
        }
    }
    for key in ["anyOf", "allOf", "oneOf"] {
        let mut inner = Vec::new();
        for (i, branch) in node.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            loose(document, branch, &format!("{path}.{key}.{i}"), types, depth + 1, &mut inner);
        }
        // Without what is not enforced in one branch, another one may hold too.
        if key == "oneOf" && !inner.is_empty() {
            told.push(Told { path: format!("{path}.{key}"), why: "raw text is not held to it".to_owned() });
        } else {
            told.append(&mut inner);
        }
    }
    if let Some((target, path)) = node.get("$ref").and_then(|reference| document.target(reference)) {
        loose(document, target, path, types, depth + 1, told);
    }
}

/// The plainest grammar for these types, where the schema itself cannot be compiled.
pub(super) fn of_types(types: TypeSet) -> String {
    if types.is_empty() || types.allows(Type::String) {
        return any_text();
    }
    of_json(&[], &json!({ "type": names(types) }))
}

fn names(types: TypeSet) -> Value {
    KINDS.iter().filter(|(kind, _)| types.allows(*kind)).map(|(_, name)| Value::from(*name)).collect()
}

fn of_json(branches: &[String], schema: &Value) -> String {
    let ways: Vec<&str> = branches.iter().map(String::as_str).chain(["json"]).collect();
    format!("start: value {}\nvalue: {}\n{JSON_RULE}{schema}\n", literal(&closer()), ways.join(" | "))
}

/// The end of a value.
fn closer() -> String {
    format!("\n{PARAMETER_CLOSE}\n")
}

/// A text as a literal of a grammar.
pub(super) fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// The values among which all lie that a schema allows, if it lists them.
fn candidates(document: &Document, schema: &Value, depth: usize) -> Option<Vec<Value>> {
    let node = schema.as_object().filter(|_| depth < 16)?;
    if let Some(values) = node.get("enum").and_then(Value::as_array) {
        return Some(values.clone()).filter(|values| !values.is_empty());
    }
    if let Some(value) = node.get("const") {
        return Some(vec![value.clone()]);
    }
    match node.get("type").and_then(Value::as_str) {
        Some("null") => return Some(vec![Value::Null]),
        Some("boolean") => return Some(vec![true.into(), false.into()]),
        _ => {}
    }
    if let Some((target, _)) = node.get("$ref").and_then(|reference| document.target(reference))
        && let Some(values) = candidates(document, target, depth + 1)
    {
        return Some(values);
    }
    let mut parts = node.get("allOf").and_then(Value::as_array).into_iter().flatten();
    if let Some(values) = parts.find_map(|part| candidates(document, part, depth + 1)) {
        return Some(values);
    }
    let branches = node.get("anyOf").or_else(|| node.get("oneOf"))?.as_array()?;
    let each = branches.iter().map(|branch| candidates(document, branch, depth + 1)).collect::<Option<Vec<_>>>()?;
    Some(each.concat()).filter(|values| !values.is_empty())
}

/// How a value may be written.
fn spellings(value: &Value) -> Vec<String> {
    match value {
        Value::Null => vec!["null".to_owned(), "None".to_owned()],
        Value::Bool(true) => vec!["true".to_owned(), "True".to_owned()],
        Value::Bool(false) => vec!["false".to_owned(), "False".to_owned()],
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

/// Whether two values are the same one; numbers may be written differently.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| is_same(value, other)))
        }
        _ => one == other,
    }
}
