//! A provider whose answers were written beforehand.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use botpsy_text::tool_call::{Stop, Thinking};

use crate::provider::{Listener, Reader};
use crate::{ChatError, ChatEvent, Completion, Provider, Request};

/// Answers with one text after another, as if a model had written them after an opened think block (or after a closed one
/// where the request turns thinking off).
#[derive(Debug)]
pub struct Scripted {
    answers: Vec<Script>,
    used: AtomicUsize,
}

/// What a model would write, piece by piece, and how it would end.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The text.
    pub pieces: Vec<String>,
    /// Why it ends.
    pub stop: Stop,
}

impl From<&str> for Script {
    /// A whole answer, word by word.
    fn from(text: &str) -> Script {
        Script { pieces: text.split_inclusive(' ').map(str::to_owned).collect(), stop: Stop::Eos }
    }
}

impl Scripted {
    /// A script of these answers.
    pub fn new(answers: impl IntoIterator<Item = impl Into<Script>>) -> Scripted {
        Scripted { answers: answers.into_iter().map(Into::into).collect(), used: AtomicUsize::new(0) }
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "script"
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        let used = self.used.fetch_add(1, Ordering::Relaxed);
        let left = || ChatError::NoAnswerLeft { what: "script".into(), used };
        let script = self.answers.get(used).ok_or_else(left)?;
        let thinking = if request.overrides.thinking == Some(false) { Thinking::Off } else { Thinking::On };
        Ok(play(script, thinking, request, cancel, on))
    }
}

/// Gives a known text as an answer.
pub(crate) fn play(
    script: &Script,
    thinking: Thinking,
    request: &Request,
    cancel: &AtomicBool,
    on: &mut dyn FnMut(ChatEvent),
) -> Completion {
    let mut reader = Reader::new(request, thinking, on);
    let (mut written, mut stop) = (String::new(), script.stop);
    for piece in &script.pieces {
        if cancel.load(Ordering::Relaxed) {
            stop = Stop::Length;
            break;
        }
        written.push_str(piece);
        if reader.push(piece) {
            stop = Stop::Eos;
            break;
        }
    }
    let cancelled = cancel.load(Ordering::Relaxed);
    Completion { message: reader.finish(stop), text: written, cancelled, ..Completion::default() }
}
