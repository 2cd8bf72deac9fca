//! Normalisations over rows.

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::Lanes;
use crate::math::{Gate, SILU};
use crate::matmul::dot;

/// `out = x / sqrt(mean(x^2) + eps) * w` for each row of `w.len()` values.
///
/// `w` is the factor itself: where a checkpoint stores it less one, the loader has added it.
///
/// # Panics
/// If the lengths disagree.
pub fn rms_norm(ctx: &Context, x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    assert_eq!(x.len(), out.len(), "norm output");
    ctx.pool.for_each_chunk(out, w.len(), |i, out| {
        out.copy_from_slice(&x[i * w.len()..][..w.len()]);
        rms_norm_in_place(ctx, out, w, eps);
    });
}

/// [`rms_norm`] of one row, on the calling thread.
///
/// # Panics
/// If the lengths disagree.
pub fn rms_norm_in_place(ctx: &Context, x: &mut [f32], w: &[f32], eps: f32) {
    assert_eq!(x.len(), w.len(), "norm weight");
    ctx.isa.run(Norm { mean_over: x.len(), weight: Weight::Row(w), eps, x });
}

/// `x = x / sqrt(sum(x^2) + eps) * scale` for each row of `width` values, on the calling thread.
///
/// # Panics
/// If `x` is no whole number of rows.
pub fn l2_norm(ctx: &Context, x: &mut [f32], width: usize, scale: f32, eps: f32) {
    assert!(x.len().is_multiple_of(width), "{} values in rows of {width}", x.len());
    for x in x.chunks_exact_mut(width) {
        ctx.isa.run(Norm { mean_over: 1, weight: Weight::Same(scale), eps, x });
    }
}

/// The gated norm of a linear-attention layer, for one head: `x = x / sqrt(mean(x^2) + eps) * w * silu(z)`.
///
/// # Panics
/// If the lengths disagree.
pub fn gated_norm(ctx: &Context, x: &mut [f32], w: &[f32], z: &[f32], eps: f32) {
    assert_eq!(x.len(), z.len(), "gated norm");
    rms_norm_in_place(ctx, x, w, eps);
    ctx.isa.run(Gate::<SILU> { gate: z, x });
}

/// One row times one factor for its length, and a weight per value.
struct Norm<'a> {
    x: &'a mut [f32],
    weight: Weight<'a>,
    /// What the sum of squares is divided by.
    mean_over: usize,
    eps: f32,
}

#[derive(Clone, Copy)]
enum Weight<'a> {
    Row(&'a [f32]),
    Same(f32),
}

impl Norm<'_> {
    #[inline(always)]
    fn scale(self, sum_of_squares: f32) {
        let factor = 1.0 / (sum_of_squares / self.mean_over as f32 + self.eps).sqrt();
        match self.weight {
            Weight::Row(w) => self.x.iter_mut().zip(w).for_each(|(x, w)| *x = *x * factor * w),
            Weight::Same(w) => self.x.iter_mut().for_each(|x| *x = *x * factor * w),
        }
    }
}

impl Kernel for Norm<'_> {
    type Out = ();

    fn scalar(self) {
        let sum = self.x.iter().map(|x| *x * *x).sum();
        self.scale(sum);
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        let sum = dot(l, self.x, self.x);
        self.scale(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, ThreadPool};

    #[test]
    fn every_isa_is_near_scalar() {
        for width in [1, 5, 16, 17, 64, 100] {
            let value = |i: usize| ((i * 7919 % 1000) as f32 - 500.0) / 250.0;
            let (x, w): (Vec<_>, Vec<_>) = ((0..3 * width).map(value).collect(), (5..5 + width).map(value).collect());
            let mut expected: Option<[Vec<f32>; 3]> = None;
            for isa in Isa::available() {
                let ctx = Context { isa, pool: ThreadPool::new(2) };
                let mut out = [vec![0.0; 3 * width], x.clone(), x[..width].to_vec()];
                rms_norm(&ctx, &x, &w, 1e-6, &mut out[0]);
                l2_norm(&ctx, &mut out[1], width, 0.5, 1e-6);
                gated_norm(&ctx, &mut out[2], &w, &x[width..2 * width], 1e-6);
                let expected = expected.get_or_insert_with(|| out.clone());
                for (out, expected) in out.iter().flatten().zip(expected.iter().flatten()) {
                    assert!((out - expected).abs() <= 1e-5, "{out} for {expected} on {}", isa.name());
                }
            }
        }
    }

    #[test]
    fn a_unit_row_keeps_its_length() {
        let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
        let mut x = [3.0, 4.0, 6.0, 8.0];
        l2_norm(&ctx, &mut x, 2, 1.0, 0.0);
        assert_eq!(x, [0.6, 0.8, 0.6, 0.8]);
    }
}
