//! Merges the bytes of one word by rank.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{NO_RANK, PairTable};
use super::spec::TokenId;

/// The longest word for which scanning all ranks for the lowest one beats a heap.
const MAX_SHORT: usize = 48;

/// The merge tables.
#[derive(Debug)]
pub(super) struct Bpe {
    /// Token of each byte.
    byte_ids: [u32; 256],
    /// Rank of each pair of bytes: the first look at a word stays in a small table.
    byte_pairs: Vec<u32>,
    pairs: PairTable,
    /// Token that the merge of each rank makes.
    results: Vec<u32>,
}

/// Buffers for long words.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Reverse<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    id: u32,
    /// Rank of the pair that this symbol and the next one make.
    rank: u32,
    prev: u32,
    next: u32,
}

/// No neighbor.
const NONE: u32 = u32::MAX;

impl Bpe {
    pub(super) fn new(byte_ids: [u32; 256], pairs: PairTable, results: Vec<u32>) -> Self {
        let byte_pairs = byte_ids.iter().flat_map(|&left| byte_ids.iter().map(move |&right| (left, right)));
        let byte_pairs = byte_pairs.map(|(left, right)| pairs.rank(left, right)).collect();
        Self { byte_ids, byte_pairs, pairs, results }
    }

    /// Appends the tokens of `word`.
    #[inline]
    pub(super) fn encode_word(&self, word: &[u8], scratch: &mut Scratch, out: &mut Vec<TokenId>) {
        match word.len() {
            1 => out.push(TokenId(self.byte_ids[usize::from(word[0])])),
            ..=MAX_SHORT => self.merge_short(word, out),
            // Ranks and positions share a word of 64 bits in the queue.
            _ => word.chunks(NONE as usize).for_each(|part| self.merge_long(part, scratch, out)),
        }
    }

    fn byte_pair(&self, left: u8, right: u8) -> u32 {
        self.byte_pairs[usize::from(left) << 8 | usize::from(right)]
    }

    /// Quadratic in the length, with a small factor.
    fn merge_short(&self, word: &[u8], out: &mut Vec<TokenId>) {
        let mut ids = [0; MAX_SHORT];
        let mut ranks = [NO_RANK; MAX_SHORT];
        let mut len = word.len();
        for (id, &byte) in ids.iter_mut().zip(word) {
            *id = self.byte_ids[usize::from(byte)];
        }
        for (rank, pair) in ranks.iter_mut().zip(word.windows(2)) {
            *rank = self.byte_pair(pair[0], pair[1]);
        }
        while len > 1 {
            let mut at = 0;
            let mut lowest = NO_RANK;
            for (i, &rank) in ranks[..len - 1].iter().enumerate() {
                if rank < lowest {
                    (at, lowest) = (i, rank);
                }
            }
            if lowest == NO_RANK {
                break;
            }
            ids[at] = self.results[lowest as usize];
            ids.copy_within(at + 2..len, at + 1);
            ranks.copy_within(at + 1..len, at);
            len -= 1;
            if at + 1 < len {
                ranks[at] = self.pairs.rank(ids[at], ids[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.pairs.rank(ids[at - 1], ids[at]);
            }
        }
        out.extend(ids[..len].iter().copied().map(TokenId));
    }

    /// A linked list of symbols and a queue of (rank, position): `n log n`.
    fn merge_long(&self, word: &[u8], scratch: &mut Scratch, out: &mut Vec<TokenId>) {
        let Scratch { symbols, queue } = scratch;
        self.fill(word, symbols, queue);
        while let Some(Reverse(entry)) = queue.pop() {
            let (rank, at) = ((entry >> 32) as u32, entry as u32);
            let Symbol { rank: current, prev, next: merged, .. } = symbols[at as usize];
            // The pair may have changed since it was queued.
            if current != rank {
                continue;
            }
            let next = symbols[merged as usize].next;
            symbols[merged as usize].rank = NO_RANK;
            symbols[at as usize].id = self.results[rank as usize];
            symbols[at as usize].next = next;
            if next != NONE {
                symbols[next as usize].prev = at;
            }
            for left in [at, prev] {
                if left != NONE {
                    self.queue_pair(left, symbols, queue);
                }
            }
        }
        let mut at = 0;
        while at != NONE {
            let symbol = symbols[at as usize];
            out.push(TokenId(symbol.id));
            at = symbol.next;
        }
    }

    fn fill(&self, word: &[u8], symbols: &mut Vec<Symbol>, queue: &mut BinaryHeap<Reverse<u64>>) {
        symbols.clear();
        symbols.extend(word.iter().enumerate().map(|(i, &byte)| Symbol {
            id: self.byte_ids[usize::from(byte)],
            rank: word.get(i + 1).map_or(NO_RANK, |&right| self.byte_pair(byte, right)),
            prev: (i as u32).wrapping_sub(1),
            next: if i + 1 < word.len() { i as u32 + 1 } else { NONE },
        }));
        let mut entries = std::mem::take(queue).into_vec();
        entries.clear();
        entries.extend(
            symbols
                .iter()
                .enumerate()
                .filter(|(_, symbol)| symbol.rank != NO_RANK)
                .map(|(i, symbol)| queue_entry(symbol.rank, i as u32)),
        );
        *queue = BinaryHeap::from(entries);
    }

    fn queue_pair(&self, at: u32, symbols: &mut [Symbol], queue: &mut BinaryHeap<Reverse<u64>>) {
        let Symbol { id, next, .. } = symbols[at as usize];
        let rank = if next == NONE { NO_RANK } else { self.pairs.rank(id, symbols[next as usize].id) };
        symbols[at as usize].rank = rank;
        if rank != NO_RANK {
            queue.push(queue_entry(rank, at));
        }
    }
}

fn queue_entry(rank: u32, at: u32) -> Reverse<u64> {
    Reverse(u64::from(rank) << 32 | u64::from(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few numbers that look random.
    fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
        move |end| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) as usize % end
        }
    }

    /// Merges between random tokens; each makes a new one.
    fn random_bpe(next: &mut impl FnMut(usize) -> usize) -> (Bpe, Vec<(u32, u32)>) {
        let mut merges = Vec::new();
        for _ in 0..40 {
            // Three letters and all tokens made so far.
            let mut part = || match next(3 + merges.len()) {
                letter @ 0..3 => u32::from(b'a') + letter as u32,
                made => 256 + made as u32 - 3,
            };
            let pair = (part(), part());
            if !merges.contains(&pair) {
                merges.push(pair);
            }
        }
        let mut pairs = PairTable::with_capacity(merges.len());
        for (rank, &(left, right)) in (0..).zip(&merges) {
            pairs.insert(left, right, rank).unwrap();
        }
        let results = (256..).take(merges.len()).collect();
        (Bpe::new(std::array::from_fn(|byte| byte as u32), pairs, results), merges)
    }

    /// The definition: the first pair of the lowest rank, again and again.
    fn merge_plainly(word: &[u8], merges: &[(u32, u32)]) -> Vec<TokenId> {
        let mut ids: Vec<u32> = word.iter().copied().map(u32::from).collect();
        let rank_at = |ids: &[u32], at: usize| merges.iter().position(|&pair| pair == (ids[at], ids[at + 1]));
        while let Some((rank, at)) =
            (0..ids.len().saturating_sub(1)).filter_map(|at| Some((rank_at(&ids, at)?, at))).min()
        {
            ids.splice(at..at + 2, [256 + rank as u32]);
        }
        ids.into_iter().map(TokenId).collect()
    }

    #[test]
    fn both_ways_to_merge_follow_the_definition() {
        let mut next = numbers(7);
        let mut scratch = Scratch::default();
        for _ in 0..300 {
            let (bpe, merges) = random_bpe(&mut next);
            for _ in 0..5 {
                let word: Vec<u8> = (0..1 + next(MAX_SHORT)).map(|_| b'a' + next(3) as u8).collect();
                let expected = merge_plainly(&word, &merges);
                let (mut short, mut long) = (Vec::new(), Vec::new());
                bpe.merge_short(&word, &mut short);
                bpe.merge_long(&word, &mut scratch, &mut long);
                assert_eq!(short, expected, "{word:?} {merges:?}");
                assert_eq!(long, expected, "{word:?} {merges:?}");
            }
        }
    }
}
