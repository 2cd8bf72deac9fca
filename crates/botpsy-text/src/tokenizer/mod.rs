//! Text to token ids and back: a byte-level BPE built from plain lists.
//!
//! Encoding goes four steps: cut the text at *added tokens*, bring each piece into NFC, split it into words by
//! the pattern of Qwen3.5, merge the bytes of each word by rank. Text from outside goes through
//! [`Tokenizer::encode_untrusted`], where added tokens are plain text; a rendered chat prompt that mixes both
//! goes through [`Tokenizer::encode_template`] (see [`guard`]).
//!
//! Merges never produce an added token: whatever plain text says, it cannot become a control id.

mod added;
mod alphabet;
mod bpe;
mod build;
mod cache;
mod error;
mod normalize;
mod pairs;
mod spec;
mod split;
mod stream;
mod unicode;
mod unicode_ranges;
mod untrusted;
mod vocabulary;

use std::borrow::Cow;
use std::ops::Range;

pub use added::AddedTokens;
pub use error::TokenizerError;
pub use spec::{MergeList, TokenId, TokenKind, TokenizerSpec};
pub use split::{QWEN35_PATTERN, Splitter};
pub use stream::{Detokenizer, SpecialTokens, Utf8Stream};
pub use untrusted::{SENTINEL, guard, unguard};

use bpe::{Bpe, Scratch};
use cache::WordCache;
use pairs::TokenMap;
use vocabulary::Vocabulary;

/// A byte-level BPE tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    splitter: Splitter,
    vocabulary: Vocabulary,
    added: AddedTokens,
    bpe: Bpe,
    /// Without a merge list, a word that is a token needs no merges (tiktoken).
    whole_words: Option<TokenMap>,
}

impl Tokenizer {
    /// Builds the tables; refuses lists that contradict each other.
    ///
    /// # Errors
    /// A [`TokenizerError`] that names the entry.
    pub fn new(spec: TokenizerSpec) -> Result<Self, TokenizerError> {
        build::build(spec)
    }

    /// Ids of text from a trusted source: added tokens are recognized everywhere, the longest one first.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<TokenId> {
        self.encode_pieces(text, &self.cut(text, &[]))
    }

    /// Ids of text from outside: what looks like an added token is plain text.
    #[must_use]
    pub fn encode_untrusted(&self, text: &str) -> Vec<TokenId> {
        self.encode_pieces(text, &[Piece { text: 0..text.len(), token: None }])
    }

    /// Ids of a rendered prompt whose untrusted parts went through [`guard`].
    ///
    /// An added token is recognized only where it lies wholly in trusted text; apart from that the ids are
    /// those of the rendering without sentinels.
    #[must_use]
    pub fn encode_template(&self, rendered: &str) -> Vec<TokenId> {
        let (text, breaks) = untrusted::split_breaks(rendered);
        self.encode_pieces(&text, &self.cut(&text, &breaks))
    }

    /// The bytes that `ids` stand for, control tokens included.
    #[must_use]
    pub fn decode(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().flat_map(|&id| self.token_bytes(id)).copied().collect()
    }

    /// As [`Tokenizer::decode`], each maximal invalid sequence as one U+FFFD.
    #[must_use]
    pub fn decode_lossy(&self, ids: &[TokenId]) -> String {
        String::from_utf8_lossy(&self.decode(ids)).into_owned()
    }

    /// The bytes of one token; empty for an id outside the vocabulary (a model may have padding rows).
    #[must_use]
    pub fn token_bytes(&self, id: TokenId) -> &[u8] {
        self.vocabulary.bytes(id.0)
    }

    /// What sort of token this is, if the id lies in the vocabulary.
    #[must_use]
    pub fn kind(&self, id: TokenId) -> Option<TokenKind> {
        self.vocabulary.kind(id)
    }

    /// Whether this is a control token; tool and think markers are not.
    #[must_use]
    pub fn is_special(&self, id: TokenId) -> bool {
        self.kind(id) == Some(TokenKind::Control)
    }

    /// Number of entries in the vocabulary, padding included.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        self.vocabulary.len()
    }

    /// The id of a token as the vocabulary spells it: added tokens as text, others in the byte alphabet of GPT-2.
    ///
    /// Looks through the whole vocabulary unless it is an added token, so it belongs to set-up.
    #[must_use]
    pub fn id_of(&self, token: &str) -> Option<TokenId> {
        if let Some(id) = self.added.id_of(token) {
            return Some(id);
        }
        let bytes = alphabet::to_bytes(token)?;
        self.vocabulary.plain_ids().find(|&id| self.vocabulary.bytes(id) == bytes).map(TokenId)
    }

    /// The tokens that are recognized in trusted text.
    #[must_use]
    pub fn added_tokens(&self) -> &AddedTokens {
        &self.added
    }

    /// How text is split into words.
    #[must_use]
    pub fn splitter(&self) -> Splitter {
        self.splitter
    }

    fn cut(&self, text: &str, breaks: &[usize]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some((found, id)) = self.added.find(text, at, breaks) {
            pieces.push(Piece { text: at..found.start, token: Some(id) });
            at = found.end;
        }
        pieces.push(Piece { text: at..text.len(), token: None });
        pieces
    }

    fn encode_pieces(&self, text: &str, pieces: &[Piece]) -> Vec<TokenId> {
        let (text, pieces) = normalize_pieces(text, pieces);
        let mut cache = WordCache::new(text.len());
        let mut scratch = Scratch::default();
        let mut out = Vec::with_capacity(text.len() / 4 + pieces.len());
        for piece in pieces.iter() {
            let mut start = piece.text.start;
            let in_piece = &text.as_bytes()[..piece.text.end];
            while start < in_piece.len() {
                let end = self.splitter.word_end(in_piece, start);
                let word = start..end;
                if !cache.copy_known(in_piece, &word, &mut out) {
                    let n_before = out.len();
                    self.encode_word(&in_piece[word.clone()], &mut scratch, &mut out);
                    cache.remember(in_piece, &word, n_before..out.len());
                }
                start = end;
            }
            out.extend(piece.token);
        }
        out
    }

    fn encode_word(&self, word: &[u8], scratch: &mut Scratch, out: &mut Vec<TokenId>) {
        match self.whole_words.as_ref().and_then(|map| self.vocabulary.find(map, word)) {
            Some(id) => out.push(TokenId(id)),
            None => self.bpe.encode_word(word, scratch, out),
        }
    }
}

/// A stretch of plain text and the added token that ends it.
#[derive(Clone, Debug)]
struct Piece {
    text: Range<usize>,
    token: Option<TokenId>,
}

/// Brings every piece into NFC by itself; borrows when nothing changes.
fn normalize_pieces<'a>(text: &'a str, pieces: &'a [Piece]) -> (Cow<'a, str>, Cow<'a, [Piece]>) {
    if pieces.iter().all(|piece| normalize::is_stable(&text[piece.text.clone()])) {
        return (Cow::Borrowed(text), Cow::Borrowed(pieces));
    }
    let mut normal = String::with_capacity(text.len());
    let moved = pieces.iter().map(|piece| {
        let start = normal.len();
        normalize::nfc_into(&text[piece.text.clone()], &mut normal);
        Piece { text: start..normal.len(), token: piece.token }
    });
    let moved = moved.collect();
    (Cow::Owned(normal), Cow::Owned(moved))
}
