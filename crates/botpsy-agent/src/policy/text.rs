//! Text as it is compared, and text as it is shown.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

/// Text as it is compared: NFKC, lower case, without invisible characters, blanks collapsed. Doing it twice changes nothing.
pub fn normalize(text: &str) -> String {
    if text.is_ascii() {
        return once_ascii(text);
    }
    let mut text = once(text);
    // Lower case can undo the normal form and the other way round; three rounds settle every known character.
    for _ in 0..3 {
        let next = once(&text);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn once(text: &str) -> String {
    let chars = text.chars().filter(|c| !is_invisible(*c)).nfkc().flat_map(char::to_lowercase);
    let chars = chars.map(|c| if c == '\u{3c2}' { '\u{3c3}' } else { c }).filter(|c| !is_invisible(*c));
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for c in chars.nfkc() {
        let is_blank = c.is_whitespace() || c.is_control();
        if !is_blank {
            out.push(c);
        } else if !blank {
            out.push(' ');
        }
        blank = is_blank;
    }
    out.truncate(out.trim_end().len());
    out
}

/// The same for ASCII, where lower case and blanks are all there is to do. Most of what is read is that.
fn once_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for byte in text.bytes() {
        let is_blank = byte.is_ascii_control() || byte == b' ';
        if !is_blank {
            out.push(char::from(byte.to_ascii_lowercase()));
        } else if !blank {
            out.push(' ');
        }
        blank = is_blank;
    }
    out.truncate(out.trim_end().len());
    out
}

/// Characters that take no room or reorder others: zero-width, bidi controls, fillers, variation selectors, tags.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
}

/// Text with everything that could act on a screen written out: controls, line ends and invisible characters.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// The pieces of a normalised text that stand for themselves: addresses, numbers, host names, words.
pub(crate) fn tokens(normalized: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '@' | '.' | '-' | '+' | '_');
    let pieces = normalized.split(move |c| !inside(c));
    pieces.map(|piece| piece.trim_end_matches(['.', '-', '+', '@', '_'])).filter(|piece| !piece.is_empty())
}

/// The words of a normalised text: runs of letters and digits.
pub(crate) fn words(normalized: &str) -> impl Iterator<Item = &str> {
    normalized.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether letters of one word come from several scripts that look alike, or its host is written in punycode.
pub(crate) fn is_confusable(normalized: &str) -> bool {
    let script = |c: char| match c {
        'a'..='z' | '\u{e0}'..='\u{24f}' => 1u8,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => 2,
        '\u{400}'..='\u{52f}' => 4,
        '\u{530}'..='\u{58f}' => 8,
        '\u{13a0}'..='\u{13ff}' => 16,
        _ => 0,
    };
    let mixed = |piece: &str| piece.chars().map(script).fold(0u8, |all, one| all | one).count_ones() > 1;
    tokens(normalized).any(|piece| mixed(piece) || piece.contains("xn--"))
}

/// Whether a text reads as another one after normalisation: with invisible characters, line ends or letters in other shapes.
pub(crate) fn is_disguised(text: &str) -> bool {
    let plain = text.nfc().flat_map(char::to_lowercase).collect::<String>();
    let plain = plain.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    plain.replace('\u{3c2}', "\u{3c3}") != normalize(text)
}

/// A text that is asked again and again whether something stands in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextIndex {
    tokens: Vec<String>,
    at: HashMap<String, Vec<usize>>,
    words: HashSet<String>,
}

impl TextIndex {
    pub(crate) fn add(&mut self, text: &str) {
        let text = normalize(text);
        for token in tokens(&text) {
            self.at.entry(token.to_owned()).or_default().push(self.tokens.len());
            self.tokens.push(token.to_owned());
        }
        self.words.extend(words(&text).map(str::to_owned));
        // Nothing runs over the end of a text.
        self.tokens.push(String::new());
    }

    /// Whether a normalised text stands there whole, at the borders of tokens.
    pub(crate) fn has(&self, normalized: &str) -> bool {
        let mut wanted = tokens(normalized);
        let Some(first) = wanted.next() else { return false };
        let rest: Vec<&str> = wanted.collect();
        let starts = self.at.get(first).map(Vec::as_slice).unwrap_or_default();
        starts.iter().any(|at| {
            let found = self.tokens.get(at + 1..at + 1 + rest.len());
            found.is_some_and(|found| found.iter().zip(&rest).all(|(a, b)| a == b))
        })
    }

    /// The tokens before those that are this one.
    pub(crate) fn before(&self, token: &str) -> impl Iterator<Item = &str> {
        let at = self.at.get(token).map(Vec::as_slice).unwrap_or_default();
        at.iter().filter_map(|at| at.checked_sub(1)).filter_map(|at| self.tokens.get(at)).map(String::as_str)
    }

    /// Whether this word stands there, as it is or as one or several.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        let singular = word.strip_suffix('s').filter(|stem| stem.len() >= 3);
        self.words.contains(word)
            || singular.is_some_and(|stem| self.words.contains(stem))
            || (word.len() >= 3 && self.words.contains(&format!("{word}s")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_keep_addresses_whole() {
        let text = normalize("Email  Bob <BOB@Example.org>, or +43 1-2. See x.y\u{200b}.z!");
        assert_eq!(
            tokens(&text).collect::<Vec<_>>(),
            ["email", "bob", "bob@example.org", "or", "+43", "1-2", "see", "x.y.z"]
        );
    }

    #[test]
    fn a_part_is_not_the_whole() {
        let mut index = TextIndex::default();
        index.add("write to bob@example.org. Thanks");
        index.add("City Hub");
        assert!(index.has("bob@example.org") && index.has("city hub"));
        assert!(!index.has("example.org") && !index.has("thanks city") && !index.has("hub x") && !index.has(""));
    }

    #[test]
    fn look_alikes_are_seen() {
        assert!(is_confusable("b\u{43e}b@example.org") && is_confusable("a@xn--80ak6aa92e.com"));
        assert!(
            is_disguised("bob\u{200b}@example.org")
                && is_disguised("bob\u{ff20}example.org")
                && is_disguised("a@b.org\nbcc: c@d.org")
        );
        assert!(!is_disguised("Bob@Example.org") && !is_disguised("Caf\u{e9}  Paris"));
        assert!(!is_confusable("bob@example.org") && !is_confusable("\u{431}\u{43e}\u{431}"));
    }

    #[test]
    fn what_acts_on_a_screen_is_written_out() {
        assert_eq!(escaped("a\u{1b}[2J\n\u{202e}b"), "a\\u{1b}[2J\\n\\u{202e}b");
    }
}
