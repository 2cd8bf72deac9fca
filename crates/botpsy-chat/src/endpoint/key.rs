//! A key, and texts in which it must not stand.

use std::fmt;

use super::EndpointError;

/// What an endpoint knows its user by. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Reads a key; white space around it is no part of it.
    ///
    /// # Errors
    /// If it is empty, or has signs that no header can carry.
    pub fn parse(text: &str) -> Result<Key, EndpointError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(EndpointError::Key { problem: "it is empty" });
        }
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(EndpointError::Key {
                problem: "it has signs that no key has, such as a space or a line break",
            });
        }
        Ok(Key(text.to_owned()))
    }

    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// How much of a server's message is told.
const MAX_CHARS: usize = 400;

/// What a server says, for a message: on one line, short, without the key and without signs that act on a terminal.
pub(super) fn told(text: &str, key: Option<&Key>) -> String {
    let text = match key {
        Some(Key(key)) => text.replace(key.as_str(), "[key]"),
        None => text.to_owned(),
    };
    let acts = |c: char| {
        c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}')
    };
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || acts(c)).filter(|word| !word.is_empty()).collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_CHARS) {
        line.replace_range(end.., "...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = Key::parse(" sk-secret\n").unwrap();
        assert_eq!((key.header().as_str(), format!("{key:?}").as_str()), ("Bearer sk-secret", "Key(..)"));
        assert_eq!(told("Incorrect key:\r\n\x1b[2Jsk-secret.", Some(&key)), "Incorrect key: [2J[key].");
        assert_eq!(told(&"é".repeat(500), None).chars().count(), MAX_CHARS + 3);
        for text in ["", " \n", "a b", "a\nb", "schlüssel"] {
            assert!(Key::parse(text).is_err(), "{text:?}");
        }
    }
}
