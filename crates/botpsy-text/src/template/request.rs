use serde_json::{Map, Value};

use crate::conversation::Conversation;

use super::{RenderInput, Template, TemplateError};

/// Renders a request in JSON: `{"messages", "tools", "chat_template_kwargs", "add_generation_prompt"}`.
///
/// Messages are tidied first ([`Conversation::from_json`]); `add_generation_prompt` is true unless it says false.
/// A request that has `options` instead of `chat_template_kwargs` goes to the template as it stands: `options` holds
/// the variables of the template, `add_generation_prompt` among them.
///
/// # Errors
/// When the request has the wrong shape, and as [`Template::render`].
pub fn render_request(request: &Value, template: &Template) -> Result<String, TemplateError> {
    let messages = list(request, "messages")?;
    let tools = list(request, "tools")?;
    if let Some(options) = request.get("options") {
        let kwargs = variables(options, "options")?;
        let add_generation_prompt = flag(options, "add_generation_prompt")?.unwrap_or(false);
        return template.render(&RenderInput { messages, tools, kwargs: &kwargs, add_generation_prompt });
    }
    let conversation = Conversation::from_json(messages, tools)?;
    let kwargs = variables(request.get("chat_template_kwargs").unwrap_or(&Value::Null), "chat_template_kwargs")?;
    template.render(&RenderInput {
        messages: &conversation.template_messages(),
        tools: &conversation.template_tools(),
        kwargs: &kwargs,
        add_generation_prompt: flag(request, "add_generation_prompt")?.unwrap_or(true),
    })
}

fn list<'a>(request: &'a Value, field: &'static str) -> Result<&'a [Value], TemplateError> {
    match request.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(TemplateError::Request { field, expected: "an array" }),
    }
}

fn variables(value: &Value, field: &'static str) -> Result<Map<String, Value>, TemplateError> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(variables) => Ok(variables.clone()),
        _ => Err(TemplateError::Request { field, expected: "an object" }),
    }
}

fn flag(value: &Value, field: &'static str) -> Result<Option<bool>, TemplateError> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(TemplateError::Request { field, expected: "true or false" }),
    }
}
