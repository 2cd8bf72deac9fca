//! What can go wrong between a file and an answer.

use std::io;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The model file is wrong.
    #[error(transparent)]
    Model(#[from] botpsy_model::ModelError),
    /// A file beside the weights is wrong.
    #[error(transparent)]
    Format(#[from] botpsy_format::FormatError),
    /// The vocabulary cannot be used.
    #[error("{file}: {source}")]
    Tokenizer {
        /// The file.
        file: String,
        /// What is wrong.
        source: botpsy_text::tokenizer::TokenizerError,
    },
    /// A vocabulary of another size than the model's.
    #[error("{file}: {problem}")]
    Vocabulary {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// The chat template refused or failed.
    #[error("chat template: {0}")]
    Template(#[from] botpsy_text::template::TemplateError),
    /// The messages or tools are not what a conversation is made of.
    #[error(transparent)]
    Conversation(#[from] botpsy_text::conversation::ConversationError),
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] botpsy_engine::Error),
    /// The prompt leaves no room for an answer.
    #[error("the prompt has {prompt_tokens} tokens and the context holds {context_tokens}: nothing is cut silently")]
    ContextLength {
        /// Length of the prompt.
        prompt_tokens: usize,
        /// Length of the context.
        context_tokens: usize,
    },
    /// A schema that cannot be enforced where that was asked for.
    #[error(transparent)]
    Grammar(#[from] botpsy_text::tool_call::constrain::GrammarError),
    /// An answer that cannot be gone on with.
    #[error("messages[{index}]: {problem}")]
    Continue {
        /// The last message.
        index: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// An endpoint did not answer as it should.
    #[error(transparent)]
    Endpoint(#[from] crate::EndpointError),
    /// Asked for a processor feature that is not there.
    #[error(transparent)]
    Isa(#[from] botpsy_kernels::UnknownIsa),
    /// `BOTPSY_THREADS` is no number of threads.
    #[error("BOTPSY_THREADS: `{value}` is no whole number from 1 to 256")]
    Threads {
        /// What it says.
        value: String,
    },
    /// A script or a recording has no further answer.
    #[error("{what}: no answer is left after {used}")]
    NoAnswerLeft {
        /// The script or the file.
        what: String,
        /// How many were given.
        used: usize,
    },
    /// A recording that does not fit the request, or cannot be read.
    #[error("{file}: line {line}: {problem}")]
    Recording {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The operating system refused.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
}
