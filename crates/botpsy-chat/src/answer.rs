//! What comes back: events on the way, and the whole at the end.

use std::fmt;

use botpsy_engine::{CloseReason, Logprobs, Repetition, Stats};
use botpsy_text::tool_call::constrain::Dropped;
use botpsy_text::tool_call::{Delta, ParsedMessage};

/// Something that happened while an answer was made.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEvent {
    /// Part of the prompt was read.
    Reading {
        /// Tokens read so far, reused ones included.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// More of the answer.
    Delta(Delta),
    /// A token was chosen; sent before the deltas that it leads to.
    Token {
        /// Its id.
        id: u32,
        /// Its log-probabilities, if they were asked for.
        logprobs: Option<Logprobs>,
    },
    /// Something that a person should know.
    Notice(Notice),
}

/// Something about an answer that a person should know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// The context was made smaller than asked, because memory would not bear it or the model was not made for it.
    Context {
        /// What was asked for.
        asked: usize,
        /// What it is.
        given: usize,
        /// Why.
        reason: &'static str,
    },
    /// Thinking is on, with fewer tokens than it usually needs.
    FewTokens {
        /// The limit.
        max_tokens: u32,
    },
    /// Something in a tool's schema that calls are not held to while they are written.
    NotEnforced(Dropped),
    /// The answer was broken off: its schema became too complex on the way.
    TooComplex {
        /// Tokens that were written.
        tokens: usize,
    },
    /// The answer was cut by the token limit or the end of the context.
    Cut {
        /// Tokens that were written.
        tokens: usize,
    },
    /// The thought was closed for the model.
    ThoughtClosed {
        /// Why.
        reason: CloseReason,
        /// Tokens of thought.
        tokens: u32,
    },
}

/// With thinking on, fewer tokens than these are worth a warning.
pub(crate) const FEW_TOKENS: u32 = 2048;

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Context { asked, given, reason } => write!(f, "context is {given} tokens, not {asked}: {reason}"),
            Notice::FewTokens { max_tokens } => {
                write!(
                    f,
                    "max_tokens is {max_tokens}: with thinking on, the answer may be cut; {FEW_TOKENS} or more is safer"
                )
            }
            Notice::TooComplex { tokens } => {
                write!(
                    f,
                    "the answer was broken off after {tokens} tokens: its schema became too complex to hold it to"
                )
            }
            Notice::NotEnforced(dropped) => write!(f, "{dropped}"),
            Notice::Cut { tokens } => write!(f, "the answer was cut after {tokens} tokens: allow more with max_tokens"),
            Notice::ThoughtClosed { reason: CloseReason::Budget, tokens } => {
                write!(f, "the thought was closed after its budget of {tokens} tokens")
            }
            Notice::ThoughtClosed { reason: CloseReason::Repetition(repetition), tokens } => match repetition {
                Repetition::Period { .. } => {
                    write!(f, "the thought was closed after {tokens} tokens: it went round in circles")
                }
                Repetition::Phrases { .. } => {
                    write!(f, "the thought was closed after {tokens} tokens: it kept repeating the same phrases")
                }
            },
            Notice::ThoughtClosed { tokens, .. } => write!(f, "the thought ended after {tokens} tokens"),
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// The answer, taken apart.
    pub message: ParsedMessage,
    /// The text as the model wrote it, control tokens left out.
    pub text: String,
    /// The tokens of the prompt.
    pub prompt_ids: Vec<u32>,
    /// The tokens after the prompt, without the final stop token.
    pub ids: Vec<u32>,
    /// How many of them are thought, the end of the thought included.
    pub thought_tokens: usize,
    /// Counts and times.
    pub stats: Stats,
    /// What a person should know.
    pub notices: Vec<Notice>,
    /// Whether it was broken off from outside.
    pub cancelled: bool,
}
