//! The description of all paths, made from the types.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi;

use crate::{native, openai, wire};

/// Tool-calling language models, run locally.
#[derive(OpenApi)]
#[openapi(
    info(title = "BotPsy"),
    paths(
        openai::chat::chat_completions,
        openai::completions::completions,
        openai::models::models,
        openai::models::model,
        openai::models::embeddings,
        native::text::tokenize,
        native::text::detokenize,
        native::text::apply_template,
        native::status::health,
        native::status::props,
        native::status::slots,
        native::status::metrics,
    ),
    components(schemas(wire::SamplingFields, wire::Chunk))
)]
struct Document;

/// `GET /openapi.json`.
pub(crate) async fn document() -> Json<openapi::OpenApi> {
    Json(Document::openapi())
}
