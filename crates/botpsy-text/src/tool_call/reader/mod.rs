//! The one reader of the format: a machine that takes the output piece by piece and says what is certain.
//!
//! It decides nothing that later text could change, so what it says does not depend on how the text is cut, and a cut
//! output never holds a call that the whole one does not have. What can be decided only at the end is marked as such
//! ([`Op::Call::needs_eos`]) or left to [`Reader::finish`]. Where a wrong guess shows, the lexer goes back to the place
//! of the guess; the places are chosen so that no byte is read again more than a fixed number of times:
//!
//! - A parameter's value is searched for its end only as far as the next call that has a parameter. Two searches
//!   therefore never overlap, also when calls are looked for in a thought, where a failed one is given up to text.
//! - The body of a JSON call is given up at the first `<`, `\` or `'` outside a string. One that was given up was
//!   followed up to the next string at most, or to the end by one start alone.

mod call;
mod json;
mod text;

use std::sync::Arc;

use super::fault::Fault;
use super::format::{Input, Kind, THINK_CLOSE, THINK_OPEN, Token, next_token};
use super::toolset::Toolset;
use super::{Stop, Thinking, ToolChoice};
use crate::conversation::ToolCall;
use call::{OpenCall, OpenValue};
use json::JsonScan;

/// What the reader says, in the order of the text.
#[derive(Debug, PartialEq)]
pub(super) enum Op {
    Text(Voice, String),
    /// The reasoning goes on after it was closed.
    NewThought,
    Call(ReadCall),
    Fault(Fault),
}

/// Which of the two texts of a message is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Reasoning,
    Content,
}

/// A call that was read, with what is wrong with it.
#[derive(Debug, PartialEq)]
pub(super) struct ReadCall {
    pub(super) call: ToolCall,
    pub(super) faults: Vec<Fault>,
    /// The call counts only if the model ended by itself.
    pub(super) needs_eos: bool,
    /// Where it starts in the text.
    start: usize,
}

/// Where in the format the reader stands.
///
/// While the voice is `Reasoning`, the states of a call are a trial: the call counts only if it is complete and nothing
/// but calls follows to the end.
#[derive(Debug)]
enum State {
    /// Before the first text of the reasoning.
    ThoughtLead,
    /// Before the first text of the content.
    Lead,
    /// In the reasoning or the content.
    Text,
    /// After `<tool_call>`.
    Opener { start: usize },
    /// In a call, between parameters.
    Body(OpenCall),
    /// In a call, after another `<tool_call>`.
    BodyOpener(OpenCall, usize),
    /// In a parameter's value.
    Value(OpenCall, OpenValue),
    /// In the body of a JSON call.
    Json { start: usize, scan: JsonScan },
    /// After the body of a JSON call.
    JsonDone(ReadCall),
    /// After a call.
    Tail(Wrapper),
}

/// Whether `</tool_call>` is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrapper {
    Open,
    Closed,
}

/// The machine. Feed it with [`push`](Self::push), end it with [`finish`](Self::finish), collect what it said with
/// [`take_ops`](Self::take_ops).
pub(super) struct Reader {
    tools: Arc<Toolset>,
    /// Whether anything can be a call.
    reads_calls: bool,
    all: String,
    /// How far the lexer is.
    at: usize,
    /// How far the text was said.
    said: usize,
    voice: Voice,
    state: State,
    /// Complete calls of a trial that may still turn out to be text.
    held: Vec<ReadCall>,
    ops: Vec<Op>,
}

impl Reader {
    pub(super) fn new(tools: Arc<Toolset>, thinking: Thinking, tool_choice: &ToolChoice) -> Reader {
        let (voice, state) = match thinking {
            Thinking::On => (Voice::Reasoning, State::ThoughtLead),
            Thinking::Off => (Voice::Content, State::Lead),
        };
        Reader {
            tools,
            reads_calls: *tool_choice != ToolChoice::None,
            all: String::new(),
            at: 0,
            said: 0,
            voice,
            state,
            held: Vec::new(),
            ops: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.read(Input::Open);
    }

    /// Takes the end of the output into account.
    pub(super) fn finish(&mut self, stop: Stop) {
        match stop {
            Stop::Eos => {
                self.read(Input::Ended);
                while self.ended_by_itself() {
                    self.read(Input::Ended);
                }
            }
            Stop::Length => self.cut(),
        }
    }

    pub(super) fn take_ops(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    fn read(&mut self, input: Input) {
        while let Some(token) = next_token(&self.all, self.at, input) {
            self.at = token.end;
            let state = std::mem::replace(&mut self.state, State::Text);
            self.state = self.step(state, token);
        }
    }

    fn step(&mut self, state: State, token: Token) -> State {
        if self.voice == Voice::Reasoning && token.kind == Kind::ThinkClose {
            // Calls inside a closed thought are text, whatever was held.
            self.say(token.start);
            self.said = token.end;
            self.held.clear();
            self.voice = Voice::Content;
            return State::Lead;
        }
        match state {
            State::ThoughtLead => self.thought_lead(token),
            State::Lead => self.lead(token),
            State::Text => self.text(token),
            State::Opener { start } => self.opener(start, token),
            State::Body(call) => self.body(call, token),
            State::BodyOpener(call, at) => self.body_opener(call, at, token),
            State::Value(call, value) => self.value(call, value, token),
            State::Json { start, scan } => self.json(start, scan, token),
            State::JsonDone(call) => self.json_done(call, token),
            State::Tail(wrapper) => self.tail(wrapper, token),
        }
    }

    /// Settles what the end leaves open, when the model ended by itself. Returns whether there is more to settle.
    fn ended_by_itself(&mut self) -> bool {
        match std::mem::replace(&mut self.state, State::Text) {
            State::ThoughtLead | State::Text if self.voice == Voice::Reasoning => {
                self.ops.push(Op::Fault(Fault::UnclosedThinking));
                return false;
            }
            State::ThoughtLead | State::Lead | State::Text => return false,
            State::Opener { .. } => self.state = self.as_text(self.all.len()),
            State::Body(call) | State::BodyOpener(call, _) => self.state = self.end_unclosed(call, self.all.len()),
            State::Value(call, value) => self.state = self.end_value(call, value),
            State::Json { start, .. } => self.state = self.give_up_json(start),
            State::JsonDone(call) => self.state = self.json_unclosed(call),
            State::Tail(wrapper) => {
                if wrapper == Wrapper::Open {
                    self.tail_fault(Fault::MissingToolCallClose);
                }
                self.deliver_held();
                return false;
            }
        }
        true
    }

    /// Settles what a cut leaves open: no call is guessed, and no beginning of a tag is text.
    fn cut(&mut self) {
        let rest = &self.all[self.at..];
        if self.voice == Voice::Reasoning {
            let is_tag = THINK_CLOSE.starts_with(rest) || THINK_OPEN.starts_with(rest);
            self.say(if is_tag { self.at } else { self.all.len() });
            self.ops.push(Op::Fault(Fault::UnclosedThinking));
            return;
        }
        match self.state {
            State::Text | State::Lead if self.reads_calls && text::may_open_call(rest) => {}
            State::Lead if THINK_CLOSE.starts_with(rest) || THINK_OPEN.starts_with(rest) => {}
            State::Lead | State::Text => self.say(self.all.len()),
            State::Tail(_) => {}
            _ => self.ops.push(Op::Fault(Fault::CutCall)),
        }
    }

    /// Says the text up to `to`.
    fn say(&mut self, to: usize) {
        if self.said < to {
            self.ops.push(Op::Text(self.voice, self.all[self.said..to].to_owned()));
            self.said = to;
        }
    }

    /// What was thought to be a call is text, up to `to`.
    fn as_text(&mut self, to: usize) -> State {
        self.held.clear();
        self.say(to);
        State::Text
    }

    /// What was thought to be a call is text; reading goes on from `from`, just after what made it look like one.
    fn back_to_text(&mut self, from: usize) -> State {
        self.at = from;
        self.as_text(from)
    }

    fn on_trial(&self) -> bool {
        self.voice == Voice::Reasoning
    }

    fn is_white(&self, token: Token) -> bool {
        token.kind == Kind::Text && token.text(&self.all).trim_start().is_empty()
    }
}
