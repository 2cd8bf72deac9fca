//! An output piece by piece.

use std::sync::Arc;

use super::delivery::{Delivery, Piece};
use super::fault::Fault;
use super::stop::StopStrings;
use super::toolset::Toolset;
use super::{FinishReason, Stop, Thinking, ToolChoice};

/// What a stream has to know about the output.
#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    /// The offered tools.
    pub tools: Arc<Toolset>,
    /// Whether the prompt opened the reasoning.
    pub thinking: Thinking,
    /// What the request said about calls.
    pub tool_choice: ToolChoice,
    /// Texts that end the content.
    pub stop_strings: StopStrings,
}

/// What is new in a message. All deltas of a stream, added up, are the message that [`parse`](super::parse) gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The message begins; the assistant speaks. Always the first, and only once.
    Role,
    /// More reasoning.
    Reasoning(String),
    /// More content.
    Content(String),
    /// A call: its arguments follow.
    ToolCall {
        /// Counts the calls of the message from 0.
        index: usize,
        /// The call's own id.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// The arguments of a call, as JSON text.
    Arguments {
        /// The call that they belong to.
        index: usize,
        /// The JSON text of the whole object.
        json: String,
    },
    /// The message is complete. Always the last, and only once.
    Finish(FinishReason),
}

/// Takes an output apart while it is written.
///
/// What a delta says is never taken back: content comes out once it cannot become a tag, and a call once it is closed.
/// Pieces may end anywhere, also inside a character. Bytes that cannot be part of a character are dropped.
///
/// ```
/// # use botpsy_text::tool_call::{Delta, DeltaStream, FinishReason, Stop, StreamOptions};
/// let mut stream = DeltaStream::new(StreamOptions::default(), Box::new(|| "call_1".to_owned()));
/// assert_eq!(stream.push("Hel"), [Delta::Role, Delta::Content("Hel".to_owned())]);
/// assert_eq!(stream.push("lo <tool"), [Delta::Content("lo".to_owned())]);
/// assert_eq!(
///     stream.finish(Stop::Eos),
///     [Delta::Content(" <tool".to_owned()), Delta::Finish(FinishReason::Stop)]
/// );
/// ```
pub struct DeltaStream {
    delivery: Delivery,
    new_id: Box<dyn FnMut() -> String + Send>,
    /// The first bytes of a character whose last ones are to come.
    half: Vec<u8>,
    begun: bool,
    finished: bool,
    n_calls: usize,
}

impl DeltaStream {
    /// A stream whose calls get the ids that `new_id` makes; each must be another.
    pub fn new(options: StreamOptions, new_id: Box<dyn FnMut() -> String + Send>) -> DeltaStream {
        let StreamOptions { tools, thinking, tool_choice, stop_strings } = options;
        DeltaStream {
            delivery: Delivery::new(tools, thinking, &tool_choice, stop_strings),
            new_id,
            half: Vec::new(),
            begun: false,
            finished: false,
            n_calls: 0,
        }
    }

    /// Takes the next piece of the output.
    pub fn push(&mut self, text: &str) -> Vec<Delta> {
        self.half.clear();
        self.push_whole(text)
    }

    /// Takes the next bytes of the output.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Vec<Delta> {
        let mut all = std::mem::take(&mut self.half);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunks.peek().is_none() && may_begin_character(chunk.invalid()) {
                self.half = chunk.invalid().to_vec();
            }
        }
        self.push_whole(&text)
    }

    /// Ends the message. Later pieces, and a second end, give nothing.
    pub fn finish(&mut self, stop: Stop) -> Vec<Delta> {
        if self.finished {
            return Vec::new();
        }
        let mut deltas = self.begin();
        let pieces = self.delivery.finish(stop);
        self.add(pieces, &mut deltas);
        deltas.push(Delta::Finish(self.delivery.finish_reason(stop)));
        self.finished = true;
        deltas
    }

    /// Whether a stop string was found: the rest of the output does not count, and the model can be told to stop.
    pub fn stopped(&self) -> bool {
        self.delivery.stopped()
    }

    /// What was wrong with the form so far.
    pub fn faults(&self) -> &[Fault] {
        self.delivery.faults()
    }

    fn push_whole(&mut self, text: &str) -> Vec<Delta> {
        if self.finished {
            return Vec::new();
        }
        let mut deltas = self.begin();
        let pieces = self.delivery.push(text);
        self.add(pieces, &mut deltas);
        deltas
    }

    fn begin(&mut self) -> Vec<Delta> {
        if std::mem::replace(&mut self.begun, true) { Vec::new() } else { vec![Delta::Role] }
    }

    fn add(&mut self, pieces: Vec<Piece>, deltas: &mut Vec<Delta>) {
        for piece in pieces {
            match piece {
                Piece::Reasoning(text) => deltas.push(Delta::Reasoning(text)),
                Piece::Content(text) => deltas.push(Delta::Content(text)),
                Piece::Call(call) => {
                    let index = self.n_calls;
                    self.n_calls += 1;
                    let json = serde_json::Value::Object(call.arguments).to_string();
                    deltas.push(Delta::ToolCall { index, id: (self.new_id)(), name: call.name });
                    deltas.push(Delta::Arguments { index, json });
                }
            }
        }
    }
}

/// Whether these bytes, which are no character, may become one when more follow.
fn may_begin_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
