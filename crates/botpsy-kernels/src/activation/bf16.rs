//! Rows rounded to bfloat16, two columns to a word: the right-hand side of products with bfloat16 weights.

use super::{QuantizedRows, Rows};
use crate::Context;
use crate::isa::Kernel;
use crate::lanes::Lanes;

impl<'a> Rows<'a> {
    /// The same rows rounded to bfloat16 in `buffer`: products with bfloat16 weights use those, all others the exact
    /// ones.
    ///
    /// # Panics
    /// If `values` are no whole number of rows.
    pub fn bf16(values: &'a [f32], cols: usize, ctx: &Context, buffer: &'a mut QuantizedRows) -> Rows<'a> {
        let rows = Rows::exact(values, cols);
        let pairs = cols.div_ceil(2);
        // A buffer that grew for more rows keeps its length: what is not asked for is not read.
        let len = rows.n * pairs;
        if buffer.pairs.len() < len {
            buffer.pairs.resize(len, 0);
        }
        let pieces = &mut buffer.pairs[..len];
        if values.len() <= SMALL {
            ctx.isa.run(Round { x: values, cols, pairs: pieces });
        } else {
            ctx.pool.for_each_chunk(pieces, pairs, |t, pairs| {
                ctx.isa.run(Round { x: &values[t * cols..][..cols], cols, pairs });
            });
        }
        Rows { bf16: Some(&buffer.pairs[..len]), ..rows }
    }
}

/// Values that one thread rounds in a few microseconds: not worth waking another.
const SMALL: usize = 1 << 15;

struct Round<'a> {
    x: &'a [f32],
    cols: usize,
    pairs: &'a mut [u32],
}

impl Round<'_> {
    #[inline(always)]
    fn rows(self) {
        for (x, pairs) in self.x.chunks_exact(self.cols).zip(self.pairs.chunks_exact_mut(self.cols.div_ceil(2))) {
            let (x, last) = x.as_chunks::<2>();
            let (pairs, rest) = pairs.split_at_mut(x.len());
            for (pair, x) in pairs.iter_mut().zip(x) {
                *pair = bits(x[0]) | (bits(x[1]) << 16);
            }
            for (pair, x) in rest.iter_mut().zip(last) {
                *pair = bits(*x);
            }
        }
    }
}

impl Kernel for Round<'_> {
    type Out = ();

    fn scalar(self) {
        self.rows();
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, _: L) {
        self.rows();
    }
}

/// The bits of the nearest bfloat16, half to even; what is no number stays none, what is too large becomes infinite.
///
/// Integers only, so that it is the same everywhere: the instructions for it differ in what they do to denormals.
#[inline(always)]
fn bits(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1))) >> 16;
    // The payload of a NaN may lie in the lower half only; this keeps it from becoming infinite.
    let quiet = bits >> 16 | 0x40;
    if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::{Isa, ThreadPool};

    #[test]
    fn rounding_is_that_of_half_on_every_instruction_set() {
        let mut values: Vec<f32> = (0..40_000).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
        values.extend([0.0, -0.0, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE]);
        values.extend([f32::from_bits(1), f32::from_bits(0x7f80_0001), f32::from_bits(0xff80_0001)]);
        // Halfway cases, to even downwards and upwards.
        values.extend([f32::from_bits(0x3f80_8000), f32::from_bits(0x3f81_8000), f32::from_bits(0x3f81_7fff)]);
        for isa in Isa::levels() {
            let ctx = Context { isa, pool: ThreadPool::new(2) };
            for cols in [1, 2, 3, 33] {
                let values = &values[..values.len() / cols * cols];
                let mut buffer = QuantizedRows::default();
                let pairs = Rows::bf16(values, cols, &ctx, &mut buffer).bf16.unwrap();
                for (x, pairs) in values.chunks(cols).zip(pairs.chunks(cols.div_ceil(2))) {
                    for (k, x) in x.iter().enumerate() {
                        let found = bf16::from_bits((pairs[k / 2] >> (16 * (k % 2))) as u16);
                        let expected = bf16::from_f32(*x);
                        let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                        assert!(same, "{found} for {x} on {}", isa.name());
                    }
                    assert!(cols % 2 == 0 || pairs[cols / 2] >> 16 == 0, "the pad of an odd row");
                }
            }
        }
    }
}
