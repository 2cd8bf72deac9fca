//! Why a tokenizer cannot be built.

/// Names the entry at fault; indices count from 0, as in the lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// `kinds` does not fit `tokens`.
    #[error("token kinds: expected one for each of {n_tokens} tokens, found {n_kinds}")]
    KindCount {
        /// Length of the vocabulary.
        n_tokens: usize,
        /// Length of the list of kinds.
        n_kinds: usize,
    },
    /// More entries or bytes than ids can address.
    #[error("vocabulary: too large")]
    TooLarge,
    /// A token without text.
    #[error("token {index}: empty")]
    EmptyToken {
        /// Its id.
        index: usize,
    },
    /// Two tokens with the same text.
    #[error("token {index}: {text:?} is also token {first}")]
    DuplicateToken {
        /// The later id.
        index: usize,
        /// The earlier id.
        first: usize,
        /// Their text, shortened.
        text: String,
    },
    /// A normal token that holds a character outside the byte alphabet.
    #[error("token {index}: {text:?} is not spelled in the byte alphabet")]
    Alphabet {
        /// Its id.
        index: usize,
        /// Its text, shortened.
        text: String,
    },
    /// A token that would make recognition slow.
    #[error("token {index}: {n_bytes} bytes, at most {max} are allowed")]
    LongToken {
        /// Its id.
        index: usize,
        /// Its length.
        n_bytes: usize,
        /// The limit.
        max: usize,
    },
    /// An added token that holds the character which marks untrusted text.
    #[error("token {index}: {text:?} holds U+E000, which marks untrusted text")]
    HoldsSentinel {
        /// Its id.
        index: usize,
        /// Its text, shortened.
        text: String,
    },
    /// A byte that no token spells.
    #[error("vocabulary: no token for byte 0x{0:02x}")]
    MissingByte(u8),
    /// A merge that is not two parts with a space between them.
    #[error("merge {index}: {text:?} has no space")]
    MergeWithoutSpace {
        /// Its rank.
        index: usize,
        /// Its text, shortened.
        text: String,
    },
    /// A merge whose part is no normal token.
    #[error("merge {index}: part {part:?} is not a normal token of the vocabulary")]
    MergePart {
        /// Its rank.
        index: usize,
        /// The part, shortened.
        part: String,
    },
    /// A merge whose result is no normal token.
    #[error("merge {index}: result {result:?} is not a normal token of the vocabulary")]
    MergeResult {
        /// Its rank.
        index: usize,
        /// The result, shortened.
        result: String,
    },
    /// The same two parts twice.
    #[error("merge {index}: repeats merge {first}")]
    DuplicateMerge {
        /// The later rank.
        index: usize,
        /// The earlier rank.
        first: usize,
    },
    /// A pre-tokenizer or pattern that this tokenizer does not have.
    #[error("{field}: expected {expected:?}, found {found:?}")]
    Splitter {
        /// The field of the file.
        field: &'static str,
        /// What is supported.
        expected: &'static str,
        /// What the file says, shortened.
        found: String,
    },
}

/// Long entries of hostile files stay out of messages.
pub(super) fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
