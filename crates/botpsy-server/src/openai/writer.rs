//! A chat answer as the pieces of an event stream.

use std::sync::Arc;

use axum::response::sse::Event;
use botpsy_chat::{ChatEvent, ChatModel, Notice};
use botpsy_text::tool_call::{Delta, FinishReason};
use serde_json::{Value, json};

use super::sse::{self, Write};
use crate::error::ApiError;
use crate::run::Told;
use crate::stamp::{Stamp, new_id};
use crate::wire::{ChoiceLogprobs, Chunk, ChunkChoice, Timings, TokenLogprob, Usage};

/// Makes chunks of what a running answer tells.
pub(super) struct ChatWriter {
    model: Arc<ChatModel>,
    stamp: Stamp,
    wants_usage: bool,
    wants_ids: bool,
    /// Of the answer that is complete, and of its prompt.
    ids: Option<(Vec<u32>, Vec<u32>)>,
    /// Which of the answers is being written.
    choice: u32,
    /// Of tokens whose text was not sent yet.
    logprobs: Option<ChoiceLogprobs>,
    /// Told before the counts are known, and sent with them.
    finish: FinishReason,
    notices: Vec<Notice>,
    usage: Usage,
    timings: Timings,
}

impl ChatWriter {
    pub(super) fn new(model: Arc<ChatModel>, stamp: Stamp, wants_usage: bool, wants_ids: bool) -> ChatWriter {
        ChatWriter {
            model,
            stamp,
            wants_usage,
            wants_ids,
            ids: None,
            choice: 0,
            logprobs: None,
            finish: FinishReason::default(),
            notices: Vec::new(),
            usage: Usage::default(),
            timings: Timings::default(),
        }
    }

    fn chunk(&mut self, delta: Value, finish_reason: Option<&'static str>) -> Event {
        let logprobs = self.logprobs.take();
        let (token_ids, prompt_token_ids) = self.ids.take().unzip();
        let choices = vec![ChunkChoice { index: self.choice, delta, logprobs, finish_reason, token_ids }];
        let timings = finish_reason.is_some().then_some(self.timings);
        let notices = if finish_reason.is_some() { std::mem::take(&mut self.notices) } else { Vec::new() };
        let notices = notices.iter().map(ToString::to_string).collect();
        sse::json(&Chunk { notices, prompt_token_ids, ..self.head(choices, self.wants_usage.then_some(None), timings) })
    }

    fn head(&self, choices: Vec<ChunkChoice>, usage: Option<Option<Usage>>, timings: Option<Timings>) -> Chunk {
        let Stamp { id, created, model, fingerprint } = self.stamp.clone();
        Chunk {
            id,
            object: "chat.completion.chunk",
            created,
            model,
            system_fingerprint: fingerprint,
            choices,
            usage,
            timings,
            prompt_token_ids: None,
            notices: Vec::new(),
        }
    }
}

impl Write for ChatWriter {
    fn event(&mut self, told: Told) -> Result<Option<Event>, ApiError> {
        Ok(match told {
            Told::Event(ChatEvent::Delta(Delta::Finish(reason))) => {
                self.finish = reason;
                None
            }
            Told::Event(ChatEvent::Delta(delta)) => Some(self.chunk(delta_json(delta), None)),
            Told::Event(ChatEvent::Token { logprobs: Some(of_token), .. }) => {
                let token = TokenLogprob::new(self.model.tokenizer(), &of_token);
                self.logprobs.get_or_insert_default().content.push(token);
                None
            }
            Told::Event(ChatEvent::Notice(notice)) => {
                self.notices.push(notice);
                None
            }
            Told::Event(_) => None,
            Told::Stopped => return Err(ApiError::stopped()),
            Told::Done(answer) => {
                let answer = (*answer)?;
                self.usage.add(&answer, self.choice > 0);
                self.timings.add(&answer);
                self.ids = self.wants_ids.then_some((answer.ids, answer.prompt_ids));
                let event = self.chunk(json!({}), Some(self.finish.as_str()));
                self.choice += 1;
                Some(event)
            }
        })
    }

    fn end(self) -> Vec<Event> {
        let usage = self.wants_usage.then(|| sse::json(&self.head(Vec::new(), Some(Some(self.usage)), None)));
        usage.into_iter().chain([sse::done()]).collect()
    }
}

fn delta_json(delta: Delta) -> Value {
    match delta {
        Delta::Role => json!({ "role": "assistant", "content": "" }),
        Delta::Reasoning(text) => json!({ "reasoning_content": text }),
        Delta::Content(text) => json!({ "content": text }),
        // The id that the reader gave is good within one answer only.
        Delta::ToolCall { index, name, .. } => json!({ "tool_calls": [{
            "index": index, "id": new_id("call_"), "type": "function", "function": { "name": name, "arguments": "" }
        }] }),
        Delta::Arguments { index, json } => {
            json!({ "tool_calls": [{ "index": index, "function": { "arguments": json } }] })
        }
        Delta::Finish(_) => json!({}),
    }
}
