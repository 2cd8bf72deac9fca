//! The two hash tables: merges by their parts, and tokens by their bytes.
//!
//! Open addressing over flat slots, at most half full. The hash is a folded multiplication with a seed drawn for
//! each table, so that a vocabulary made to collide has to guess it.

use std::hash::{BuildHasher, RandomState};

/// Rank of a pair that does not merge.
pub(super) const NO_RANK: u32 = u32::MAX;

/// Rank of each pair of ids.
#[derive(Debug)]
pub(super) struct PairTable {
    slots: Vec<PairSlot>,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct PairSlot {
    left: u32,
    right: u32,
    rank: u32,
}

impl PairTable {
    pub(super) fn with_capacity(n_pairs: usize) -> Self {
        let empty = PairSlot { left: 0, right: 0, rank: NO_RANK };
        Self { slots: vec![empty; n_slots(n_pairs)], seed: new_seed() }
    }

    /// Rank at which the pair merges, or [`NO_RANK`].
    #[inline]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        self.slots[self.slot_of(left, right)].rank
    }

    /// Adds a pair; gives back the rank that it has already.
    pub(super) fn insert(&mut self, left: u32, right: u32, rank: u32) -> Result<(), u32> {
        let index = self.slot_of(left, right);
        let slot = &mut self.slots[index];
        if slot.rank != NO_RANK {
            return Err(slot.rank);
        }
        *slot = PairSlot { left, right, rank };
        Ok(())
    }

    /// Slot that holds the pair, or the empty one where it belongs.
    #[inline]
    fn slot_of(&self, left: u32, right: u32) -> usize {
        let mask = self.slots.len() - 1;
        let key = u64::from(left) << 32 | u64::from(right);
        let mut index = fold(key ^ self.seed) as usize & mask;
        loop {
            let slot = &self.slots[index];
            if slot.rank == NO_RANK || (slot.left == left && slot.right == right) {
                return index;
            }
            index = (index + 1) & mask;
        }
    }
}

/// Ids of tokens by their bytes; the bytes stay with the caller.
#[derive(Debug)]
pub(super) struct TokenMap {
    slots: Vec<u32>,
    seed: u64,
}

const NO_TOKEN: u32 = u32::MAX;

impl TokenMap {
    pub(super) fn with_capacity(n_tokens: usize) -> Self {
        Self { slots: vec![NO_TOKEN; n_slots(n_tokens)], seed: new_seed() }
    }

    /// The id of the token that `bytes` are; `bytes_of` tells the bytes of an id.
    pub(super) fn find<'a>(&self, bytes: &[u8], bytes_of: impl Fn(u32) -> &'a [u8]) -> Option<u32> {
        let id = self.slots[self.slot_of(bytes, bytes_of)];
        (id != NO_TOKEN).then_some(id)
    }

    /// Adds a token; gives back the id of another one with the same bytes.
    pub(super) fn insert<'a>(&mut self, id: u32, bytes: &[u8], bytes_of: impl Fn(u32) -> &'a [u8]) -> Result<(), u32> {
        let index = self.slot_of(bytes, bytes_of);
        if self.slots[index] != NO_TOKEN {
            return Err(self.slots[index]);
        }
        self.slots[index] = id;
        Ok(())
    }

    fn slot_of<'a>(&self, bytes: &[u8], bytes_of: impl Fn(u32) -> &'a [u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = hash_bytes(bytes, self.seed) as usize & mask;
        loop {
            let id = self.slots[index];
            if id == NO_TOKEN || bytes_of(id) == bytes {
                return index;
            }
            index = (index + 1) & mask;
        }
    }
}

/// Hash of a few bytes, eight at a time.
#[inline]
pub(super) fn hash_bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut hash = seed ^ bytes.len() as u64;
    let (chunks, tail) = bytes.as_chunks::<8>();
    for chunk in chunks {
        hash = fold(hash ^ u64::from_le_bytes(*chunk));
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        hash = fold(hash ^ u64::from_le_bytes(last));
    }
    hash
}

#[inline]
fn fold(value: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(value) * u128::from(ODD);
    (product >> 64) as u64 ^ product as u64
}

fn n_slots(n_entries: usize) -> usize {
    (n_entries * 2).next_power_of_two().max(2)
}

fn new_seed() -> u64 {
    RandomState::new().hash_one(0)
}
