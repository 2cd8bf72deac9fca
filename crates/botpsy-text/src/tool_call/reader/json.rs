//! The older form of a call: a JSON object with `name` and `arguments`.

use serde_json::{Map, Value};

use super::call::OpenCall;
use super::{Fault, Kind, Op, ReadCall, Reader, State, Token, Wrapper};
use crate::schema::{MAX_VALUE_DEPTH, nested_at_most};
use crate::tool_call::format::CALL_OPEN;

/// A search for the end of a JSON object.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonScan {
    start: usize,
    depth: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    InString,
    AfterBackslash,
}

enum Scanned {
    More,
    /// The object ends before this offset of the text.
    End(usize),
    NotJson,
}

impl JsonScan {
    pub(super) fn at(start: usize) -> JsonScan {
        JsonScan { start, depth: 0, place: Place::Outside }
    }

    fn feed(&mut self, all: &str, token: Token) -> Scanned {
        for (offset, byte) in token.text(all).bytes().enumerate() {
            match (self.place, byte) {
                (Place::AfterBackslash, _) | (Place::Outside, b'"') => self.place = Place::InString,
                (Place::InString, b'"') => self.place = Place::Outside,
                (Place::InString, b'\\') => self.place = Place::AfterBackslash,
                (Place::InString, _) => {}
                (Place::Outside, b'<' | b'\\' | b'\'') => return Scanned::NotJson,
                (Place::Outside, b'{' | b'[') => self.depth += 1,
                (Place::Outside, b'}' | b']') if self.depth <= 1 => return Scanned::End(token.start + offset + 1),
                (Place::Outside, b'}' | b']') => self.depth -= 1,
                (Place::Outside, _) => {}
            }
        }
        Scanned::More
    }
}

impl Reader {
    pub(super) fn json(&mut self, start: usize, mut scan: JsonScan, token: Token) -> State {
        let end = match scan.feed(&self.all, token) {
            Scanned::More => return State::Json { start, scan },
            Scanned::End(end) => end,
            Scanned::NotJson => return self.give_up_json(start),
        };
        self.at = end;
        let Some((name, arguments)) = name_and_arguments(&self.all[scan.start..end]) else {
            return self.give_up_json(start);
        };
        if self.on_trial() && self.tools.find(&name).is_none() {
            return self.give_up_json(start);
        }
        State::JsonDone(OpenCall::from_json(start, &name, arguments, &self.tools).finish(false))
    }

    /// A JSON call has no `</function>`; `</tool_call>` is what closes it.
    pub(super) fn json_done(&mut self, call: ReadCall, token: Token) -> State {
        match token.kind {
            Kind::CallClose => {
                self.deliver(call, token.end);
                State::Tail(Wrapper::Closed)
            }
            Kind::Partial => State::JsonDone(call),
            _ if self.is_white(token) => State::JsonDone(call),
            Kind::CallOpen if !self.on_trial() => {
                let state = self.json_unclosed(call);
                self.said = token.start;
                self.step(state, token)
            }
            _ => self.give_up_json(call.start),
        }
    }

    pub(super) fn json_unclosed(&mut self, mut call: ReadCall) -> State {
        if self.on_trial() {
            return self.give_up_json(call.start);
        }
        call.needs_eos = true;
        self.deliver(call, self.at);
        State::Tail(Wrapper::Open)
    }

    /// The body cannot be read: all of it is text, which is read again.
    pub(super) fn give_up_json(&mut self, start: usize) -> State {
        if !self.on_trial() {
            self.ops.push(Op::Fault(Fault::UnreadableCall));
        }
        self.back_to_text(start + CALL_OPEN.len())
    }
}

fn name_and_arguments(text: &str) -> Option<(String, Map<String, Value>)> {
    let mut object: Map<String, Value> = serde_json::from_str(text).ok()?;
    let Value::String(name) = object.remove("name")? else {
        return None;
    };
    let arguments = match object.remove("arguments").or_else(|| object.remove("parameters")) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(json)) => serde_json::from_str(&json).ok()?,
        Some(_) => return None,
    };
    let readable = !name.is_empty() && arguments.values().all(|value| nested_at_most(value, MAX_VALUE_DEPTH));
    readable.then_some((name, arguments))
}
