//! K-quants into groups of sixteen rows: the words of the file side by side, as they are.
//!
//! A block of 256 columns is split into the half-precision factors and the rest, which is whole 32-bit words for each kind.
//! Word `w` of sixteen rows is one line, so a lane operation does to all rows what the file's format does to one.
//!
//! | kind | factors | words |
//! |---|---|---|
//! | Q4_K | `d`, `dmin` | 3 of 6-bit scales and minima, 32 of nibbles |
//! | Q5_K | `d`, `dmin` | 3 of 6-bit scales and minima, 8 of fifth bits, 32 of nibbles |
//! | Q6_K | `d` | 32 of nibbles, 16 of high bit pairs, 4 of scales |

use botpsy_tensor::{DType, TensorView, dequantize_row};

use super::{Buffer, Line, group_rows};
use crate::Context;
use crate::lanes::LANES;

/// Columns of one block.
pub(crate) const SUPER_BLOCK: usize = 256;

/// Words per block of each kind, without the factors.
pub(crate) const Q4_WORDS: usize = 35;
pub(crate) const Q5_WORDS: usize = 43;
pub(crate) const Q6_WORDS: usize = 52;

/// One word of sixteen rows.
pub(crate) type Words = Line<[u8; 4 * LANES]>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KQuant {
    Q4,
    Q5,
    Q6,
}

impl KQuant {
    pub(super) fn of(dtype: DType) -> Option<KQuant> {
        match dtype {
            DType::Q4K => Some(KQuant::Q4),
            DType::Q5K => Some(KQuant::Q5),
            DType::Q6K => Some(KQuant::Q6),
            _ => None,
        }
    }

    pub(crate) fn dtype(self) -> DType {
        match self {
            KQuant::Q4 => DType::Q4K,
            KQuant::Q5 => DType::Q5K,
            KQuant::Q6 => DType::Q6K,
        }
    }

    fn n_words(self) -> usize {
        match self {
            KQuant::Q4 => Q4_WORDS,
            KQuant::Q5 => Q5_WORDS,
            KQuant::Q6 => Q6_WORDS,
        }
    }

    /// How many factors a block has: they come first in the file where there are two, and last where there is one.
    fn n_factors(self) -> usize {
        if self == KQuant::Q6 { 1 } else { 2 }
    }

    /// Where word `i` of the file goes: words that are used together lie together.
    fn place(self, i: usize) -> usize {
        match (self, i) {
            // Scales first; then, for each half, what columns 4 i.. of its quarters need: two words of nibbles, one of pairs.
            (KQuant::Q6, 0..32) => 4 + 24 * (i / 16) + 3 * (i % 8) + i / 8 % 2,
            (KQuant::Q6, 32..48) => 4 + 24 * ((i - 32) / 8) + 3 * (i % 8) + 2,
            (KQuant::Q6, _) => i - 48,
            _ => i,
        }
    }

    /// Where the factors and the words are in a block of the file.
    fn places(self) -> (usize, usize) {
        if self == KQuant::Q6 { (4 * Q6_WORDS, 0) } else { (0, 4) }
    }
}

/// A matrix of one kind.
pub(crate) struct KBlocks {
    pub(crate) kind: KQuant,
    /// `[group][block][word]`.
    pub(crate) words: Buffer<Words>,
    /// `[group][block][factor][row]`.
    pub(crate) factors: Buffer<[u16; LANES]>,
}

impl KBlocks {
    pub(super) fn pack(ctx: &Context, view: &TensorView<'_>, kind: KQuant) -> KBlocks {
        let (n_words, n_factors) = (kind.n_words(), kind.n_factors());
        let blocks = view.cols() / SUPER_BLOCK;
        let n = view.rows().div_ceil(LANES) * blocks;
        let mut words = Buffer::<Words>::zeros(n * n_words);
        let mut factors = Buffer::<[u16; LANES]>::zeros(n * n_factors);
        let (factors_at, words_at) = kind.places();
        ctx.pool.for_each_chunk2(
            (&mut words, blocks * n_words),
            (&mut factors, blocks * n_factors),
            |group, words, factors| {
                for (lane, row) in group_rows(view, group).into_iter().enumerate() {
                    let file = row.unwrap_or_default().chunks_exact(kind.dtype().block_bytes());
                    let blocks = words.chunks_exact_mut(n_words).zip(factors.chunks_exact_mut(n_factors));
                    for ((words, factors), file) in blocks.zip(file) {
                        for (i, word) in file[words_at..][..4 * n_words].as_chunks::<4>().0.iter().enumerate() {
                            words[kind.place(i)].0.as_chunks_mut().0[lane] = *word;
                        }
                        for (factors, factor) in factors.iter_mut().zip(file[factors_at..].as_chunks().0) {
                            factors[lane] = u16::from_le_bytes(*factor);
                        }
                    }
                }
            },
        );
        KBlocks { kind, words, factors }
    }

    pub(super) fn size_bytes(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.factors[..])
    }

    /// Block number `block` of `[group][block]`, of the row in `lane`, as it was in the file.
    pub(crate) fn block<'a>(&self, block: usize, lane: usize, file: &'a mut [u8; MAX_BLOCK]) -> &'a [u8] {
        let (n_words, n_factors) = (self.kind.n_words(), self.kind.n_factors());
        let (factors_at, words_at) = self.kind.places();
        let words = &self.words[block * n_words..][..n_words];
        for (i, word) in file[words_at..][..4 * n_words].as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *word = words[self.kind.place(i)].0.as_chunks().0[lane];
        }
        let factors = &self.factors[block * n_factors..][..n_factors];
        for (factor, factors) in file[factors_at..].as_chunks_mut().0.iter_mut().zip(factors) {
            *factor = factors[lane].to_le_bytes();
        }
        &file[..self.kind.dtype().block_bytes()]
    }

    pub(super) fn row(&self, row: usize, out: &mut [f32]) {
        let blocks = out.len() / SUPER_BLOCK;
        let mut file = [0; MAX_BLOCK];
        for (i, out) in out.chunks_exact_mut(SUPER_BLOCK).enumerate() {
            let block = self.block(row / LANES * blocks + i, row % LANES, &mut file);
            dequantize_row(self.kind.dtype(), block, out);
        }
    }
}

/// Bytes of the largest block.
pub(crate) const MAX_BLOCK: usize = DType::Q6K.block_bytes();
