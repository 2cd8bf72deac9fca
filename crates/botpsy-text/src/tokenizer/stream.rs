//! Tokens to text while they arrive.

use super::Tokenizer;
use super::spec::TokenId;

/// Turns pieces of a byte stream into text, whole characters only.
///
/// Bytes that can still become a character wait; bytes that no longer can are U+FFFD, one for each maximal
/// sequence. All pieces together give what [`String::from_utf8_lossy`] gives for the whole.
#[derive(Clone, Debug, Default)]
pub struct Utf8Stream {
    /// The start of a character, at most three bytes.
    pending: Vec<u8>,
}

impl Utf8Stream {
    /// An empty stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and gives the text that is certain now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut rest = &self.pending[..];
        let n_waiting = loop {
            let error = match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    break 0;
                }
                Err(error) => error,
            };
            let (valid, after) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(n_invalid) = error.error_len() else {
                break after.len();
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &after[n_invalid..];
        };
        self.pending.drain(..self.pending.len() - n_waiting);
        text
    }

    /// Ends the stream: an unfinished character is one U+FFFD.
    pub fn finish(&mut self) -> String {
        let unfinished = std::mem::take(&mut self.pending);
        String::from_utf8_lossy(&unfinished).into_owned()
    }
}

/// What a [`Detokenizer`] does with control tokens such as `<|im_end|>`.
///
/// Tool and think markers are no control tokens; they are always text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialTokens {
    /// Their text is part of the output.
    Keep,
    /// They give no text.
    Skip,
}

/// Turns token ids into text, one by one.
#[derive(Clone, Debug)]
pub struct Detokenizer {
    stream: Utf8Stream,
    special: SpecialTokens,
}

impl Detokenizer {
    /// A detokenizer at the start of a text.
    #[must_use]
    pub fn new(special: SpecialTokens) -> Self {
        Self { stream: Utf8Stream::new(), special }
    }

    /// Takes the next token and gives the text that is certain now.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: TokenId) -> String {
        if self.special == SpecialTokens::Skip && tokenizer.is_special(id) {
            return String::new();
        }
        self.stream.push(tokenizer.token_bytes(id))
    }

    /// Ends the text.
    pub fn finish(&mut self) -> String {
        self.stream.finish()
    }
}
