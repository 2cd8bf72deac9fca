//! Where the owner is.

use botpsy_chat::ChatEvent;
use botpsy_text::conversation::ToolCall;

use super::report::Done;
use crate::policy::{Confirmation, Verdict, escaped};
use crate::store::{ApplyError, Change};

/// What is asked before something is done: drawn by the gate from the call, and by the tool from what would change.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The call, its values and where they come from, and why it is asked.
    pub confirmation: &'a Confirmation,
    /// What would change.
    pub change: Option<&'a Change>,
}

impl Question<'_> {
    /// The whole question.
    pub fn text(&self) -> String {
        let preview = self.change.map(preview).unwrap_or_default();
        preview + &self.confirmation.text()
    }
}

/// What a change does, for people: what, its details, what speaks against it. A line each.
pub fn preview(change: &Change) -> String {
    let details = change.details.iter().map(|(name, what)| format!("  {name}: {}\n", one_line(what)));
    let warnings = change.warnings.iter().map(|warning| format!("  note: {}\n", one_line(warning)));
    format!("{}\n", one_line(&change.summary)) + &details.chain(warnings).collect::<String>()
}

/// Characters of a value in a question: more would push the question off the screen.
const MAX_SHOWN: usize = 400;

/// A text as one line of a question: what others wrote must not look like a line of ours.
pub fn one_line(text: &str) -> String {
    let escaped = escaped(text);
    match escaped.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{} ... ({} characters)", &escaped[..end], text.chars().count()),
        None => escaped,
    }
}

/// What the owner says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Do it, this once.
    Yes,
    /// Do not.
    No,
}

impl Reply {
    /// `yes` or `no`.
    pub fn word(self) -> &'static str {
        match self {
            Reply::Yes => "yes",
            Reply::No => "no",
        }
    }
}

/// Where the owner is: sees what happens and answers questions.
pub trait Face {
    /// Whether somebody is there to be asked.
    fn is_there(&self) -> bool;

    /// Asks. Whatever is no clear yes is a no.
    fn ask(&mut self, question: &Question) -> Reply;

    /// What the model writes.
    fn event(&mut self, _event: &ChatEvent) {}

    /// What the gate decided.
    fn decided(&mut self, _call: &ToolCall, _verdict: &Verdict) {}

    /// A change was made.
    fn done(&mut self, _done: &Done) {}

    /// A change could not be made; nothing of it was.
    fn failed(&mut self, _summary: &str, _error: &ApplyError) {}

    /// A change that would be made if this were no dry run.
    fn would(&mut self, _change: &Change) {}
}

/// Nobody is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Face for Nobody {
    fn is_there(&self) -> bool {
        false
    }

    fn ask(&mut self, _question: &Question) -> Reply {
        Reply::No
    }
}
