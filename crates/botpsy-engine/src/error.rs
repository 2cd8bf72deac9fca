//! What can go wrong in the engine.

use crate::TokenId;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request's setting lies outside its range.
    #[error("{field} is {value}: it must be {range}")]
    Setting {
        /// Name of the setting.
        field: String,
        /// What was asked for.
        value: String,
        /// What is allowed, as the end of a sentence.
        range: &'static str,
    },
    /// A token id is not part of the model's vocabulary.
    #[error("{what}: token {id} is outside the vocabulary of {vocab}")]
    UnknownToken {
        /// Where the id was given.
        what: &'static str,
        /// The id.
        id: TokenId,
        /// Number of tokens of the model.
        vocab: usize,
    },
    /// A token mask covers another vocabulary than the logits.
    #[error("token mask: expected {expected} tokens, found {found}")]
    MaskLength {
        /// Length of the logits.
        expected: usize,
        /// Length of the mask.
        found: usize,
    },
    /// Mask, bias and logits together leave no token to choose.
    #[error("token mask and logit_bias leave no token to choose")]
    NothingAllowed,
    /// The model gave a logit that is not a number or positive infinity.
    #[error("logit of token {id} is {value}: the weights or the state are damaged")]
    BadLogit {
        /// The first such token.
        id: TokenId,
        /// Its logit.
        value: f32,
    },
    /// A prompt without tokens gives nothing to continue.
    #[error("prompt: expected at least one token, found none")]
    EmptyPrompt,
    /// The context has no room for that many tokens.
    #[error("{tokens} tokens do not fit into the context of {context_tokens}")]
    ContextFull {
        /// Tokens of prompt and answer that would have to be held.
        tokens: usize,
        /// Tokens that can be held.
        context_tokens: usize,
    },
    /// A snapshot of one engine cannot be restored in a session of another.
    #[error("the snapshot was taken from a session of another engine")]
    ForeignSnapshot,
    /// A pass that was computed together with others broke off by a fault of this program.
    #[error("the pass that this answer shared with others broke off")]
    PassFailed,
    /// The model refused its input.
    #[error(transparent)]
    Model(#[from] botpsy_model::ModelError),
}
