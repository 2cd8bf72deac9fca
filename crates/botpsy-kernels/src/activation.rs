//! The right-hand side of a matrix product: rows of `f32`, and the same rounded to int8 blocks or to bfloat16.

mod bf16;

use std::marker::PhantomData;

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{Lanes, round_to_i8};
use crate::pool::Disjoint;

/// Values that share one scale, as in Q8_0.
pub(crate) const BLOCK: usize = 32;

/// Input rows of a product: exact, rounded, or both.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub(crate) n: usize,
    /// Empty where only rounded rows were made.
    pub(crate) exact: &'a [f32],
    pub(crate) quantized: Option<&'a QuantizedRows>,
    pub(crate) bf16: Option<&'a [u32]>,
    pub(crate) cols: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `cols` values each, used as they are.
    ///
    /// # Panics
    /// If `values` are no whole number of rows.
    pub fn exact(values: &'a [f32], cols: usize) -> Rows<'a> {
        assert!(cols > 0 && values.len().is_multiple_of(cols), "{} values in rows of {cols}", values.len());
        Rows { n: values.len() / cols, exact: values, quantized: None, bf16: None, cols }
    }

    /// The same rows rounded into `buffer`: products with int8 weights use those, all others the exact ones.
    pub fn quantized(values: &'a [f32], cols: usize, ctx: &Context, buffer: &'a mut QuantizedRows) -> Rows<'a> {
        let rows = Rows::exact(values, cols);
        if !cols.is_multiple_of(BLOCK) {
            return rows;
        }
        buffer.fill(ctx, values);
        Rows { quantized: Some(buffer), ..rows }
    }

    /// Rows that `prepare(t, row, chunk)` makes and that are rounded right then, while they are in the cache. `values` is
    /// `[n, cols]`; `other` is a slice of `n` chunks and their length.
    ///
    /// # Panics
    /// If `cols` is no multiple of 32, a length is 0, or the slices have different numbers of whole chunks.
    pub fn prepared<B: Send>(
        ctx: &Context,
        (values, cols): (&'a mut [f32], usize),
        other: (&mut [B], usize),
        buffer: &'a mut QuantizedRows,
        prepare: impl Fn(usize, &mut [f32], &mut [B]) + Sync,
    ) -> Rows<'a> {
        assert!(cols.is_multiple_of(BLOCK), "rows of {cols} values in blocks of {BLOCK}");
        let blocks = &buffer.blocks(values.len());
        ctx.pool.for_each_chunk2((&mut *values, cols), other, |t, row, chunk| {
            prepare(t, row, chunk);
            // SAFETY: the blocks of row `t`, which one thread has.
            let rounding = unsafe { blocks.range(t * (cols / BLOCK), cols / BLOCK) };
            ctx.isa.run(Quantize { values: row, rounding });
        });
        Rows { quantized: Some(buffer), ..Rows::exact(values, cols) }
    }

    /// How many rows there are.
    pub fn n(&self) -> usize {
        self.n
    }
}

/// What rows are rounded into, one way or the other.
///
/// To int8: blocks of 32 values with one `f32` scale each, `x = d * q`, `d = max|x| / 127`.
///
/// The scale stays `f32` (a file's Q8_0 rounds it to f16): it never leaves memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuantizedRows {
    pub(crate) q: Vec<i8>,
    pub(crate) d: Vec<f32>,
    /// `-128 * sum of q` per block: what products with weights stored as `q + 128` start from.
    pub(crate) offset: Vec<i32>,
    /// `-32 * sum of q` per half block: what products with weights stored as `q + 32` start from.
    pub(crate) half_offset: Vec<[i32; 2]>,
    /// `-d * sum of q` per block: what the minimum of a block of weights is multiplied with.
    pub(crate) minus_sum: Vec<f32>,
    /// To bfloat16: columns `2 k` and `2 k + 1` in one word, the first in the lower half.
    pairs: Vec<u32>,
}

impl QuantizedRows {
    /// Makes room for `len` values and gives the parts that several threads fill.
    pub(crate) fn blocks(&mut self, len: usize) -> Blocks<'_> {
        let blocks = len / BLOCK;
        self.q.resize(len, 0);
        self.d.resize(blocks, 0.0);
        self.offset.resize(blocks, 0);
        self.half_offset.resize(blocks, [0; 2]);
        self.minus_sum.resize(blocks, 0.0);
        Blocks {
            q: Disjoint(self.q.as_mut_ptr()),
            d: Disjoint(self.d.as_mut_ptr()),
            offset: Disjoint(self.offset.as_mut_ptr()),
            half_offset: Disjoint(self.half_offset.as_mut_ptr()),
            minus_sum: Disjoint(self.minus_sum.as_mut_ptr()),
            rows: PhantomData,
        }
    }

    fn fill(&mut self, ctx: &Context, values: &[f32]) {
        let n = values.len() / BLOCK;
        let blocks = &self.blocks(values.len());
        // A piece is about a microsecond of work, so that the few rows of a decode step stay on this thread.
        const PIECE: usize = 64;
        let piece = |start: usize, end: usize| {
            let values = &values[start * BLOCK..end * BLOCK];
            // SAFETY: ranges of blocks are handed out once each, inside what `blocks` made room for.
            ctx.isa.run(Quantize { values, rounding: unsafe { blocks.range(start, end - start) } });
        };
        if n <= 8 * PIECE {
            return piece(0, n);
        }
        ctx.pool.for_each(n.div_ceil(PIECE), |i| piece(i * PIECE, n.min((i + 1) * PIECE)));
    }
}

/// The blocks of [`QuantizedRows`] while threads fill them.
pub(crate) struct Blocks<'a> {
    q: Disjoint<i8>,
    d: Disjoint<f32>,
    offset: Disjoint<i32>,
    half_offset: Disjoint<[i32; 2]>,
    minus_sum: Disjoint<f32>,
    rows: PhantomData<&'a mut QuantizedRows>,
}

impl Blocks<'_> {
    /// # Safety
    /// `start..start + len` is inside what the rows have room for, and used by nobody else meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn range(&self, start: usize, len: usize) -> Rounding<'_> {
        // SAFETY: the caller's guarantee; all parts but `q` have one element for each block.
        unsafe {
            Rounding {
                q: self.q.slice(start * BLOCK, len * BLOCK).as_chunks_mut().0,
                d: self.d.slice(start, len),
                offset: self.offset.slice(start, len),
                half_offset: self.half_offset.slice(start, len),
                minus_sum: self.minus_sum.slice(start, len),
            }
        }
    }
}

/// Some consecutive blocks to be filled.
pub(crate) struct Rounding<'a> {
    q: &'a mut [[i8; BLOCK]],
    d: &'a mut [f32],
    offset: &'a mut [i32],
    half_offset: &'a mut [[i32; 2]],
    minus_sum: &'a mut [f32],
}

impl Rounding<'_> {
    /// Rounds the two halves of block `i`.
    #[inline(always)]
    pub(crate) fn block<L: Lanes>(&mut self, l: L, i: usize, low: L::F, high: L::F) {
        let zero = l.splat(0.0);
        let (abs_low, abs_high) = (l.max(low, l.sub(zero, low)), l.max(high, l.sub(zero, high)));
        let d = l.largest(l.max(abs_low, abs_high)) / 127.0;
        let inverse = l.splat(inverse(d));
        let q = self.q[i].as_chunks_mut().0;
        let sums = [l.store_i8(l.mul(low, inverse), &mut q[0]), l.store_i8(l.mul(high, inverse), &mut q[1])];
        self.scale(i, d, sums);
    }

    /// Notes the scale of block `i` and what follows from the sums of its halves.
    #[inline(always)]
    fn scale(&mut self, i: usize, d: f32, [low, high]: [i32; 2]) {
        self.d[i] = d;
        self.half_offset[i] = [-32 * low, -32 * high];
        self.offset[i] = -128 * (low + high);
        self.minus_sum[i] = d * -(low + high) as f32;
    }
}

struct Quantize<'a> {
    values: &'a [f32],
    rounding: Rounding<'a>,
}

impl Kernel for Quantize<'_> {
    type Out = ();

    fn scalar(mut self) {
        for (i, x) in self.values.as_chunks::<BLOCK>().0.iter().enumerate() {
            let d = x.iter().fold(0.0, |m: f32, x| m.max(x.abs())) / 127.0;
            let inverse = inverse(d);
            let (q, mut sums) = (self.rounding.q[i].as_chunks_mut().0, [0; 2]);
            for (sum, (x, q)) in sums.iter_mut().zip(x.as_chunks().0.iter().zip(q)) {
                *sum = round_to_i8(&x.map(|x| x * inverse), q);
            }
            self.rounding.scale(i, d, sums);
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(mut self, l: L) {
        for (i, x) in self.values.as_chunks::<BLOCK>().0.iter().enumerate() {
            let halves = x.as_chunks().0;
            self.rounding.block(l, i, l.load(&halves[0]), l.load(&halves[1]));
        }
    }
}

/// What values are multiplied with to be in units of `d`.
#[inline(always)]
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, ThreadPool};

    #[test]
    fn rounding_is_the_same_on_every_instruction_set_and_close() {
        let x: Vec<f32> = (0..96).map(|i| ((i * 37 % 101) as f32 - 50.0) * if i < 32 { 0.0 } else { 0.37 }).collect();
        let mut first: Option<QuantizedRows> = None;
        for isa in Isa::available() {
            let ctx = Context { isa, pool: ThreadPool::new(1) };
            let mut rows = QuantizedRows::default();
            rows.fill(&ctx, &x);
            for (i, x) in x.iter().enumerate() {
                let d = rows.d[i / BLOCK];
                assert!((f32::from(rows.q[i]) * d - x).abs() <= 0.501 * d, "value {i} on {}", isa.name());
            }
            assert_eq!(*first.get_or_insert_with(|| rows.clone()), rows, "{}", isa.name());
        }
    }

    #[test]
    fn prepared_rows_are_the_rounded_ones() {
        let cols = 64;
        for (n, n_threads) in [(0, 1), (1, 1), (5, 3), (70, 2)] {
            let mut other: Vec<f32> = (0..2 * n).map(|i| i as f32).collect();
            for isa in Isa::available() {
                let ctx = Context { isa, pool: ThreadPool::new(n_threads) };
                let make = |t: usize, row: &mut [f32], chunk: &mut [f32]| {
                    row.iter_mut().zip(0..).for_each(|(x, c)| *x = ((t * 31 + c) as f32).sin());
                    chunk[0] += 1.0;
                };
                let (mut values, mut made, mut rounded) =
                    (vec![0.0; n * cols], QuantizedRows::default(), QuantizedRows::default());
                let before = other.clone();
                let rows = Rows::prepared(&ctx, (&mut values, cols), (&mut other, 2), &mut made, make);
                assert_eq!((rows.n(), rows.exact.len()), (n, n * cols));
                assert!(other.iter().zip(&before).enumerate().all(|(i, (x, b))| x - b == ((i + 1) % 2) as f32));
                Rows::quantized(&values, cols, &ctx, &mut rounded);
                assert_eq!(made, rounded, "{n} rows on {}", isa.name());
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_stored_values_whatever_the_input() {
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45] {
            let x: Vec<f32> = (0..64).map(|i| if i % 7 == 3 { odd } else { i as f32 - 30.0 }).collect();
            for isa in Isa::available() {
                let ctx = Context { isa, pool: ThreadPool::new(1) };
                let mut rows = QuantizedRows::default();
                rows.fill(&ctx, &x);
                for (q, offset) in rows.q.chunks(BLOCK / 2).zip(rows.half_offset.as_flattened()) {
                    let sum: i32 = q.iter().map(|q| i32::from(*q)).sum();
                    assert_eq!(*offset, -32 * sum, "{odd} on {}", isa.name());
                }
            }
        }
    }
}
