//! Text that is continued without a chat template.

use botpsy_text::tool_call::{Delta, FinishReason, ParsedMessage, Stop, StopStrings};

use crate::provider::Listener;
use crate::{ChatEvent, Overrides};

/// A text to continue, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextRequest {
    /// The tokens of the text.
    pub prompt: Vec<u32>,
    /// Settings that this request states.
    pub overrides: Overrides,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// Which of several answers to the same request this is.
    pub choice: u32,
}

/// Passes text on as it comes, but for stop strings and what may become one.
pub(crate) struct PlainReader<'a> {
    stops: StopStrings,
    /// All text so far; what stands before `told` was passed on.
    text: String,
    told: usize,
    stopped: bool,
    on: &'a mut dyn FnMut(ChatEvent),
}

impl<'a> PlainReader<'a> {
    pub(crate) fn new(stop: &[String], on: &'a mut dyn FnMut(ChatEvent)) -> PlainReader<'a> {
        on(ChatEvent::Delta(Delta::Role));
        PlainReader { stops: StopStrings::new(stop.to_vec()), text: String::new(), told: 0, stopped: false, on }
    }

    fn tell(&mut self, end: usize) {
        if end > self.told {
            (self.on)(ChatEvent::Delta(Delta::Content(self.text[self.told..end].to_owned())));
            self.told = end;
        }
    }
}

impl Listener for PlainReader<'_> {
    fn event(&mut self, event: ChatEvent) {
        (self.on)(event);
    }

    fn push(&mut self, text: &str) -> bool {
        if self.stopped {
            return true;
        }
        let new = self.text.len();
        self.text.push_str(text);
        if let Some(end) = self.stops.find(&self.text, new) {
            self.text.truncate(end);
            self.stopped = true;
        }
        let pending = if self.stopped { 0 } else { self.stops.pending_len(&self.text) };
        self.tell(self.text.len() - pending);
        self.stopped
    }

    fn finish(mut self, stop: Stop) -> ParsedMessage {
        self.tell(self.text.len());
        let finish_reason = match stop {
            Stop::Eos => FinishReason::Stop,
            Stop::Length => FinishReason::Length,
        };
        (self.on)(ChatEvent::Delta(Delta::Finish(finish_reason)));
        ParsedMessage { content: Some(self.text), finish_reason, ..ParsedMessage::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deltas and the answer for some pieces.
    fn read(pieces: &[&str], stop: &[&str]) -> (String, ParsedMessage) {
        let mut told = String::new();
        let on = &mut |event| {
            if let ChatEvent::Delta(Delta::Content(text)) = event {
                told.push_str(&text);
            }
        };
        let stop: Vec<String> = stop.iter().map(|text| (*text).to_owned()).collect();
        let mut reader = PlainReader::new(&stop, on);
        let ended = pieces.iter().any(|piece| reader.push(piece));
        let message = reader.finish(if ended { Stop::Eos } else { Stop::Length });
        (told, message)
    }

    #[test]
    fn text_is_passed_on_up_to_a_stop_string() {
        for (pieces, stop, text, finish) in [
            (&["  a", " b\n"][..], &[][..], "  a b\n", FinishReason::Length),
            (&["one E", "ND two"], &["END"], "one ", FinishReason::Stop),
            (&["one EN", "E two"], &["END"], "one ENE two", FinishReason::Length),
            (&["one EN"], &["END", "x"], "one EN", FinishReason::Length),
        ] {
            let (told, message) = read(pieces, stop);
            assert_eq!((told.as_str(), message.content.as_deref()), (text, Some(text)));
            assert_eq!(message.finish_reason, finish);
        }
    }
}
