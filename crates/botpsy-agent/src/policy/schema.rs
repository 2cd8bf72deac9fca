//! Whether arguments fit a tool's schema.

use serde_json::{Map, Value};

/// Deeper values than this are refused.
const MAX_DEPTH: usize = 64;

/// Checks the arguments of a call.
///
/// Names that the schema does not declare are refused unless it says `additionalProperties: true`; keywords that are not known here
/// allow everything.
///
/// # Errors
/// What does not fit, as a clause that names the argument.
pub(crate) fn check(arguments: &Map<String, Value>, schema: &Value) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let open = schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false));
    for (name, value) in arguments {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => {
                fits(value, property, schema, 0).map_err(|problem| format!("the argument `{name}` {problem}"))?
            }
            None if open => fits(value, &Value::Bool(true), schema, 0)
                .map_err(|problem| format!("the argument `{name}` {problem}"))?,
            None => return Err(format!("the tool has no argument `{name}`")),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| !arguments.contains_key(*name)) {
        Some(name) => Err(format!("the argument `{name}` is missing")),
        None => Ok(()),
    }
}

fn fits(value: &Value, schema: &Value, root: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("is nested too deeply".to_owned());
    }
    let schema = resolved(schema, root, depth);
    if schema == &Value::Bool(false) {
        return Err("is not allowed".to_owned());
    }
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array)
        && !options.iter().any(|option| fits(value, option, root, depth + 1).is_ok())
    {
        return Err("has none of the types that it may have".to_owned());
    }
    if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
        all.iter().try_for_each(|part| fits(value, part, root, depth + 1))?;
    }
    check_type(value, schema)?;
    check_choice(value, schema)?;
    match value {
        Value::Array(items) => {
            let of = schema.get("items").unwrap_or(&Value::Bool(true));
            items.iter().try_for_each(|item| fits(item, of, root, depth + 1))
        }
        Value::Object(fields) => object(fields, schema, root, depth),
        _ => Ok(()),
    }
}

fn object(fields: &Map<String, Value>, schema: &Value, root: &Value, depth: usize) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    for (name, value) in fields {
        let of = properties.and_then(|properties| properties.get(name)).or(others).unwrap_or(&Value::Bool(true));
        fits(value, of, root, depth + 1)?;
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| !fields.contains_key(*name)) {
        Some(name) => Err(format!("lacks `{name}`")),
        None => Ok(()),
    }
}

fn check_type(value: &Value, schema: &Value) -> Result<(), String> {
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.as_i64().is_some() || value.as_u64().is_some() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    match names.iter().any(|name| is(name)) {
        true => Ok(()),
        false => Err(format!("is not of the type {}", names.join(" or "))),
    }
}

fn check_choice(value: &Value, schema: &Value) -> Result<(), String> {
    let choices = schema.get("enum").and_then(Value::as_array);
    let is_one =
        choices.is_none_or(|choices| choices.contains(value)) && schema.get("const").is_none_or(|only| only == value);
    let n = value.as_f64();
    let above = schema.get("minimum").and_then(Value::as_f64).is_none_or(|low| n.is_none_or(|n| n >= low));
    let below = schema.get("maximum").and_then(Value::as_f64).is_none_or(|high| n.is_none_or(|n| n <= high));
    match is_one && above && below {
        true => Ok(()),
        false => Err("is not one of the values that it may have".to_owned()),
    }
}

fn resolved<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> &'a Value {
    let mut schema = schema;
    for _ in depth..MAX_DEPTH {
        let Some(pointer) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#')) else {
            break;
        };
        let Some(target) = root.pointer(pointer) else { break };
        schema = target;
    }
    schema
}
