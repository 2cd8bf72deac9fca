//! The gated delta rule, token by token: the one kernel for prefill, decode and drafts.
//!
//! Sixteen value rows of a head's state lie side by side: state is `[n_v_heads, ceil(d_v / 16), d_k, 16]`. A lane never
//! meets another, so threads share out blocks of sixteen value rows and each block walks the tokens in order.

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::matmul::filled;

/// Widths of the heads of a linear-attention layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Number of key heads.
    pub n_k: usize,
    /// Number of value heads, a multiple of `n_k`.
    pub n_v: usize,
    /// Width of a key head.
    pub d_k: usize,
    /// Width of a value head.
    pub d_v: usize,
}

impl Heads {
    /// Blocks of sixteen value rows per head.
    pub fn blocks(&self) -> usize {
        self.d_v.div_ceil(LANES)
    }

    /// Length of the state of all heads.
    pub fn state_len(&self) -> usize {
        self.n_v * self.blocks() * self.d_k * LANES
    }

    /// Length of the output for `n` tokens: `[n_v, blocks, n, 16]`.
    pub fn out_len(&self, n: usize) -> usize {
        self.n_v * self.blocks() * n * LANES
    }

    /// Where value `i` of head `head` for token `t` of `n` stands in the output.
    pub fn out_index(&self, n: usize, t: usize, head: usize, i: usize) -> usize {
        ((head * self.blocks() + i / LANES) * n + t) * LANES + i % LANES
    }

    /// The state as `[n_v, d_k, d_v]`, row-major.
    ///
    /// # Panics
    /// If `state` is not `state_len` long.
    pub fn unpack_state(&self, state: &[f32]) -> Vec<f32> {
        assert_eq!(state.len(), self.state_len(), "recurrent state");
        let len = self.d_k * self.d_v;
        let at = |i: usize| {
            let (head, k, v) = (i / len, i % len / self.d_v, i % self.d_v);
            state[((head * self.blocks() + v / LANES) * self.d_k + k) * LANES + v % LANES]
        };
        (0..self.n_v * len).map(at).collect()
    }
}

/// What the delta rule reads for `n` tokens.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Queries `[n, n_k, d_k]`, L2-normalised and scaled by `1 / sqrt(d_k)`.
    pub q: &'a [f32],
    /// Keys `[n, n_k, d_k]`, L2-normalised.
    pub k: &'a [f32],
    /// Values `[n, n_v, d_v]`, inside rows `v_stride` apart.
    pub v: &'a [f32],
    /// Distance between the values of two tokens.
    pub v_stride: usize,
    /// `exp(g)` in (0, 1], `[n, n_v]`.
    pub decay: &'a [f32],
    /// `beta` in (0, 1), `[n, n_v]`.
    pub beta: &'a [f32],
    /// The key head that each value head reads.
    pub key_head: &'a [usize],
}

/// `n` steps of the gated delta rule for all heads, the state in place, the outputs as [`Heads::out_index`] says.
///
/// Per head and token: `u = beta * (v - decay * S^T k)`, `S = decay * S + k u^T`, `out = S^T q`.
///
/// Source: Gated Delta Networks, arXiv 2412.06464, equation 10; order of operations as the recurrent form of the
/// reference implementation, but for the decay, which scales `S^T k` instead of `S` before that product.
///
/// # Panics
/// If the lengths disagree.
pub fn delta_rule(ctx: &Context, heads: Heads, state: &mut [f32], inputs: Inputs<'_>, out: &mut [f32]) {
    let n = inputs.beta.len() / heads.n_v;
    assert_eq!(state.len(), heads.state_len(), "recurrent state");
    assert_eq!(out.len(), heads.out_len(n), "delta rule output");
    assert!(
        inputs.q.len() == n * heads.n_k * heads.d_k && inputs.k.len() == inputs.q.len(),
        "delta rule queries and keys"
    );
    assert!(inputs.decay.len() == n * heads.n_v && inputs.beta.len() == inputs.decay.len(), "delta rule gates");
    assert!(inputs.key_head.len() == heads.n_v && inputs.key_head.iter().all(|k| *k < heads.n_k), "key heads");
    if n == 0 {
        return;
    }
    ctx.pool.for_each_chunk2((state, heads.d_k * LANES), (out, n * LANES), |unit, state, out| {
        let (head, block) = (unit / heads.blocks(), unit % heads.blocks());
        ctx.isa.run(Block { heads, inputs, head, block, state: state.as_chunks_mut().0, out: out.as_chunks_mut().0 });
    });
}

/// Sixteen value rows of one head over all tokens.
struct Block<'a> {
    heads: Heads,
    inputs: Inputs<'a>,
    head: usize,
    block: usize,
    state: &'a mut [[f32; LANES]],
    out: &'a mut [[f32; LANES]],
}

impl<'a> Block<'a> {
    /// Query, key, value lanes, decay and beta of token `t`.
    #[inline(always)]
    fn token(&self, t: usize) -> (&'a [f32], &'a [f32], [f32; LANES], f32, f32) {
        let (x, h) = (self.inputs, self.heads);
        let at = (t * h.n_k + x.key_head[self.head]) * h.d_k;
        let first = self.block * LANES;
        let v = &x.v[t * x.v_stride + self.head * h.d_v + first..][..LANES.min(h.d_v - first)];
        let gate = t * h.n_v + self.head;
        (&x.q[at..][..h.d_k], &x.k[at..][..h.d_k], filled(v), x.decay[gate], x.beta[gate])
    }
}

impl Kernel for Block<'_> {
    type Out = ();

    fn scalar(self) {
        for t in 0..self.out.len() {
            let (q, k, v, decay, beta) = self.token(t);
            let mut out = [0.0; LANES];
            let mut read = [0.0; LANES];
            for (row, k) in self.state.iter().zip(k) {
                for (read, s) in read.iter_mut().zip(row) {
                    *read += s * k;
                }
            }
            let u: [f32; LANES] = std::array::from_fn(|i| beta * (v[i] - decay * read[i]));
            for ((row, q), k) in self.state.iter_mut().zip(q).zip(k) {
                for i in 0..LANES {
                    row[i] = decay * row[i] + k * u[i];
                    out[i] += row[i] * q;
                }
            }
            self.out[t] = out;
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        for t in 0..self.out.len() {
            let (q, k, v, decay, beta) = self.token(t);
            let decay = l.splat(decay);
            // Four sums for the latency of the adds; row `i` always goes to sum `i % 4`.
            let mut read = [l.splat(0.0); 4];
            for (i, (row, k)) in self.state.iter().zip(k).enumerate() {
                read[i % 4] = l.fma(l.load(row), l.splat(*k), read[i % 4]);
            }
            let read = l.add(l.add(read[0], read[1]), l.add(read[2], read[3]));
            let u = l.mul(l.splat(beta), l.sub(l.load(&v), l.mul(decay, read)));
            let mut out = [l.splat(0.0); 4];
            for (i, ((row, q), k)) in self.state.iter_mut().zip(q).zip(k).enumerate() {
                let s = l.fma(l.splat(*k), u, l.mul(l.load(row), decay));
                l.store(s, row);
                out[i % 4] = l.fma(s, l.splat(*q), out[i % 4]);
            }
            l.store(l.add(l.add(out[0], out[1]), l.add(out[2], out[3])), &mut self.out[t]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, ThreadPool};

    fn value(i: usize) -> f32 {
        ((i.wrapping_mul(7919) % 2003) as f32 - 1001.0) / 2000.0
    }

    /// The formula on `[n_v, d_k, d_v]` in f64.
    fn formula(heads: Heads, x: Inputs<'_>, n: usize) -> (Vec<f64>, Vec<f64>) {
        let Heads { n_k, n_v, d_k, d_v } = heads;
        let (mut state, mut out) = (vec![0.0f64; n_v * d_k * d_v], vec![0.0f64; n * n_v * d_v]);
        for t in 0..n {
            for h in 0..n_v {
                let s = &mut state[h * d_k * d_v..][..d_k * d_v];
                let at = (t * n_k + x.key_head[h]) * d_k;
                s.iter_mut().for_each(|s| *s *= f64::from(x.decay[t * n_v + h]));
                for j in 0..d_v {
                    let read: f64 = (0..d_k).map(|i| s[i * d_v + j] * f64::from(x.k[at + i])).sum();
                    let u = f64::from(x.beta[t * n_v + h]) * (f64::from(x.v[t * x.v_stride + h * d_v + j]) - read);
                    (0..d_k).for_each(|i| s[i * d_v + j] += f64::from(x.k[at + i]) * u);
                    out[(t * n_v + h) * d_v + j] = (0..d_k).map(|i| s[i * d_v + j] * f64::from(x.q[at + i])).sum();
                }
            }
        }
        (state, out)
    }

    #[test]
    fn every_isa_follows_the_formula_and_pieces_equal_the_whole() {
        for (n_k, group, d_k, d_v, n) in
            [(1, 1, 1, 1, 3), (2, 2, 32, 32, 9), (2, 1, 7, 24, 4), (1, 3, 16, 5, 6), (3, 1, 128, 48, 2)]
        {
            let heads = Heads { n_k, n_v: n_k * group, d_k, d_v };
            let list = |n: usize, seed: usize| (0..n).map(|i| value(i * 13 + seed)).collect::<Vec<f32>>();
            let (q, k, v) = (list(n * n_k * d_k, 1), list(n * n_k * d_k, 2), list(n * heads.n_v * d_v, 3));
            let gate = |seed| list(n * heads.n_v, seed).iter().map(|x| x.abs().clamp(0.01, 0.99)).collect::<Vec<f32>>();
            let (decay, beta) = (gate(4), gate(5));
            let key_head: Vec<usize> = (0..heads.n_v).map(|h| h / group).collect();
            let inputs = Inputs {
                q: &q,
                k: &k,
                v: &v,
                v_stride: heads.n_v * d_v,
                decay: &decay,
                beta: &beta,
                key_head: &key_head,
            };
            let (expected_state, expected) = formula(heads, inputs, n);
            for isa in Isa::available() {
                let ctx = Context { isa, pool: ThreadPool::new(2) };
                let (mut state, mut out) = (vec![0.0; heads.state_len()], vec![0.0; heads.out_len(n)]);
                delta_rule(&ctx, heads, &mut state, inputs, &mut out);
                for (s, e) in heads.unpack_state(&state).iter().zip(&expected_state) {
                    assert!((f64::from(*s) - e).abs() < 1e-5, "state {s} for {e} on {}", isa.name());
                }
                for (i, e) in expected.iter().enumerate() {
                    let (t, h, j) = (i / (heads.n_v * d_v), i / d_v % heads.n_v, i % d_v);
                    let o = out[heads.out_index(n, t, h, j)];
                    assert!((f64::from(o) - e).abs() < 1e-5, "{o} for {e} on {}", isa.name());
                }
                let mut pieces = vec![0.0; state.len()];
                for t in 0..n {
                    let (qk, g) = (t * n_k * d_k..(t + 1) * n_k * d_k, t * heads.n_v..(t + 1) * heads.n_v);
                    let one = Inputs {
                        q: &q[qk.clone()],
                        k: &k[qk],
                        v: &v[t * inputs.v_stride..],
                        decay: &decay[g.clone()],
                        beta: &beta[g],
                        ..inputs
                    };
                    let mut out1 = vec![0.0; heads.out_len(1)];
                    delta_rule(&ctx, heads, &mut pieces, one, &mut out1);
                    for h in 0..heads.n_v {
                        for j in 0..d_v {
                            assert_eq!(out1[heads.out_index(1, 0, h, j)], out[heads.out_index(n, t, h, j)]);
                        }
                    }
                }
                assert_eq!(pieces, state, "pieces on {}", isa.name());
            }
        }
    }
}
