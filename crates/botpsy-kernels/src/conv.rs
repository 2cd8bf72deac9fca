//! The short causal convolution of a linear-attention layer, fused with its activation.

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::matmul::filled;

/// The widest convolution; the model loader refuses wider ones.
pub const MAX_WIDTH: usize = 16;

/// `y[t][c] = silu(sum over j < width of w[j][c] * m[t - (width - 1) + j][c])`, depth-wise and causal, no bias.
///
/// `w` is `[width, channels]`; `m` and `y` are `[n, channels]`; `history` is `[width - 1, channels]`, oldest first: the
/// inputs before `m[0]`, brought up to date for the next call. `then(t, y[t])` runs on each row while it is in the cache.
///
/// # Panics
/// If the lengths disagree or the width is not in `1..=MAX_WIDTH`.
pub fn conv_silu(
    ctx: &Context,
    channels: usize,
    w: &[f32],
    history: &mut [f32],
    m: &[f32],
    y: &mut [f32],
    then: impl Fn(usize, &mut [f32]) + Sync,
) {
    let width = w.len() / channels;
    assert!((1..=MAX_WIDTH).contains(&width) && w.len() == width * channels, "convolution of width {width}");
    assert_eq!(history.len(), (width - 1) * channels, "convolution history");
    assert_eq!(m.len(), y.len(), "convolution output");
    let before = width - 1;
    let row = |i: usize| {
        if i < before { &history[i * channels..][..channels] } else { &m[(i - before) * channels..][..channels] }
    };
    ctx.pool.for_each_chunk(y, channels, |t, y| {
        let mut taps = [&[] as &[f32]; MAX_WIDTH];
        for (j, tap) in taps[..width].iter_mut().enumerate() {
            *tap = row(t + j);
        }
        ctx.isa.run(ConvRow { taps: &taps[..width], w, y: &mut *y });
        then(t, y);
    });
    let n = m.len() / channels;
    let kept = before.saturating_sub(n);
    history.copy_within((before - kept) * channels.., 0);
    let new = before - kept;
    history[kept * channels..].copy_from_slice(&m[(n - new) * channels..]);
}

/// One output row: `taps` are `width` input rows, oldest first.
struct ConvRow<'a> {
    taps: &'a [&'a [f32]],
    w: &'a [f32],
    y: &'a mut [f32],
}

impl Kernel for ConvRow<'_> {
    type Out = ();

    fn scalar(self) {
        let channels = self.y.len();
        for (c, y) in self.y.iter_mut().enumerate() {
            let sum: f32 = self.taps.iter().enumerate().map(|(j, tap)| self.w[j * channels + c] * tap[c]).sum();
            *y = sum / (1.0 + (-sum).exp());
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        match self.taps.len() {
            4 => self.of_width::<L, 4>(l),
            _ => self.of_any_width(l),
        }
    }
}

impl ConvRow<'_> {
    /// The whole lanes of a row with a width known to the compiler; the rest as in any width.
    #[inline(always)]
    fn of_width<L: Lanes, const W: usize>(mut self, l: L) {
        let channels = self.y.len();
        let whole = channels / LANES;
        let mut w = [&[] as &[[f32; LANES]]; W];
        let mut taps = [&[] as &[[f32; LANES]]; W];
        for j in 0..W {
            w[j] = &self.w[j * channels..][..channels].as_chunks().0[..whole];
            taps[j] = &self.taps[j][..channels].as_chunks().0[..whole];
        }
        let (y, end) = self.y.as_chunks_mut::<LANES>();
        for c in 0..whole {
            let mut acc = l.splat(0.0);
            for j in 0..W {
                acc = l.fma(l.load(&w[j][c]), l.load(&taps[j][c]), acc);
            }
            l.store(l.silu(acc), &mut y[c]);
        }
        if !end.is_empty() {
            self.lanes_at(l, whole * LANES);
        }
    }

    #[inline(always)]
    fn of_any_width<L: Lanes>(mut self, l: L) {
        for c in (0..self.y.len()).step_by(LANES) {
            self.lanes_at(l, c);
        }
    }

    /// The channels from `c` on, at most one register of them.
    #[inline(always)]
    fn lanes_at<L: Lanes>(&mut self, l: L, c: usize) {
        let channels = self.y.len();
        let mut acc = l.splat(0.0);
        for (j, tap) in self.taps.iter().enumerate() {
            acc = l.fma(lanes(l, &self.w[j * channels..][..channels], c), lanes(l, tap, c), acc);
        }
        let mut out = [0.0; LANES];
        l.store(l.silu(acc), &mut out);
        let len = LANES.min(channels - c);
        self.y[c..c + len].copy_from_slice(&out[..len]);
    }
}

/// The values from `c` on, filled up with zeros where the row ends.
#[inline(always)]
fn lanes<L: Lanes>(l: L, row: &[f32], c: usize) -> L::F {
    match row[c..].first_chunk() {
        Some(x) => l.load(x),
        None => l.load(&filled(&row[c..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, ThreadPool};

    #[test]
    fn every_isa_agrees_with_scalar_and_pieces_with_the_whole() {
        for (channels, width, n) in [(5, 4, 7), (16, 2, 3), (33, 3, 1), (48, 1, 4), (20, 8, 5)] {
            let value = |i: usize| ((i * 7919 % 1000) as f32 - 500.0) / 250.0;
            let w: Vec<_> = (0..width * channels).map(value).collect();
            let m: Vec<_> = (0..n * channels).map(|i| value(i + 17)).collect();
            let mut expected: Option<Vec<f32>> = None;
            for isa in Isa::available() {
                let ctx = Context { isa, pool: ThreadPool::new(2) };
                let (mut y, mut history) = (vec![0.0; m.len()], vec![0.0; (width - 1) * channels]);
                conv_silu(&ctx, channels, &w, &mut history, &m, &mut y, |_, _| {});
                let (mut pieces, mut history1) = (vec![0.0; m.len()], vec![0.0; history.len()]);
                for t in 0..n {
                    let row = t * channels..(t + 1) * channels;
                    conv_silu(&ctx, channels, &w, &mut history1, &m[row.clone()], &mut pieces[row], |_, _| {});
                }
                assert_eq!((&y, &history), (&pieces, &history1), "pieces on {}", isa.name());
                let expected = expected.get_or_insert_with(|| y.clone());
                for (y, e) in y.iter().zip(expected) {
                    assert!((y - *e).abs() <= 1e-5, "{y} for {e} on {}", isa.name());
                }
            }
        }
    }
}
