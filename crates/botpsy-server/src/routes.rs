//! Which path leads where.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::app::Shared;
use crate::edge::guard;
use crate::error::ApiError;
use crate::{native, openai, openapi};

/// All paths, guarded. Those of OpenAI also answer without `/v1`.
pub(crate) fn router(app: &Shared) -> Router {
    let openai = Router::new()
        .route("/chat/completions", post(openai::chat::chat_completions))
        .route("/completions", post(openai::completions::completions))
        .route("/models", get(openai::models::models))
        .route("/models/{*id}", get(openai::models::model))
        .route("/embeddings", post(openai::models::embeddings));
    let native = Router::new()
        .route("/tokenize", post(native::text::tokenize))
        .route("/detokenize", post(native::text::detokenize))
        .route("/apply-template", post(native::text::apply_template))
        .route("/health", get(native::status::health))
        .route("/ready", get(native::status::ready))
        .route("/props", get(native::status::props))
        .route("/slots", get(native::status::slots))
        .route("/metrics", get(native::status::metrics))
        .route("/openapi.json", get(openapi::document));
    Router::new()
        .nest("/v1", openai.clone())
        .merge(openai)
        .merge(native)
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(app.clone(), guard))
        .with_state(app.clone())
}

async fn not_found(request: Request) -> ApiError {
    ApiError::not_found(request.uri().path())
}

async fn not_allowed(request: Request) -> ApiError {
    let message = format!("{} takes another method than {}", request.uri().path(), request.method());
    ApiError::invalid(message).with_status(StatusCode::METHOD_NOT_ALLOWED)
}
