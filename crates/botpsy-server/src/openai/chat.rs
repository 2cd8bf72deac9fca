//! `POST /v1/chat/completions`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use botpsy_chat::{ChatError, ChatEvent, Completion, Provider, Request};

use super::sse;
use super::writer::ChatWriter;
use crate::app::{Backend, Shared};
use crate::body::{JsonBody, aside};
use crate::error::ApiError;
use crate::run::{Answer, Running, Told};
use crate::stamp::Stamp;
use crate::wire::{
    AssistantMessage, ChatCompletion, ChatRequest, Choice, ChoiceLogprobs, Timings, TokenLogprob, Usage,
};

/// Answers a conversation, whole or in pieces.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = ChatRequest,
    responses((status = 200, description = "whole, or with `stream` in pieces, each a `Chunk`",
        content((ChatCompletion = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn chat_completions(
    State(app): State<Shared>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    app.counts.requests.fetch_add(1, Ordering::Relaxed);
    let asked = aside(&body, || ChatRequest::read(&body))?;
    let backend = app.backend()?;
    let request = aside(&body, || asked.request(backend.model.engine().vocab_size()))?;
    let n = asked.sampling.n_choices()?;
    let stamp = Stamp::new(&app, "chatcmpl-", asked.fields.model.as_deref())?;
    let place = app.queue.enter().await?;
    let running = Running::start(&app, Conversing { provider: Arc::clone(&backend.provider), request }, n, place);
    let ids = asked.fields.return_token_ids.unwrap_or(false);
    if asked.fields.stream == Some(true) {
        let wants_usage = asked.fields.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
        return sse::stream(running, ChatWriter::new(Arc::clone(&backend.model), stamp, wants_usage, ids)).await;
    }
    Ok(Json(whole(running, backend, stamp, ids).await?).into_response())
}

/// Answers to one conversation.
struct Conversing {
    provider: Arc<dyn Provider>,
    request: Request,
}

impl Answer for Conversing {
    fn answer(&self, i: u32, cancel: &AtomicBool, on: &mut dyn FnMut(ChatEvent)) -> Result<Completion, ChatError> {
        self.provider.chat(&Request { choice: i, ..self.request.clone() }, cancel, on)
    }

    fn afterwards(&self, answer: &Completion, go_on: &dyn Fn() -> bool) -> usize {
        self.provider.read_ahead(&self.request, &answer.message, go_on)
    }
}

async fn whole(mut running: Running, backend: &Backend, stamp: Stamp, ids: bool) -> Result<ChatCompletion, ApiError> {
    let (mut choices, mut usage, mut timings) = (Vec::new(), Usage::default(), Timings::default());
    let (mut notices, mut prompt_token_ids) = (Vec::new(), None);
    let mut logprobs = None::<ChoiceLogprobs>;
    while let Some(told) = running.next().await {
        match told {
            Told::Event(ChatEvent::Token { logprobs: Some(of_token), .. }) => {
                let token = TokenLogprob::new(backend.model.tokenizer(), &of_token);
                logprobs.get_or_insert_default().content.push(token);
            }
            Told::Event(_) => {}
            Told::Stopped => return Err(ApiError::stopped()),
            Told::Done(answer) => {
                let answer = (*answer)?;
                usage.add(&answer, !choices.is_empty());
                timings.add(&answer);
                notices.extend(answer.notices.iter().map(ToString::to_string));
                prompt_token_ids = ids.then_some(answer.prompt_ids);
                choices.push(Choice {
                    index: choices.len() as u32,
                    finish_reason: answer.message.finish_reason.as_str(),
                    token_ids: ids.then_some(answer.ids),
                    message: AssistantMessage::new(answer.message),
                    logprobs: logprobs.take(),
                });
            }
        }
    }
    if choices.is_empty() {
        return Err(ApiError::server("the answer ended without a word"));
    }
    let Stamp { id, created, model, fingerprint: system_fingerprint } = stamp;
    let object = "chat.completion";
    Ok(ChatCompletion {
        id,
        object,
        created,
        model,
        choices,
        usage,
        system_fingerprint,
        timings,
        prompt_token_ids,
        notices,
    })
}
