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
    /// The messages or tools could not be read.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
}
