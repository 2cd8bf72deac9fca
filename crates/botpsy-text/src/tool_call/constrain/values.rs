//! From the schema of a parameter to a grammar of the raw text that stands for it, closer included.

use serde_json::{Map, Value, json};

use crate::schema::{Type, TypeSet, resolve};
use crate::tool_call::PARAMETER_CLOSE;

/// The grammar of a value, in Lark's form, and the keywords of its schema that it does not hold to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValueGrammar {
    pub(super) lark: String,
    pub(super) dropped: Vec<&'static str>,
}

/// What begins the rule of a value in JSON.
pub(super) const JSON_RULE: &str = "\njson: %json ";

/// Keywords that raw text is not held to.
const TEXT_KEYWORDS: [&str; 10] =
    ["pattern", "minLength", "maxLength", "format", "contentEncoding", "not", "if", "allOf", "enum", "const"];

/// More than this of anything is more than any context holds.
const MAX_LEAST: f64 = 1e6;

/// The path, last step first, to a keyword that asks for more than can be written, or for a number that cannot be held to.
pub(super) fn impossible(schema: &Value, depth: usize) -> Option<Vec<String>> {
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

/// Whether a number in it has more digits than a double holds: it would come out as another one.
fn has_long_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            let digits = text.split(['e', 'E']).next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
            digits > 15 || text.contains(['e', 'E'])
        }
        Value::Array(items) => items.iter().any(has_long_number),
        _ => false,
    }
}

/// Counted repetitions inside one another, multiplied: how far a pattern unrolls.
const MAX_REPETITIONS: u64 = 20_000;

fn repetitions(pattern: &str) -> u64 {
    // Of the groups around the place, each with the most that stands in it.
    let (mut groups, mut last) = (vec![1_u64], 1);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => {
                while let Some(c) = rest.next().filter(|c| *c != ']') {
                    if c == '\\' {
                        rest.next();
                    }
                }
            }
            '(' => groups.push(1),
            ')' if groups.len() > 1 => {
                last = groups.pop().unwrap_or(1);
                let around = groups.last_mut().expect("one is left");
                *around = (*around).max(last);
                continue;
            }
            '{' => {
                let count: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let count = count.rsplit(',').find_map(|n| n.trim().parse::<u64>().ok()).unwrap_or(1);
                let around = groups.last_mut().expect("one is left");
                *around = (*around).max(last.saturating_mul(count));
                continue;
            }
            '?' | '*' | '+' => continue,
            _ => {}
        }
        last = 1;
    }
    groups.into_iter().max().unwrap_or(1)
}

/// Any text up to the first closer; the reader ends the value there too, as what follows is no text.
pub(super) fn any_text() -> ValueGrammar {
    let lark = format!("start: text \"\\n\"\ntext[suffix={}]: /(?s:.*)/\n", literal(PARAMETER_CLOSE));
    ValueGrammar { lark, dropped: Vec::new() }
}

/// The grammar for parameter `key` of the schema `root`.
pub(super) fn value(key: &str, schema: &Value, root: &Value) -> ValueGrammar {
    if let Some(choices) = choices(schema, root, 0)
        && let Some(texts) = choices.iter().map(spellings).collect::<Option<Vec<_>>>()
    {
        let texts: Vec<String> = texts.concat().iter().map(|text| literal(text)).collect();
        return closed(&texts.join(" | "), Vec::new());
    }
    let types = TypeSet::of(schema, root);
    if types.is_empty() || types.allows(Type::String) {
        let mut dropped = Vec::new();
        text_keywords(schema, root, 0, &mut dropped);
        return ValueGrammar { dropped, ..any_text() };
    }
    let mut branches = Vec::new();
    let mut spelled = |kind, texts: &[&str]| {
        if types.allows(kind) {
            branches.extend(texts.iter().map(|text| literal(text)));
        }
    };
    spelled(Type::Boolean, &["true", "false", "True", "False"]);
    spelled(Type::Null, &["null", "None"]);
    let structured = [Type::Integer, Type::Number, Type::Array, Type::Object];
    if structured.iter().any(|kind| types.allows(*kind)) {
        branches.push("json".to_owned());
        let document = document(key, root);
        return closed(&branches.join(" | "), vec![format!("{JSON_RULE}{document}")]);
    }
    closed(&branches.join(" | "), Vec::new())
}

/// The keywords about texts in a schema, those behind references and in branches too.
fn text_keywords(schema: &Value, root: &Value, depth: usize, found: &mut Vec<&'static str>) {
    let Some(node) = schema.as_object().filter(|_| depth < 16 && found.len() < TEXT_KEYWORDS.len()) else { return };
    for keyword in TEXT_KEYWORDS.iter().filter(|keyword| node.contains_key(**keyword)) {
        if !found.contains(keyword) {
            found.push(keyword);
        }
    }
    let target = node.get("$ref").and_then(|target| resolve(root, target));
    let branches = ["anyOf", "oneOf"].iter().filter_map(|key| node.get(*key)?.as_array()).flatten();
    for part in target.into_iter().chain(branches) {
        text_keywords(part, root, depth + 1, found);
    }
}

/// The plainest grammar for these types, where the schema itself cannot be compiled.
pub(super) fn of_types(schema: &Value, root: &Value) -> ValueGrammar {
    let types = TypeSet::of(schema, root);
    let all = [(Type::Integer, "integer"), (Type::Number, "number"), (Type::Array, "array"), (Type::Object, "object")];
    let named: Vec<&str> = all.iter().filter(|(kind, _)| types.allows(*kind)).map(|(_, name)| *name).collect();
    if named.is_empty() {
        return any_text();
    }
    let plain = json!({ "type": named });
    closed("json", vec![format!("{JSON_RULE}{plain}")])
}

fn closed(value: &str, rules: Vec<String>) -> ValueGrammar {
    let close = literal(&format!("\n{PARAMETER_CLOSE}\n"));
    let rules = rules.join("\n");
    ValueGrammar { lark: format!("start: value {close}\nvalue: {value}\n{rules}\n"), dropped: Vec::new() }
}

/// A text as a literal of a grammar.
pub(super) fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// The values that a schema lists, if it lists all.
fn choices(schema: &Value, root: &Value, depth: usize) -> Option<Vec<Value>> {
    let node = schema.as_object().filter(|_| depth < 16)?;
    if let Some(values) = node.get("enum").and_then(Value::as_array) {
        return Some(values.clone()).filter(|values| !values.is_empty());
    }
    if let Some(value) = node.get("const") {
        return Some(vec![value.clone()]);
    }
    if let Some(target) = node.get("$ref") {
        return choices(resolve(root, target)?, root, depth + 1);
    }
    match node.get("type").and_then(Value::as_str) {
        Some("null") => return Some(vec![Value::Null]),
        Some("boolean") => return Some(vec![true.into(), false.into()]),
        Some(_) => return None,
        None => {}
    }
    let branches = node.get("anyOf").or_else(|| node.get("oneOf"))?.as_array()?;
    let each = branches.iter().map(|branch| choices(branch, root, depth + 1)).collect::<Option<Vec<_>>>()?;
    Some(each.concat()).filter(|values| !values.is_empty())
}

/// How a value may be written; `None` where raw text cannot say it without doubt.
fn spellings(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(vec!["null".to_owned(), "None".to_owned()]),
        Value::Bool(true) => Some(vec!["true".to_owned(), "True".to_owned()]),
        Value::Bool(false) => Some(vec!["false".to_owned(), "False".to_owned()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::String(text) if text.contains(PARAMETER_CLOSE) || text.is_empty() => None,
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// The schema of parameter `key` as a document of its own, in which all references still find their targets.
pub(super) fn document(key: &str, root: &Value) -> Value {
    let key = key.replace('~', "~0").replace('/', "~1");
    json!({ "$defs": { "root": moved(root) }, "$ref": format!("#/$defs/root/properties/{key}") })
}

/// A schema whose local references lead to where `document` puts it.
fn moved(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(moved).collect(),
        Value::Object(node) => {
            let entry = |(key, value): (&String, &Value)| match value.as_str().and_then(|text| text.strip_prefix('#')) {
                Some(pointer) if key == "$ref" => (key.clone(), Value::from(format!("#/$defs/root{pointer}"))),
                _ => (key.clone(), moved(value)),
            };
            Value::Object(node.iter().map(entry).collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_multiply_only_inside_one_another() {
        for (pattern, n) in [
            ("^[a-z]+$", 1),
            ("a{3}b{5}", 5),
            ("(a{3}){5}", 15),
            ("^((a{1,100}){1,100}){1,100}$", 1_000_000),
            (r"\(a{7}\){2}[{9}(]{4}", 7),
            ("(a{2}|b{3,}){4}x{11}", 12),
            ("((((", 1),
            ("){2}", 2),
        ] {
            assert_eq!(repetitions(pattern), n, "{pattern}");
        }
    }
}
