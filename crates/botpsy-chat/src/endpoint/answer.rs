//! An answer, put together from the pieces that a server sends.

use std::time::Instant;

use botpsy_engine::Stats;
use botpsy_text::conversation::ToolCall;
use botpsy_text::tool_call::{Delta, Fault, FinishReason, ParsedMessage, THINK_CLOSE, render};
use serde_json::{Map, Value};

use crate::{ChatEvent, Completion, Notice};

/// The most calls of one answer.
const MAX_CALLS: usize = 256;

/// The most tokens that are believed: sums of counts stay numbers.
const MAX_COUNT: u64 = 1 << 31;

/// Why a piece cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The server says that something went wrong.
    Said(String),
    /// It is no piece of an answer.
    Unreadable(&'static str),
}

/// An answer that is being put together.
pub(super) struct Answer<'a> {
    message: ParsedMessage,
    calls: Vec<Call>,
    finish: Option<FinishReason>,
    stats: Stats,
    started: Instant,
    one_call: bool,
    begun: bool,
    on: &'a mut dyn FnMut(ChatEvent),
}

/// A call as far as it was sent.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    /// Whether its pieces contradict each other.
    broken: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn new(one_call: bool, on: &'a mut dyn FnMut(ChatEvent)) -> Answer<'a> {
        Answer {
            message: ParsedMessage::default(),
            calls: Vec::new(),
            finish: None,
            stats: Stats::default(),
            started: Instant::now(),
            one_call,
            begun: false,
            on,
        }
    }

    /// Whether the server said that the answer is complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// A whole completion is complete, whether or not it says why it ended.
    pub(super) fn finish_whole(&mut self) {
        self.finish.get_or_insert_default();
    }

    /// Takes a chunk of a stream, or a whole completion: it has `message` where a chunk has `delta`.
    pub(super) fn take(&mut self, chunk: &Value) -> Result<(), Refused> {
        let chunk = chunk.as_object().ok_or(Refused::Unreadable("a piece is no JSON object"))?;
        let whole = Value::Object(chunk.clone());
        if let Some(said) =
            error_message(&whole).filter(|_| !chunk.contains_key("choices") || !whole["error"].is_null())
        {
            return Err(Refused::Said(said));
        }
        self.usage(&whole["usage"]);
        let choices = match chunk.get("choices") {
            Some(Value::Array(choices)) => choices,
            None | Some(Value::Null) => return Ok(()),
            Some(_) => return Err(Refused::Unreadable("choices is no array")),
        };
        let first = |choice: &&Value| choice["index"].as_u64().unwrap_or(0) == 0;
        match choices.iter().find(first) {
            Some(choice) => self.choice(choice),
            None => Ok(()),
        }
    }

    fn usage(&mut self, usage: &Value) {
        let count = |value: &Value| value.as_u64().map(|n| n.min(MAX_COUNT) as usize);
        let stats = &mut self.stats;
        stats.prompt_tokens = count(&usage["prompt_tokens"]).unwrap_or(stats.prompt_tokens);
        stats.generated_tokens = count(&usage["completion_tokens"]).unwrap_or(stats.generated_tokens);
        let cached = count(&usage["prompt_tokens_details"]["cached_tokens"]).unwrap_or(stats.cached_tokens);
        stats.cached_tokens = cached.min(stats.prompt_tokens);
    }

    fn choice(&mut self, choice: &Value) -> Result<(), Refused> {
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        for field in ["reasoning_content", "reasoning"] {
            if let Some(thought) = delta[field].as_str().filter(|thought| !thought.is_empty()) {
                self.reasoning(thought);
                break;
            }
        }
        let said = text(&delta["content"]).ok_or(Refused::Unreadable("content is no text"))?;
        self.content(&said);
        match &delta["tool_calls"] {
            Value::Array(calls) => calls.iter().try_for_each(|call| self.call(call))?,
            Value::Null => {}
            _ => return Err(Refused::Unreadable("tool_calls is no array")),
        }
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some("error") => {
                let said =
                    error_message(choice).unwrap_or_else(|| "the server ended the answer with an error".to_owned());
                return Err(Refused::Said(said));
            }
            // What a filter took away is not complete either.
            Some("length" | "max_tokens" | "content_filter") => self.finish = Some(FinishReason::Length),
            Some(_) => self.finish = Some(FinishReason::Stop),
        }
        Ok(())
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            self.stats.ttft_ms = self.started.elapsed().as_secs_f64() * 1e3;
            (self.on)(ChatEvent::Delta(Delta::Role));
        }
    }

    fn reasoning(&mut self, text: &str) {
        self.begin();
        self.message.reasoning_content.get_or_insert_default().push_str(text);
        (self.on)(ChatEvent::Delta(Delta::Reasoning(text.to_owned())));
    }

    fn content(&mut self, text: &str) {
        if !text.is_empty() {
            self.begin();
            self.message.content.get_or_insert_default().push_str(text);
            (self.on)(ChatEvent::Delta(Delta::Content(text.to_owned())));
        }
    }

    /// Takes a piece of a call. What contradicts the pieces before it makes the call one that cannot be read.
    fn call(&mut self, piece: &Value) -> Result<(), Refused> {
        if !piece.is_object() {
            return Err(Refused::Unreadable("a call is no object"));
        }
        self.begin();
        let function = if piece["function"].is_object() { &piece["function"] } else { piece };
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().filter(|id| !id.is_empty());
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let place = self.place(index, id, name)?;
        let call = &mut self.calls[place];
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        match name {
            Some(name) if call.name.is_empty() => call.name = name.to_owned(),
            Some(name) => call.broken |= call.name != name,
            None => call.broken |= !function["name"].is_null() && function["name"] != "",
        }
        match &function["arguments"] {
            Value::String(text) => call.arguments.push_str(text),
            Value::Null => {}
            Value::Object(object) => {
                call.broken |= !call.arguments.is_empty();
                call.arguments = Value::Object(object.clone()).to_string();
            }
            other => {
                call.broken = true;
                call.arguments.push_str(&other.to_string());
            }
        }
        Ok(())
    }

    /// The call that a piece belongs to. Some servers count their calls, some only name them, some give each the number 0.
    fn place(&mut self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Result<usize, Refused> {
        let is_other = |call: &Call| matches!((id, &call.id), (Some(id), Some(of)) if id != of);
        let found = match (index, id) {
            (Some(index), _) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id.as_deref() == Some(id)),
            (None, None) if name.is_some() => None,
            (None, None) => self.calls.len().checked_sub(1),
        };
        if let Some(place) = found.filter(|place| !(is_other(&self.calls[*place]) && name.is_some())) {
            return Ok(place);
        }
        if self.calls.len() == MAX_CALLS {
            return Err(Refused::Unreadable("it has more than 256 calls"));
        }
        self.calls.push(Call { index, ..Call::default() });
        Ok(self.calls.len() - 1)
    }

    /// The answer as a whole, complete or broken off.
    pub(super) fn end(mut self, cancelled: bool) -> Completion {
        self.begin();
        let is_cut = cancelled || self.finish == Some(FinishReason::Length);
        let mut sent = std::mem::take(&mut self.calls);
        sent.truncate(if self.one_call { 1 } else { MAX_CALLS });
        let n_sent = sent.len();
        let mut calls = Vec::new();
        for (i, call) in sent.into_iter().enumerate() {
            match call.read() {
                Some(read) if !(is_cut && i + 1 == n_sent && call.arguments.trim().is_empty()) => calls.push(read),
                _ if is_cut && i + 1 == n_sent => self.message.faults.push(Fault::CutCall),
                _ => {
                    // As with a model in this process: what cannot be read as a call stays text, and nobody acts on it.
                    self.message.faults.push(Fault::UnreadableCall);
                    let joint = if self.message.content.is_some() { "\n\n" } else { "" };
                    self.content(&format!("{joint}{} {}", call.name, call.arguments));
                }
            }
        }
        // A broken-off answer asks for nothing.
        for (index, call) in calls.iter().enumerate().filter(|_| !cancelled) {
            let (id, name) = (format!("call_{}", index + 1), call.name.clone());
            (self.on)(ChatEvent::Delta(Delta::ToolCall { index, id, name }));
            let json = Value::Object(call.arguments.clone()).to_string();
            (self.on)(ChatEvent::Delta(Delta::Arguments { index, json }));
        }
        let finish = match is_cut {
            true => FinishReason::Length,
            false if !calls.is_empty() => FinishReason::ToolCalls,
            false => FinishReason::Stop,
        };
        self.message.tool_calls = if cancelled { Vec::new() } else { calls };
        self.message.finish_reason = finish;
        (self.on)(ChatEvent::Delta(Delta::Finish(finish)));
        let mut notices = Vec::new();
        if is_cut && !cancelled {
            notices.push(Notice::Cut { tokens: self.stats.generated_tokens });
            notices.iter().for_each(|notice| (self.on)(ChatEvent::Notice(notice.clone())));
        }
        self.stats.prefill_ms = self.stats.ttft_ms;
        self.stats.decode_ms = self.started.elapsed().as_secs_f64() * 1e3 - self.stats.ttft_ms;
        let text = as_written(&self.message);
        Completion { message: self.message, text, stats: self.stats, notices, cancelled, ..Completion::default() }
    }
}

impl Call {
    /// The call, if its name is there and its arguments are an object. No text is an empty object: so servers send a call without
    /// arguments.
    fn read(&self) -> Option<ToolCall> {
        let arguments = match self.arguments.trim() {
            "" => Map::new(),
            text => serde_json::from_str(text).ok()?,
        };
        let is_name = !self.name.is_empty() && !self.name.contains(['<', '>', '\n', '\r']);
        (is_name && !self.broken).then(|| ToolCall { name: self.name.clone(), arguments })
    }
}

/// What a model would have written for this, after an opened think block.
fn as_written(message: &ParsedMessage) -> String {
    let thought = message.reasoning_content.as_deref().unwrap_or_default();
    let said = message.content.iter().cloned();
    let parts: Vec<String> = said.chain(message.tool_calls.iter().map(render)).collect();
    format!("{thought}\n{THINK_CLOSE}\n\n{}", parts.join("\n\n"))
}

/// Text, or parts of it.
fn text(content: &Value) -> Option<String> {
    match content {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        _ => None,
    }
}

/// What an error says, in one of the shapes that servers use.
pub(super) fn error_message(value: &Value) -> Option<String> {
    let error = &value["error"];
    let shapes = [&error["message"], error, &value["message"], &value["detail"], &value["detail"][0]["msg"]];
    let said = shapes.into_iter().find_map(Value::as_str).map(str::to_owned);
    said.or_else(|| (!error.is_null()).then(|| error.to_string()))
}
