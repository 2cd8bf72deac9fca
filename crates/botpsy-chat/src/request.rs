//! What is asked of a provider.

use botpsy_text::conversation::{Conversation, Message, Role};
use botpsy_text::tool_call::ToolChoice;
use botpsy_text::tool_call::constrain::AnswerFormat;
use serde_json::{Map, Value};

use crate::Overrides;

/// A conversation to continue, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Messages and tools.
    pub conversation: Conversation,
    /// Settings that this request states.
    pub overrides: Overrides,
    /// Texts that end the content.
    pub stop: Vec<String>,
    /// What the request says about calls.
    pub tool_choice: ToolChoice,
    /// Further variables for the chat template. `enable_thinking` belongs into the overrides.
    pub template_kwargs: Map<String, Value>,
    /// Whether the last message, one of the assistant, is an answer that was begun and is to be gone on with.
    pub continues: bool,
    /// What the content must be, if it is more than text.
    pub format: Option<AnswerFormat>,
    /// Whether calls are not held to the tools' schemas while they are written: to see what the model does by itself.
    pub free_calls: bool,
    /// Whether the answer ends after its first call.
    pub one_call: bool,
    /// Which of several answers to the same request this is; equal numbers give equal answers.
    pub choice: u32,
}

impl Request {
    /// A request with one user message.
    pub fn user(text: impl Into<String>) -> Request {
        let messages = vec![Message::new(Role::User, text)];
        Request { conversation: Conversation { messages, tools: Vec::new() }, ..Request::default() }
    }
}
