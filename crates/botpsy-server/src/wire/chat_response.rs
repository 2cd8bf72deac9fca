//! What chat completions answer, whole and in pieces.

use botpsy_engine::Logprobs;
use botpsy_text::conversation;
use botpsy_text::tokenizer::{TokenId, Tokenizer};
use botpsy_text::tool_call::ParsedMessage;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::counts::{Timings, Usage};
use crate::stamp::new_id;

/// A whole answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatCompletion {
    pub(crate) id: String,
    /// Always `chat.completion`.
    pub(crate) object: &'static str,
    /// Seconds since 1970.
    pub(crate) created: u64,
    /// The name that the request gave.
    pub(crate) model: String,
    pub(crate) choices: Vec<Choice>,
    pub(crate) usage: Usage,
    /// What of the model, its settings and this program decides the answer.
    pub(crate) system_fingerprint: String,
    pub(crate) timings: Timings,
    /// The tokens of the prompt, where the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_token_ids: Option<Vec<u32>>,
    /// What a person should know, such as that a thought was closed at its budget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<String>,
}

/// One of the answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Choice {
    pub(crate) index: u32,
    pub(crate) message: AssistantMessage,
    pub(crate) logprobs: Option<ChoiceLogprobs>,
    /// `stop`, `length` or `tool_calls`.
    pub(crate) finish_reason: &'static str,
    /// The tokens of the answer, where the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_ids: Option<Vec<u32>>,
}

/// What the model said.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssistantMessage {
    /// Always `assistant`.
    pub(crate) role: &'static str,
    /// `null` where there is only reasoning or calls.
    pub(crate) content: Option<String>,
    pub(crate) refusal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<ToolCall>,
}

/// A call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    /// Always `function`.
    pub(crate) r#type: &'static str,
    pub(crate) function: FunctionCall,
}

/// The function that is called.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FunctionCall {
    pub(crate) name: String,
    /// A JSON object as text.
    pub(crate) arguments: String,
}

/// A piece of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Chunk {
    pub(crate) id: String,
    /// Always `chat.completion.chunk`.
    pub(crate) object: &'static str,
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) system_fingerprint: String,
    /// Empty in the last piece, which has the usage.
    pub(crate) choices: Vec<ChunkChoice>,
    /// Only with `stream_options.include_usage`, and then `null` but in the last piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Option<Usage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timings: Option<Timings>,
    /// In the last piece of an answer, if they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_token_ids: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<String>,
}

/// What is new in one of the answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChunkChoice {
    pub(crate) index: u32,
    #[schema(value_type = Object)]
    pub(crate) delta: Value,
    pub(crate) logprobs: Option<ChoiceLogprobs>,
    pub(crate) finish_reason: Option<&'static str>,
    /// All of the answer, in its last piece, if they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_ids: Option<Vec<u32>>,
}

/// Log-probabilities of the tokens of an answer, those of its reasoning and calls included.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ChoiceLogprobs {
    pub(crate) content: Vec<TokenLogprob>,
    pub(crate) refusal: Option<Vec<TokenLogprob>>,
}

/// A token with its log-probability.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenLogprob {
    /// The token as text; bytes that are no character of their own show as U+FFFD.
    pub(crate) token: String,
    pub(crate) logprob: f32,
    pub(crate) bytes: Vec<u8>,
    /// The best tokens in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub(crate) top_logprobs: Option<Vec<TokenLogprob>>,
}

impl ToolCall {
    /// A call as the model made it, under an id of its own.
    pub(crate) fn new(id: String, call: conversation::ToolCall) -> ToolCall {
        let arguments = serde_json::Value::Object(call.arguments).to_string();
        ToolCall { id, r#type: "function", function: FunctionCall { name: call.name, arguments } }
    }
}

impl AssistantMessage {
    /// What was said, each call under an id of its own.
    pub(crate) fn new(said: ParsedMessage) -> AssistantMessage {
        let call = |call| ToolCall::new(new_id("call_"), call);
        AssistantMessage {
            role: "assistant",
            content: said.content,
            refusal: None,
            reasoning_content: said.reasoning_content,
            tool_calls: said.tool_calls.into_iter().map(call).collect(),
        }
    }
}

impl TokenLogprob {
    /// A token and the best ones in its place.
    pub(crate) fn new(tokenizer: &Tokenizer, of_token: &Logprobs) -> TokenLogprob {
        let alone = |token: &botpsy_engine::TokenLogprob| {
            let bytes = tokenizer.token_bytes(TokenId(token.id)).to_vec();
            let token_text = String::from_utf8_lossy(&bytes).into_owned();
            // JSON knows no infinity.
            TokenLogprob { token: token_text, logprob: token.logprob.max(-9999.0), bytes, top_logprobs: None }
        };
        let top = of_token.top.iter().map(alone).collect();
        TokenLogprob { top_logprobs: Some(top), ..alone(&of_token.chosen) }
    }
}
