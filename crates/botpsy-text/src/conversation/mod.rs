//! The parts of a conversation that the template prints and the parser reads.

mod read;

use serde_json::{Map, Value, json};

pub use read::ConversationError;

/// What a model is asked to continue: messages in order, and the tools that it may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The messages; at most one system message, and that one first, after [`Conversation::from_json`].
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text; `None` where the wire had `null` or nothing.
    pub content: Option<String>,
    /// The thought before the answer, when it came apart from it.
    pub reasoning_content: Option<String>,
    /// Calls that an assistant message makes.
    pub tool_calls: Vec<ToolCall>,
    /// Ids of `tool_calls`, in their order; models are never shown them.
    pub call_ids: Vec<Option<String>>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<String>,
    /// Name of the speaker, or of the tool.
    pub name: Option<String>,
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Whoever runs the assistant.
    System,
    /// The person, or the program in the person's place.
    User,
    /// The model.
    Assistant,
    /// The result of a call.
    Tool,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that stands in `<function=NAME>`.
    pub name: String,
    /// JSON Schema of the arguments; an empty object when the tool declares none.
    pub parameters: Value,
    /// The tool object exactly as the caller gave it; this is what templates print.
    pub source: Value,
}

impl ToolSpec {
    /// Whether it says `strict`: better no answer than a call that does not fit its schema.
    pub fn is_strict(&self) -> bool {
        let stated = self.source.pointer("/function/strict").or_else(|| self.source.get("strict"));
        stated == Some(&Value::Bool(true))
    }
}

/// One call, as the model made it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Name of the tool; it may be one that was not offered.
    pub name: String,
    /// Arguments in the order in which they were written.
    pub arguments: Map<String, Value>,
}

impl Conversation {
    /// Reads messages and tools as they stand in a Chat Completions request.
    ///
    /// Wire habits are tidied: `developer` is `system`; system messages, wherever they stand, become one in first
    /// place, joined by a blank line; text parts are joined; argument strings are parsed. History is taken as it is:
    /// an argument string that does not hold an object becomes one argument named `arguments` with that string, so
    /// that the model sees what it wrote.
    ///
    /// # Errors
    /// A message or tool of the wrong shape, an unknown role, a part that is not text; the error names the field.
    pub fn from_json(messages: &[Value], tools: &[Value]) -> Result<Conversation, ConversationError> {
        let messages = messages
            .iter()
            .enumerate()
            .map(|(index, message)| read::message(index, message))
            .collect::<Result<Vec<_>, _>>()?;
        let tools = tools.iter().enumerate().map(|(index, tool)| read::tool(index, tool)).collect::<Result<_, _>>()?;
        Ok(Conversation { messages: with_one_system(messages), tools })
    }

    /// The messages as a chat template reads them.
    pub fn template_messages(&self) -> Vec<Value> {
        self.messages.iter().map(Message::template_value).collect()
    }

    /// The tools as a chat template prints them.
    pub fn template_tools(&self) -> Vec<Value> {
        self.tools.iter().map(|tool| tool.source.clone()).collect()
    }
}

/// Joins all system messages into one and puts it first, the only place where chat templates take one.
fn with_one_system(messages: Vec<Message>) -> Vec<Message> {
    let (systems, mut rest): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.role == Role::System);
    let joined = match systems.len() {
        0 => return rest,
        1 => systems[0].content.clone().unwrap_or_default(),
        _ => {
            let texts = systems.iter().filter_map(|system| system.content.as_deref());
            texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
        }
    };
    rest.insert(0, Message::new(Role::System, joined));
    rest
}

impl Message {
    /// A message of plain text.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message {
            role,
            content: Some(content.into()),
            reasoning_content: None,
            tool_calls: Vec::new(),
            call_ids: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }

    fn template_value(&self) -> Value {
        let mut value = Map::new();
        value.insert("role".to_owned(), self.role.as_str().into());
        // Templates print null as a word; of the assistant they know that there may be calls instead.
        let nothing = if self.role == Role::Assistant { Value::Null } else { "".into() };
        value.insert("content".to_owned(), self.content.clone().map_or(nothing, Value::from));
        let optional = [
            ("reasoning_content", &self.reasoning_content),
            ("tool_call_id", &self.tool_call_id),
            ("name", &self.name),
        ];
        for (key, text) in optional {
            if let Some(text) = text {
                value.insert(key.to_owned(), text.as_str().into());
            }
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().enumerate().map(|(index, call)| {
                let function = json!({ "name": call.name, "arguments": call.arguments });
                match self.call_ids.get(index) {
                    Some(Some(id)) => json!({ "id": id, "type": "function", "function": function }),
                    _ => json!({ "type": "function", "function": function }),
                }
            });
            value.insert("tool_calls".to_owned(), calls.collect());
        }
        Value::Object(value)
    }
}

impl Role {
    /// The name of the role in requests and templates.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}
