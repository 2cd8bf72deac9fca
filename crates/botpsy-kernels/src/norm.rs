//! Normalisations over rows.

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::matmul::{dot, filled};

/// `out = x / sqrt(mean(x^2) + eps) * w` for each row of `w.len()` values.
///
/// `w` is the factor itself: where a checkpoint stores it less one, the loader has added it.
///
/// # Panics
/// If the lengths disagree.
pub fn rms_norm(ctx: &Context, x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    assert_eq!(x.len(), out.len(), "norm output");
    ctx.pool.for_each_chunk(out, w.len(), |i, out| {
        let x = &x[i * w.len()..][..w.len()];
        ctx.isa.run(Norm {
            x,
            weight: Weight::Row(w),
            mean_over: w.len(),
            eps,
            out,
        });
    });
}

/// `out = x / sqrt(sum(x^2) + eps) * scale` for each row of `width` values, rows `stride` apart in `x`.
///
/// # Panics
/// If the lengths disagree.
pub fn l2_norm(ctx: &Context, x: &[f32], stride: usize, width: usize, scale: f32, eps: f32, out: &mut [f32]) {
    assert!(width <= stride, "rows of {width} values {stride} apart");
    for (x, out) in x.chunks(stride).zip(out.chunks_exact_mut(width)) {
        ctx.isa.run(Norm {
            x: &x[..width],
            weight: Weight::Same(scale),
            mean_over: 1,
            eps,
            out,
        });
    }
}

/// One row times one factor for the length, and a weight per value.
struct Norm<'a> {
    x: &'a [f32],
    weight: Weight<'a>,
    /// What the sum of squares is divided by.
    mean_over: usize,
    eps: f32,
    out: &'a mut [f32],
}

#[derive(Clone, Copy)]
enum Weight<'a> {
    Row(&'a [f32]),
    Same(f32),
}

impl Norm<'_> {
    #[inline(always)]
    fn scaled(self, sum_of_squares: f32) {
        let factor = 1.0 / (sum_of_squares / self.mean_over as f32 + self.eps).sqrt();
        match self.weight {
            Weight::Row(w) => {
                for ((out, x), w) in self.out.iter_mut().zip(self.x).zip(w) {
                    *out = x * factor * w;
                }
            }
            Weight::Same(w) => {
                for (out, x) in self.out.iter_mut().zip(self.x) {
                    *out = x * factor * w;
                }
            }
        }
    }
}

impl Kernel for Norm<'_> {
    type Out = ();

    fn scalar(self) {
        let sum = self.x.iter().map(|x| x * x).sum();
        self.scaled(sum);
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        let sum = dot(l, self.x, self.x);
        self.scaled(sum);
    }
}

/// The gated norm of a linear-attention layer, for one head: `out = o / sqrt(mean(o^2) + eps) * w * silu(z)`.
///
/// # Panics
/// If the lengths disagree.
pub fn gated_norm(ctx: &Context, o: &[f32], w: &[f32], z: &[f32], eps: f32, out: &mut [f32]) {
    assert!(
        o.len() == w.len() && z.len() == w.len() && out.len() == w.len(),
        "gated norm"
    );
    ctx.isa.run(Norm {
        x: o,
        weight: Weight::Row(w),
        mean_over: w.len(),
        eps,
        out,
    });
    ctx.isa.run(SiluTimes { gate: z, x: out });
}

/// `x = x * silu(gate)`.
pub(crate) struct SiluTimes<'a> {
    pub(crate) gate: &'a [f32],
    pub(crate) x: &'a mut [f32],
}

impl Kernel for SiluTimes<'_> {
    type Out = ();

    fn scalar(self) {
        for (x, g) in self.x.iter_mut().zip(self.gate) {
            *x *= g / (1.0 + (-g).exp());
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        in_place(l, self.x, self.gate, |x, g| l.mul(x, l.silu(g)));
    }
}

/// `x = f(x, y)` on lanes; a ragged end counts as filled up with zeros.
#[inline(always)]
pub(crate) fn in_place<L: Lanes>(l: L, x: &mut [f32], y: &[f32], f: impl Fn(L::F, L::F) -> L::F) {
    let (x, x_end) = x.as_chunks_mut::<LANES>();
    let (y, y_end) = y.as_chunks::<LANES>();
    for (x, y) in x.iter_mut().zip(y) {
        l.store(f(l.load(x), l.load(y)), x);
    }
    if !x_end.is_empty() {
        let mut lanes = filled(x_end);
        l.store(f(l.load(&lanes), l.load(&filled(y_end))), &mut lanes);
        x_end.copy_from_slice(&lanes[..x_end.len()]);
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
                let ctx = Context {
                    isa,
                    pool: ThreadPool::new(2),
                };
                let mut out = [vec![0.0; 3 * width], vec![0.0; 3 * width], vec![0.0; width]];
                rms_norm(&ctx, &x, &w, 1e-6, &mut out[0]);
                l2_norm(&ctx, &x, width, width, 0.5, 1e-6, &mut out[1]);
                gated_norm(&ctx, &x[..width], &w, &x[width..2 * width], 1e-6, &mut out[2]);
                let expected = expected.get_or_insert_with(|| out.clone());
                for (out, expected) in out.iter().flatten().zip(expected.iter().flatten()) {
                    assert!((out - expected).abs() <= 1e-5, "{out} for {expected} on {}", isa.name());
                }
            }
        }
    }

    #[test]
    fn a_unit_row_keeps_its_length() {
        let ctx = Context {
            isa: Isa::detect(),
            pool: ThreadPool::new(1),
        };
        let mut out = [0.0; 4];
        l2_norm(&ctx, &[3.0, 4.0, 9.0, 6.0, 8.0], 3, 2, 1.0, 0.0, &mut out);
        assert_eq!(out, [0.6, 0.8, 0.6, 0.8]);
    }
}
