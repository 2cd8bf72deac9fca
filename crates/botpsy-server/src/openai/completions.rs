//! `POST /v1/completions`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::State;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use botpsy_chat::{ChatError, ChatEvent, ChatModel, Completion, TextRequest};
use botpsy_engine::{Logprobs, Stats};
use botpsy_text::tokenizer::{Detokenizer, SpecialTokens, TokenId};
use botpsy_text::tool_call::{Delta, FinishReason, ParsedMessage};

use super::sse::{self, Write};
use crate::app::Shared;
use crate::body::{JsonBody, aside};
use crate::error::ApiError;
use crate::run::{Answer, CancelOnDrop, Running, Told};
use crate::stamp::Stamp;
use crate::wire::{CompletionRequest, PromptLogprobs, TextChoice, TextCompletion, Timings, Usage};

/// Continues text without a chat template.
#[utoipa::path(post, path = "/v1/completions", request_body = CompletionRequest,
    responses((status = 200, description = "whole, or with `stream` in pieces",
        content((TextCompletion = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn completions(State(app): State<Shared>, JsonBody(body): JsonBody) -> Result<Response, ApiError> {
    app.counts.requests.fetch_add(1, Ordering::Relaxed);
    let asked = aside(&body, || CompletionRequest::read(&body))?;
    let model = Arc::clone(&app.backend()?.model);
    let requests = aside(&body, || asked.requests(model.tokenizer(), model.engine().vocab_size()))?;
    let n = asked.sampling.n_choices()?;
    asked.check_told(requests.iter().map(|request| request.prompt.len()).sum(), n)?;
    let (about_prompt, about_echo) = (asked.prompt_logprobs()?, asked.echo_logprobs());
    let stamp = Stamp::new(&app, "cmpl-", asked.fields.model.as_deref())?;
    let fields = &asked.fields;
    let wants_usage = fields.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
    let mut prompts = Prompts {
        n,
        echo: fields.echo.unwrap_or(false),
        ids: fields.return_token_ids.unwrap_or(false),
        about_prompt,
        about_echo,
        model: Arc::clone(&model),
        requests: Arc::new(requests),
        scores: Vec::new(),
    };
    let place = app.queue.enter().await?;
    let total = prompts.requests.len() as u32 * n;
    if let Some(n_top) = about_prompt.max(about_echo) {
        prompts.scores = score(&prompts, n_top).await?;
    }
    let continuing = Continuing { model, requests: Arc::clone(&prompts.requests), n };
    let running = Running::start(&app, continuing, total, place);
    let writer = TextWriter {
        prompts,
        stamp,
        wants_usage,
        choice: TextChoice::default(),
        offset: 0,
        written: Detokenizer::new(SpecialTokens::Skip),
        counts: (0, Usage::default(), Timings::default()),
    };
    if fields.stream == Some(true) {
        return sse::stream(running, writer).await;
    }
    Ok(Json(whole(running, writer).await?).into_response())
}

/// What is continued, and what is told of it.
struct Prompts {
    /// Answers to each.
    n: u32,
    echo: bool,
    ids: bool,
    /// Alternatives beside each token in `prompt_logprobs`.
    about_prompt: Option<u32>,
    /// Alternatives beside each token of an echo.
    about_echo: Option<u32>,
    model: Arc<ChatModel>,
    requests: Arc<Vec<TextRequest>>,
    /// Of each request's prompt, if anything is told of it: of all tokens but the first.
    scores: Vec<Arc<[Logprobs]>>,
}

impl Prompts {
    /// The prompt of answer `i`.
    fn of(&self, i: u32) -> &[u32] {
        &self.requests[(i / self.n) as usize].prompt
    }

    fn scores(&self, i: u32) -> &Arc<[Logprobs]> {
        &self.scores[(i / self.n) as usize]
    }

    /// `prompt_logprobs` of answer `i`.
    fn about(&self, i: u32) -> Option<PromptLogprobs> {
        let (n_top, model) = (self.about_prompt?, Arc::clone(&self.model));
        Some(PromptLogprobs { model, scores: Arc::clone(self.scores(i)), n_top })
    }

    fn text(&self, i: u32) -> String {
        let ids: Vec<TokenId> = self.of(i).iter().map(|id| TokenId(*id)).collect();
        self.model.tokenizer().decode_lossy(&ids)
    }
}

struct Continuing {
    model: Arc<ChatModel>,
    requests: Arc<Vec<TextRequest>>,
    n: u32,
}

impl Answer for Continuing {
    fn answer(&self, i: u32, cancel: &AtomicBool, on: &mut dyn FnMut(ChatEvent)) -> Result<Completion, ChatError> {
        let request = TextRequest { choice: i % self.n, ..self.requests[(i / self.n) as usize].clone() };
        if request.overrides.max_tokens == Some(0) {
            return self.nothing(request, on);
        }
        self.model.complete(&request, cancel, on)
    }
}

impl Continuing {
    /// An answer of no tokens, to a request that wants to know something about its prompt. What would be refused with tokens
    /// is refused here too.
    fn nothing(&self, request: TextRequest, on: &mut dyn FnMut(ChatEvent)) -> Result<Completion, ChatError> {
        let settings = self.model.settings(&request.overrides, request.prompt.len())?;
        settings.sampling.validate()?;
        on(ChatEvent::Delta(Delta::Role));
        let finish_reason = FinishReason::Length;
        on(ChatEvent::Delta(Delta::Finish(finish_reason)));
        Ok(Completion {
            message: ParsedMessage { finish_reason, ..ParsedMessage::default() },
            stats: Stats { prompt_tokens: request.prompt.len(), ..Stats::default() },
            prompt_ids: request.prompt,
            ..Completion::default()
        })
    }
}

/// The log-probabilities of each prompt.
async fn score(prompts: &Prompts, n_top: u32) -> Result<Vec<Arc<[Logprobs]>>, ApiError> {
    let cancel = CancelOnDrop::default();
    let (cancelled, model) = (cancel.flag(), Arc::clone(&prompts.model));
    let requests = Arc::clone(&prompts.requests);
    let scoring = tokio::task::spawn_blocking(move || {
        let score = |request: &TextRequest| {
            let scores = model.engine().score(&request.prompt, n_top, &cancelled)?;
            Ok(Arc::from(scores.unwrap_or_default()))
        };
        requests.iter().map(score).collect::<Result<_, ChatError>>()
    });
    let scores = scoring.await.map_err(|_| ApiError::server("the prompt could not be scored"))?;
    scores.map_err(|error| ApiError::from(error).about_prompt())
}

async fn whole(mut running: Running, mut writer: TextWriter) -> Result<TextCompletion, ApiError> {
    let mut choices = Vec::new();
    while let Some(told) = running.next().await {
        if let Some(mut choice) = writer.take(told, true)? {
            choice.prompt_logprobs = writer.prompts.about(choice.index);
            choices.push(choice);
        }
    }
    if choices.is_empty() {
        return Err(ApiError::server("the answer ended without a word"));
    }
    let (_, usage, timings) = writer.counts;
    Ok(writer.piece(choices, Some(usage), Some(timings)))
}

/// Makes pieces, or whole answers, of what is told.
struct TextWriter {
    prompts: Prompts,
    stamp: Stamp,
    wants_usage: bool,
    /// What was not passed on yet.
    choice: TextChoice,
    /// Characters of the text before the next token.
    offset: usize,
    /// The answer as text, token by token.
    written: Detokenizer,
    /// Answers so far, their tokens and times.
    counts: (u32, Usage, Timings),
}

impl TextWriter {
    /// A choice once it is complete, or, unless `whole`, each time its text grew.
    fn take(&mut self, told: Told, whole: bool) -> Result<Option<TextChoice>, ApiError> {
        let index = self.counts.0;
        match told {
            Told::Event(ChatEvent::Delta(Delta::Role)) if self.prompts.echo => {
                self.choice.text = self.prompts.text(index);
                self.offset = self.choice.text.chars().count();
                if let Some(n_top) = self.prompts.about_echo {
                    let (tokenizer, tokens) = (self.prompts.model.tokenizer(), self.prompts.of(index));
                    let logprobs = self.choice.logprobs.get_or_insert_default();
                    self.offset = logprobs.push_prompt(tokenizer, tokens, self.prompts.scores(index), n_top);
                }
                Ok(None)
            }
            Told::Event(ChatEvent::Delta(Delta::Content(text))) => {
                self.choice.text.push_str(&text);
                let choice = TextChoice { index, ..std::mem::take(&mut self.choice) };
                if whole {
                    self.choice = choice;
                    return Ok(None);
                }
                Ok(Some(choice))
            }
            Told::Event(ChatEvent::Token { id, logprobs: Some(of_token) }) => {
                let tokenizer = self.prompts.model.tokenizer();
                self.choice.logprobs.get_or_insert_default().push(tokenizer, &of_token, self.offset);
                self.offset += self.written.push(tokenizer, TokenId(id)).chars().count();
                Ok(None)
            }
            Told::Event(_) => Ok(None),
            Told::Stopped => Err(ApiError::stopped()),
            Told::Done(answer) => {
                let answer = (*answer).map_err(|error| ApiError::from(error).about_prompt())?;
                let (n_answers, usage, timings) = &mut self.counts;
                usage.add(&answer, !n_answers.is_multiple_of(self.prompts.n));
                timings.add(&answer);
                *n_answers += 1;
                (self.offset, self.written) = (0, Detokenizer::new(SpecialTokens::Skip));
                let ids = self.prompts.ids;
                Ok(Some(TextChoice {
                    index,
                    finish_reason: Some(answer.message.finish_reason.as_str()),
                    prompt_token_ids: ids.then_some(answer.prompt_ids),
                    token_ids: ids.then_some(answer.ids),
                    ..std::mem::take(&mut self.choice)
                }))
            }
        }
    }

    fn piece(&self, choices: Vec<TextChoice>, usage: Option<Usage>, timings: Option<Timings>) -> TextCompletion {
        let Stamp { id, created, model, fingerprint } = self.stamp.clone();
        let object = "text_completion";
        TextCompletion { id, object, created, model, system_fingerprint: fingerprint, choices, usage, timings }
    }
}

impl Write for TextWriter {
    fn event(&mut self, told: Told) -> Result<Option<Event>, ApiError> {
        let choice = self.take(told, false)?;
        Ok(choice.map(|choice| {
            let timings = choice.finish_reason.is_some().then_some(self.counts.2);
            sse::json(&self.piece(vec![choice], None, timings))
        }))
    }

    fn end(self) -> Vec<Event> {
        let usage = self.wants_usage.then(|| sse::json(&self.piece(Vec::new(), Some(self.counts.1), None)));
        usage.into_iter().chain([sse::done()]).collect()
    }
}
