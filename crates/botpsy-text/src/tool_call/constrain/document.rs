//! The schema of a parameter as a document of its own, without what grammars cannot hold a value to.

use serde_json::{Map, Value, json};

use super::pattern::repetitions;
use super::vocabulary::Grammars;
use crate::schema::resolve;
use crate::tool_call::{FUNCTION_OPEN, PARAMETER_CLOSE};

/// A keyword that is not enforced.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    /// Its path in the parameters of the tool.
    pub(super) path: String,
    pub(super) why: String,
}

/// What a grammar is made from.
pub(super) struct Document {
    /// All that the value needs, with references under plain names.
    pub(super) schema: Value,
    /// What was left out.
    pub(super) told: Vec<Told>,
    /// Where each part stood, by its plain name.
    paths: Map<String, Value>,
}

/// More than this of anything is more than any context holds.
pub(super) const MAX_LEAST: f64 = 1e6;

/// Counted repetitions inside one another, multiplied: how far a pattern unrolls.
pub(super) const MAX_REPETITIONS: u64 = 20_000;

/// Deepest nesting of a schema that is followed; deeper ones are refused by whoever compiles them.
const MAX_DEPTH: usize = 128;

/// Keywords that grammars know nothing of.
const UNKNOWN: [&str; 13] = [
    "uniqueItems",
    "not",
    "if",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
    "contentSchema",
];

/// The types there are.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "null", "array", "object"];

/// Keywords that are kept as they stand.
const KEPT: [&str; 6] = ["type", "required", "maxItems", "maxLength", "maxProperties", "multipleOf"];

/// A day of the calendar. The format alone would let the 29th of February into every year, and there was no year 0.
pub(super) const DAY: &str = "^(?:(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-\
    (?:(?:0[1-9]|1[0-2])-(?:[01][0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30|31))\
    |(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)";

/// Formats of strings (JSON Schema 2020-12, 7.3); others are remarks.
const STRING_FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// References of branches that are taken apart inside one another, so that branches can be told from each other.
const MAX_INLINED: usize = 3;

/// What formats leave open: days, and a second 60, which only the last minute of some months has.
const FORMATS: [(&str, &str); 4] = [
    ("date", DAY),
    ("date-time", DAY),
    ("date-time", "^.{11}[0-9]{2}:[0-9]{2}:[0-5]"),
    ("time", "^[0-9]{2}:[0-9]{2}:[0-5]"),
];

/// Marks a part that does not stand in the schema; readers of schemas pass over what they do not know.
pub(super) const ADDED: &str = "x-added";

impl Document {
    /// The document for `schema`, which stands at `path` in the parameters `root`.
    pub(super) fn new(grammars: &Grammars, path: &str, schema: &Value, root: &Value) -> Document {
        Document::of(grammars, path, schema, root, Carrier::Call)
    }

    /// The document of an answer that is JSON; it stands at `path`.
    pub(super) fn of_answer(grammars: &Grammars, path: &str, schema: &Value) -> Document {
        Document::of(grammars, path, schema, schema, Carrier::Answer)
    }

    fn of(grammars: &Grammars, path: &str, schema: &Value, root: &Value, carrier: Carrier) -> Document {
        let exact = Builder::build(grammars, path, (schema, root), OneOf::Exact, carrier);
        if !exact.has_one_of || grammars.check_json(&exact.document.schema).is_ok() {
            return exact.document;
        }
        // What is compiled cannot tell all branches apart; they are held to one at least.
        Builder::build(grammars, path, (schema, root), OneOf::AtLeastOne, carrier).document
    }

    /// The value's own part.
    pub(super) fn value(&self) -> &Value {
        &self.schema["$defs"]["value"]
    }

    /// What a reference inside the document leads to, and where that stood.
    pub(super) fn target(&self, reference: &Value) -> Option<(&Value, &str)> {
        let name = reference.as_str()?.strip_prefix("#/$defs/")?;
        Some((self.schema["$defs"].get(name)?, self.paths.get(name)?.as_str()?))
    }

    /// The document of values that are also of this type, or of one of these.
    pub(super) fn and_type(&self, kind: Value) -> Value {
        let mut schema = self.schema.clone();
        if let Some(reference) = schema.as_object_mut().and_then(|document| document.remove("$ref")) {
            schema["allOf"] = json!([{ "$ref": reference }, { "type": kind }]);
        }
        schema
    }
}

/// How `oneOf` is taken.
#[derive(Clone, Copy, PartialEq)]
enum OneOf {
    Exact,
    AtLeastOne,
}

/// What the value stands in.
#[derive(Clone, Copy, PartialEq)]
enum Carrier {
    /// A parameter of a call, whose tags it must not hold.
    Call,
    /// The answer itself.
    Answer,
}

struct Builder<'a> {
    grammars: &'a Grammars,
    root: &'a Value,
    one_of: OneOf,
    carrier: Carrier,
    /// References whose targets stand in the place of the reference.
    inlined: Vec<&'a str>,
    has_one_of: bool,
    /// References that were met; the place of each gives its name.
    targets: Vec<&'a str>,
    document: Document,
}

impl<'a> Builder<'a> {
    fn build(
        grammars: &'a Grammars,
        path: &str,
        (schema, root): (&'a Value, &'a Value),
        one_of: OneOf,
        carrier: Carrier,
    ) -> Builder<'a> {
        let document = Document { schema: Value::Null, told: Vec::new(), paths: Map::new() };
        let (inlined, targets) = (Vec::new(), Vec::new());
        let mut builder = Builder { grammars, root, one_of, carrier, inlined, has_one_of: false, targets, document };
        let mut parts = Map::new();
        parts.insert("value".to_owned(), builder.part(schema, path, 0));
        let mut n_done = 0;
        while let Some(reference) = builder.targets.get(n_done).copied() {
            let target = resolve(root, &Value::from(reference)).expect("only references that lead somewhere are noted");
            let path = path_of(reference);
            builder.document.paths.insert(n_done.to_string(), path.clone().into());
            parts.insert(n_done.to_string(), builder.part(target, &path, 0));
            n_done += 1;
        }
        // An escape could spell a name in a second way, and so give a property twice.
        let mut guidance = json!({ "x-guidance": { "json_allowed_escapes": "nrbtf\\\"" } });
        if parts.values().any(has_control) {
            guidance = json!({});
        }
        guidance["$defs"] = parts.into();
        guidance["$ref"] = "#/$defs/value".into();
        builder.document.schema = guidance;
        builder
    }

    fn tell(&mut self, path: String, why: &str) {
        self.document.told.push(Told { path, why: why.to_owned() });
    }

    /// A schema without what cannot be enforced.
    fn part(&mut self, schema: &'a Value, path: &str, depth: usize) -> Value {
        let Some(node) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return schema.clone() };
        let mut part = Map::new();
        let carried = self.carrier == Carrier::Answer || !names(node).any(is_tag);
        for (key, value) in node {
            let at = format!("{path}.{key}");
            if key == "format" && is_remark(node, value) {
                continue;
            }
            if matches!(key.as_str(), "properties" | "required" | "additionalProperties") && !carried {
                self.tell(at, "the format of calls cannot carry these names");
            } else if let Some(why) = self.obstacle(node, key, value) {
                self.tell(at, &why);
            } else if let Some(value) = self.keyword(key, value, &at, depth, &mut part) {
                part.insert(key.clone(), value);
            }
        }
        Value::Object(part)
    }

    /// A branch of which only one may hold. What is compiled can tell branches apart by what stands in them, but not behind
    /// a reference.
    fn branch(&mut self, schema: &'a Value, path: &str, depth: usize) -> Value {
        let alone = schema.as_object().filter(|node| node.len() == 1).and_then(|node| node.get("$ref"));
        let reference = alone.and_then(Value::as_str).filter(|reference| !self.inlined.contains(reference));
        match (reference, alone.and_then(|reference| resolve(self.root, reference))) {
            (Some(reference), Some(target)) if self.inlined.len() < MAX_INLINED => {
                self.inlined.push(reference);
                let part = self.part(target, &path_of(reference), depth);
                self.inlined.pop();
                part
            }
            _ => self.part(schema, path, depth),
        }
    }

    /// Why a keyword cannot be enforced.
    fn obstacle(&self, node: &Map<String, Value>, key: &str, value: &Value) -> Option<String> {
        let least = value.as_f64().unwrap_or_default();
        let why = match key {
            "uniqueItems" if value == false => return None,
            _ if UNKNOWN.contains(&key) => "grammars do not know it",
            "minItems" | "minLength" | "minProperties" if least > MAX_LEAST => "asks for more than can be written",
            // A name may be given twice, which counts as one property.
            "minProperties" if least >= 2.0 + n_required(node) as f64 => "names may repeat",
            "const" | "enum" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
                if has_long_number(value) =>
            {
                "has a number with more digits than are read exactly"
            }
            "const" | "enum" if self.carrier == Carrier::Call && has_tag(value) => {
                "the format of calls cannot carry it"
            }
            "type" if !is_type(value) => "is no type of JSON Schema",
            "$ref" if resolve(self.root, value).is_none() => "leads nowhere",
            "pattern" => {
                let pattern = value.as_str().unwrap_or_default();
                if repetitions(pattern) > MAX_REPETITIONS {
                    "asks for more than can be written"
                } else if self.carrier == Carrier::Call && is_tag(pattern) {
                    "the format of calls cannot carry it"
                } else {
                    return self.compiled(key, value).err();
                }
            }
            "format" => return self.compiled(key, value).err(),
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn compiled(&self, key: &str, value: &Value) -> Result<(), String> {
        self.grammars.check_json(&json!({ "type": "string", key: value }))
    }

    /// What stands in a keyword, or `None` if it says nothing about a value.
    fn keyword(
        &mut self,
        key: &str,
        value: &'a Value,
        at: &str,
        depth: usize,
        part: &mut Map<String, Value>,
    ) -> Option<Value> {
        if let Some(bound) = inner_bound(key, value) {
            all_of(part).push(bound);
        }
        match key {
            "const" | "enum" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "minItems"
            | "minLength" | "minProperties" | "pattern" => Some(value.clone()),
            _ if KEPT.contains(&key) => Some(value.clone()),
            "format" => {
                let format = value.as_str().unwrap_or_default();
                let added = FORMATS.iter().filter(|(name, _)| *name == format);
                all_of(part).extend(added.map(|(_, pattern)| json!({ "pattern": pattern, ADDED: true })));
                Some(value.clone())
            }
            "$ref" => {
                let reference = value.as_str()?;
                let known = self.targets.iter().position(|target| *target == reference);
                let index = known.unwrap_or_else(|| {
                    self.targets.push(reference);
                    self.targets.len() - 1
                });
                Some(format!("#/$defs/{index}").into())
            }
            "properties" | "patternProperties" => match value.as_object() {
                Some(members) => {
                    let each =
                        |(name, member)| (String::clone(name), self.part(member, &format!("{at}.{name}"), depth + 1));
                    Some(Value::Object(members.iter().map(each).collect()))
                }
                None => Some(value.clone()),
            },
            "oneOf" if self.one_of == OneOf::AtLeastOne => {
                self.tell(at.to_owned(), "its branches may hold together");
                let branches = self.keyword("anyOf", value, at, depth, part)?;
                all_of(part).push(json!({ "anyOf": branches, ADDED: true }));
                None
            }
            "items" | "prefixItems" | "additionalItems" | "additionalProperties" | "anyOf" | "oneOf" | "allOf" => {
                self.has_one_of |= key == "oneOf";
                let Some(parts) = value.as_array() else { return Some(self.part(value, at, depth + 1)) };
                let each = |(i, branch)| {
                    let at = format!("{at}.{i}");
                    if key == "oneOf" { self.branch(branch, &at, depth + 1) } else { self.part(branch, &at, depth + 1) }
                };
                let mut parts: Vec<Value> = parts.iter().enumerate().map(each).collect();
                if key == "allOf" {
                    all_of(part).append(&mut parts);
                    return None;
                }
                Some(parts.into())
            }
            _ => None,
        }
    }
}

/// Whether a format says nothing about a value: it is none of strings, or there are no strings.
fn is_remark(node: &Map<String, Value>, format: &Value) -> bool {
    let is_string = |kind: &Value| kind == "string";
    let no_strings = match node.get("type") {
        Some(Value::Array(kinds)) => !kinds.iter().any(is_string),
        Some(kind) => !is_string(kind),
        None => false,
    };
    no_strings || format.as_str().is_some_and(|format| !STRING_FORMATS.contains(&format))
}

/// Whether it is a type, or a list of types.
fn is_type(value: &Value) -> bool {
    let is_name = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    value.as_array().map_or_else(|| is_name(value), |names| names.iter().all(is_name))
}

/// Beside an exclusive bound that is a whole number, the next number of 15 digits as an inclusive one: between 0 and 0.5,
/// both exclusive, what is compiled would allow 0 (llguidance 1.9).
fn inner_bound(key: &str, value: &Value) -> Option<Value> {
    let bound = value.as_f64().filter(|bound| bound.fract() == 0.0 && bound.abs() < 1e10)?;
    let n_digits = format!("{}", bound.abs()).len() as i32;
    let step = 10_f64.powi(n_digits - 15);
    match key {
        "exclusiveMinimum" => Some(json!({ "minimum": bound + step, ADDED: true })),
        "exclusiveMaximum" => Some(json!({ "maximum": bound - step, ADDED: true })),
        _ => None,
    }
}

/// The list of parts that must hold too; it may have been begun.
fn all_of(part: &mut Map<String, Value>) -> &mut Vec<Value> {
    let list = part.entry("allOf").or_insert_with(|| json!([]));
    list.as_array_mut().expect("it was made as a list")
}

/// The names that an object may have to be written with.
fn names(node: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let declared =
        node.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
    declared.chain(node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str))
}

fn n_required(node: &Map<String, Value>) -> usize {
    node.get("required").and_then(Value::as_array).map_or(0, Vec::len)
}

/// Whether JSON text with this in it may be cut by the reader.
fn is_tag(text: &str) -> bool {
    text.contains(PARAMETER_CLOSE) || text.contains(FUNCTION_OPEN)
}

fn has_tag(value: &Value) -> bool {
    match value {
        Value::String(text) => is_tag(text),
        Value::Array(items) => items.iter().any(has_tag),
        Value::Object(members) => members.iter().any(|(name, member)| is_tag(name) || has_tag(member)),
        _ => false,
    }
}

/// Whether it has a text that JSON can write only with an escape by number.
fn has_control(value: &Value) -> bool {
    let is_control = |text: &str| text.chars().any(|c| c.is_ascii_control() && !"\n\r\t\u{8}\u{c}".contains(c));
    match value {
        Value::String(text) => is_control(text),
        Value::Array(items) => items.iter().any(has_control),
        Value::Object(members) => members.iter().any(|(name, member)| is_control(name) || has_control(member)),
        _ => false,
    }
}

/// Whether a number in it has more digits than a double holds: it would come out as another one.
pub(super) fn has_long_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            let digits = text.split(['e', 'E']).next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
            digits > 15 || text.contains(['e', 'E'])
        }
        Value::Array(items) => items.iter().any(has_long_number),
        Value::Object(members) => members.values().any(has_long_number),
        _ => false,
    }
}

/// `#/$defs/a~1b` as a path with dots.
fn path_of(reference: &str) -> String {
    let steps = reference.trim_start_matches('#').split('/').skip(1);
    let names: Vec<String> = steps.map(|step| percent_decoded(step).replace("~1", "/").replace("~0", "~")).collect();
    names.join(".")
}

fn percent_decoded(step: &str) -> String {
    crate::schema::percent_decode(step).unwrap_or_else(|| step.to_owned())
}
