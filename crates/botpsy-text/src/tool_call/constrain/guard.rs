//! What a value may not go on with although its grammar allows it: text that the reader would take for a tag, and numbers
//! with more digits than those who read them keep.

use llguidance::toktrie::{SimpleVob, TokenId};

use crate::tool_call::format::MAX_NAME_BYTES;
use crate::tool_call::{CALL_OPEN, FUNCTION_OPEN, PARAMETER_CLOSE, PARAMETER_OPEN};

/// Digits of a number with a fraction that a double keeps.
const MAX_DIGITS: usize = 15;

/// Digits of an exponent: 99 is far from the largest double, also behind [`MAX_DIGITS`] digits.
const MAX_EXPONENT_DIGITS: usize = 2;

/// Tokens that are looked at.
pub(super) struct Marked {
    /// Those with an angle bracket.
    angles: Vec<TokenId>,
    /// Those that may go on with a number.
    numbers: Vec<TokenId>,
}

impl Marked {
    pub(super) fn of(words: &[Vec<u8>]) -> Marked {
        let all = |is: &dyn Fn(&[u8]) -> bool| {
            words.iter().zip(0..).filter(|(word, _)| is(word)).map(|(_, id)| id).collect::<Vec<TokenId>>()
        };
        Marked {
            angles: all(&|word| word.contains(&b'<') || word.contains(&b'>')),
            numbers: all(&|word| word.first().is_some_and(|first| b"0123456789.eE".contains(first))),
        }
    }
}

/// Where a value in JSON stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonPlace {
    in_string: bool,
    escaped: bool,
    number: Option<Number>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Number {
    digits: usize,
    has_point: bool,
    /// Digits of the exponent, if one was begun.
    exponent: Option<usize>,
}

impl Number {
    fn is_kept(self) -> bool {
        let is_whole = !self.has_point && self.exponent.is_none();
        (is_whole || self.digits <= MAX_DIGITS) && self.exponent.is_none_or(|digits| digits <= MAX_EXPONENT_DIGITS)
    }
}

impl JsonPlace {
    pub(super) fn feed(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match (byte, &mut self.number) {
            (b'0'..=b'9', number) => {
                let number = number.get_or_insert_default();
                match &mut number.exponent {
                    Some(digits) => *digits += 1,
                    None => number.digits += 1,
                }
            }
            (b'.', Some(number)) => number.has_point = true,
            (b'e' | b'E', Some(number)) => number.exponent = Some(0),
            (b'+' | b'-', Some(number)) if number.exponent.is_some() => {}
            _ => {
                self.number = None;
                self.in_string = byte == b'"';
            }
        }
    }

    /// Whether a number would get more digits than are kept.
    fn is_too_long_after(mut self, more: &[u8]) -> bool {
        more.iter().any(|byte| {
            self.feed(*byte);
            self.number.is_some_and(|number| !number.is_kept())
        })
    }
}

/// A value on its way.
pub(super) struct Value<'a> {
    /// What was written, without the end of the opener's line.
    pub(super) text: &'a [u8],
    /// Where it stands, if it is JSON.
    pub(super) json: Option<JsonPlace>,
    /// Whether the reader knows a parameter of this name.
    pub(super) is_parameter: &'a dyn Fn(&str) -> bool,
    /// Whether it knows a tool of this name.
    pub(super) is_tool: &'a dyn Fn(&str) -> bool,
}

impl Value<'_> {
    /// Takes what must not follow out of the mask; where nothing else may follow, it stays.
    pub(super) fn restrict<'t>(&self, marked: &Marked, mask: &mut SimpleVob, bytes: impl Fn(TokenId) -> &'t [u8]) {
        let mut refused: Vec<TokenId> = Vec::new();
        let mut refuse = |tokens: &[TokenId], is: &dyn Fn(&[u8]) -> bool| {
            refused.extend(tokens.iter().copied().filter(|id| mask.is_allowed(*id) && is(bytes(*id))));
        };
        if let Some(place) = self.json.filter(|place| place.number.is_some()) {
            refuse(&marked.numbers, &|token| place.is_too_long_after(token));
        }
        let tail = &self.text[self.text.len().saturating_sub(MAX_NAME_BYTES + FUNCTION_OPEN.len())..];
        let open = tail.iter().rposition(|byte| *byte == b'<');
        let open = open.filter(|open| is_begun(&tail[*open..]));
        if let Some(open) = open {
            let (before, tag) = tail.split_at(open);
            let starts_line = before.last().is_none_or(|byte| *byte == b'\n');
            let is_wrapped = before.trim_ascii_end().ends_with(CALL_OPEN.as_bytes());
            refuse(&marked.angles, &|token| self.is_tag(&[tag, token].concat(), starts_line, is_wrapped));
        }
        if !refused.is_empty() {
            let before = mask.clone();
            refused.iter().for_each(|id| mask.set(*id as usize, false));
            if mask.is_zero() {
                *mask = before;
            }
        }
    }

    /// Whether this text, which starts with `<`, holds a tag at which the reader ends the value.
    fn is_tag(&self, text: &[u8], starts_line: bool, is_wrapped: bool) -> bool {
        let text = String::from_utf8_lossy(text);
        let named = |opener: &str| {
            text.strip_prefix(opener)?.split_once('>').filter(|(name, _)| !name.contains(['<', '\n', '\r']))
        };
        let goes_on = |rest: &str| rest.trim_start().starts_with('<');
        if let Some((name, rest)) = named(FUNCTION_OPEN) {
            return goes_on(rest) && (is_wrapped || (self.is_tool)(name));
        }
        if let Some((name, _)) = named(PARAMETER_OPEN) {
            return starts_line && (self.is_parameter)(name);
        }
        self.json.is_some() && text.strip_prefix(PARAMETER_CLOSE).is_some_and(goes_on)
    }
}

/// Whether a text that starts with its last `<` may be the beginning of a tag, or one with nothing but space behind it.
fn is_begun(text: &[u8]) -> bool {
    [FUNCTION_OPEN, PARAMETER_OPEN, PARAMETER_CLOSE].iter().any(|tag| {
        let tag = tag.as_bytes();
        text.starts_with(tag) || tag.starts_with(text)
    })
}
