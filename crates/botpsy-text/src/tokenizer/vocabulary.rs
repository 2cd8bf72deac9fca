//! The bytes and kinds of all tokens.

use super::added::AddedTokens;
use super::alphabet;
use super::error::{TokenizerError, shorten};
use super::pairs::TokenMap;
use super::spec::{TokenId, TokenKind};

#[derive(Debug)]
pub(super) struct Vocabulary {
    /// Token `i` is `arena[starts[i]..starts[i + 1]]`.
    arena: Vec<u8>,
    starts: Vec<u32>,
    kinds: Vec<TokenKind>,
}

impl Vocabulary {
    pub(super) fn new(tokens: &[String], mut kinds: Vec<TokenKind>) -> Result<Self, TokenizerError> {
        if !kinds.is_empty() && kinds.len() != tokens.len() {
            return Err(TokenizerError::KindCount { n_tokens: tokens.len(), n_kinds: kinds.len() });
        }
        // The last id stands for "none" in the tables.
        if u32::try_from(tokens.len()).is_err() {
            return Err(TokenizerError::TooLarge);
        }
        kinds.resize(tokens.len(), TokenKind::Normal);
        let mut arena = Vec::with_capacity(tokens.iter().map(String::len).sum());
        let mut starts = Vec::with_capacity(tokens.len() + 1);
        starts.push(0);
        for (index, (text, kind)) in tokens.iter().zip(&kinds).enumerate() {
            if text.is_empty() && *kind != TokenKind::Unused {
                return Err(TokenizerError::EmptyToken { index });
            }
            if !kind.is_plain() {
                arena.extend_from_slice(text.as_bytes());
            } else if !alphabet::push_bytes(text, &mut arena) {
                return Err(TokenizerError::Alphabet { index, text: shorten(text) });
            }
            starts.push(u32::try_from(arena.len()).map_err(|_| TokenizerError::TooLarge)?);
        }
        Ok(Self { arena, starts, kinds })
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn kind(&self, id: TokenId) -> Option<TokenKind> {
        self.kinds.get(id.0 as usize).copied()
    }

    /// Empty for an id outside the vocabulary.
    pub(super) fn bytes(&self, id: u32) -> &[u8] {
        let index = id as usize;
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(&start), Some(&end)) => &self.arena[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Whether this is a plain token with these bytes.
    pub(super) fn is_plain(&self, id: u32, bytes: &[u8]) -> bool {
        self.kinds.get(id as usize).is_some_and(|kind| kind.is_plain()) && self.bytes(id) == bytes
    }

    /// Ids of the tokens that merges work on.
    pub(super) fn plain_ids(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.kinds).filter(|(_, kind)| kind.is_plain()).map(|(id, _)| id)
    }

    /// The id of a plain token by its bytes.
    pub(super) fn find(&self, map: &TokenMap, bytes: &[u8]) -> Option<u32> {
        map.find(bytes, |id| self.bytes(id))
    }

    /// The plain tokens by their bytes.
    pub(super) fn map_plain(&self) -> Result<TokenMap, TokenizerError> {
        let mut map = TokenMap::with_capacity(self.len());
        for id in self.plain_ids() {
            map.insert(id, self.bytes(id), |other| self.bytes(other))
                .map_err(|first| duplicate(id, first, &String::from_utf8_lossy(self.bytes(id))))?;
        }
        Ok(map)
    }

    /// The added tokens; none may be spelled like a plain one.
    pub(super) fn added(&self, tokens: &[String], plain: &TokenMap) -> Result<AddedTokens, TokenizerError> {
        let mut added = Vec::new();
        for ((id, kind), text) in (0..).zip(&self.kinds).zip(tokens) {
            if kind.is_added() {
                if let Some(other) = self.find(plain, text.as_bytes()) {
                    return Err(duplicate(id.max(other), id.min(other), text));
                }
                added.push((text.clone(), TokenId(id)));
            }
        }
        AddedTokens::new(added)
    }
}

fn duplicate(index: u32, first: u32, text: &str) -> TokenizerError {
    TokenizerError::DuplicateToken { index: index as usize, first: first as usize, text: shorten(text) }
}
