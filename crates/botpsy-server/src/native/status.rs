//! How the server does.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use botpsy_chat::Provider;
use serde_json::{Value, json};

use crate::app::Shared;
use crate::error::ApiError;

/// Whether it answers; 503 while the model is loading.
#[utoipa::path(get, path = "/health", responses((status = 200, body = Object)))]
pub(crate) async fn health(State(app): State<Shared>) -> Result<Json<Value>, ApiError> {
    app.backend()?;
    Ok(Json(json!({ "status": "ok" })))
}

/// The same.
#[utoipa::path(get, path = "/ready", responses((status = 200, body = Object)))]
pub(crate) async fn ready(app: State<Shared>) -> Result<Json<Value>, ApiError> {
    health(app).await
}

/// The model, and the settings that hold where a request says nothing.
#[utoipa::path(get, path = "/props", responses((status = 200, body = Object)))]
pub(crate) async fn props(State(app): State<Shared>) -> Result<Json<Value>, ApiError> {
    let model = &app.backend()?.model;
    let n_ctx = model.engine().options().context_tokens;
    let settings = model.settings(&Default::default(), 0)?;
    let sampling = &settings.sampling;
    Ok(Json(json!({
        "default_generation_settings": {
            "n_ctx": n_ctx,
            "params": {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "top_k": sampling.top_k.map_or(0, std::num::NonZero::get),
                "min_p": sampling.min_p,
                "presence_penalty": sampling.presence_penalty,
                "frequency_penalty": sampling.frequency_penalty,
                "repetition_penalty": sampling.repetition_penalty,
                "penalty_scope": format!("{:?}", sampling.penalty_scope),
                "sampler_order": format!("{:?}", sampling.order),
                "seed": sampling.seed,
                "max_tokens": settings.max_tokens,
            },
        },
        "thinking": { "enabled": settings.thinking, "budget": settings.thinking_budget },
        "chat_template_kwargs": { "enable_thinking": settings.thinking },
        "total_slots": app.queue.total(),
        "model_alias": app.name,
        "model_path": model.name(),
        "modalities": { "vision": false, "audio": false },
        "build_info": concat!("botpsy ", env!("CARGO_PKG_VERSION")),
        "isa": model.engine().context().isa.name(),
        "threads": model.engine().context().pool.n_threads(),
    })))
}

/// Which answers are being made.
#[utoipa::path(get, path = "/slots", responses((status = 200, body = Vec<Object>)))]
pub(crate) async fn slots(State(app): State<Shared>) -> Result<Json<Value>, ApiError> {
    let n_ctx = app.backend()?.model.engine().options().context_tokens;
    let busy = app.queue.total() - app.queue.free();
    let slot = |id| json!({ "id": id, "n_ctx": n_ctx, "is_processing": id < busy });
    Ok(Json((0..app.queue.total()).map(slot).collect()))
}

/// Counters, as Prometheus reads them.
#[utoipa::path(get, path = "/metrics", responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<Shared>) -> impl IntoResponse {
    let counts = &app.counts;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    let busy = app.queue.total() - app.queue.free();
    let rows = [
        ("requests_total", "counter", "Requests for an answer.", read(&counts.requests)),
        ("answers_total", "counter", "Answers that ended.", read(&counts.answers)),
        ("answers_cancelled_total", "counter", "Of them, broken off by the client.", read(&counts.cancelled)),
        ("prompt_tokens_total", "counter", "Tokens of prompts, reused ones included.", read(&counts.prompt_tokens)),
        ("prompt_tokens_cached_total", "counter", "Of them, not computed again.", read(&counts.cached_tokens)),
        ("prompt_tokens_ahead_total", "counter", "Read for the next turn while idle.", read(&counts.read_ahead)),
        ("prompt_seconds_total", "counter", "Time spent on prompts.", read(&counts.prompt_us) / 1e6),
        ("tokens_predicted_total", "counter", "Tokens of answers.", read(&counts.predicted_tokens)),
        ("tokens_predicted_seconds_total", "counter", "Time spent on them.", read(&counts.predicted_us) / 1e6),
        ("requests_processing", "gauge", "Requests being answered.", busy as f64),
        ("requests_deferred", "gauge", "Requests that wait.", app.queue.waiting() as f64),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in rows {
        let line = format!("# HELP botpsy_{name} {help}\n# TYPE botpsy_{name} {kind}\nbotpsy_{name} {value}\n");
        text.write_str(&line).expect("a String takes all");
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
