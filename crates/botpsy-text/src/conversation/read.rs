//! From the JSON of a Chat Completions request to messages and tools.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Message, Role, ToolCall, ToolSpec};
use crate::schema::flattened;

/// Why messages or tools could not be read.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ConversationError {
    /// A field does not have the shape that it must have.
    #[error("{field}: expected {expected}, found {found}")]
    Shape {
        /// Path of the field.
        field: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A role that no message can have.
    #[error("{field}: unknown role \"{role}\", expected system, developer, user, assistant or tool")]
    UnknownRole {
        /// Path of the field.
        field: String,
        /// The role as it stands there.
        role: String,
    },
    /// A part of a message that is not text: an image, a sound, a film, a file.
    #[error("{field}: {kind} parts are not supported, only text is")]
    UnsupportedPart {
        /// Path of the part.
        field: String,
        /// The `type` of the part.
        kind: String,
    },
    /// A tool that is no function, such as one that a provider runs itself.
    #[error("{field}: {kind:?} tools are not supported, only \"function\" is")]
    ToolType {
        /// Path of the field.
        field: String,
        /// The type as it stands there.
        kind: String,
    },
    /// A tool name that the format of calls cannot carry.
    #[error("{field}: the tool name {name:?} must not be empty nor hold \"<\", \">\" or a line break")]
    ToolName {
        /// Path of the field.
        field: String,
        /// The name as it stands there.
        name: String,
    },
}

pub(super) fn message(index: usize, message: &Value) -> Result<Message, ConversationError> {
    let at = format!("messages[{index}]");
    let fields = object(message, &at)?;
    let reasoning = match optional_text(fields, "reasoning_content", &at)? {
        Some(reasoning) => Some(reasoning),
        None => optional_text(fields, "reasoning", &at)?,
    };
    let mut calls = Vec::new();
    let mut call_ids = Vec::new();
    match fields.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) => {
            for (position, item) in items.iter().enumerate() {
                let (id, call) = tool_call(item, &format!("{at}.tool_calls[{position}]"))?;
                calls.push(call);
                call_ids.push(id);
            }
        }
        Some(other) => return Err(shape(format!("{at}.tool_calls"), "an array", other)),
    }
    Ok(Message {
        role: role(fields, &at)?,
        content: content(fields.get("content").unwrap_or(&Value::Null), &format!("{at}.content"))?,
        reasoning_content: reasoning,
        tool_calls: calls,
        call_ids,
        tool_call_id: optional_text(fields, "tool_call_id", &at)?,
        name: optional_text(fields, "name", &at)?,
    })
}

pub(super) fn tool(index: usize, source: &Value) -> Result<ToolSpec, ConversationError> {
    let mut at = format!("tools[{index}]");
    let mut fields = object(source, &at)?;
    if let Some(kind) = optional_text(fields, "type", &at)?.filter(|kind| kind != "function") {
        return Err(ConversationError::ToolType { field: format!("{at}.type"), kind });
    }
    if let Some(function) = fields.get("function") {
        at.push_str(".function");
        fields = object(function, &at)?;
    }
    let name = required_text(fields, "name", &at)?;
    if name.is_empty() || name.contains(['<', '>', '\n', '\r']) {
        return Err(ConversationError::ToolName { field: format!("{at}.name"), name });
    }
    let parameters = match fields.get("parameters") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(parameters) => Value::Object(flattened(object(parameters, &format!("{at}.parameters"))?)),
    };
    Ok(ToolSpec { name, parameters, source: source.clone() })
}

fn role(fields: &Map<String, Value>, at: &str) -> Result<Role, ConversationError> {
    let role = required_text(fields, "role", at)?;
    match role.as_str() {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        _ => Err(ConversationError::UnknownRole { field: format!("{at}.role"), role }),
    }
}

fn content(value: &Value, at: &str) -> Result<Option<String>, ConversationError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Array(parts) => {
            let mut joined = String::new();
            for (index, part) in parts.iter().enumerate() {
                joined.push_str(text_part(part, &format!("{at}[{index}]"))?);
            }
            Ok(Some(joined))
        }
        other => Err(shape(at.to_owned(), "a string, null or an array of parts", other)),
    }
}

fn text_part<'a>(part: &'a Value, at: &str) -> Result<&'a str, ConversationError> {
    let fields = match part {
        Value::String(text) => return Ok(text),
        part => object(part, at)?,
    };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("text");
    let key = match kind {
        "text" | "input_text" | "output_text" => "text",
        "refusal" => "refusal",
        _ => {
            return Err(ConversationError::UnsupportedPart { field: at.to_owned(), kind: kind.to_owned() });
        }
    };
    match fields.get(key) {
        Some(Value::String(text)) => Ok(text),
        other => Err(shape(format!("{at}.{key}"), "a string", other.unwrap_or(&Value::Null))),
    }
}

fn tool_call(item: &Value, at: &str) -> Result<(Option<String>, ToolCall), ConversationError> {
    let outer = object(item, at)?;
    let (fields, at_call) = match outer.get("function") {
        Some(function) => (object(function, &format!("{at}.function"))?, format!("{at}.function")),
        None => (outer, at.to_owned()),
    };
    let name = required_text(fields, "name", &at_call)?;
    let arguments = arguments(fields.get("arguments").unwrap_or(&Value::Null));
    Ok((optional_text(outer, "id", at)?, ToolCall { name, arguments }))
}

/// Whatever a client sends back for arguments is rendered: refusing it would lock the conversation for good.
fn arguments(value: &Value) -> Map<String, Value> {
    match value {
        Value::Object(arguments) => arguments.clone(),
        Value::Null => Map::new(),
        Value::String(text) if text.trim().is_empty() => Map::new(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(Value::Null) => Map::new(),
            _ => Map::from_iter([("arguments".to_owned(), value.clone())]),
        },
        other => Map::from_iter([("arguments".to_owned(), other.clone())]),
    }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, ConversationError> {
    value.as_object().ok_or_else(|| shape(at.to_owned(), "an object", value))
}

fn required_text(fields: &Map<String, Value>, key: &str, at: &str) -> Result<String, ConversationError> {
    let missing = || shape(format!("{at}.{key}"), "a string", &Value::Null);
    optional_text(fields, key, at)?.ok_or_else(missing)
}

fn optional_text(fields: &Map<String, Value>, key: &str, at: &str) -> Result<Option<String>, ConversationError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(shape(format!("{at}.{key}"), "a string", other)),
    }
}

fn shape(field: String, expected: &'static str, found: &Value) -> ConversationError {
    let found = match found {
        Value::Null => "null or nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    ConversationError::Shape { field, expected, found }
}

#[cfg(test)]
mod tests {
    use super::super::Conversation;
    use super::*;
    use serde_json::json;

    fn read(messages: Value) -> Result<Conversation, String> {
        Conversation::from_json(messages.as_array().unwrap(), &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn system_messages_are_joined_in_first_place() {
        let conversation = read(json!([
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": "hi" },
            { "role": "system", "content": " " },
            { "role": "system", "content": [{ "type": "text", "text": "Use " }, { "type": "text", "text": "tools." }] },
        ]))
        .unwrap();
        let expected = [Message::new(Role::System, "Be brief.\n\nUse tools."), Message::new(Role::User, "hi")];
        assert_eq!(conversation.messages, expected);
    }

    #[test]
    fn argument_strings_become_objects_and_broken_ones_stay_visible() {
        let call = |arguments: Value| {
            let call = json!({ "id": "c1", "function": { "name": "f", "arguments": arguments } });
            let messages = json!([{ "role": "assistant", "content": null, "tool_calls": [call] }]);
            read(messages).unwrap().messages.remove(0).tool_calls.remove(0).arguments
        };
        let object = |value: Value| value.as_object().unwrap().clone();
        assert_eq!(call(json!(r#"{"b": 2.0, "a": 1}"#)), object(json!({ "b": 2.0, "a": 1 })));
        assert_eq!(call(json!({ "a": null })), object(json!({ "a": null })));
        assert_eq!(call(json!("")), Map::new());
        assert_eq!(call(json!(null)), Map::new());
        assert_eq!(call(json!("{not")), object(json!({ "arguments": "{not" })));
        assert_eq!(call(json!("[1]")), object(json!({ "arguments": "[1]" })));
        assert_eq!(call(json!(7)), object(json!({ "arguments": 7 })));
    }

    #[test]
    fn null_is_the_same_as_absent() {
        let conversation = read(json!([
            { "role": "user", "content": "q", "name": null },
            { "role": "assistant", "tool_calls": [{ "id": null, "function": { "name": "f", "arguments": "{}" } }] },
            { "role": "tool", "tool_call_id": null, "content": "ok", "tool_calls": null },
        ]))
        .unwrap();
        assert_eq!(conversation.messages[1].call_ids, [None]);
        assert_eq!(conversation.messages[1].content, None);
        assert_eq!(conversation.messages[2], Message::new(Role::Tool, "ok"));
    }

    #[test]
    fn errors_name_the_field() {
        for (messages, error) in [
            (json!([3]), "messages[0]: expected an object, found a number"),
            (json!([{ "content": "x" }]), "messages[0].role: expected a string, found null or nothing"),
            (
                json!([{ "role": "user", "content": "x" }, { "role": "bot", "content": "x" }]),
                "messages[1].role: unknown role \"bot\", expected system, developer, user, assistant or tool",
            ),
            (
                json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }]),
                "messages[0].content[0]: image_url parts are not supported, only text is",
            ),
            (
                json!([{ "role": "user", "content": [{ "type": "text" }] }]),
                "messages[0].content[0].text: expected a string, found null or nothing",
            ),
            (
                json!([{ "role": "assistant", "tool_calls": [{ "function": { "arguments": "{}" } }] }]),
                "messages[0].tool_calls[0].function.name: expected a string, found null or nothing",
            ),
        ] {
            assert_eq!(read(messages), Err(error.to_owned()));
        }
    }

    #[test]
    fn tools_keep_their_source_and_unusable_names_are_refused() {
        let source = json!({ "type": "function", "function": { "name": "a.b/c-d", "description": "x" } });
        let tools = Conversation::from_json(&[], std::slice::from_ref(&source)).unwrap().tools;
        assert_eq!(tools, [ToolSpec { name: "a.b/c-d".to_owned(), parameters: json!({}), source }]);
        let flat = Conversation::from_json(&[], &[json!({ "name": "f", "parameters": { "type": "object" } })]).unwrap();
        assert_eq!(flat.tools[0].parameters, json!({ "type": "object" }));
        for name in ["", "a>b", "<b", "a\nb"] {
            let error = Conversation::from_json(&[], &[json!({ "function": { "name": name } })]).unwrap_err();
            assert!(error.to_string().starts_with("tools[0].function.name: the tool name"), "{error}");
        }
    }
}
