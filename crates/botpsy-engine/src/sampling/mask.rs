//! The set of tokens that may come next.

use crate::TokenId;

/// One bit per token of the vocabulary: set means allowed.
///
/// Grammars and other constraints fill it; the sampler applies it before anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenMask {
    words: Vec<u64>,
    len: usize,
}

impl TokenMask {
    /// A mask over `len` tokens that allows none.
    pub fn none(len: usize) -> Self {
        TokenMask { words: vec![0; len.div_ceil(64)], len }
    }

    /// A mask over `len` tokens that allows all.
    pub fn all(len: usize) -> Self {
        let mut mask = TokenMask::none(len);
        mask.allow_all();
        mask
    }

    /// How many tokens the mask speaks about.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the mask speaks about no token at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Allows every token.
    pub fn allow_all(&mut self) {
        self.words.fill(u64::MAX);
        self.trim();
    }

    /// Denies every token.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Allows exactly the tokens whose bits are set, the lowest first; those beyond are denied.
    pub fn set_bits(&mut self, bits: &[u32]) {
        self.clear();
        for (i, half) in bits.iter().enumerate().take(self.len.div_ceil(32)) {
            self.words[i / 2] |= u64::from(*half) << (i % 2 * 32);
        }
        self.trim();
    }

    /// Denies what lies beyond the vocabulary.
    fn trim(&mut self) {
        let spare = self.words.len() * 64 - self.len;
        if let Some(last) = self.words.last_mut() {
            *last = *last << spare >> spare;
        }
    }

    /// Allows `id`.
    ///
    /// # Panics
    /// If `id` is not below [`TokenMask::len`].
    pub fn allow(&mut self, id: TokenId) {
        let id = self.checked(id);
        self.words[id / 64] |= 1 << (id % 64);
    }

    /// Denies `id`.
    ///
    /// # Panics
    /// If `id` is not below [`TokenMask::len`].
    pub fn deny(&mut self, id: TokenId) {
        let id = self.checked(id);
        self.words[id / 64] &= !(1 << (id % 64));
    }

    /// Whether `id` may come next; `false` for an id outside the vocabulary.
    pub fn allows(&self, id: TokenId) -> bool {
        let id = id as usize;
        id < self.len && self.words[id / 64] >> (id % 64) & 1 == 1
    }

    /// How many tokens are allowed.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Sets the logit of every denied token to negative infinity. `values` is as long as the mask.
    pub(crate) fn apply(&self, values: &mut [f32]) {
        for (chunk, word) in values.chunks_mut(64).zip(&self.words) {
            if *word == 0 {
                chunk.fill(f32::NEG_INFINITY);
            } else if *word != u64::MAX {
                for (bit, value) in chunk.iter_mut().enumerate() {
                    if word >> bit & 1 == 0 {
                        *value = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }

    fn checked(&self, id: TokenId) -> usize {
        let id = id as usize;
        assert!(id < self.len, "token {id} is outside a mask of {} tokens", self.len);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_behave_as_a_set_also_at_word_borders() {
        for len in [0, 1, 63, 64, 65, 130] {
            assert_eq!(TokenMask::all(len).count(), len);
            let mut mask = TokenMask::none(len);
            assert_eq!(mask.count(), 0);
            for id in 0..len as u32 {
                mask.allow(id);
                assert!(mask.allows(id));
            }
            assert_eq!(mask, TokenMask::all(len));
            assert!(!mask.allows(len as u32));
            if len > 0 {
                mask.deny(len as u32 - 1);
                assert_eq!(mask.count(), len - 1);
            }
        }
    }

    #[test]
    fn denied_logits_become_negative_infinity_and_no_others() {
        let mut mask = TokenMask::all(200);
        (64..128).chain([0, 199]).for_each(|id| mask.deny(id));
        let mut values = vec![1.0; 200];
        mask.apply(&mut values);
        for (id, value) in values.iter().enumerate() {
            assert_eq!(*value == f32::NEG_INFINITY, !mask.allows(id as u32), "token {id}");
        }
    }

    #[test]
    #[should_panic(expected = "token 64 is outside a mask of 64 tokens")]
    fn an_id_outside_is_a_bug_of_the_caller() {
        TokenMask::none(64).allow(64);
    }
}
