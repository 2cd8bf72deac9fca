//! Element-wise operations and the rotary embedding.

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::matmul::filled;

/// `up = silu(gate) * up`, row by row of `width` values.
///
/// # Panics
/// If the lengths disagree.
pub fn silu_times(ctx: &Context, gate: &[f32], up: &mut [f32], width: usize) {
    assert_eq!(gate.len(), up.len(), "gate");
    ctx.pool.for_each_chunk(up, width, |i, x| ctx.isa.run(Gate::<SILU> { gate: &gate[i * width..][..width], x }));
}

/// `x = x * sigmoid(gate)`.
///
/// # Panics
/// If the lengths disagree.
pub fn sigmoid_times(ctx: &Context, gate: &[f32], x: &mut [f32]) {
    assert_eq!(gate.len(), x.len(), "gate");
    ctx.isa.run(Gate::<SIGMOID> { gate, x });
}

/// `x = x + y`.
///
/// # Panics
/// If the lengths disagree.
pub fn add(x: &mut [f32], y: &[f32]) {
    assert_eq!(x.len(), y.len(), "sum");
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// Rotates the first `2 * cos.len()` values of one head in half-split pairs; the others pass through.
///
/// # Panics
/// If the head is narrower than that.
pub fn rope(x: &mut [f32], cos: &[f32], sin: &[f32]) {
    let (low, high) = x.split_at_mut(cos.len());
    for (((low, high), cos), sin) in low.iter_mut().zip(&mut high[..cos.len()]).zip(cos).zip(sin) {
        (*low, *high) = (*low * cos - *high * sin, *high * cos + *low * sin);
    }
}

/// `1 / (1 + e^-x)`.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// `ln(1 + e^x)`; `x` itself above 20, where the two agree to the last bit.
pub fn softplus(x: f32) -> f32 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}

/// The gate is `silu`.
pub(crate) const SILU: bool = true;
/// The gate is `sigmoid`.
const SIGMOID: bool = false;

/// `x = x * silu(gate)` or `x = x * sigmoid(gate)`.
pub(crate) struct Gate<'a, const KIND: bool> {
    pub(crate) gate: &'a [f32],
    pub(crate) x: &'a mut [f32],
}

impl<const KIND: bool> Gate<'_, KIND> {
    #[inline(always)]
    fn lanes<L: Lanes>(l: L, x: &mut [f32; LANES], gate: &[f32; LANES]) {
        let gate = l.load(gate);
        let factor = if KIND == SILU { l.silu(gate) } else { l.sigmoid(gate) };
        l.store(l.mul(l.load(x), factor), x);
    }
}

impl<const KIND: bool> Kernel for Gate<'_, KIND> {
    type Out = ();

    fn scalar(self) {
        for (x, g) in self.x.iter_mut().zip(self.gate) {
            *x *= if KIND == SILU { g / (1.0 + (-g).exp()) } else { sigmoid(*g) };
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        let (x, x_end) = self.x.as_chunks_mut::<LANES>();
        let (gate, gate_end) = self.gate.as_chunks::<LANES>();
        for (x, gate) in x.iter_mut().zip(gate) {
            Self::lanes(l, x, gate);
        }
        if !x_end.is_empty() {
            let mut lanes = filled(x_end);
            Self::lanes(l, &mut lanes, &filled(gate_end));
            x_end.copy_from_slice(&lanes[..x_end.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, ThreadPool};

    #[test]
    fn gates_are_right_on_every_isa() {
        let gate: Vec<f32> = (0..401).map(|i| (i as f32 - 200.0) / 2.0).collect();
        for isa in Isa::available() {
            let ctx = Context { isa, pool: ThreadPool::new(1) };
            let (mut silu, mut sigmoid) = (vec![1.0; gate.len()], vec![1.0; gate.len()]);
            silu_times(&ctx, &gate, &mut silu, gate.len());
            sigmoid_times(&ctx, &gate, &mut sigmoid);
            for ((g, silu), sigmoid) in gate.iter().zip(silu).zip(sigmoid) {
                let exact = 1.0 / (1.0 + (-f64::from(*g)).exp());
                assert!(
                    (f64::from(sigmoid) - exact).abs() < 1e-6 * exact.max(1e-30),
                    "sigmoid({g}) = {sigmoid} on {}",
                    isa.name()
                );
                let exact = exact * f64::from(*g);
                assert!(
                    (f64::from(silu) - exact).abs() < 2e-6 * exact.abs().max(1e-30),
                    "silu({g}) = {silu} on {}",
                    isa.name()
                );
            }
        }
    }

    #[test]
    fn a_quarter_turn_swaps_the_halves() {
        let mut x = [1.0, 2.0, 3.0, 4.0, 9.0];
        rope(&mut x, &[0.0, 0.0], &[1.0, 1.0]);
        assert_eq!(x, [-3.0, -4.0, 1.0, 2.0, 9.0]);
    }

    #[test]
    fn softplus_is_smooth_at_its_border() {
        assert_eq!(softplus(0.0), std::f32::consts::LN_2);
        assert!((softplus(20.0) - softplus(20.001)).abs() < 2e-3);
    }
}
