//! What the reader says, made into the pieces of a message.

use std::collections::VecDeque;
use std::sync::Arc;

use super::channel::Channel;
use super::fault::Fault;
use super::reader::{Op, Reader, Voice};
use super::stop::StopStrings;
use super::toolset::Toolset;
use super::{FinishReason, Stop, Thinking, ToolChoice};
use crate::conversation::ToolCall;

/// A piece of a message. Texts are added to what came before.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Reasoning(String),
    Content(String),
    Call(ToolCall),
}

/// The reader with the two texts and the calls behind it.
pub(super) struct Delivery {
    reader: Reader,
    reasoning: Channel,
    content: Channel,
    /// A call that counts only if the model ends by itself, and all that came after it.
    waiting: VecDeque<Op>,
    n_calls: usize,
    text_after_call: bool,
    faults: Vec<Fault>,
}

impl Delivery {
    pub(super) fn new(
        tools: Arc<Toolset>,
        thinking: Thinking,
        tool_choice: &ToolChoice,
        stops: StopStrings,
    ) -> Delivery {
        Delivery {
            reader: Reader::new(tools, thinking, tool_choice),
            reasoning: Channel::default(),
            content: Channel::new(stops),
            waiting: VecDeque::new(),
            n_calls: 0,
            text_after_call: false,
            faults: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        if self.stopped() {
            return out;
        }
        self.reader.push(text);
        for op in self.reader.take_ops() {
            let waits = matches!(&op, Op::Call(call) if call.needs_eos);
            if waits || !self.waiting.is_empty() {
                self.waiting.push_back(op);
            } else {
                self.apply(op, &mut out);
            }
        }
        out
    }

    pub(super) fn finish(&mut self, stop: Stop) -> Vec<Piece> {
        let mut out = Vec::new();
        if !self.stopped() {
            self.reader.finish(stop);
            self.waiting.extend(self.reader.take_ops());
            for op in std::mem::take(&mut self.waiting) {
                match op {
                    Op::Call(call) if call.needs_eos && stop == Stop::Length => {
                        self.end_content(&mut out);
                        self.fault(Fault::CutCall);
                    }
                    op => self.apply(op, &mut out),
                }
            }
        }
        self.end_reasoning(&mut out);
        self.end_content(&mut out);
        out
    }

    /// Whether a stop string was found in the content: nothing that follows it counts.
    pub(super) fn stopped(&self) -> bool {
        self.content.stopped()
    }

    pub(super) fn finish_reason(&self, stop: Stop) -> FinishReason {
        match stop {
            Stop::Length if !self.stopped() => FinishReason::Length,
            _ if self.n_calls > 0 => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        }
    }

    pub(super) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(super) fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    fn apply(&mut self, op: Op, out: &mut Vec<Piece>) {
        if self.stopped() {
            return;
        }
        match op {
            Op::Text(Voice::Reasoning, text) => {
                let given = self.reasoning.push(&text);
                out.extend((!given.is_empty()).then_some(Piece::Reasoning(given)));
            }
            Op::Text(Voice::Content, text) => {
                let given = self.content.push(&text);
                self.give_content(given, out);
            }
            Op::NewThought => self.end_reasoning(out),
            Op::Call(call) => {
                self.end_content(out);
                self.n_calls += 1;
                self.faults.extend(call.faults);
                out.push(Piece::Call(call.call));
            }
            Op::Fault(fault) => self.fault(fault),
        }
    }

    fn end_reasoning(&mut self, out: &mut Vec<Piece>) {
        let rest = self.reasoning.end_piece();
        out.extend((!rest.is_empty()).then_some(Piece::Reasoning(rest)));
    }

    fn end_content(&mut self, out: &mut Vec<Piece>) {
        let rest = self.content.end_piece();
        self.give_content(rest, out);
    }

    fn give_content(&mut self, text: String, out: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        if self.n_calls > 0 && !std::mem::replace(&mut self.text_after_call, true) {
            self.fault(Fault::TextAfterCall);
        }
        out.push(Piece::Content(text));
    }

    fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }
}
