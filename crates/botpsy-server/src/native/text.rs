//! Text to tokens and back, and the chat template by itself.

use axum::Json;
use axum::extract::State;
use botpsy_chat::ChatModel;
use botpsy_text::tokenizer::{TokenId, Tokenizer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::Shared;
use crate::body::{JsonBody, aside};
use crate::error::ApiError;
use crate::wire::{ChatRequest, object, typed};

/// A text, or a conversation as chat completions take it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct TokenizeFields {
    /// The text. Also `prompt`.
    #[serde(alias = "prompt")]
    content: Option<String>,
    /// Messages instead of a text; all other fields of chat completions may stand beside them.
    #[schema(value_type = Vec<Object>)]
    messages: Option<Vec<Value>>,
    /// Whether special tokens in the text are read as such; unless it says false.
    parse_special: Option<bool>,
    /// Whether each token comes with its text.
    with_pieces: Option<bool>,
}

/// Tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// Ids, or `{"id", "piece"}`; a piece that is no text by itself is a list of bytes.
    #[schema(value_type = Vec<Object>)]
    tokens: Vec<Value>,
    count: usize,
    max_model_len: usize,
}

/// Text to token ids.
#[utoipa::path(post, path = "/tokenize", request_body = TokenizeFields, responses((status = 200, body = Tokens)))]
pub(crate) async fn tokenize(State(app): State<Shared>, JsonBody(body): JsonBody) -> Result<Json<Tokens>, ApiError> {
    let model = &app.backend()?.model;
    aside(&body, || tokens_of(model, &body)).map(Json)
}

/// What a body asks the tokens of.
pub(crate) fn tokens_of(model: &ChatModel, body: &[u8]) -> Result<Tokens, ApiError> {
    let fields: TokenizeFields = typed(Value::Object(object(body)?))?;
    let tokenizer = model.tokenizer();
    let ids: Vec<u32> = match (&fields.content, &fields.messages) {
        (Some(text), _) if fields.parse_special == Some(false) => {
            tokenizer.encode_untrusted(text).into_iter().map(|id| id.0).collect()
        }
        (Some(text), _) => tokenizer.encode(text).into_iter().map(|id| id.0).collect(),
        (None, Some(_)) => {
            let request = ChatRequest::read(body)?.request(model.engine().vocab_size())?;
            model.prompt(&request)?.tokens
        }
        (None, None) => return Err(ApiError::field("content", "content is missing: give a text, or messages")),
    };
    let piece = |id: &u32| match std::str::from_utf8(tokenizer.token_bytes(TokenId(*id))) {
        Ok(text) => json!({ "id": id, "piece": text }),
        Err(_) => json!({ "id": id, "piece": tokenizer.token_bytes(TokenId(*id)) }),
    };
    let tokens = match fields.with_pieces {
        Some(true) => ids.iter().map(piece).collect(),
        _ => ids.iter().map(|id| Value::from(*id)).collect(),
    };
    Ok(Tokens { tokens, count: ids.len(), max_model_len: model.engine().options().context_tokens })
}

/// Token ids.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DetokenizeFields {
    tokens: Vec<u32>,
}

/// A text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Text {
    /// Bytes that are no character show as U+FFFD.
    content: String,
}

/// Token ids to text.
#[utoipa::path(post, path = "/detokenize", request_body = DetokenizeFields, responses((status = 200, body = Text)))]
pub(crate) async fn detokenize(State(app): State<Shared>, JsonBody(body): JsonBody) -> Result<Json<Text>, ApiError> {
    let tokenizer = app.backend()?.model.tokenizer();
    aside(&body, || text_of(tokenizer, &body)).map(Json)
}

/// The text of the tokens in a body.
pub(crate) fn text_of(tokenizer: &Tokenizer, body: &[u8]) -> Result<Text, ApiError> {
    let fields: DetokenizeFields = typed(Value::Object(object(body)?))?;
    if let Some(id) = fields.tokens.iter().find(|id| **id as usize >= tokenizer.n_tokens()) {
        let n = tokenizer.n_tokens();
        return Err(ApiError::field("tokens", format!("tokens: {id} is not in the vocabulary of {n}")));
    }
    let ids: Vec<TokenId> = fields.tokens.into_iter().map(TokenId).collect();
    Ok(Text { content: tokenizer.decode_lossy(&ids) })
}

/// A prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Rendered {
    prompt: String,
    /// Tokens of the prompt.
    count: usize,
}

/// The prompt that a conversation leads to.
#[utoipa::path(post, path = "/apply-template", request_body = ChatRequest,
    responses((status = 200, body = Rendered)))]
pub(crate) async fn apply_template(
    State(app): State<Shared>,
    JsonBody(body): JsonBody,
) -> Result<Json<Rendered>, ApiError> {
    let model = &app.backend()?.model;
    aside(&body, || rendered(model, &body)).map(Json)
}

/// The prompt that a body leads to.
pub(crate) fn rendered(model: &ChatModel, body: &[u8]) -> Result<Rendered, ApiError> {
    let request = ChatRequest::read(body)?.request(model.engine().vocab_size())?;
    Ok(Rendered { prompt: model.render(&request)?, count: model.prompt(&request)?.tokens.len() })
}
