//! The schema of an object said through others: as one.

use serde_json::{Map, Value};

use super::resolve;

/// So many schemas that refer to one another are followed.
const MAX_STEPS: usize = 16;

/// Keywords that say nothing about a value, or hold what others refer to.
const ASIDE: [&str; 10] =
    ["$defs", "definitions", "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"];

/// Keywords of objects that hold together in one schema as they do in several.
const JOINED: [&str; 3] = ["type", "properties", "required"];

/// A schema that is a reference to one, or to be all of some, as programs print them that name every type: the same as one
/// object with its properties. What cannot be joined without another meaning stays as it is.
pub(crate) fn flattened(root: &Map<String, Value>) -> Map<String, Value> {
    let mut flat = root.clone();
    let whole = Value::Object(root.clone());
    for _ in 0..MAX_STEPS {
        let Some(next) = referred(&flat, &whole).or_else(|| joined(&flat, &whole)) else { break };
        flat = next;
    }
    flat
}

/// What a reference that stands alone leads to.
fn referred(node: &Map<String, Value>, root: &Value) -> Option<Map<String, Value>> {
    let target = resolve(root, node.get("$ref")?)?.as_object()?;
    is_alone(node, "$ref").then(|| with_aside(target.clone(), node))
}

/// All parts of an `allOf` in one.
fn joined(node: &Map<String, Value>, root: &Value) -> Option<Map<String, Value>> {
    let parts = node.get("allOf")?.as_array()?;
    let mut parts: Vec<Map<String, Value>> =
        parts.iter().map(|part| part.as_object().cloned()).collect::<Option<_>>()?;
    for part in &mut parts {
        if let Some(target) = referred(part, root) {
            *part = target;
        }
    }
    if let [part] = &parts[..]
        && is_alone(node, "allOf")
    {
        return Some(with_aside(part.clone(), node));
    }
    let mut own = node.clone();
    own.shift_remove("allOf");
    parts.push(own);
    let mut all: Map<String, Value> = Map::new();
    for part in &parts {
        if !part.keys().all(|key| ASIDE.contains(&key.as_str()) || JOINED.contains(&key.as_str())) {
            return None;
        }
        if part.get("type").is_some_and(|kind| kind != "object") {
            return None;
        }
        for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let properties = all.entry("properties").or_insert_with(|| Map::new().into()).as_object_mut()?;
            // Of a name in two parts both would have to hold.
            if properties.insert(name.clone(), schema.clone()).is_some_and(|other| other != *schema) {
                return None;
            }
        }
        for name in part.get("required").and_then(Value::as_array).into_iter().flatten() {
            let required = all.entry("required").or_insert_with(|| Vec::<Value>::new().into()).as_array_mut()?;
            if !required.contains(name) {
                required.push(name.clone());
            }
        }
    }
    all.insert("type".to_owned(), "object".into());
    Some(with_aside(all, node))
}

fn is_alone(node: &Map<String, Value>, key: &str) -> bool {
    // Beside a reference a type says nothing new to arguments, which are an object anyway.
    let is_object = |name: &str| name == "type" && node.get(name).is_some_and(|kind| kind == "object");
    node.keys().all(|name| name == key || ASIDE.contains(&name.as_str()) || is_object(name))
}

/// With what stands aside in `from`, which references lead to.
fn with_aside(mut node: Map<String, Value>, from: &Map<String, Value>) -> Map<String, Value> {
    for key in ASIDE {
        if let Some(value) = from.get(key) {
            node.insert(key.to_owned(), value.clone());
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flat(schema: &Value) -> Value {
        flattened(schema.as_object().unwrap()).into()
    }

    #[test]
    fn what_is_said_through_others_is_said_as_one() {
        let node =
            json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/N~1" } }, "required": ["next"] });
        let schema = json!({ "$ref": "#/$defs/N~1", "$defs": { "N/": node } });
        assert_eq!(flat(&schema)["properties"], node["properties"]);
        assert_eq!(flat(&schema)["$defs"], schema["$defs"], "references still lead somewhere");

        let parts = json!({ "$defs": { "A": { "type": "object", "properties": { "a": true }, "required": ["a"] } },
            "allOf": [{ "$ref": "#/$defs/A" }, { "properties": { "b": true } }], "properties": { "c": true }, "required": ["c"] });
        let all = flat(&parts);
        assert_eq!(
            (&all["properties"], &all["required"]),
            (&json!({ "a": true, "b": true, "c": true }), &json!(["a", "c"]))
        );
        let single =
            json!({ "allOf": [{ "type": "object", "properties": { "a": true }, "additionalProperties": false }] });
        assert_eq!(flat(&single), single["allOf"][0]);
    }

    #[test]
    fn what_would_mean_something_else_stays() {
        let closed = json!({ "properties": { "a": true }, "additionalProperties": false });
        for schema in [
            json!({ "allOf": [closed, { "properties": { "b": true } }] }),
            json!({ "allOf": [{ "properties": { "a": { "minimum": 1 } } }, { "properties": { "a": { "maximum": 2 } } }] }),
            json!({ "allOf": [{ "not": {} }, { "properties": {} }] }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "$ref": "#/$defs/A", "minProperties": 1, "$defs": { "A": closed } }),
            json!({ "type": "object", "properties": {} }),
        ] {
            assert_eq!(flat(&schema), schema);
        }
        let circle = json!({ "$ref": "#" });
        assert_eq!(flat(&circle), circle);
    }
}
