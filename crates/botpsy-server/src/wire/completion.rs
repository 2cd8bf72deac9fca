//! The body of a plain completion, and what it answers.

use std::sync::Arc;

use botpsy_chat::{ChatModel, TextRequest};
use botpsy_engine::Logprobs;
use botpsy_text::tokenizer::{Detokenizer, SpecialTokens, TokenId, Tokenizer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::lenient::whole;
use super::{Least, SamplingFields, StreamOptions, Timings, Usage, read_fields};
use crate::error::ApiError;

/// The most prompts of a request.
const MAX_PROMPTS: usize = 64;
/// The most log-probabilities that are told of prompts: about 90 bytes each.
const MAX_TOLD: usize = 1_000_000;
/// Tokens of an answer when nobody says, as OpenAI has it.
const MAX_TOKENS: u32 = 16;

/// What is asked, beside the sampling.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct CompletionFields {
    /// Any name: one model is loaded.
    pub(crate) model: Option<String>,
    /// A text, a list of texts, a list of token ids, or a list of such lists.
    #[schema(value_type = Object)]
    pub(crate) prompt: Option<Value>,
    /// Whether the answer begins with the prompt.
    pub(crate) echo: Option<bool>,
    /// How many alternatives beside each token of the answer, and with `echo` of the prompt too.
    #[serde(deserialize_with = "whole")]
    pub(crate) logprobs: Option<i64>,
    /// How many alternatives beside each token of the prompt.
    #[serde(deserialize_with = "whole")]
    pub(crate) prompt_logprobs: Option<i64>,
    /// Whether the answer comes in pieces.
    pub(crate) stream: Option<bool>,
    pub(crate) stream_options: Option<StreamOptions>,
    /// Whether the ids of prompt and answer are told.
    pub(crate) return_token_ids: Option<bool>,
}

const FIELDS: &[&str] =
    &["model", "prompt", "echo", "logprobs", "prompt_logprobs", "stream", "stream_options", "return_token_ids"];

/// A body that was read.
#[derive(Debug, ToSchema)]
pub(crate) struct CompletionRequest {
    #[serde(flatten)]
    pub(crate) fields: CompletionFields,
    #[serde(flatten)]
    pub(crate) sampling: SamplingFields,
}

impl CompletionRequest {
    /// Reads a body.
    pub(crate) fn read(body: &[u8]) -> Result<CompletionRequest, ApiError> {
        let (fields, sampling) = read_fields(body, FIELDS)?;
        Ok(CompletionRequest { fields, sampling })
    }

    /// What is asked of the model, one request for each prompt.
    pub(crate) fn requests(&self, tokenizer: &Tokenizer, vocab: usize) -> Result<Vec<TextRequest>, ApiError> {
        let about_prompt = self.fields.echo == Some(true) || self.fields.prompt_logprobs.is_some();
        let least = if about_prompt { Least::None } else { Least::One };
        let mut overrides = self.sampling.overrides(vocab, ("logprobs", self.fields.logprobs), least)?;
        overrides.max_tokens = overrides.max_tokens.or(Some(MAX_TOKENS));
        let stop = self.sampling.stops()?;
        let prompts = prompts(self.fields.prompt.as_ref(), tokenizer, vocab)?;
        let request = |prompt| TextRequest { prompt, overrides: overrides.clone(), stop: stop.clone(), choice: 0 };
        Ok(prompts.into_iter().map(request).collect())
    }

    /// How many alternatives are asked for beside each token of the prompt.
    pub(crate) fn prompt_logprobs(&self) -> Result<Option<u32>, ApiError> {
        match self.fields.prompt_logprobs {
            None => Ok(None),
            Some(n) if (0..=20).contains(&n) => {
                if self.fields.stream == Some(true) {
                    return Err(ApiError::field("prompt_logprobs", "prompt_logprobs is not given in a stream"));
                }
                Ok(Some(n as u32))
            }
            Some(n) => {
                Err(ApiError::field("prompt_logprobs", format!("prompt_logprobs is {n}: it must be from 0 to 20")))
            }
        }
    }

    /// Refuses to tell of prompts of `n_tokens` together, each `n` times, more than fits an answer.
    pub(crate) fn check_told(&self, n_tokens: usize, n: u32) -> Result<(), ApiError> {
        let about_prompt = self.prompt_logprobs()?.map(|n_top| ("prompt_logprobs", n_top));
        for (field, n_top) in about_prompt.into_iter().chain(self.echo_logprobs().map(|n_top| ("logprobs", n_top))) {
            let told = n_tokens.saturating_mul(n as usize).saturating_mul(1 + n_top as usize);
            if told > MAX_TOLD {
                let message = format!(
                    "{field}: that would be {told} log-probabilities of the prompts, at most {MAX_TOLD} are told"
                );
                return Err(ApiError::field(field, message));
            }
        }
        Ok(())
    }

    /// How many alternatives an echo is told with, if any.
    pub(crate) fn echo_logprobs(&self) -> Option<u32> {
        let n = self.fields.logprobs.filter(|_| self.fields.echo == Some(true))?;
        u32::try_from(n).ok()
    }
}

fn prompts(prompt: Option<&Value>, tokenizer: &Tokenizer, vocab: usize) -> Result<Vec<Vec<u32>>, ApiError> {
    let refuse = |message: &str| ApiError::field("prompt", format!("prompt: {message}"));
    let encode = |text: &str| tokenizer.encode(text).into_iter().map(|id| id.0).collect::<Vec<u32>>();
    let ids = |ids: &[Value]| {
        let id = |id: &Value| id.as_u64().filter(|id| *id < vocab as u64).map(|id| id as u32);
        let found: Option<Vec<u32>> = ids.iter().map(id).collect();
        found.ok_or_else(|| refuse(&format!("a list of token ids holds something that is none below {vocab}")))
    };
    let prompts = match prompt {
        Some(Value::String(text)) => vec![encode(text)],
        Some(Value::Array(items)) if items.first().is_some_and(Value::is_number) => vec![ids(items)?],
        Some(Value::Array(items)) => {
            if items.len() > MAX_PROMPTS {
                return Err(refuse(&format!("{} of them, at most {MAX_PROMPTS} are taken", items.len())));
            }
            let each = items.iter().map(|item| match item {
                Value::String(text) => Ok(encode(text)),
                Value::Array(item) => ids(item),
                _ => Err(refuse("expected a text or a list of token ids")),
            });
            each.collect::<Result<_, _>>()?
        }
        _ => return Err(refuse("expected a text, a list of texts, or lists of token ids")),
    };
    if prompts.is_empty() || prompts.iter().any(Vec::is_empty) {
        return Err(refuse("an empty text gives nothing to continue"));
    }
    Ok(prompts)
}

/// A whole answer, or a piece of one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TextCompletion {
    pub(crate) id: String,
    /// Always `text_completion`.
    pub(crate) object: &'static str,
    /// Seconds since 1970.
    pub(crate) created: u64,
    /// The name that the request gave.
    pub(crate) model: String,
    pub(crate) system_fingerprint: String,
    pub(crate) choices: Vec<TextChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timings: Option<Timings>,
}

/// One of the answers.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct TextChoice {
    pub(crate) index: u32,
    pub(crate) text: String,
    pub(crate) logprobs: Option<TextLogprobs>,
    /// `stop` or `length`; null in all pieces but the last.
    pub(crate) finish_reason: Option<&'static str>,
    /// One entry for each token of the prompt, null for the first: id to log-probability, rank and text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<Object>)]
    pub(crate) prompt_logprobs: Option<PromptLogprobs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_token_ids: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_ids: Option<Vec<u32>>,
}

/// Log-probabilities side by side.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct TextLogprobs {
    pub(crate) tokens: Vec<String>,
    /// Null for the first token of an echoed prompt, which follows nothing.
    pub(crate) token_logprobs: Vec<Option<f32>>,
    /// Text to log-probability; null as above.
    #[schema(value_type = Vec<Object>)]
    pub(crate) top_logprobs: Vec<Option<Map<String, Value>>>,
    /// Where each token begins in the text, in characters.
    pub(crate) text_offset: Vec<usize>,
}

impl TextLogprobs {
    /// Takes in a token that begins at character `offset`.
    pub(crate) fn push(&mut self, tokenizer: &Tokenizer, of_token: &Logprobs, offset: usize) {
        let top = of_token.top.iter().map(|top| (text(tokenizer, top.id), Value::from(finite(top.logprob))));
        self.token_logprobs.push(Some(finite(of_token.chosen.logprob)));
        self.top_logprobs.push(Some(top.collect()));
        self.tokens.push(text(tokenizer, of_token.chosen.id));
        self.text_offset.push(offset);
    }

    /// Takes in a whole prompt, `tokens` with the scores of all but the first; gives the characters of its text.
    pub(crate) fn push_prompt(
        &mut self,
        tokenizer: &Tokenizer,
        tokens: &[u32],
        scores: &[Logprobs],
        n_top: u32,
    ) -> usize {
        let (mut written, mut offset) = (Detokenizer::new(SpecialTokens::Keep), 0);
        let scores = [None].into_iter().chain(scores.iter().map(Some));
        for (id, of_token) in tokens.iter().zip(scores) {
            match of_token {
                Some(of_token) => self.push(tokenizer, &with_top(of_token, n_top), offset),
                None => {
                    self.token_logprobs.push(None);
                    self.top_logprobs.push(None);
                    self.tokens.push(text(tokenizer, *id));
                    self.text_offset.push(offset);
                }
            }
            offset += written.push(tokenizer, TokenId(*id)).chars().count();
        }
        offset + written.finish().chars().count()
    }
}

fn text(tokenizer: &Tokenizer, id: u32) -> String {
    String::from_utf8_lossy(tokenizer.token_bytes(TokenId(id))).into_owned()
}

/// `prompt_logprobs` of one prompt, written out entry by entry: as JSON in memory they would take ten times the room.
#[derive(Clone)]
pub(crate) struct PromptLogprobs {
    pub(crate) model: Arc<ChatModel>,
    /// Of all tokens but the first.
    pub(crate) scores: Arc<[Logprobs]>,
    pub(crate) n_top: u32,
}

impl std::fmt::Debug for PromptLogprobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PromptLogprobs({} scores)", self.scores.len())
    }
}

impl Serialize for PromptLogprobs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = |of_token| prompt_entry(self.model.tokenizer(), &with_top(of_token, self.n_top));
        serializer.collect_seq([Value::Null].into_iter().chain(self.scores.iter().map(entry)))
    }
}

/// The same with at most `n_top` alternatives.
fn with_top(of_token: &Logprobs, n_top: u32) -> Logprobs {
    let mut of_token = of_token.clone();
    of_token.top.truncate(n_top as usize);
    of_token
}

/// One entry of `prompt_logprobs`.
fn prompt_entry(tokenizer: &Tokenizer, of_token: &Logprobs) -> Value {
    let chosen = [(&of_token.chosen, None)];
    let top = of_token.top.iter().zip(1..).map(|(top, rank)| (top, Some(rank)));
    let mut entry = Map::new();
    for (token, rank) in chosen.into_iter().chain(top) {
        let text = text(tokenizer, token.id);
        let fields = serde_json::json!({ "logprob": finite(token.logprob), "rank": rank, "decoded_token": text });
        entry.insert(token.id.to_string(), fields);
    }
    Value::Object(entry)
}

/// JSON knows no infinity.
fn finite(logprob: f32) -> f32 {
    logprob.max(-9999.0)
}
