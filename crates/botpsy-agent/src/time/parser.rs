//! Looking at tokens: what stands where. The grammar is in the files beside this one, a piece in each.
//!
//! A piece takes the index of the token it starts at, and gives what it read and the index behind it. It looks at a bounded
//! number of tokens, so that trying every piece everywhere takes time in proportion to the text.

use super::lex::{Kind, Number, Token};
use super::words;

/// What was read, and the index of the token behind it.
pub(super) type Parsed<T> = Option<(T, usize)>;

/// The most tokens that one expression has.
pub(super) const MAX_TOKENS: usize = 48;

/// How far a reader may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// The text is meant to be a time.
    Whole,
    /// The text is a sentence about anything: a word that is often something else needs a reason to be a time.
    Running,
}

/// Which ranges are read as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranges {
    All,
    /// In a sentence that moves something `from 3 to 4` are two times.
    NotFrom,
    /// In `every day at 8 until 24 December` the hour is one and the end another.
    None,
}

/// Tokens, and how they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    end: usize,
    care: Care,
    ranges: Ranges,
}

impl<'t> Parser<'t> {
    /// For an expression that starts at this token.
    pub(super) fn new(text: &'t str, tokens: &'t [Token], start: usize, care: Care) -> Parser<'t> {
        Parser { text, tokens, end: tokens.len().min(start.saturating_add(MAX_TOKENS)), care, ranges: Ranges::All }
    }

    /// The same, with these ranges.
    pub(super) fn with(self, ranges: Ranges) -> Parser<'t> {
        Parser { ranges, ..self }
    }

    pub(super) fn ranges(&self) -> Ranges {
        self.ranges
    }

    pub(super) fn is_running(&self) -> bool {
        self.care == Care::Running
    }

    fn token(&self, at: usize) -> Option<&'t Token> {
        self.tokens[..self.end].get(at)
    }

    /// The word there, in lower case.
    pub(super) fn word(&self, at: usize) -> Option<&'t str> {
        match &self.token(at)?.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The text there as it was written.
    pub(super) fn written(&self, at: usize) -> &'t str {
        self.token(at).map_or("", |token| &self.text[token.start..token.end])
    }

    pub(super) fn digits(&self, at: usize) -> Option<Number> {
        match self.token(at)?.kind {
            Kind::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn mark(&self, at: usize) -> Option<char> {
        match self.token(at)?.kind {
            Kind::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    /// Whether nothing blank stands between this token and the one before.
    pub(super) fn is_joined(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| !token.spaced)
    }

    /// Whether this mark is there, joined to the token before and to the one behind.
    pub(super) fn is_joint(&self, at: usize, mark: char) -> bool {
        self.mark(at) == Some(mark) && self.is_joined(at) && self.is_joined(at + 1)
    }

    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        self.word(at) == Some(word)
    }

    pub(super) fn is_any(&self, at: usize, words: &[&str]) -> bool {
        self.word(at).is_some_and(|word| words.contains(&word))
    }

    /// The index behind these words, if they stand there one after the other.
    pub(super) fn phrase(&self, at: usize, phrase: &str) -> Option<usize> {
        let mut end = at;
        for word in phrase.split(' ') {
            if !self.is(end, word) {
                return None;
            }
            end += 1;
        }
        Some(end)
    }

    /// The index behind the first of these phrases that stands there.
    pub(super) fn phrases(&self, at: usize, phrases: &[&str]) -> Option<usize> {
        phrases.iter().find_map(|phrase| self.phrase(at, phrase))
    }

    /// Behind one of these words, or still here.
    pub(super) fn skip(&self, at: usize, words: &[&str]) -> usize {
        if self.is_any(at, words) { at + 1 } else { at }
    }

    /// Behind this mark, or still here.
    pub(super) fn skip_mark(&self, at: usize, mark: char) -> usize {
        if self.mark(at) == Some(mark) { at + 1 } else { at }
    }

    pub(super) fn is_end(&self, at: usize) -> bool {
        at >= self.end
    }

    /// Whether a word before this token says that a bare number is a time.
    pub(super) fn is_led(&self, at: usize) -> bool {
        self.is_after(at, &words::LEADS)
    }

    /// Whether one of these words, or a mark in their place, stands just before.
    pub(super) fn is_after(&self, at: usize, words: &[&str]) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.token(before));
        before.is_some_and(|token| match &token.kind {
            Kind::Word(word) => words.contains(&word.as_str()),
            Kind::Mark('@') => words.contains(&"@"),
            _ => false,
        })
    }

    /// Whether what ends here stands alone: nothing follows that it could be a number of, or a part of a word with.
    pub(super) fn is_closed(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else { return true };
        match &token.kind {
            Kind::Word(word) => token.spaced && words::FOLLOWERS.contains(&word.as_str()),
            Kind::Number(_) => false,
            Kind::Mark(mark @ ('.' | ',' | ':' | '-' | '/' | '\'')) => {
                let joined = self.tokens.get(at + 1).is_some_and(|next| !next.spaced);
                let goes_on = !token.spaced && joined && !matches!(mark, '\'');
                !goes_on
            }
            Kind::Mark(mark) => matches!(mark, '!' | '?' | ';' | ')' | ']' | '}' | '"' | '(' | '\u{201D}'),
        }
    }
}
