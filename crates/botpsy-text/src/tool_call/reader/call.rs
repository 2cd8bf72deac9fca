//! Inside a call: its parameters and their ends.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Fault, Kind, Op, ReadCall, Reader, State, Token, Wrapper};
use crate::conversation::ToolCall;
use crate::schema::{Coerced, Parameters, TypeSet, coerce, fit};
use crate::tool_call::format::PARAMETER_OPEN;
use crate::tool_call::toolset::{Toolset, tidy};

/// A call that is being read.
#[derive(Debug)]
pub(super) struct OpenCall {
    start: usize,
    /// The end of `<function=NAME>`: where reading goes on when this is no call.
    after_name: usize,
    name: String,
    /// What the tool declares; `None` when it was not offered.
    tool: Option<Arc<Parameters>>,
    arguments: Map<String, Value>,
    faults: Vec<Fault>,
    opened: Opened,
    /// Whether a parameter was read, also a broken one.
    has_parameter: bool,
    /// Whether the last parameter was closed by something other than its own `</parameter>`.
    last_unclosed: bool,
    /// Whether the reader skips something that is no parameter.
    in_junk: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    /// By `<tool_call>`.
    Wrapped,
    /// By `<function=NAME>` alone.
    Bare,
}

/// A value that is being read.
#[derive(Debug)]
pub(super) struct OpenValue {
    /// `None` for a broken parameter, whose value is dropped.
    name: Option<String>,
    start: usize,
    ahead: Ahead,
    /// The first place where the value ends if its own closer is missing.
    other_end: Option<usize>,
}

/// What the reader looks at after a tag inside a value: what follows decides whether the tag counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    Nothing,
    /// After `</parameter>`, which starts here.
    Closer(usize),
    /// After `<tool_call>`, which starts here.
    Opener(usize),
    /// After the `<function=NAME>` of a call that starts here.
    Function(usize),
}

impl OpenCall {
    pub(super) fn wrapped(start: usize, function: Token, all: &str, tools: &Toolset) -> OpenCall {
        OpenCall::new(start, function.end, function.name(all), Opened::Wrapped, tools)
    }

    pub(super) fn bare(function: Token, all: &str, tools: &Toolset) -> OpenCall {
        let mut call = OpenCall::new(function.start, function.end, function.name(all), Opened::Bare, tools);
        call.faults.push(Fault::MissingToolCallOpen);
        call
    }

    pub(super) fn from_json(start: usize, name: &str, arguments: Map<String, Value>, tools: &Toolset) -> OpenCall {
        let mut call = OpenCall::new(start, start, name, Opened::Wrapped, tools);
        call.faults.push(Fault::JsonCall);
        for (name, value) in arguments {
            call.add(name, |types| fit(value, types));
        }
        call
    }

    fn new(start: usize, after_name: usize, written: &str, opened: Opened, tools: &Toolset) -> OpenCall {
        let (name, tool) = match tools.find(written) {
            Some((name, tool)) => (name, Some(Arc::clone(tool))),
            None => (tidy(written), None),
        };
        OpenCall {
            start,
            after_name,
            name: name.to_owned(),
            tool,
            arguments: Map::new(),
            faults: Vec::new(),
            opened,
            has_parameter: false,
            last_unclosed: false,
            in_junk: false,
        }
    }

    pub(super) fn finish(mut self, needs_eos: bool) -> ReadCall {
        match &self.tool {
            None => self.faults.push(Fault::UnknownTool),
            Some(tool) => {
                let missing = tool.required().iter().filter(|name| !self.arguments.contains_key(*name));
                let missing: Vec<String> = missing.cloned().collect();
                if !missing.is_empty() {
                    self.faults.push(Fault::MissingRequired(missing));
                }
            }
        }
        let call = ToolCall { name: self.name, arguments: self.arguments };
        ReadCall { call, faults: self.faults, needs_eos, start: self.start }
    }

    /// The declared parameter that a written name means, or the name as it is.
    fn parameter<'a>(&self, written: &'a str) -> &'a str {
        match &self.tool {
            Some(tool) if tool.declares(written) => written,
            _ => tidy(written),
        }
    }

    fn declares(&self, written: &str) -> bool {
        self.tool.as_ref().is_some_and(|tool| tool.declares(self.parameter(written)))
    }

    fn add(&mut self, name: String, value: impl FnOnce(TypeSet) -> Coerced) {
        let declared = self.tool.as_ref().and_then(|tool| tool.types(&name));
        if self.tool.is_some() && declared.is_none() {
            self.faults.push(Fault::UnknownParameter(name.clone()));
        }
        let value = match value(declared.unwrap_or_default()) {
            Coerced::Fits(value) => value,
            Coerced::Raw(value) => {
                self.faults.push(Fault::BadValue(name.clone()));
                value
            }
        };
        if self.arguments.contains_key(&name) {
            self.faults.push(Fault::DuplicateParameter(name.clone()));
        }
        self.arguments.insert(name, value);
    }
}

impl Reader {
    pub(super) fn body(&mut self, mut call: OpenCall, token: Token) -> State {
        if self.is_white(token) || token.kind == Kind::Partial {
            return State::Body(call);
        }
        let in_junk = std::mem::take(&mut call.in_junk);
        match token.kind {
            Kind::ParameterOpen => {
                let name = call.parameter(token.name(&self.all)).to_owned();
                self.open_value(call, Some(name), token)
            }
            Kind::BrokenParameter if !self.on_trial() => {
                call.faults.push(Fault::BrokenParameter);
                self.open_value(call, None, token)
            }
            Kind::ParameterClose => {
                call.faults.push(Fault::DoubledValueClose);
                State::Body(call)
            }
            Kind::FunctionClose => self.end_closed(call, token.end),
            Kind::CallClose => self.end_unclosed(call, token.start),
            Kind::CallOpen => State::BodyOpener(call, token.start),
            Kind::FunctionOpen if self.opens_offered(token) => self.end_unclosed(call, token.start),
            // Without any parameter this is a mention of the tags. A trial takes nothing but the good form.
            _ if !call.has_parameter || self.on_trial() => self.give_up(call),
            _ => {
                if !in_junk {
                    call.faults.push(Fault::BrokenParameter);
                }
                call.in_junk = true;
                State::Body(call)
            }
        }
    }

    /// Another `<tool_call>` inside a call: the next call, or a mention of the tag.
    pub(super) fn body_opener(&mut self, mut call: OpenCall, at: usize, token: Token) -> State {
        if self.is_white(token) || token.kind == Kind::Partial {
            return State::BodyOpener(call, at);
        }
        if token.kind == Kind::FunctionOpen || self.opens_json(token) {
            return self.end_unclosed(call, at);
        }
        if !call.has_parameter || self.on_trial() {
            return self.give_up(call);
        }
        if !call.in_junk {
            call.faults.push(Fault::BrokenParameter);
        }
        call.in_junk = true;
        self.body(call, token)
    }

    fn open_value(&self, mut call: OpenCall, name: Option<String>, opener: Token) -> State {
        call.has_parameter = true;
        State::Value(call, OpenValue { name, start: opener.end, ahead: Ahead::Nothing, other_end: None })
    }

    pub(super) fn value(&mut self, call: OpenCall, mut value: OpenValue, token: Token) -> State {
        if value.ahead != Ahead::Nothing && self.is_white(token) {
            return State::Value(call, value);
        }
        let spoilt = token.kind == Kind::BrokenParameter;
        match std::mem::replace(&mut value.ahead, Ahead::Nothing) {
            Ahead::Closer(end) if token.kind == Kind::Partial => value.ahead = Ahead::Closer(end),
            Ahead::Closer(end) if follows_value(token, &self.all) => {
                let call = self.close_value(call, &value, end);
                return self.body(call, token);
            }
            Ahead::Opener(start) if token.kind == Kind::FunctionOpen => {
                value.ahead = Ahead::Function(start);
                return State::Value(call, value);
            }
            Ahead::Opener(start) if self.opens_json(token) => value.end_at(start),
            Ahead::Function(start) if token.kind == Kind::ParameterOpen || spoilt => {
                // The parameter belongs to that call, so this value's own closer is missing.
                value.end_at(start);
                return self.end_value_early(call, value);
            }
            Ahead::Function(start) if follows_value(token, &self.all) || token.kind == Kind::Partial => {
                value.end_at(start);
            }
            Ahead::Nothing | Ahead::Closer(_) | Ahead::Opener(_) | Ahead::Function(_) => {}
        }
        self.value_tag(call, value, token)
    }

    /// A token inside a value that nothing before it decides about.
    fn value_tag(&mut self, call: OpenCall, mut value: OpenValue, token: Token) -> State {
        match token.kind {
            Kind::ParameterClose => value.ahead = Ahead::Closer(token.start),
            Kind::CallOpen => value.ahead = Ahead::Opener(token.start),
            Kind::FunctionOpen if self.opens_offered(token) => value.ahead = Ahead::Function(token.start),
            Kind::FunctionClose | Kind::CallClose => value.end_at(token.start),
            Kind::ParameterOpen if self.starts_line(token, &value) && call.declares(token.name(&self.all)) => {
                let call = self.close_value_unclosed(call, &value, token.start);
                return self.body(call, token);
            }
            // A cut-off closer is no part of the value.
            Kind::Partial if token.text(&self.all).starts_with("</p") => value.end_at(token.start),
            _ => {}
        }
        State::Value(call, value)
    }

    /// The end of the output inside a value.
    pub(super) fn end_value(&mut self, call: OpenCall, mut value: OpenValue) -> State {
        match value.ahead {
            Ahead::Closer(end) => return State::Body(self.close_value(call, &value, end)),
            Ahead::Function(start) => value.end_at(start),
            Ahead::Nothing | Ahead::Opener(_) => {}
        }
        value.end_at(self.all.len());
        self.end_value_early(call, value)
    }

    /// The value's own closer is missing: it ends at the first other end, and reading goes on from there.
    fn end_value_early(&mut self, call: OpenCall, value: OpenValue) -> State {
        if self.on_trial() {
            return self.give_up(call);
        }
        let end = value.other_end.expect("the callers set an end");
        self.at = end;
        State::Body(self.close_value_unclosed(call, &value, end))
    }

    fn close_value_unclosed(&self, mut call: OpenCall, value: &OpenValue, end: usize) -> OpenCall {
        call.faults.push(Fault::MissingValueClose);
        let mut call = self.close_value(call, value, end);
        call.last_unclosed = true;
        call
    }

    fn close_value(&self, mut call: OpenCall, value: &OpenValue, end: usize) -> OpenCall {
        call.last_unclosed = false;
        if let Some(name) = &value.name {
            let raw = without_outer_newlines(&self.all[value.start..end]);
            call.add(name.clone(), |types| coerce(raw, types));
        }
        call
    }

    fn starts_line(&self, token: Token, value: &OpenValue) -> bool {
        token.start == value.start || self.all[..token.start].ends_with('\n')
    }

    /// `</function>` was read.
    fn end_closed(&mut self, call: OpenCall, end: usize) -> State {
        if call.last_unclosed && self.on_trial() {
            return self.give_up(call);
        }
        let needs_eos = call.last_unclosed;
        self.deliver(call.finish(needs_eos), end);
        State::Tail(Wrapper::Open)
    }

    /// The call ends before `end` without `</function>`; reading goes on from there.
    pub(super) fn end_unclosed(&mut self, mut call: OpenCall, end: usize) -> State {
        if self.on_trial() {
            return self.give_up(call);
        }
        call.faults.push(Fault::MissingFunctionClose);
        self.deliver(call.finish(true), end);
        self.at = end;
        State::Tail(Wrapper::Open)
    }

    /// Hands over a call whose text ends at `end`; on trial it is only held.
    pub(super) fn deliver(&mut self, call: ReadCall, end: usize) {
        if self.on_trial() {
            self.held.push(call);
        } else {
            self.ops.push(Op::Call(call));
            self.said = end;
        }
    }

    /// This is no call: reading goes on after its name.
    fn give_up(&mut self, call: OpenCall) -> State {
        if call.opened == Opened::Wrapped && !self.on_trial() {
            self.ops.push(Op::Fault(Fault::UnreadableCall));
        }
        self.back_to_text(call.after_name)
    }
}

impl OpenValue {
    /// Notes an end, unless an earlier one is known.
    fn end_at(&mut self, end: usize) {
        self.other_end.get_or_insert(end);
    }
}

/// Whether `</parameter>` closes the value when this follows it.
fn follows_value(token: Token, all: &str) -> bool {
    match token.kind {
        Kind::ParameterOpen | Kind::ParameterClose | Kind::FunctionClose | Kind::CallClose | Kind::CallOpen => true,
        Kind::BrokenParameter => token.text(all) == PARAMETER_OPEN,
        _ => false,
    }
}

/// The value without the newline that the format puts at each end. Where the first line ends in CRLF, so does the last.
fn without_outer_newlines(raw: &str) -> &str {
    if let Some(inner) = raw.strip_prefix("\r\n") {
        return inner.strip_suffix("\r\n").or_else(|| inner.strip_suffix('\n')).unwrap_or(inner);
    }
    let inner = raw.strip_prefix('\n').unwrap_or(raw);
    inner.strip_suffix('\n').unwrap_or(inner)
}
