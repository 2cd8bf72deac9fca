//! The two products of a gated MLP in one walk, rounded where they are made: neither goes to memory as `f32`.

use std::ops::Range;

use super::panel::{Panel, Q8Panel};
use super::{MANY, Strip, height, share, walk};
use crate::Context;
use crate::activation::{BLOCK, Blocks, QuantizedRows, Rows};
use crate::isa::{Isa, Kernel};
use crate::lanes::{LANES, Lanes, Work};
use crate::pack::{Packed, PackedMatrix};

/// `silu(gate x[t]) * (up x[t])` for each input row, rounded to int8 into `buffer`: the input rows of the next product,
/// which must take such rows. `None` where the two products cannot be computed together: unless both matrices are Q8_0 of
/// whole blocks of rows, and the input rows int8 too; and on the plain path.
///
/// # Panics
/// If the lengths disagree.
pub fn gated_matmul_int8<'a>(
    ctx: &Context,
    x: Rows<'_>,
    gate: &PackedMatrix,
    up: &PackedMatrix,
    buffer: &'a mut QuantizedRows,
) -> Option<Rows<'a>> {
    assert!(gate.rows() == up.rows() && gate.cols() == up.cols(), "{gate:?} as the gate of {up:?}");
    assert_eq!(x.cols, up.cols(), "input rows of {} values for {up:?}", x.cols);
    let (rows, cols) = (x.quantized?, up.rows());
    let (gate, up) = (q8(gate, rows)?, q8(up, rows)?);
    if ctx.isa == Isa::SCALAR || !cols.is_multiple_of(BLOCK) {
        return None;
    }
    let out = &buffer.blocks(x.n * cols);
    share(ctx, cols / LANES, x.n, 2 * x.cols, |groups| {
        let pairs = groups.start / 2..groups.end / 2;
        ctx.isa.run(Pairs { gate: &gate, up: &up, n: x.n, pairs, out, blocks: cols / BLOCK });
    });
    Some(Rows { n: x.n, exact: &[], quantized: Some(buffer), bf16: None, cols })
}

fn q8<'a>(w: &'a PackedMatrix, x: &'a QuantizedRows) -> Option<Q8Panel<'a>> {
    match &w.packed {
        Packed::Q8 { q, d } => Some(Q8Panel { q, d, x, cols: w.cols() }),
        _ => None,
    }
}

/// What one thread computes: all input rows for some pairs of groups, each pair a block of the result.
struct Pairs<'a> {
    gate: &'a Q8Panel<'a>,
    up: &'a Q8Panel<'a>,
    n: usize,
    pairs: Range<usize>,
    out: &'a Blocks<'a>,
    /// Of each row of the result.
    blocks: usize,
}

impl Kernel for Pairs<'_> {
    type Out = ();

    fn scalar(self) {
        unreachable!("the plain path computes both products by themselves");
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        for pair in self.pairs.clone() {
            walk(&PairStrip { pairs: &self, l, pair }, self.n, height::<L, Q8Panel<'_>>());
        }
    }
}

struct PairStrip<'a, L> {
    pairs: &'a Pairs<'a>,
    l: L,
    pair: usize,
}

impl<L: Lanes> Strip for PairStrip<'_, L> {
    #[inline(always)]
    fn prefetch(&self, part: usize, n_parts: usize) {
        let next = 2 * (self.pair + 1)..2 * (self.pair + 2).min(self.pairs.pairs.end);
        if !next.is_empty() {
            self.pairs.gate.prefetch(self.l, next.clone(), part, n_parts);
            self.pairs.up.prefetch(self.l, next, part, n_parts);
        }
    }

    #[inline(always)]
    fn tile<const T: usize>(&self, t0: usize) {
        self.l.apart(PairTile::<T> { pairs: self.pairs, pair: self.pair, t0 });
    }
}

/// `T` input rows from `t0` on.
struct PairTile<'a, const T: usize> {
    pairs: &'a Pairs<'a>,
    pair: usize,
    t0: usize,
}

impl<const T: usize> PairTile<'_, T> {
    /// The product of one matrix; few rows group by group, in the order of the memory.
    #[inline(always)]
    fn product<L: Lanes>(&self, l: L, panel: &Q8Panel<'_>) -> [[L::F; 2]; T] {
        let g0 = 2 * self.pair;
        if L::WIDE && self.pairs.n >= MANY {
            return panel.tile::<L, T, 2>(l, g0, self.t0);
        }
        let (low, high) = (panel.tile::<L, T, 1>(l, g0, self.t0), panel.tile::<L, T, 1>(l, g0 + 1, self.t0));
        let mut both = [[l.splat(0.0); 2]; T];
        for t in 0..T {
            both[t] = [low[t][0], high[t][0]];
        }
        both
    }
}

impl<const T: usize> Work for PairTile<'_, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let gate = self.product(l, self.pairs.gate);
        let up = self.product(l, self.pairs.up);
        for t in 0..T {
            let low = l.mul(up[t][0], l.silu(gate[t][0]));
            let high = l.mul(up[t][1], l.silu(gate[t][1]));
            // SAFETY: `buffer` has room for `n` rows of `blocks`, and each block belongs to one tile of one thread.
            let mut rounding = unsafe { self.pairs.out.range((self.t0 + t) * self.pairs.blocks + self.pair, 1) };
            rounding.block(l, 0, low, high);
        }
    }
}
