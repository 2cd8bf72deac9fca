//! Text to tokens: words, runs of digits, single marks. What is read is plain; where it stood is kept.

/// A word, a number or a mark, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether anything blank stands before it; the first token counts as spaced.
    pub(super) spaced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Letters, in lower case; `_` is one.
    Word(String),
    /// ASCII digits.
    Number(Number),
    /// Anything else that is not blank.
    Mark(char),
}

/// A run of digits: its value, at most `u32::MAX`, and how many digits were written, at most 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: u32,
    pub(super) digits: u8,
    /// Written with a zero in front: `07`.
    pub(super) padded: bool,
}

/// Takes a text apart.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().map(|(at, c)| (at, c.len_utf8(), plain(c))).peekable();
    let mut spaced = true;
    while let Some((start, len, c)) = chars.next() {
        if c.is_whitespace() {
            spaced = true;
            continue;
        }
        let mut end = start + len;
        let kind = if c.is_ascii_digit() {
            let mut digits = c.to_string();
            while let Some((at, len, c)) = chars.next_if(|(.., c)| c.is_ascii_digit()) {
                digits.push(c);
                end = at + len;
            }
            Kind::Number(number(&digits))
        } else if is_letter(c) {
            let mut word: String = c.to_lowercase().collect();
            while let Some((at, len, c)) = chars.next_if(|(.., c)| is_letter(*c)) {
                word.extend(c.to_lowercase());
                end = at + len;
            }
            Kind::Word(word)
        } else {
            Kind::Mark(c)
        };
        tokens.push(Token { kind, start, end, spaced });
        spaced = false;
    }
    tokens
}

fn number(digits: &str) -> Number {
    Number {
        value: digits.parse().unwrap_or(u32::MAX),
        digits: u8::try_from(digits.len()).unwrap_or(u8::MAX),
        padded: digits.len() > 1 && digits.starts_with('0'),
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Other forms of the characters that times are written with.
fn plain(c: char) -> char {
    match c {
        '\u{FF10}'..='\u{FF19}' => char::from(b'0' + (c as u32 - 0xFF10) as u8),
        '\u{2019}' | '\u{2BC}' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{FF1A}' => ':',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_keep_their_places() {
        let text = "at 3pm, o\u{2019}clock \u{FF11}5h \u{1F600}'a'";
        let seen: Vec<(&str, bool)> = tokens(text).iter().map(|t| (&text[t.start..t.end], t.spaced)).collect();
        let expected = [
            ("at", true),
            ("3", true),
            ("pm", false),
            (",", false),
            ("o", true),
            ("\u{2019}", false),
            ("clock", false),
            ("\u{FF11}5", true),
            ("h", false),
            ("\u{1F600}", true),
            ("'", false),
            ("a", false),
            ("'", false),
        ];
        assert_eq!(seen, expected);
        assert!(matches!(tokens("99999999999")[0].kind, Kind::Number(Number { value: u32::MAX, digits: 11, .. })));
    }
}
