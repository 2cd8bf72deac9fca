//! The plain lists that a tokenizer is built from.

use super::split::Splitter;

/// Index of a token in the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u32);

/// What sort of token an entry of the vocabulary is; the numbers are those of GGUF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// Made by merges.
    Normal = 1,
    /// Stands for unknown text; never produced here.
    Unknown = 2,
    /// Recognized in trusted text, and not shown to a reader: `<|im_end|>`.
    Control = 3,
    /// Recognized in trusted text, and shown: `<think>`, `<tool_call>`.
    UserDefined = 4,
    /// Padding; never produced.
    Unused = 5,
    /// A single byte.
    Byte = 6,
}

impl TokenKind {
    /// The kind with this number in `tokenizer.ggml.token_type`.
    #[must_use]
    pub fn from_gguf(number: u32) -> Option<Self> {
        [Self::Normal, Self::Unknown, Self::Control, Self::UserDefined, Self::Unused, Self::Byte]
            .into_iter()
            .find(|&kind| kind as u32 == number)
    }

    /// Recognized as a whole in trusted text.
    #[must_use]
    pub fn is_added(self) -> bool {
        matches!(self, Self::Control | Self::UserDefined)
    }

    /// Spelled in the byte alphabet and open to merges.
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Self::Normal | Self::Byte)
    }
}

/// How bytes grow into tokens.
#[derive(Clone, Debug)]
pub enum MergeList {
    /// Left and right part, the first pair merges first.
    Pairs(Vec<(String, String)>),
    /// The same with both parts in one string, one space between them.
    Lines(Vec<String>),
    /// No list: two neighbors merge when the vocabulary has them joined, the lower id first (tiktoken).
    RanksOnly,
}

/// Everything a [`Tokenizer`](super::Tokenizer) is built from.
#[derive(Clone, Debug)]
pub struct TokenizerSpec {
    /// The vocabulary; the index is the id. Added and unused tokens are plain text, the others are spelled in the
    /// byte alphabet of GPT-2.
    pub tokens: Vec<String>,
    /// One kind for each token, or none at all when every token is normal.
    pub kinds: Vec<TokenKind>,
    /// The merges.
    pub merges: MergeList,
    /// How text is split into words before merging.
    pub splitter: Splitter,
}
