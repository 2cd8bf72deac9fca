//! Outside of calls: reasoning, content, and what stands right after a call.

use super::call::OpenCall;
use super::json::JsonScan;
use super::{Fault, Kind, Op, ReadCall, Reader, State, Token, Voice, Wrapper};
use crate::tool_call::format::{CALL_OPEN, FUNCTION_OPEN};

/// Whether the beginning of a tag at the end of a cut output may have become a call.
pub(super) fn may_open_call(rest: &str) -> bool {
    CALL_OPEN.starts_with(rest) || FUNCTION_OPEN.starts_with(rest) || rest.starts_with(FUNCTION_OPEN)
}

impl Reader {
    pub(super) fn thought_lead(&mut self, token: Token) -> State {
        if self.is_white(token) {
            self.said = token.end;
            return State::ThoughtLead;
        }
        if token.kind == Kind::ThinkOpen {
            self.said = token.end;
            self.ops.push(Op::Fault(Fault::StrayThinkOpen));
            return State::ThoughtLead;
        }
        self.text(token)
    }

    /// Before the content a second `</think>` is dropped, and a `<think>` opens the reasoning again.
    pub(super) fn lead(&mut self, token: Token) -> State {
        if self.is_white(token) {
            self.said = token.end;
            return State::Lead;
        }
        match token.kind {
            Kind::ThinkClose => {
                self.said = token.end;
                self.ops.push(Op::Fault(Fault::StrayThinkClose));
                State::Lead
            }
            Kind::ThinkOpen => {
                self.said = token.end;
                self.ops.push(Op::Fault(Fault::StrayThinkOpen));
                self.ops.push(Op::NewThought);
                self.voice = Voice::Reasoning;
                State::ThoughtLead
            }
            _ => self.text(token),
        }
    }

    pub(super) fn text(&mut self, token: Token) -> State {
        if self.reads_calls && token.kind == Kind::CallOpen {
            return State::Opener { start: token.start };
        }
        if self.opens_offered(token) {
            return State::Body(OpenCall::bare(token, &self.all, &self.tools));
        }
        self.as_text(token.end)
    }

    /// After `<tool_call>`: a call, or a mention of the tag.
    pub(super) fn opener(&mut self, start: usize, token: Token) -> State {
        if self.is_white(token) {
            return State::Opener { start };
        }
        match token.kind {
            Kind::FunctionOpen if !self.on_trial() || self.opens_offered(token) => {
                State::Body(OpenCall::wrapped(start, token, &self.all, &self.tools))
            }
            Kind::Text if self.opens_json(token) => {
                // The scan starts at the brace: what was read of this token is read again.
                let text = token.text(&self.all);
                self.at = token.end - text.trim_start().len();
                State::Json { start, scan: JsonScan::at(self.at) }
            }
            Kind::BrokenFunction | Kind::Partial if !self.on_trial() => {
                self.ops.push(Op::Fault(Fault::UnreadableCall));
                self.text(token)
            }
            _ => self.text_again(token),
        }
    }

    pub(super) fn tail(&mut self, wrapper: Wrapper, token: Token) -> State {
        let closer_cut = token.kind == Kind::Partial && token.text(&self.all).starts_with("</");
        let absorbed = match token.kind {
            Kind::CallClose => Some(Wrapper::Closed),
            Kind::FunctionClose => Some(wrapper),
            Kind::ParameterClose => {
                self.tail_fault(Fault::DoubledValueClose);
                Some(wrapper)
            }
            // A trial that met this tag is over already.
            Kind::ThinkClose => {
                self.tail_fault(Fault::StrayThinkClose);
                Some(wrapper)
            }
            _ if closer_cut || self.is_white(token) => Some(wrapper),
            _ => None,
        };
        if let Some(wrapper) = absorbed {
            if !self.on_trial() {
                self.said = token.end;
            }
            return State::Tail(wrapper);
        }
        if wrapper == Wrapper::Open {
            self.tail_fault(Fault::MissingToolCallClose);
        }
        self.text(token)
    }

    /// The text since the last call was a mention; the token is read as text.
    fn text_again(&mut self, token: Token) -> State {
        self.as_text(token.start);
        self.text(token)
    }

    /// A fault of the call before.
    pub(super) fn tail_fault(&mut self, fault: Fault) {
        match self.held.last_mut() {
            Some(call) => call.faults.push(fault),
            None => self.ops.push(Op::Fault(fault)),
        }
    }

    /// The thought ended with calls: they end the reasoning.
    pub(super) fn deliver_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let Some(ReadCall { start, .. }) = held.first() else {
            return;
        };
        self.say(*start);
        self.ops.push(Op::Fault(Fault::CallInThinking));
        self.ops.extend(held.into_iter().map(Op::Call));
    }

    /// Whether the token is `<function=NAME>` with the name of an offered tool.
    pub(super) fn opens_offered(&self, token: Token) -> bool {
        self.reads_calls && token.kind == Kind::FunctionOpen && self.tools.find(token.name(&self.all)).is_some()
    }

    pub(super) fn opens_json(&self, token: Token) -> bool {
        token.kind == Kind::Text && token.text(&self.all).trim_start().starts_with('{')
    }
}
