//! Finds added tokens in text.

use std::ops::Range;

use super::error::{TokenizerError, shorten};
use super::spec::TokenId;
use super::untrusted::SENTINEL;

/// The tokens that are recognized as a whole in trusted text: control and user-defined ones.
#[derive(Clone, Debug)]
pub struct AddedTokens {
    /// Sorted by text.
    tokens: Vec<(String, TokenId)>,
    /// Whether a token starts with this byte.
    starts: [bool; 256],
}

impl AddedTokens {
    /// Longest token in bytes; recognition costs up to this much per position.
    pub const MAX_BYTES: usize = 512;

    /// Takes the texts with their ids.
    ///
    /// # Errors
    /// If a text is empty, longer than [`AddedTokens::MAX_BYTES`], holds the sentinel or comes twice.
    pub fn new(mut tokens: Vec<(String, TokenId)>) -> Result<Self, TokenizerError> {
        for (text, id) in &tokens {
            check_text(text, id.0 as usize)?;
        }
        tokens.sort_unstable();
        for pair in tokens.windows(2) {
            if pair[0].0 == pair[1].0 {
                return Err(TokenizerError::DuplicateToken {
                    index: pair[1].1.0 as usize,
                    first: pair[0].1.0 as usize,
                    text: shorten(&pair[0].0),
                });
            }
        }
        let mut starts = [false; 256];
        for (text, _) in &tokens {
            starts[usize::from(text.as_bytes()[0])] = true;
        }
        Ok(Self { tokens, starts })
    }

    /// The id of a token by its text.
    #[must_use]
    pub fn id_of(&self, text: &str) -> Option<TokenId> {
        let index = self.tokens.binary_search_by(|(token, _)| token.as_str().cmp(text)).ok()?;
        Some(self.tokens[index].1)
    }

    /// All texts with their ids, sorted by text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, TokenId)> {
        self.tokens.iter().map(|(text, id)| (text.as_str(), *id))
    }

    /// The first and longest token at or after `from` that no break falls into.
    ///
    /// `breaks` are positions in ascending order; a token at `i..j` is broken by any of them in `i + 1..=j`.
    pub(super) fn find(&self, text: &str, from: usize, breaks: &[usize]) -> Option<(Range<usize>, TokenId)> {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(offset) = bytes[at..].iter().position(|&byte| self.starts[usize::from(byte)]) {
            let start = at + offset;
            let next_break = breaks.get(breaks.partition_point(|&pos| pos <= start));
            let end = next_break.map_or(bytes.len(), |&pos| pos - 1);
            if let Some((len, id)) = self.longest_at(&bytes[start..end]) {
                return Some((start..start + len, id));
            }
            at = start + 1;
        }
        None
    }

    /// Whether `text` starts with a token, or is itself the start of one.
    pub(super) fn may_start(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if bytes.first().is_none_or(|&byte| !self.starts[usize::from(byte)]) {
            return false;
        }
        let is_start = |(token, _): &(String, TokenId)| token.starts_with(text);
        self.longest_at(bytes).is_some()
            || self.tokens.get(self.tokens.partition_point(|(token, _)| token.as_str() < text)).is_some_and(is_start)
    }

    /// Whether `text` starts with the rest of a token whose first characters are missing.
    pub(super) fn may_end(&self, text: &str) -> bool {
        self.tokens
            .iter()
            .any(|(token, _)| token.char_indices().skip(1).any(|(cut, _)| text.starts_with(&token[cut..])))
    }

    /// Narrows the sorted list byte by byte.
    fn longest_at(&self, bytes: &[u8]) -> Option<(usize, TokenId)> {
        let mut candidates = &self.tokens[..];
        let mut best = None;
        for (depth, &byte) in bytes.iter().enumerate() {
            let byte_of = |token: &(String, TokenId)| token.0.as_bytes()[depth];
            let low = candidates.partition_point(|token| byte_of(token) < byte);
            let high = candidates.partition_point(|token| byte_of(token) <= byte);
            candidates = &candidates[low..high];
            // The shortest of those that agree so far comes first.
            if let Some((token, id)) = candidates.first()
                && token.len() == depth + 1
            {
                best = Some((depth + 1, *id));
                candidates = &candidates[1..];
            }
            if candidates.is_empty() {
                break;
            }
        }
        best
    }
}

fn check_text(text: &str, index: usize) -> Result<(), TokenizerError> {
    if text.is_empty() {
        return Err(TokenizerError::EmptyToken { index });
    }
    if text.len() > AddedTokens::MAX_BYTES {
        return Err(TokenizerError::LongToken { index, n_bytes: text.len(), max: AddedTokens::MAX_BYTES });
    }
    if text.contains(SENTINEL) {
        return Err(TokenizerError::HoldsSentinel { index, text: shorten(text) });
    }
    Ok(())
}
