//! Splits text into the words that merges stay within.

use super::error::{TokenizerError, shorten};
use super::unicode::{CLASS_BITS, CodePoints, LETTER, MARK, NEWLINE, NUMBER, OTHER, SPACE};

/// The pattern of Qwen3.5, as `tokenizer.json` spells it.
pub const QWEN35_PATTERN: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/// A way to split text into words. Every variant is written by hand; there is no regular expression engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Splitter {
    /// [`QWEN35_PATTERN`].
    Qwen35,
}

impl Splitter {
    /// The splitter that a GGUF names in `tokenizer.ggml.pre`.
    ///
    /// # Errors
    /// If the name is another than `qwen35`: other patterns give other ids.
    pub fn from_pre(name: &str) -> Result<Self, TokenizerError> {
        Self::only("tokenizer.ggml.pre", "qwen35", name)
    }

    /// The splitter for the pattern that a `tokenizer.json` holds.
    ///
    /// # Errors
    /// If the pattern is another than [`QWEN35_PATTERN`].
    pub fn from_pattern(pattern: &str) -> Result<Self, TokenizerError> {
        Self::only("pre_tokenizer pattern", QWEN35_PATTERN, pattern)
    }

    fn only(field: &'static str, expected: &'static str, found: &str) -> Result<Self, TokenizerError> {
        if found == expected {
            return Ok(Self::Qwen35);
        }
        Err(TokenizerError::Splitter { field, expected, found: shorten(found) })
    }

    /// The words of `text`, which is taken as it stands.
    pub fn words(self, text: &str) -> impl Iterator<Item = &str> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let end = (start < text.len()).then(|| self.word_end(text.as_bytes(), start))?;
            let word = &text[start..end];
            start = end;
            Some(word)
        })
    }

    /// End of the word that starts at `start`.
    ///
    /// `text` is UTF-8, `start` lies before its end and at the start of a character. The end of `text` counts for
    /// `(?!\S)`, so `text` ends where the piece does.
    pub(super) fn word_end(self, text: &[u8], start: usize) -> usize {
        let words = Words { code_points: CodePoints::get(), text };
        let (class, after) = words.class_at(start);
        match class {
            LETTER | MARK => words.run_end(after, is_word),
            NUMBER => after,
            NEWLINE => words.white_end(start),
            SPACE => words.after_space(start, after),
            _ => words.after_other(start, after),
        }
    }
}

struct Words<'a> {
    code_points: &'static CodePoints,
    text: &'a [u8],
}

impl Words<'_> {
    /// Class of the character at `at`, and where the next one starts.
    #[inline]
    fn class_at(&self, at: usize) -> (u8, usize) {
        let (flags, len) = self.code_points.at(self.text, at);
        (flags & CLASS_BITS, at + len)
    }

    #[inline]
    fn run_end(&self, mut at: usize, belongs: fn(u8) -> bool) -> usize {
        while at < self.text.len() {
            let (class, after) = self.class_at(at);
            if !belongs(class) {
                break;
            }
            at = after;
        }
        at
    }

    /// White space that is no line break: before a word, before other characters, or by itself.
    fn after_space(&self, start: usize, after: usize) -> usize {
        if after < self.text.len() {
            let (class, next) = self.class_at(after);
            if is_word(class) {
                return self.run_end(next, is_word);
            }
            if class == OTHER && self.text[start] == b' ' {
                return self.others_end(next);
            }
        }
        self.white_end(start)
    }

    /// A character that is neither letter, mark, number nor white space.
    fn after_other(&self, start: usize, after: usize) -> usize {
        if let Some(end) = self.contraction_end(start) {
            return end;
        }
        let end = self.run_end(after, is_word);
        if end > after { end } else { self.others_end(after) }
    }

    /// `[^\s\p{L}\p{M}\p{N}]*[\r\n]*`
    fn others_end(&self, at: usize) -> usize {
        let at = self.run_end(at, |class| class == OTHER);
        self.run_end(at, |class| class == NEWLINE)
    }

    /// `\s*[\r\n]+|\s+(?!\S)|\s+` for a run of white space: up to its last line break; without one, all but its
    /// last character when a word follows.
    fn white_end(&self, start: usize) -> usize {
        let mut at = start;
        let mut last_start = start;
        let mut newline_end = None;
        while at < self.text.len() {
            let (class, after) = self.class_at(at);
            match class {
                NEWLINE => newline_end = Some(after),
                SPACE => {}
                _ => break,
            }
            last_start = at;
            at = after;
        }
        match newline_end {
            Some(end) => end,
            None if at == self.text.len() || last_start == start => at,
            None => last_start,
        }
    }

    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`; the long s folds to `s`.
    fn contraction_end(&self, start: usize) -> Option<usize> {
        let rest = self.text[start..].strip_prefix(b"'")?;
        let lower = |i: usize| rest.get(i).map(u8::to_ascii_lowercase);
        let len = match (lower(0)?, lower(1)) {
            (b's' | b't' | b'm' | b'd', _) => 1,
            (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) | (0xC5, Some(0xBF)) => 2,
            _ => return None,
        };
        Some(start + 1 + len)
    }
}

fn is_word(class: u8) -> bool {
    matches!(class, LETTER | MARK)
}
