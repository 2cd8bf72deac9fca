//! Which tokens may come next, so that what is written can be read: the other side of the reader.
//!
//! Thought is free: nothing is masked inside an open think block. From `<tool_call>` on a small machine walks the call: the
//! name of an offered tool, then its parameters, in any order, each at most once, the required ones before the end. What
//! stands inside a parameter is held to its schema as far as raw text can be. Each step is a grammar of its own that ends
//! at the border of a token, so that the number of parameters costs nothing.

mod document;
mod format;
mod guard;
mod machine;
mod pattern;
mod tool;
mod values;
mod vocabulary;

pub use format::AnswerFormat;
pub use machine::{Allowed, Constraint, MakeRules};
pub use tool::{CallRules, Dropped};
pub use vocabulary::{Borders, GrammarError, Grammars};
