//! The body of a chat completion.

use botpsy_chat::{ChatError, Request};
use botpsy_text::conversation::{Conversation, Message, Role};
use botpsy_text::tool_call::ToolChoice;
use botpsy_text::tool_call::constrain::AnswerFormat;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::lenient::whole;
use super::{Least, SamplingFields, read_fields};
use crate::error::ApiError;

/// The most tools of a request.
const MAX_TOOLS: usize = 1024;

/// What is asked, beside the sampling.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct ChatFields {
    /// Any name: one model is loaded, and its answers carry the name that was asked for.
    pub(crate) model: Option<String>,
    /// System, developer, user, assistant and tool messages.
    #[schema(value_type = Vec<Object>)]
    pub(crate) messages: Option<Vec<Value>>,
    /// OpenAI tool objects.
    #[schema(value_type = Vec<Object>)]
    pub(crate) tools: Option<Vec<Value>>,
    /// `none`, `auto`, `required`, or `{"type": "function", "function": {"name": NAME}}`.
    #[schema(value_type = Object)]
    pub(crate) tool_choice: Option<Value>,
    /// Whether one answer may hold several calls.
    pub(crate) parallel_tool_calls: Option<bool>,
    /// `{"type": "text" | "json_object" | "json_schema", ..}`.
    #[schema(value_type = Object)]
    pub(crate) response_format: Option<Value>,
    /// Whether the answer comes in pieces.
    pub(crate) stream: Option<bool>,
    pub(crate) stream_options: Option<StreamOptions>,
    /// Whether log-probabilities are given.
    pub(crate) logprobs: Option<bool>,
    /// How many alternatives beside each token.
    #[serde(deserialize_with = "whole")]
    pub(crate) top_logprobs: Option<i64>,
    /// Variables for the chat template, `enable_thinking` among them.
    #[schema(value_type = Object)]
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
    /// Tokens of thought; 0 turns thinking off, -1 leaves it unbounded. Also `reasoning_budget`.
    #[serde(deserialize_with = "whole", alias = "reasoning_budget", alias = "thinking_budget_tokens")]
    pub(crate) thinking_budget: Option<i64>,
    /// `none`, `minimal`, `low`, `medium`, `high`.
    pub(crate) reasoning_effort: Option<String>,
    /// Whether the last message is continued; unless stated, that is so where it is one of the assistant without calls.
    pub(crate) continue_final_message: Option<bool>,
    /// Must be true, or false with `continue_final_message`.
    pub(crate) add_generation_prompt: Option<bool>,
    /// Whether the ids of prompt and answer are told.
    pub(crate) return_token_ids: Option<bool>,
}

/// Of a stream.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default)]
pub(crate) struct StreamOptions {
    /// Whether a last piece tells the usage.
    pub(crate) include_usage: Option<bool>,
}

/// A body that was read.
#[derive(Debug, ToSchema)]
pub(crate) struct ChatRequest {
    #[serde(flatten)]
    pub(crate) fields: ChatFields,
    #[serde(flatten)]
    pub(crate) sampling: SamplingFields,
}

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "stream",
    "stream_options",
    "logprobs",
    "top_logprobs",
    "chat_template_kwargs",
    "thinking_budget",
    "reasoning_budget",
    "thinking_budget_tokens",
    "reasoning_effort",
    "continue_final_message",
    "add_generation_prompt",
    "return_token_ids",
];

impl ChatRequest {
    /// Reads a body.
    pub(crate) fn read(body: &[u8]) -> Result<ChatRequest, ApiError> {
        let (fields, sampling) = read_fields(body, FIELDS)?;
        Ok(ChatRequest { fields, sampling })
    }

    /// What is asked of the model.
    pub(crate) fn request(&self, vocab: usize) -> Result<Request, ApiError> {
        let fields = &self.fields;
        let messages = fields.messages.as_deref().filter(|messages| !messages.is_empty());
        let messages = messages.ok_or_else(|| ApiError::field("messages", "messages: at least one is needed"))?;
        let tools = fields.tools.as_deref().unwrap_or_default();
        if tools.len() > MAX_TOOLS {
            let n = tools.len();
            return Err(ApiError::field("tools", format!("tools has {n} entries: at most {MAX_TOOLS} are taken")));
        }
        let mut conversation = Conversation::from_json(messages, tools).map_err(ChatError::from)?;
        let mut names: Vec<&str> = conversation.tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ApiError::field("tools", format!("tools: two have the name `{}`", pair[0])));
        }
        let tool_choice = self.tool_choice(&conversation)?;
        let format = self.format()?;
        if format.is_some() && matches!(tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            let message = "response_format asks for JSON and tool_choice for a call: leave one of them out";
            return Err(ApiError::field("response_format", message));
        }
        let wanted = fields.logprobs.unwrap_or(false).then(|| fields.top_logprobs.unwrap_or(0));
        if wanted.is_none() && fields.top_logprobs.is_some_and(|n| n > 0) {
            return Err(ApiError::field("top_logprobs", "top_logprobs needs logprobs: true"));
        }
        let mut overrides = self.sampling.overrides(vocab, ("top_logprobs", wanted), Least::One)?;
        let mut template_kwargs = fields.chat_template_kwargs.clone().unwrap_or_default();
        for name in ["messages", "tools", "add_generation_prompt"] {
            if template_kwargs.shift_remove(name).is_some() {
                tracing::warn!(field = name, "ignored in chat_template_kwargs: the request itself says it");
            }
        }
        overrides.thinking = match template_kwargs.shift_remove("enable_thinking") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(thinking)) => Some(thinking),
            Some(other) => {
                let message = format!("chat_template_kwargs.enable_thinking: expected true or false, found {other}");
                return Err(ApiError::field("chat_template_kwargs.enable_thinking", message));
            }
        };
        self.effort(&mut overrides)?;
        let continues = self.continues(&mut conversation)?;
        Ok(Request {
            continues,
            format,
            stop: self.sampling.stops()?,
            one_call: fields.parallel_tool_calls == Some(false),
            free_calls: false,
            conversation,
            overrides,
            tool_choice,
            template_kwargs,
            choice: 0,
        })
    }

    fn continues(&self, conversation: &mut Conversation) -> Result<bool, ApiError> {
        let is_blank = |message: &Message| {
            message.role == Role::Assistant
                && message.tool_calls.is_empty()
                && message.content.as_deref().is_none_or(|content| content.trim().is_empty())
        };
        if conversation.messages.len() > 1 && self.fields.continue_final_message.is_none() {
            // The place where the answer will stand, as some clients send it.
            conversation.messages.pop_if(|last| is_blank(last));
        }
        let begun = conversation
            .messages
            .last()
            .is_some_and(|last| last.role == Role::Assistant && last.tool_calls.is_empty() && last.content.is_some());
        let (stated, adds) = (self.fields.continue_final_message, self.fields.add_generation_prompt);
        let continues = stated.unwrap_or(begun && adds != Some(true));
        if adds == Some(continues) {
            let message = format!(
                "add_generation_prompt is {continues} where the last message is {}continued",
                if continues { "" } else { "not " }
            );
            return Err(ApiError::field("add_generation_prompt", message));
        }
        Ok(continues)
    }

    /// What the content must be.
    fn format(&self) -> Result<Option<AnswerFormat>, ApiError> {
        let Some(format) = self.fields.response_format.as_ref().filter(|format| !format.is_null()) else {
            return Ok(None);
        };
        let schema = format.pointer("/json_schema/schema").or_else(|| format.get("schema"));
        let schema = schema.filter(|schema| !schema.is_null());
        match (format.get("type").and_then(Value::as_str), schema) {
            (Some("text"), _) => Ok(None),
            (Some("json_object"), None) => Ok(Some(AnswerFormat::JsonObject)),
            (Some("json_object" | "json_schema"), Some(schema)) => Ok(Some(AnswerFormat::JsonSchema(schema.clone()))),
            (Some("json_schema"), None) => {
                let field = "response_format.json_schema.schema";
                Err(ApiError::field(field, format!("{field} is missing")))
            }
            _ => {
                let field = "response_format.type";
                Err(ApiError::field(field, format!("{field} must be text, json_object or json_schema")))
            }
        }
    }

    /// What the thinking budget and the effort mean; the budget counts when both are there.
    fn effort(&self, overrides: &mut botpsy_chat::Overrides) -> Result<(), ApiError> {
        let (thinking, budget) = match self.fields.reasoning_effort.as_deref() {
            None => (None, None),
            Some("none") => {
                overrides.thinking = Some(false);
                (None, None)
            }
            Some("minimal") => (Some(true), Some(128)),
            Some("low") => (Some(true), Some(512)),
            Some("medium") => (Some(true), Some(2048)),
            Some("high" | "xhigh") => (Some(true), None),
            Some(other) => {
                let message = format!("reasoning_effort is `{other}`: it must be none, minimal, low, medium or high");
                return Err(ApiError::field("reasoning_effort", message));
            }
        };
        overrides.thinking = overrides.thinking.or(thinking);
        overrides.thinking_budget = match self.fields.thinking_budget {
            None => budget,
            Some(-1) => Some(u32::MAX),
            Some(0) => {
                overrides.thinking = Some(false);
                None
            }
            Some(n) => Some(u32::try_from(n).map_err(|_| {
                ApiError::field(
                    "thinking_budget",
                    format!("thinking_budget is {n}: it must be -1, 0 or a number of tokens"),
                )
            })?),
        };
        Ok(())
    }

    fn tool_choice(&self, conversation: &Conversation) -> Result<ToolChoice, ApiError> {
        let refuse = |message: String| Err(ApiError::field("tool_choice", message));
        let none_offered = conversation.tools.is_empty();
        match &self.fields.tool_choice {
            None | Some(Value::Null) if none_offered => Ok(ToolChoice::None),
            None | Some(Value::Null) => Ok(ToolChoice::Auto),
            Some(choice) if word_of(choice).is_some() => match word_of(choice).unwrap_or_default() {
                "none" => Ok(ToolChoice::None),
                "auto" if none_offered => Ok(ToolChoice::None),
                "auto" => Ok(ToolChoice::Auto),
                "required" | "any" if none_offered => {
                    refuse("tool_choice is required, but no tools are offered".to_owned())
                }
                "required" | "any" => Ok(ToolChoice::Required),
                other => {
                    refuse(format!("tool_choice is `{other}`: it must be none, auto, required, or name a function"))
                }
            },
            Some(Value::Object(choice)) => {
                // Also the form of the Responses API, with the name at the top.
                let name = choice.get("function").and_then(|f| f.get("name")).or_else(|| choice.get("name"));
                match name.and_then(Value::as_str) {
                    Some(name) if conversation.tools.iter().any(|tool| tool.name == name) => {
                        Ok(ToolChoice::Named(name.to_owned()))
                    }
                    Some(name) => refuse(format!("tool_choice names `{name}`, which is not among the tools")),
                    None => match choice.get("type").and_then(Value::as_str) {
                        Some(kind) if !matches!(kind, "function" | "tool") => {
                            let message = format!("tool_choice.type is `{kind}`: it must be function");
                            Err(ApiError::field("tool_choice.type", message))
                        }
                        _ => refuse("tool_choice.function.name is missing".to_owned()),
                    },
                }
            }
            Some(other) => refuse(format!("tool_choice: expected a word or an object, found {other}")),
        }
    }
}

/// A choice in one word, also where it stands in an object as its type.
fn word_of(choice: &Value) -> Option<&str> {
    let kind = choice.get("type").and_then(Value::as_str);
    choice.as_str().or_else(|| kind.filter(|kind| matches!(*kind, "none" | "auto" | "any" | "required")))
}
