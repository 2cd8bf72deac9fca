//! Words seen before in the same text.

use std::ops::Range;

use super::pairs::hash_bytes;
use super::spec::TokenId;

/// Remembers where a word stood in the text and where its tokens stand in the output; holds no copy of either.
///
/// One slot for each hash: a word pushes out the one before it. It lives as long as one call, so the tokenizer
/// needs no lock.
pub(super) struct WordCache {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u32,
    /// 0 marks an empty slot.
    text_len: u8,
    n_tokens: u8,
    text_start: u32,
    out_start: u32,
}

/// Longer words rarely come twice.
const MAX_WORD: usize = 64;

impl WordCache {
    /// A cache for a text of this many bytes.
    pub(super) fn new(text_len: usize) -> Self {
        let n_slots = (text_len / 4).next_power_of_two().clamp(16, 1 << 15);
        Self { slots: vec![Slot::default(); n_slots] }
    }

    /// Appends the tokens of the word if it is known.
    #[inline]
    pub(super) fn copy_known(&self, text: &[u8], word: &Range<usize>, out: &mut Vec<TokenId>) -> bool {
        let bytes = &text[word.clone()];
        if bytes.len() > MAX_WORD {
            return false;
        }
        let hash = hash_bytes(bytes, 0) as u32;
        let slot = &self.slots[hash as usize & (self.slots.len() - 1)];
        let start = slot.text_start as usize;
        if slot.hash != hash || text.get(start..start + usize::from(slot.text_len)) != Some(bytes) {
            return false;
        }
        let first = slot.out_start as usize;
        out.extend_from_within(first..first + usize::from(slot.n_tokens));
        true
    }

    /// Keeps the word, whose tokens are the last of the output.
    #[inline]
    pub(super) fn remember(&mut self, text: &[u8], word: &Range<usize>, tokens: Range<usize>) {
        let bytes = &text[word.clone()];
        // Positions beyond 4 GB are not kept.
        let (Ok(text_start), Ok(out_start)) = (u32::try_from(word.start), u32::try_from(tokens.start)) else {
            return;
        };
        if bytes.len() > MAX_WORD {
            return;
        }
        let hash = hash_bytes(bytes, 0) as u32;
        let index = hash as usize & (self.slots.len() - 1);
        // At most MAX_WORD bytes, and no more tokens than bytes.
        let (text_len, n_tokens) = (bytes.len() as u8, tokens.len() as u8);
        self.slots[index] = Slot { hash, text_len, n_tokens, text_start, out_start };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn words_with_one_hash_are_told_apart() {
        let mut seen = HashMap::new();
        let mut words = (0..2_000_000u32).map(|n| format!("{n:07}"));
        let (first, second) = words
            .find_map(|word| {
                let known = seen.insert(hash_bytes(word.as_bytes(), 0) as u32, word.clone());
                known.map(|known| (known, word))
            })
            .expect("2 million words share one of 2^32 hashes somewhere");
        let text = format!("{first}{second}{first}");
        let mut cache = WordCache::new(text.len());
        let mut out = vec![TokenId(1), TokenId(2)];
        cache.remember(text.as_bytes(), &(0..7), 0..2);
        assert!(!cache.copy_known(text.as_bytes(), &(7..14), &mut out));
        assert!(cache.copy_known(text.as_bytes(), &(14..21), &mut out));
        assert_eq!(out, [1, 2, 1, 2].map(TokenId));
    }
}
