//! The Qwen3.5 chat template as code; it prints what the template of the 0.8B and 2B checkpoints prints.

use serde_json::{Map, Value};

use crate::tool_call::python::{json_spaced, python_scalar};

use super::page::Page;
use super::qwen35_prompt::{AFTER_TOOLS, BEFORE_TOOLS};
use super::whitespace::trim;
use super::{RenderInput, TemplateError};

/// Prints the conversation; what the template reads is decided on the plain text, before anything is guarded.
pub(super) fn print(input: &RenderInput<'_>, page: &mut Page<'_>) -> Result<(), TemplateError> {
    let messages = input.messages;
    if messages.is_empty() {
        return Err(refused("No messages provided."));
    }
    system_turn(messages, input.tools, page)?;
    let query = last_query(messages)?;
    for (index, message) in messages.iter().enumerate() {
        let content = content(message)?;
        match role(message) {
            "system" if index == 0 => {}
            "system" => return Err(refused("System message must be at the beginning.")),
            "user" => {
                page.own("<|im_start|>user\n");
                page.foreign(trim(&content));
                page.own("<|im_end|>\n");
                page.mark();
            }
            "assistant" => assistant_turn(message, trim(&content), index > query, page)?,
            "tool" => {
                let opens = index > 0 && role(&messages[index - 1]) != "tool";
                let closes = messages.get(index + 1).is_none_or(|next| role(next) != "tool");
                tool_result(trim(&content), opens, closes, page);
            }
            _ => return Err(refused("Unexpected message role.")),
        }
    }
    if input.add_generation_prompt {
        page.own("<|im_start|>assistant\n<think>\n");
        if input.kwargs.get("enable_thinking") != Some(&Value::Bool(true)) {
            page.own("\n</think>\n\n");
        }
    }
    Ok(())
}

fn system_turn(messages: &[Value], tools: &[Value], page: &mut Page<'_>) -> Result<(), TemplateError> {
    let system = if role(&messages[0]) == "system" { Some(content(&messages[0])?) } else { None };
    if tools.is_empty() && system.is_none() {
        return Ok(());
    }
    page.own("<|im_start|>system\n");
    if !tools.is_empty() {
        page.own(BEFORE_TOOLS);
        for tool in tools {
            page.own("\n");
            page.foreign(&json_spaced(tool));
        }
        page.own(AFTER_TOOLS);
    }
    let system = system.unwrap_or_default();
    if !tools.is_empty() && !trim(&system).is_empty() {
        page.own("\n\n");
    }
    page.foreign(trim(&system));
    page.own("<|im_end|>\n");
    page.mark();
    Ok(())
}

/// The last user message that is not itself a tool response: thoughts up to it are not shown again.
fn last_query(messages: &[Value]) -> Result<usize, TemplateError> {
    for (index, message) in messages.iter().enumerate().rev() {
        if role(message) == "user" {
            let content = content(message)?;
            let content = trim(&content);
            if !(content.starts_with("<tool_response>") && content.ends_with("</tool_response>")) {
                return Ok(index);
            }
        }
    }
    Err(refused("No user query found in messages."))
}

fn assistant_turn(message: &Value, content: &str, after_query: bool, page: &mut Page<'_>) -> Result<(), TemplateError> {
    let (reasoning, content) = match message.get("reasoning_content") {
        Some(Value::String(reasoning)) => (reasoning.as_str(), content),
        _ => split_thought(content).unwrap_or(("", content)),
    };
    page.own("<|im_start|>assistant\n");
    if after_query {
        page.own("<think>\n");
        page.foreign(trim(reasoning));
        page.own("\n</think>\n\n");
    }
    page.foreign(content);
    if let Some(Value::Array(calls)) = message.get("tool_calls") {
        for (index, call) in calls.iter().enumerate() {
            match (index, trim(content).is_empty()) {
                (0, true) => {}
                (0, false) => page.own("\n\n"),
                _ => page.own("\n"),
            }
            tool_call(call.get("function").unwrap_or(call), page)?;
        }
    }
    page.own("<|im_end|>\n");
    Ok(())
}

/// Splits a thought that stands in the content from the answer behind it.
pub(super) fn split_thought(content: &str) -> Option<(&str, &str)> {
    let (head, _) = content.split_once("</think>")?;
    let (_, answer) = content.rsplit_once("</think>")?;
    let head = head.trim_end_matches('\n');
    let thought = head.rsplit_once("<think>").map_or(head, |(_, thought)| thought);
    Some((thought.trim_start_matches('\n'), answer.trim_start_matches('\n')))
}

fn tool_call(call: &Value, page: &mut Page<'_>) -> Result<(), TemplateError> {
    let Some(Value::String(name)) = call.get("name") else {
        return Err(refused("A tool call has no name."));
    };
    page.own("<tool_call>\n<function=");
    page.foreign(name);
    page.own(">\n");
    let none = Map::new();
    let arguments = match call.get("arguments") {
        None => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(refused("The arguments of a tool call are not an object.")),
    };
    for (key, value) in arguments {
        page.own("<parameter=");
        page.foreign(key);
        page.own(">\n");
        page.foreign(&python_scalar(value));
        page.own("\n</parameter>\n");
    }
    page.own("</function>\n</tool_call>");
    Ok(())
}

fn tool_result(content: &str, opens: bool, closes: bool, page: &mut Page<'_>) {
    if opens {
        page.own("<|im_start|>user");
    }
    page.own("\n<tool_response>\n");
    page.foreign(content);
    page.own("\n</tool_response>");
    if closes {
        page.own("<|im_end|>\n");
    }
    page.mark();
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// The content as one text, not yet trimmed.
fn content(message: &Value) -> Result<String, TemplateError> {
    match message.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        Some(_) => Err(refused("Unexpected content type.")),
    }
}

/// Pictures and films are refused: the models here read text only.
fn part(part: &Value) -> Result<&str, TemplateError> {
    let is_text = part.get("type").is_none_or(|kind| kind == "text");
    match part.get("text") {
        Some(Value::String(text)) if is_text => Ok(text),
        _ => Err(refused("Unexpected item type in content.")),
    }
}

fn refused(message: &str) -> TemplateError {
    TemplateError::Refused(message.to_owned())
}
