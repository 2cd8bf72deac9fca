//! A provider whose answers were written beforehand.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use botpsy_text::tool_call::{Stop, Thinking};

use crate::provider::Reader;
use crate::{ChatError, ChatEvent, Completion, Provider, Request};

/// Answers with one text after another, as if a model had written them after an opened think block (or after a closed one
/// where the request turns thinking off).
#[derive(Debug)]
pub struct Scripted {
    answers: Vec<String>,
    used: AtomicUsize,
}

impl Scripted {
    /// A script of these answers.
    pub fn new(answers: impl IntoIterator<Item = impl Into<String>>) -> Scripted {
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
        let text = self.answers.get(used).ok_or_else(left)?;
        let thinking = if request.overrides.thinking == Some(false) { Thinking::Off } else { Thinking::On };
        Ok(play(text, Stop::Eos, thinking, request, cancel, on))
    }
}

/// Gives a known text as an answer, word by word.
pub(crate) fn play(
    text: &str,
    stop: Stop,
    thinking: Thinking,
    request: &Request,
    cancel: &AtomicBool,
    on: &mut dyn FnMut(ChatEvent),
) -> Completion {
    let mut reader = Reader::new(request, thinking, on);
    let (mut written, mut stop) = (String::new(), stop);
    for piece in text.split_inclusive(' ') {
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
