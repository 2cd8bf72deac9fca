use serde_json::{Map, Value};

use crate::template::RenderInput;
use crate::template::builtin::split_thought;
use crate::tokenizer::{AddedTokens, guard};

/// An input in which every string from outside, keys too, is guarded.
pub(super) struct Guarded {
    messages: Vec<Value>,
    tools: Vec<Value>,
    kwargs: Map<String, Value>,
}

impl Guarded {
    pub(super) fn new(input: &RenderInput<'_>, added: &AddedTokens, reads_reasoning: bool) -> Guarded {
        let message = |message: &Value| {
            if reads_reasoning { value(&with_thought_apart(message), added) } else { value(message, added) }
        };
        Guarded {
            messages: input.messages.iter().map(message).collect(),
            tools: input.tools.iter().map(|tool| value(tool, added)).collect(),
            kwargs: fields(input.kwargs, added),
        }
    }

    pub(super) fn input(&self, add_generation_prompt: bool) -> RenderInput<'_> {
        RenderInput { messages: &self.messages, tools: &self.tools, kwargs: &self.kwargs, add_generation_prompt }
    }
}

fn value(plain: &Value, added: &AddedTokens) -> Value {
    match plain {
        Value::String(text) => guard(text, added).into(),
        Value::Array(items) => items.iter().map(|item| value(item, added)).collect(),
        Value::Object(map) => fields(map, added).into(),
        scalar => scalar.clone(),
    }
}

fn fields(plain: &Map<String, Value>, added: &AddedTokens) -> Map<String, Value> {
    plain.iter().map(|(key, item)| (guard(key, added), value(item, added))).collect()
}

fn with_thought_apart(message: &Value) -> Value {
    let mut message = message.clone();
    let is_assistant = message.get("role").is_some_and(|role| role == "assistant");
    if !is_assistant || message.get("reasoning_content").is_some_and(Value::is_string) {
        return message;
    }
    let Some((thought, answer)) = message.get("content").and_then(Value::as_str).and_then(split_thought) else {
        return message;
    };
    let (thought, answer) = (thought.to_owned(), answer.to_owned());
    message["reasoning_content"] = thought.into();
    message["content"] = answer.into();
    message
}
