//! Whoever answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use botpsy_text::tool_call::{
    Delta, DeltaStream, FinishReason, ParsedMessage, Stop, StopStrings, StreamOptions, Thinking, ToolChoice, Toolset,
};
use serde_json::Value;

use crate::{ChatError, ChatEvent, Completion, Request};

/// Answers requests: a model in this process, an endpoint, a script, a recording.
pub trait Provider: Send + Sync {
    /// What it is, for people.
    fn name(&self) -> &str;

    /// Continues the conversation. `on` is told what happens; the answer as a whole is returned. A raised `cancel` ends it
    /// within one token, with what there is.
    ///
    /// # Errors
    /// If the request cannot be served. Nothing that a model writes is an error.
    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError>;

    /// Reads, while nobody asks for anything, what the next turn will begin with when it goes on from `reply`; stops soon after
    /// `go_on` says so. The tokens that were read.
    fn read_ahead(&self, _request: &Request, _reply: &ParsedMessage, _go_on: &dyn Fn() -> bool) -> usize {
        0
    }
}

/// Whoever reads what a model writes.
pub(crate) trait Listener {
    /// Is told what happens beside the text.
    fn event(&mut self, event: ChatEvent);

    /// Takes more text; whether a stop string ended the answer.
    fn push(&mut self, text: &str) -> bool;

    /// The answer as a whole.
    fn finish(self, stop: Stop) -> ParsedMessage;
}

/// Takes a model's text apart for one request, passing each delta on and adding them up.
pub(crate) struct Reader<'a> {
    stream: DeltaStream,
    message: ParsedMessage,
    arguments: String,
    /// Whether only the first call counts, and whether another one has begun.
    one_call: bool,
    ended: bool,
    on: &'a mut dyn FnMut(ChatEvent),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(request: &Request, thinking: Thinking, on: &'a mut dyn FnMut(ChatEvent)) -> Reader<'a> {
        let mut tools = request.conversation.tools.clone();
        if let ToolChoice::Named(name) = &request.tool_choice {
            tools.retain(|tool| tool.name == *name);
        }
        let options = StreamOptions {
            tools: Arc::new(Toolset::new(&tools)),
            thinking,
            tool_choice: request.tool_choice.clone(),
            stop_strings: StopStrings::new(request.stop.clone()),
        };
        let mut n_calls = 0;
        let new_id = move || {
            n_calls += 1;
            format!("call_{n_calls}")
        };
        let mut stream = DeltaStream::new(options, Box::new(new_id));
        let mut begun = Vec::new();
        if request.continues {
            // What stands there already is not answered again; the reader only has to know that there is text.
            begun = stream.push(&unlike(&request.stop));
            begun.retain(|delta| !matches!(delta, Delta::Content(_)));
        }
        let (message, arguments, one_call) = (ParsedMessage::default(), String::new(), request.one_call);
        let mut reader = Reader { stream, message, arguments, one_call, ended: false, on };
        reader.take(begun);
        reader
    }

    fn take(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            if matches!(delta, Delta::ToolCall { .. }) && self.one_call && !self.message.tool_calls.is_empty() {
                self.ended = true;
            }
            if self.ended && !matches!(delta, Delta::Finish(_)) {
                continue;
            }
            match &delta {
                Delta::Role => {}
                Delta::Reasoning(text) => self.message.reasoning_content.get_or_insert_default().push_str(text),
                Delta::Content(text) => self.message.content.get_or_insert_default().push_str(text),
                Delta::ToolCall { name, .. } => {
                    self.arguments.clear();
                    let call =
                        botpsy_text::conversation::ToolCall { name: name.clone(), arguments: Default::default() };
                    self.message.tool_calls.push(call);
                }
                Delta::Arguments { json, .. } => {
                    self.arguments.push_str(json);
                    if let (Ok(Value::Object(arguments)), Some(call)) =
                        (serde_json::from_str(&self.arguments), self.message.tool_calls.last_mut())
                    {
                        call.arguments = arguments;
                    }
                }
                Delta::Finish(reason) => self.message.finish_reason = *reason,
            }
            (self.on)(ChatEvent::Delta(delta));
        }
    }
}

impl Listener for Reader<'_> {
    fn event(&mut self, event: ChatEvent) {
        (self.on)(event);
    }

    fn push(&mut self, text: &str) -> bool {
        let deltas = self.stream.push(text);
        self.take(deltas);
        self.ended || self.stream.stopped()
    }

    fn finish(mut self, stop: Stop) -> ParsedMessage {
        let deltas = self.stream.finish(stop);
        self.take(deltas);
        self.message.faults = self.stream.faults().to_vec();
        self.message
    }
}

/// A sign that is in none of these texts.
fn unlike(texts: &[String]) -> String {
    let mut signs = ('\u{e000}'..).map(String::from);
    signs.find(|sign| !texts.iter().any(|text| text.contains(sign))).unwrap_or_default()
}

/// How an answer of known text ends: cut where the recording was cut.
pub(crate) fn stop_of(finish: FinishReason) -> Stop {
    match finish {
        FinishReason::Length => Stop::Length,
        FinishReason::Stop | FinishReason::ToolCalls => Stop::Eos,
    }
}
