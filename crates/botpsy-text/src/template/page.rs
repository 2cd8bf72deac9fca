use crate::tokenizer::{AddedTokens, guard};

use super::Prompt;

/// A prompt in the making: keeps the template's own text and text from outside apart.
pub(super) struct Page<'a> {
    text: String,
    marks: Vec<usize>,
    added: Option<&'a AddedTokens>,
}

impl<'a> Page<'a> {
    /// With `added`, text from outside is guarded against these tokens.
    pub(super) fn new(added: Option<&'a AddedTokens>) -> Page<'a> {
        Page { text: String::new(), marks: Vec::new(), added }
    }

    /// Text of the template.
    pub(super) fn own(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Text from outside.
    pub(super) fn foreign(&mut self, text: &str) {
        match self.added {
            Some(added) => self.text.push_str(&guard(text, added)),
            None => self.text.push_str(text),
        }
    }

    /// Notes that later prompts agree up to here.
    pub(super) fn mark(&mut self) {
        self.marks.push(self.text.len());
    }

    pub(super) fn finish(self) -> Prompt {
        Prompt { text: self.text, marks: self.marks }
    }
}
