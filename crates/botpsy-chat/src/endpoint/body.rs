//! A request as it goes over the wire.

use botpsy_text::conversation::{Message, Role, ToolSpec};
use botpsy_text::tool_call::ToolChoice;
use serde_json::{Map, Value, json};

use super::EndpointError;
use crate::{Overrides, Request};

/// The body of a request: only what somebody stated, for servers refuse fields that they do not know.
pub(super) fn body(request: &Request, overrides: &Overrides, model: &str) -> Result<Value, EndpointError> {
    refuse(request, overrides)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(&request.conversation.messages));
    let tools = &request.conversation.tools;
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.iter().map(tool).collect());
        let choice = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(json!("none")),
            ToolChoice::Required => Some(json!("required")),
            ToolChoice::Named(name) => Some(json!({ "type": "function", "function": { "name": name } })),
        };
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
        if request.one_call {
            body.insert("parallel_tool_calls".to_owned(), false.into());
        }
    }
    if !request.stop.is_empty() {
        body.insert("stop".to_owned(), json!(request.stop));
    }
    body.extend(stated(overrides).into_iter().map(|(name, value)| (name.to_owned(), value)));
    let mut kwargs = request.template_kwargs.clone();
    if let Some(thinking) = overrides.thinking {
        kwargs.insert("enable_thinking".to_owned(), thinking.into());
    }
    if !kwargs.is_empty() {
        body.insert("chat_template_kwargs".to_owned(), kwargs.into());
    }
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    Ok(body.into())
}

/// What no field says would be left out silently.
fn refuse(request: &Request, overrides: &Overrides) -> Result<(), EndpointError> {
    let asked = [
        (request.continues, "going on with a begun answer"),
        (request.format.is_some(), "a form of the content"),
        (overrides.penalty_scope.is_some(), "--penalty-window"),
        (overrides.sampler_order.is_some(), "--sampler-order"),
        (overrides.top_logprobs.is_some(), "log-probabilities"),
    ];
    match asked.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(EndpointError::NotSupported { what }),
        None => Ok(()),
    }
}

fn stated(overrides: &Overrides) -> Vec<(&'static str, Value)> {
    let bias = |bias: &Vec<(u32, f32)>| -> Value {
        bias.iter().map(|(id, added)| (id.to_string(), number(*added))).collect::<Map<_, _>>().into()
    };
    let all = [
        ("temperature", overrides.temperature.map(number)),
        ("top_p", overrides.top_p.map(number)),
        ("top_k", overrides.top_k.map(Value::from)),
        ("min_p", overrides.min_p.map(number)),
        ("presence_penalty", overrides.presence_penalty.map(number)),
        ("frequency_penalty", overrides.frequency_penalty.map(number)),
        ("repetition_penalty", overrides.repetition_penalty.map(number)),
        ("seed", overrides.seed.map(Value::from)),
        ("max_tokens", overrides.max_tokens.map(Value::from)),
        ("thinking_budget", overrides.thinking_budget.map(Value::from)),
        ("logit_bias", overrides.logit_bias.as_ref().map(bias)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A number with the digits that it was written with: 0.3, not the 0.30000001192092896 that its bits are.
fn number(value: f32) -> Value {
    serde_json::from_str(&value.to_string()).unwrap_or(Value::Null)
}

/// Every call gets an id, and every result that of the call before it that has none yet. Nine letters and digits: the
/// form that the strictest servers want.
fn messages(messages: &[Message]) -> Value {
    let last_user = messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
    let mut n_calls = 0;
    let mut unanswered = std::collections::VecDeque::new();
    let one = |(index, message): (usize, &Message)| {
        let mut out = Map::new();
        out.insert("role".to_owned(), message.role.as_str().into());
        let nothing = if message.tool_calls.is_empty() { Value::from("") } else { Value::Null };
        let content = message.content.as_deref().filter(|content| !content.is_empty());
        out.insert("content".to_owned(), content.map_or(nothing, Value::from));
        // Servers want the thought that led to calls back while the turn lasts, and none of earlier turns.
        if let Some(reasoning) = message.reasoning_content.as_ref().filter(|_| index > last_user) {
            out.insert("reasoning_content".to_owned(), reasoning.as_str().into());
        }
        if !message.tool_calls.is_empty() {
            unanswered.clear();
            let calls = message.tool_calls.iter().enumerate().map(|(i, call)| {
                n_calls += 1;
                let stated = message.call_ids.get(i).cloned().flatten();
                let id = stated.unwrap_or_else(|| format!("call{n_calls:05}"));
                unanswered.push_back(id.clone());
                let arguments = Value::Object(call.arguments.clone()).to_string();
                json!({ "id": id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
            });
            out.insert("tool_calls".to_owned(), calls.collect());
        }
        if message.role == Role::Tool {
            let next = unanswered.pop_front();
            let id = message.tool_call_id.clone().or(next).unwrap_or_else(|| "call00000".to_owned());
            out.insert("tool_call_id".to_owned(), id.into());
        }
        if let Some(name) = &message.name {
            out.insert("name".to_owned(), name.as_str().into());
        }
        Value::Object(out)
    };
    messages.iter().enumerate().map(one).collect()
}

/// The tool as its owner gave it, in OpenAI's wrapping.
fn tool(tool: &ToolSpec) -> Value {
    match tool.source.get("function") {
        Some(function) => json!({ "type": "function", "function": function }),
        None => json!({ "type": "function", "function": tool.source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use botpsy_text::conversation::{Conversation, ToolCall};

    #[test]
    fn a_conversation_with_calls() {
        let source = json!({ "name": "ping", "parameters": { "type": "object" } });
        let tools = Conversation::from_json(&[], std::slice::from_ref(&source)).unwrap().tools;
        let mut early = Message::new(Role::Assistant, "hello");
        early.reasoning_content = Some("an old thought".to_owned());
        let mut calling = Message::new(Role::Assistant, "");
        calling.reasoning_content = Some("ping both".to_owned());
        let arguments = json!({ "n": 1.5 }).as_object().unwrap().clone();
        calling.tool_calls = vec![ToolCall { name: "ping".to_owned(), arguments }; 2];
        let messages = vec![
            Message::new(Role::User, "hi"),
            early,
            Message::new(Role::User, "ping twice"),
            calling,
            Message::new(Role::Tool, "one"),
            Message::new(Role::Tool, "two"),
        ];
        let request = Request { conversation: Conversation { messages, tools }, one_call: true, ..Request::default() };
        let overrides =
            Overrides { temperature: Some(0.3), thinking: Some(false), top_k: Some(0), ..Overrides::default() };
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "ping", "arguments": "{\"n\":1.5}" } });
        let expected = json!({
            "model": "m",
            "messages": [
                { "role": "user", "content": "hi" },
                { "role": "assistant", "content": "hello" },
                { "role": "user", "content": "ping twice" },
                { "role": "assistant", "content": null, "reasoning_content": "ping both",
                  "tool_calls": [call("call00001"), call("call00002")] },
                { "role": "tool", "content": "one", "tool_call_id": "call00001" },
                { "role": "tool", "content": "two", "tool_call_id": "call00002" },
            ],
            "tools": [{ "type": "function", "function": source }],
            "parallel_tool_calls": false,
            "temperature": 0.3,
            "top_k": 0,
            "chat_template_kwargs": { "enable_thinking": false },
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        assert_eq!(body(&request, &overrides, "m").unwrap().to_string(), expected.to_string());
    }

    #[test]
    fn what_no_field_says_is_refused() {
        let request = Request { continues: true, ..Request::user("hi") };
        assert!(body(&request, &Overrides::default(), "m").is_err());
        let overrides = Overrides { sampler_order: Some(Default::default()), ..Overrides::default() };
        let error = body(&Request::user("hi"), &overrides, "m").unwrap_err();
        assert_eq!(error.to_string(), "--sampler-order cannot be asked of an endpoint");
    }
}
