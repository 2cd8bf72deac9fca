//! `GET /v1/models`, and what this server has no model for.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::{App, Shared};
use crate::error::ApiError;
use crate::stamp::{Stamp, now};

/// The models.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// Always `list`.
    object: &'static str,
    data: Vec<ModelEntry>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelEntry {
    id: String,
    /// Always `model`.
    object: &'static str,
    /// Seconds since 1970, when the server was started.
    created: u64,
    owned_by: &'static str,
    /// Tokens of prompt and answer together.
    context_length: usize,
    /// The same by vLLM's name.
    max_model_len: usize,
    /// Tokens of context that the model was made for.
    n_ctx_train: usize,
    n_vocab: usize,
    /// Whether it thinks unless a request says otherwise.
    thinking: bool,
    /// What a person should know before anything else: that it is a demonstration.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
}

/// Lists the model.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = ModelList)))]
pub(crate) async fn models(State(app): State<Shared>) -> Result<Json<ModelList>, ApiError> {
    Ok(Json(ModelList { object: "list", data: vec![entry(&app, app.name.clone())?] }))
}

/// The one model, under any name, as it answers to any.
#[utoipa::path(get, path = "/v1/models/{id}", params(("id" = String, Path, max_length = 256)),
    responses((status = 200, body = ModelEntry)))]
pub(crate) async fn model(
    State(app): State<Shared>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ModelEntry>, ApiError> {
    let Path(id) = id.map_err(|refused| ApiError::field("model", format!("model: {}", refused.body_text())))?;
    let stamp = Stamp::new(&app, "", Some(&id))?;
    Ok(Json(entry(&app, stamp.model)?))
}

fn entry(app: &App, id: String) -> Result<ModelEntry, ApiError> {
    let model = &app.backend()?.model;
    let config = model.engine().model().config();
    let context_length = model.engine().options().context_tokens;
    Ok(ModelEntry {
        id,
        object: "model",
        created: now().saturating_sub(app.started.elapsed().as_secs()),
        owned_by: "botpsy",
        context_length,
        max_model_len: context_length,
        n_ctx_train: config.context_length,
        n_vocab: config.vocab_size,
        thinking: model.in_force(&Default::default()).thinking.unwrap_or(true),
        remark: model.remark().map(str::to_owned),
    })
}

/// Refused: the model gives no embeddings.
#[utoipa::path(post, path = "/v1/embeddings", request_body = Object, responses((status = 400, description = "always")))]
pub(crate) async fn embeddings() -> ApiError {
    let message = "this model gives no embeddings: ask a server with an embedding model";
    ApiError::field("model", message).with_code("unsupported_model")
}
