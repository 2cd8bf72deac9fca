//! The two products of a gated MLP in one walk: what the gate's product was never goes to memory.

use std::ops::Range;

use super::panel::{Panel, Q8Panel};
use super::{Groups, Product, matmul_many, share};
use crate::Context;
use crate::activation::Rows;
use crate::isa::Isa;
use crate::lanes::{LANES, Lanes};
use crate::math::silu_times;
use crate::pack::{Packed, PackedMatrix};
use crate::pool::Disjoint;

/// `out[t] = silu(gate x[t]) * (up x[t])` for each input row. `buffer` grows to the size of `out` where the two products
/// are not computed together.
///
/// # Panics
/// If the lengths disagree.
pub fn gated_matmul(
    ctx: &Context,
    x: Rows<'_>,
    gate: &PackedMatrix,
    up: &PackedMatrix,
    buffer: &mut Vec<f32>,
    out: &mut [f32],
) {
    assert!(gate.rows() == up.rows() && gate.cols() == up.cols(), "{gate:?} as the gate of {up:?}");
    let q8 = |w: &PackedMatrix| matches!(w.packed, Packed::Q8 { .. });
    if ctx.isa == Isa::SCALAR || x.quantized.is_none() || !q8(gate) || !q8(up) {
        if buffer.len() < out.len() {
            buffer.resize(out.len(), 0.0);
        }
        let gated = &mut buffer[..out.len()];
        let products = &mut [Product { weights: gate, out: &mut *gated }, Product { weights: up, out: &mut *out }];
        matmul_many(ctx, x, products);
        return silu_times(ctx, gated, out, up.rows());
    }
    assert_eq!(x.cols, up.cols(), "input rows of {} values for {up:?}", x.cols);
    assert_eq!(out.len(), x.n() * up.rows(), "output of {up:?} for {} rows", x.n());
    let out = Disjoint(out.as_mut_ptr());
    share(ctx, up.rows().div_ceil(LANES), x.n(), 2 * x.cols, |groups| {
        ctx.isa.run(Groups { w: up, gate: Some(gate), x, groups, out: &out });
    });
}

/// A gate and what it gates, as one kind of weights.
pub(super) struct GatedPanel<'a> {
    pub(super) gate: Q8Panel<'a>,
    pub(super) up: Q8Panel<'a>,
}

impl Panel for GatedPanel<'_> {
    const INT8: bool = Q8Panel::INT8;
    const ONE_BY_ONE: bool = Q8Panel::ONE_BY_ONE;
    const APART: bool = Q8Panel::APART;

    #[inline(always)]
    fn prefetch<L: Lanes>(&self, l: L, groups: Range<usize>, part: usize, n_parts: usize) {
        self.gate.prefetch(l, groups.clone(), part, n_parts);
        self.up.prefetch(l, groups, part, n_parts);
    }

    #[inline(always)]
    fn tile<L: Lanes, const T: usize, const G: usize>(&self, l: L, g0: usize, t0: usize) -> [[L::F; G]; T] {
        let gate = self.gate.tile::<L, T, G>(l, g0, t0);
        let mut sums = self.up.tile::<L, T, G>(l, g0, t0);
        for t in 0..T {
            for g in 0..G {
                sums[t][g] = l.mul(sums[t][g], l.silu(gate[t][g]));
            }
        }
        sums
    }
}
