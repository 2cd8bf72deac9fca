//! The inner tiles: `T` input rows times `G` groups of sixteen weight rows, one kind of weights each.

use std::ops::Range;

use crate::activation::{BLOCK, QuantizedRows};
use crate::lanes::{LANES, Lanes};
use crate::pack::{Line, Q8Bytes};
use crate::pool::part_of;

/// Weights and input rows of one kind.
pub(super) trait Panel {
    /// Whether a sum is kept twice: an integer per block, a float over blocks.
    const INT8: bool = false;
    /// Input rows of a tile on a wide instruction set: as many as leave registers for the weights.
    const HEIGHT: usize = 6;

    /// Whether few input rows are fastest with one group at a time: weights are then read in the order of the memory.
    const ONE_BY_ONE: bool = false;

    /// Whether tiles are functions of their own: where they need registers that loops around them would take.
    const APART: bool = false;

    /// The sums of input rows `t0..t0 + T` with groups `g0..g0 + G`. Columns are added in order, whatever `T` and `G`.
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T];

    /// Asks for part `part` of `n_parts` of some groups ahead of their use: while one strip is computed, the next one comes
    /// from memory.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, _l: L, _groups: Range<usize>, _part: usize, _n_parts: usize) {}
}

/// Asks for one part of `lines`.
#[inline(always)]
pub(super) fn prefetch<L: Lanes, T>(l: L, lines: &[T], part: usize, n_parts: usize) {
    for line in &lines[part_of(lines.len(), part, n_parts)] {
        l.prefetch(line);
    }
}

/// `cols` values from row `t0` on, `T` times.
#[inline(always)]
pub(super) fn rows<U, const T: usize>(x: &[U], cols: usize, t0: usize) -> [&[U]; T] {
    let mut rows = [&[] as &[U]; T];
    let mut rest = &x[t0 * cols..];
    for row in &mut rows {
        (*row, rest) = rest.split_at(cols);
    }
    rows
}

pub(super) struct F32Panel<'a> {
    pub(super) lines: &'a [Line<[f32; LANES]>],
    pub(super) x: &'a [f32],
    pub(super) cols: usize,
}

impl Panel for F32Panel<'_> {
    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let w: [_; G] = rows(self.lines, self.cols, g0);
        let x: [_; T] = rows(self.x, self.cols, t0);
        let mut acc = [[l.splat(0.0); G]; T];
        for k in 0..self.cols {
            let mut w_k = [l.splat(0.0); G];
            for g in 0..G {
                w_k[g] = l.load(&w[g][k].0);
            }
            for t in 0..T {
                let x = l.splat(x[t][k]);
                for g in 0..G {
                    acc[t][g] = l.fma(w_k[g], x, acc[t][g]);
                }
            }
        }
        acc
    }
}

pub(super) struct Bf16Panel<'a> {
    pub(super) lines: &'a [Line<[u16; 2 * LANES]>],
    pub(super) x: &'a [f32],
    pub(super) cols: usize,
}

impl Panel for Bf16Panel<'_> {
    /// Weights take two registers for each group: with six rows some sums would go to memory and back (112 -> 74 GFLOPS).
    const HEIGHT: usize = 4;

    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let w: [_; G] = rows(self.lines, self.cols.div_ceil(2), g0);
        let x: [_; T] = rows(self.x, self.cols, t0);
        let mut acc = [[l.splat(0.0); G]; T];
        for pair in 0..self.cols / 2 {
            let mut w_k = [l.isplat(0); G];
            for g in 0..G {
                w_k[g] = l.load_pairs(&w[g][pair].0);
            }
            for t in 0..T {
                let (even, odd) = (l.splat(x[t][2 * pair]), l.splat(x[t][2 * pair + 1]));
                for g in 0..G {
                    acc[t][g] = l.fma(l.odd(w_k[g]), odd, l.fma(l.even(w_k[g]), even, acc[t][g]));
                }
            }
        }
        if self.cols % 2 == 1 {
            let last = self.cols / 2;
            for t in 0..T {
                for g in 0..G {
                    acc[t][g] = l.fma(l.even(l.load_pairs(&w[g][last].0)), l.splat(x[t][2 * last]), acc[t][g]);
                }
            }
        }
        acc
    }
}

/// Bfloat16 weights with input rows rounded to bfloat16, two columns to a word.
pub(super) struct Bf16PairsPanel<'a> {
    pub(super) lines: &'a [Line<[u16; 2 * LANES]>],
    pub(super) x: &'a [u32],
    pub(super) cols: usize,
}

impl Panel for Bf16PairsPanel<'_> {
    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let pairs = self.cols.div_ceil(2);
        let w: [_; G] = rows(self.lines, pairs, g0);
        let x: [_; T] = rows(self.x, pairs, t0);
        let mut acc = [[l.splat(0.0); G]; T];
        for pair in 0..pairs {
            let mut w_k = [l.isplat(0); G];
            for g in 0..G {
                w_k[g] = l.load_pairs(&w[g][pair].0);
            }
            for t in 0..T {
                let x = l.isplat(x[t][pair] as i32);
                for g in 0..G {
                    acc[t][g] = l.dot2(acc[t][g], w_k[g], x);
                }
            }
        }
        acc
    }
}

pub(super) struct Q8Panel<'a> {
    pub(super) q: &'a [Q8Bytes],
    pub(super) d: &'a [[u16; LANES]],
    pub(super) x: &'a QuantizedRows,
    pub(super) cols: usize,
}

impl Panel for Q8Panel<'_> {
    const INT8: bool = true;
    const ONE_BY_ONE: bool = true;
    const APART: bool = true;

    #[inline(always)]
    fn prefetch<L: Lanes>(&self, l: L, groups: Range<usize>, part: usize, n_parts: usize) {
        let blocks = self.cols / BLOCK;
        let blocks = groups.start * blocks..groups.end * blocks;
        prefetch(l, self.q[blocks.clone()].as_flattened(), part, n_parts);
        // Two blocks' scales share a line.
        prefetch(l, self.d[blocks].as_chunks::<2>().0, part, n_parts);
    }

    /// Per block of 32 columns: an exact integer sum, then one fused multiply-add with the product of both scales.
    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let blocks = self.cols / BLOCK;
        let q: [_; G] = rows(self.q, blocks, g0);
        let d: [_; G] = rows(self.d, blocks, g0);
        let x: [&[[[i8; 4]; BLOCK / 4]]; T] = rows(self.x.q.as_chunks().0.as_chunks().0, blocks, t0);
        let x_d: [_; T] = rows(&self.x.d, blocks, t0);
        let offset: [_; T] = rows(&self.x.offset, blocks, t0);
        // Blocks from the one asked for to the one read: several rows keep the processor from running ahead as far as one does.
        let (few, ahead) = (G == 1 && (L::WIDE || T == 1), if T == 1 { 4 } else { 16 });
        let mut acc = [[l.splat(0.0); G]; T];
        for block in 0..blocks {
            let next = g0 * blocks + block + ahead;
            if few && let (Some(q), Some(d)) = (self.q.get(next), self.d.get(next)) {
                prefetch(l, q, 0, 1);
                l.prefetch(d);
            }
            let mut sum = [[l.isplat(0); G]; T];
            for t in 0..T {
                sum[t] = [l.isplat(offset[t][block]); G];
            }
            for four in 0..BLOCK / 4 {
                for t in 0..T {
                    for g in 0..G {
                        sum[t][g] = l.dot4(sum[t][g], &q[g][block][four].0, &x[t][block][four]);
                    }
                }
            }
            let mut d_block = [l.splat(0.0); G];
            for g in 0..G {
                d_block[g] = l.load_f16(&d[g][block]);
            }
            for t in 0..T {
                let x_d = l.splat(x_d[t][block]);
                for g in 0..G {
                    acc[t][g] = l.fma(l.to_f32(sum[t][g]), l.mul(d_block[g], x_d), acc[t][g]);
                }
            }
        }
        acc
    }
}

/// Int8 weights with exact input rows: the weights are decoded on the way. For checks, not for speed.
pub(super) struct Q8ExactPanel<'a> {
    pub(super) q: &'a [Q8Bytes],
    pub(super) d: &'a [[u16; LANES]],
    pub(super) x: &'a [f32],
    pub(super) cols: usize,
}

impl Panel for Q8ExactPanel<'_> {
    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let blocks = self.cols / BLOCK;
        let q: [_; G] = rows(self.q, blocks, g0);
        let d: [_; G] = rows(self.d, blocks, g0);
        let x: [_; T] = rows(self.x, self.cols, t0);
        let mut acc = [[l.splat(0.0); G]; T];
        for k in 0..self.cols {
            for g in 0..G {
                let bytes = &q[g][k / BLOCK][k % BLOCK / 4].0;
                let values = std::array::from_fn(|lane| f32::from(bytes[4 * lane + k % 4]) - 128.0);
                let w = l.mul(l.load(&values), l.load_f16(&d[g][k / BLOCK]));
                for t in 0..T {
                    acc[t][g] = l.fma(w, l.splat(x[t][k]), acc[t][g]);
                }
            }
        }
        acc
    }
}
