//! Tiles of K-quants with int8 input rows.
//!
//! The quants go into the integer products unsigned, as they are in the file. Each 32 columns (16 of Q6_K) have an exact
//! integer sum, and one fused multiply-add with the scale; a minimum is multiplied with the sum of the input values.

use std::ops::Range;

use super::panel::{Panel, prefetch, rows};
use crate::activation::QuantizedRows;
use crate::lanes::{LANES, Lanes};
use crate::pack::{Q4_WORDS, Q6_WORDS, SUPER_BLOCK, Words};

/// Int8 input of one block of 256 columns: `[32 columns][4 columns][column]`.
type XBlock = [[[i8; 4]; 8]; 8];

/// Q4_K and Q5_K: they differ in the number of words, and in whether quants have a fifth bit.
pub(super) struct MinPanel<'a, const WORDS: usize> {
    pub(super) words: &'a [Words],
    pub(super) factors: &'a [[u16; LANES]],
    pub(super) x: &'a QuantizedRows,
    pub(super) cols: usize,
}

impl<const WORDS: usize> Panel for MinPanel<'_, WORDS> {
    const INT8: bool = true;
    const HEIGHT: usize = 4;
    const ONE_BY_ONE: bool = true;
    const APART: bool = true;

    #[inline(always)]
    fn prefetch<L: Lanes>(&self, l: L, groups: Range<usize>, part: usize, n_parts: usize) {
        let words = self.cols / SUPER_BLOCK * WORDS;
        prefetch(l, &self.words[groups.start * words..groups.end * words], part, n_parts);
    }

    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let blocks = self.cols / SUPER_BLOCK;
        let w: [&[[Words; WORDS]]; G] = rows(self.words.as_chunks().0, blocks, g0);
        let factors: [&[[[u16; LANES]; 2]]; G] = rows(self.factors.as_chunks().0, blocks, g0);
        let x: [&[XBlock]; T] = rows(self.x.q.as_chunks().0.as_chunks().0.as_chunks().0, blocks, t0);
        let x_d: [&[[f32; 8]]; T] = rows(self.x.d.as_chunks().0, blocks, t0);
        let minus_sum: [&[[f32; 8]]; T] = rows(self.x.minus_sum.as_chunks().0, blocks, t0);
        let mut acc = [[l.splat(0.0); G]; T];
        for block in 0..blocks {
            let first = Scales::of(l, &w[0][block], &factors[0][block]);
            let mut at = MinBlock {
                w: [&w[0][block]; G],
                x: [&x[0][block]; T],
                x_d: [&x_d[0][block]; T],
                minus_sum: [&minus_sum[0][block]; T],
                scales: [first; G],
            };
            for t in 1..T {
                (at.x[t], at.x_d[t], at.minus_sum[t]) = (&x[t][block], &x_d[t][block], &minus_sum[t][block]);
            }
            for g in 1..G {
                (at.w[g], at.scales[g]) = (&w[g][block], Scales::of(l, &w[g][block], &factors[g][block]));
            }
            for pair in 0..4 {
                if T * G == 1 {
                    at.pair(l, pair, &mut acc[0][0]);
                    continue;
                }
                at.part::<0>(l, pair, &mut acc);
                at.part::<1>(l, pair, &mut acc);
            }
        }
        acc
    }
}

/// What a tile needs of one block of 256 columns.
struct MinBlock<'a, L: Lanes, const WORDS: usize, const T: usize, const G: usize> {
    w: [&'a [Words; WORDS]; G],
    x: [&'a XBlock; T],
    x_d: [&'a [f32; 8]; T],
    minus_sum: [&'a [f32; 8]; T],
    scales: [Scales<L>; G],
}

impl<L: Lanes, const WORDS: usize, const T: usize, const G: usize> MinBlock<'_, L, WORDS, T, G> {
    /// Both parts of a pair, for one row with one group: each word is loaded once.
    #[inline(always)]
    fn pair(&self, l: L, pair: usize, acc: &mut L::F) {
        let x = &self.x[0].as_chunks::<2>().0[pair];
        let mut sum = [l.isplat(0); 2];
        for four in 0..8 {
            sum[0] = l.dot4_small(sum[0], quants::<_, WORDS, 0>(l, self.w[0], pair, four), &x[0][four]);
            sum[1] = l.dot4_small(sum[1], quants::<_, WORDS, 1>(l, self.w[0], pair, four), &x[1][four]);
        }
        for high in 0..2 {
            let i = 2 * pair + high;
            let (scale, min) = self.scales[0].part(l, i);
            *acc = l.fma(l.to_f32(sum[high]), l.mul(scale, l.splat(self.x_d[0][i])), *acc);
            *acc = l.fma(min, l.splat(self.minus_sum[0][i]), *acc);
        }
    }

    /// Adds the 32 columns of part `2 * pair + HIGH`: low or high nibbles of the same eight words.
    #[inline(always)]
    fn part<const HIGH: usize>(&self, l: L, pair: usize, acc: &mut [[L::F; G]; T]) {
        let i = 2 * pair + HIGH;
        let mut sum = [[l.isplat(0); G]; T];
        for four in 0..8 {
            for g in 0..G {
                let q = quants::<_, WORDS, HIGH>(l, self.w[g], pair, four);
                for t in 0..T {
                    sum[t][g] = l.dot4_small(sum[t][g], q, &self.x[t][i][four]);
                }
            }
        }
        for g in 0..G {
            let (scale, min) = self.scales[g].part(l, i);
            for t in 0..T {
                let x_d = l.splat(self.x_d[t][i]);
                acc[t][g] = l.fma(l.to_f32(sum[t][g]), l.mul(scale, x_d), acc[t][g]);
                acc[t][g] = l.fma(min, l.splat(self.minus_sum[t][i]), acc[t][g]);
            }
        }
    }
}

/// Scales and minima of the eight parts of a block, with the factors that they are multiplied with.
#[derive(Clone, Copy)]
struct Scales<L: Lanes> {
    d: L::F,
    dmin: L::F,
    scales: [L::I; 2],
    mins: [L::I; 2],
}

impl<L: Lanes> Scales<L> {
    /// Words 0 and 1 hold the first four scales and minima in 6 bits; word 2 the low nibbles of the last four, whose two
    /// high bits sit on top of words 0 and 1.
    #[inline(always)]
    fn of(l: L, words: &[Words], [d, dmin]: &[[u16; LANES]; 2]) -> Scales<L> {
        let (scales, mins, last) = (l.bytes(&words[0].0), l.bytes(&words[1].0), l.bytes(&words[2].0));
        Scales {
            d: l.load_f16(d),
            dmin: l.load_f16(dmin),
            scales: [l.and(scales, 0x3f3f_3f3f), l.or(l.and(last, 0x0f0f_0f0f), l.and(l.shr(scales, 2), 0x3030_3030))],
            mins: [
                l.and(mins, 0x3f3f_3f3f),
                l.or(l.and(l.shr(last, 4), 0x0f0f_0f0f), l.and(l.shr(mins, 2), 0x3030_3030)),
            ],
        }
    }

    /// `d * scale` and `dmin * minimum` of part `i`; both are exact.
    #[inline(always)]
    fn part(&self, l: L, i: usize) -> (L::F, L::F) {
        let (four, byte) = (i / 4, i as u32 % 4);
        (l.mul(self.d, l.byte(self.scales[four], byte)), l.mul(self.dmin, l.byte(self.mins[four], byte)))
    }
}

/// Quants of columns `4 * four..` of part `2 * pair + HIGH` of a block.
#[inline(always)]
fn quants<L: Lanes, const WORDS: usize, const HIGH: usize>(
    l: L,
    words: &[Words; WORDS],
    pair: usize,
    four: usize,
) -> L::I {
    let nibbles = l.bytes(&words[WORDS - 32 + 8 * pair + four].0);
    let nibble = l.and(if HIGH == 0 { nibbles } else { l.shr(nibbles, 4) }, 0x0f0f_0f0f);
    if WORDS == Q4_WORDS {
        return nibble;
    }
    let fifth = l.and(l.shr(l.bytes(&words[3 + four].0), (2 * pair + HIGH) as u32), 0x0101_0101);
    l.or(nibble, l.shl(fifth, 4))
}

/// Q6_K.
pub(super) struct Q6Panel<'a> {
    pub(super) words: &'a [Words],
    pub(super) factors: &'a [[u16; LANES]],
    pub(super) x: &'a QuantizedRows,
    pub(super) cols: usize,
}

impl Panel for Q6Panel<'_> {
    const INT8: bool = true;
    const HEIGHT: usize = 4;
    const ONE_BY_ONE: bool = true;
    const APART: bool = true;

    #[inline(always)]
    fn prefetch<L: Lanes>(&self, l: L, groups: Range<usize>, part: usize, n_parts: usize) {
        let words = self.cols / SUPER_BLOCK * Q6_WORDS;
        prefetch(l, &self.words[groups.start * words..groups.end * words], part, n_parts);
    }

    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let blocks = self.cols / SUPER_BLOCK;
        let w: [&[[Words; Q6_WORDS]]; G] = rows(self.words.as_chunks().0, blocks, g0);
        let factors: [&[[u16; LANES]]; G] = rows(self.factors, blocks, g0);
        let x: [&[XBlock]; T] = rows(self.x.q.as_chunks().0.as_chunks().0.as_chunks().0, blocks, t0);
        let x_d: [&[[f32; 8]]; T] = rows(self.x.d.as_chunks().0, blocks, t0);
        let offset: [&[[[i32; 2]; 8]]; T] = rows(self.x.half_offset.as_chunks().0, blocks, t0);
        let mut acc = [[l.splat(0.0); G]; T];
        for block in 0..blocks {
            let mut at = Q6Block {
                w: [&w[0][block]; G],
                x: [&x[0][block]; T],
                x_d: [&x_d[0][block]; T],
                offset: [&offset[0][block]; T],
                scales: [SignedScales::of(l, &w[0][block], &factors[0][block]); G],
            };
            for t in 1..T {
                (at.x[t], at.x_d[t], at.offset[t]) = (&x[t][block], &x_d[t][block], &offset[t][block]);
            }
            for g in 1..G {
                (at.w[g], at.scales[g]) = (&w[g][block], SignedScales::of(l, &w[g][block], &factors[g][block]));
            }
            for half in 0..2 {
                if T * G == 1 {
                    at.half(l, half, &mut acc[0][0]);
                    continue;
                }
                at.quarter::<0>(l, half, &mut acc);
                at.quarter::<1>(l, half, &mut acc);
                at.quarter::<2>(l, half, &mut acc);
                at.quarter::<3>(l, half, &mut acc);
            }
        }
        acc
    }
}

/// What a tile needs of one block of 256 columns.
struct Q6Block<'a, L: Lanes, const T: usize, const G: usize> {
    w: [&'a [Words; Q6_WORDS]; G],
    x: [&'a XBlock; T],
    x_d: [&'a [f32; 8]; T],
    offset: [&'a [[i32; 2]; 8]; T],
    scales: [SignedScales<L>; G],
}

impl<L: Lanes, const T: usize, const G: usize> Q6Block<'_, L, T, G> {
    /// The four quarters together, for one row with one group: each word is loaded once.
    #[inline(always)]
    fn half(&self, l: L, half: usize, acc: &mut L::F) {
        let (w, x) = (self.w[0], &self.x[0].as_chunks::<4>().0[half]);
        let mut sum = [[l.isplat(0); 2]; 4];
        for quarter in 0..4 {
            for part in 0..2 {
                sum[quarter][part] = l.isplat(self.offset[0][4 * half + quarter][part]);
            }
        }
        for part in 0..2 {
            for four in 4 * part..4 * part + 4 {
                let at = 4 + 24 * half + 3 * four;
                let (a, b, pairs) = (l.bytes(&w[at].0), l.bytes(&w[at + 1].0), l.bytes(&w[at + 2].0));
                sum[0][part] = l.dot4_small(sum[0][part], six_bits_of::<_, 0>(l, a, pairs), &x[0][four]);
                sum[1][part] = l.dot4_small(sum[1][part], six_bits_of::<_, 1>(l, b, pairs), &x[1][four]);
                sum[2][part] = l.dot4_small(sum[2][part], six_bits_of::<_, 2>(l, a, pairs), &x[2][four]);
                sum[3][part] = l.dot4_small(sum[3][part], six_bits_of::<_, 3>(l, b, pairs), &x[3][four]);
            }
        }
        for quarter in 0..4 {
            let i = 4 * half + quarter;
            let x_d = l.splat(self.x_d[0][i]);
            for part in 0..2 {
                let scale = self.scales[0].part(l, 2 * i + part);
                *acc = l.fma(l.to_f32(sum[quarter][part]), l.mul(scale, x_d), *acc);
            }
        }
    }

    /// Adds the 32 columns of one quarter of a half of the block: sixteen by one scale, sixteen by another.
    #[inline(always)]
    fn quarter<const QUARTER: usize>(&self, l: L, half: usize, acc: &mut [[L::F; G]; T]) {
        let i = 4 * half + QUARTER;
        for part in 0..2 {
            let mut sum = [[l.isplat(0); G]; T];
            for t in 0..T {
                sum[t] = [l.isplat(self.offset[t][i][part]); G];
            }
            for four in 4 * part..4 * part + 4 {
                for g in 0..G {
                    let q = six_bits::<_, QUARTER>(l, self.w[g], half, four);
                    for t in 0..T {
                        sum[t][g] = l.dot4_small(sum[t][g], q, &self.x[t][i][four]);
                    }
                }
            }
            for g in 0..G {
                let scale = self.scales[g].part(l, 2 * i + part);
                for t in 0..T {
                    acc[t][g] = l.fma(l.to_f32(sum[t][g]), l.mul(scale, l.splat(self.x_d[t][i])), acc[t][g]);
                }
            }
        }
    }
}

/// Scales of the sixteen parts of a block, plus 128, with the factor that they are multiplied with.
#[derive(Clone, Copy)]
struct SignedScales<L: Lanes> {
    d: L::F,
    scales: [L::I; 4],
}

impl<L: Lanes> SignedScales<L> {
    /// A signed byte with its top bit turned over is 128 more.
    #[inline(always)]
    fn of(l: L, words: &[Words; Q6_WORDS], d: &[u16; LANES]) -> SignedScales<L> {
        let mut scales = [l.isplat(0); 4];
        for i in 0..4 {
            scales[i] = l.xor(l.bytes(&words[i].0), 0x8080_8080_u32 as i32);
        }
        SignedScales { d: l.load_f16(d), scales }
    }

    /// `d * scale` of part `i`; exact.
    #[inline(always)]
    fn part(&self, l: L, i: usize) -> L::F {
        l.mul(self.d, l.sub(l.byte(self.scales[i / 4], i as u32 % 4), l.splat(128.0)))
    }
}

/// Quants plus 32 of columns `4 * four..` of a quarter of a half of a block: nibbles, then two high bits.
#[inline(always)]
fn six_bits<L: Lanes, const QUARTER: usize>(l: L, words: &[Words; Q6_WORDS], half: usize, four: usize) -> L::I {
    let at = 4 + 24 * half + 3 * four;
    six_bits_of::<L, QUARTER>(l, l.bytes(&words[at + QUARTER % 2].0), l.bytes(&words[at + 2].0))
}

#[inline(always)]
fn six_bits_of<L: Lanes, const QUARTER: usize>(l: L, nibbles: L::I, pairs: L::I) -> L::I {
    let nibble = l.and(if QUARTER < 2 { nibbles } else { l.shr(nibbles, 4) }, 0x0f0f_0f0f);
    let pair = match QUARTER {
        0 => l.shl(pairs, 4),
        1 => l.shl(pairs, 2),
        2 => pairs,
        _ => l.shr(pairs, 2),
    };
    l.or(nibble, l.and(pair, 0x3030_3030))
}
