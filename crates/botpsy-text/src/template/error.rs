use thiserror::Error;

use crate::conversation::ConversationError;

/// Why a template could not be compiled or rendered.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template itself refuses the conversation.
    #[error("the chat template refuses the conversation: {0}")]
    Refused(String),
    /// A field of a request does not have the shape that it must have.
    #[error("{field}: expected {expected}")]
    Request {
        /// The field.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// The template is longer than any honest one.
    #[error("chat template: {n_bytes} bytes, at most {max} are allowed")]
    TooLong {
        /// Its length.
        n_bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The template is not valid, fails, or passes a limit.
    #[error("chat template, line {line}: {reason}")]
    Failed {
        /// Line of the template; 0 when it is not known.
        line: usize,
        /// What went wrong.
        reason: String,
    },
    /// The thread that templates run on failed.
    #[error("chat template: the thread that renders it failed: {0}")]
    Thread(String),
    /// The messages or tools could not be read.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
}
