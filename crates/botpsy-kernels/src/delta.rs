//! The gated delta rule, token by token: the one kernel for prefill, decode and drafts.
//!
//! Sixteen value rows of a head's state lie side by side: state is `[n_v_heads, ceil(d_v / 16), d_k, 16]`. A lane never
//! meets another, so threads share out blocks of sixteen value rows and each block walks the tokens in order.

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::matmul::filled;
use crate::pool::Disjoint;

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

    /// Length of the output for `n` tokens: `[n, n_v, d_v]`.
    pub fn out_len(&self, n: usize) -> usize {
        n * self.n_v * self.d_v
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

/// What the delta rule reads for `n` tokens. The rows of queries, keys and values are `stride` values apart, so that they
/// may be parts of longer rows.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Queries `[n_k, d_k]` per row, L2-normalised and scaled by `1 / sqrt(d_k)`.
    pub q: &'a [f32],
    /// Keys `[n_k, d_k]` per row, L2-normalised.
    pub k: &'a [f32],
    /// Values `[n_v, d_v]` per row.
    pub v: &'a [f32],
    /// Distance between two rows.
    pub stride: usize,
    /// `exp(g)` in (0, 1], `[n, n_v]`.
    pub decay: &'a [f32],
    /// `beta` in (0, 1), `[n, n_v]`.
    pub beta: &'a [f32],
    /// The key head that each value head reads.
    pub key_head: &'a [usize],
}

/// `n` steps of the gated delta rule for all heads, the state in place, the outputs `[n, n_v, d_v]`.
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
    assert!(inputs.decay.len() == n * heads.n_v && inputs.beta.len() == inputs.decay.len(), "delta rule gates");
    assert!(inputs.key_head.len() == heads.n_v && inputs.key_head.iter().all(|k| *k < heads.n_k), "key heads");
    if n == 0 {
        return;
    }
    let before_last = (n - 1) * inputs.stride;
    let (keys, values) = (before_last + heads.n_k * heads.d_k, before_last + heads.n_v * heads.d_v);
    assert!(inputs.q.len() >= keys && inputs.k.len() >= keys && inputs.v.len() >= values, "delta rule rows");
    let (pairs, per_block) = (heads.blocks().div_ceil(2), heads.d_k * LANES);
    let (state, out) = (Disjoint(state.as_mut_ptr()), Disjoint(out.as_mut_ptr()));
    ctx.pool.for_each(heads.n_v * pairs, |unit| {
        let (head, block) = (unit / pairs, unit % pairs * 2);
        let blocks = 2.min(heads.blocks() - block);
        // SAFETY: each head and block is in one unit.
        let state = unsafe { state.slice((head * heads.blocks() + block) * per_block, blocks * per_block) };
        ctx.isa.run(Unit { heads, inputs, head, block, n, state: state.as_chunks_mut().0, out: &out });
    });
}

/// One or two blocks of sixteen value rows of one head, over all tokens.
struct Unit<'a> {
    heads: Heads,
    inputs: Inputs<'a>,
    head: usize,
    /// The first of its blocks.
    block: usize,
    n: usize,
    /// `[blocks, d_k]` rows of lanes.
    state: &'a mut [[f32; LANES]],
    out: &'a Disjoint<f32>,
}

impl<'a> Unit<'a> {
    /// Query and key of token `t`.
    #[inline(always)]
    fn query_and_key(&self, t: usize) -> (&'a [f32], &'a [f32]) {
        let at = t * self.inputs.stride + self.inputs.key_head[self.head] * self.heads.d_k;
        (&self.inputs.q[at..][..self.heads.d_k], &self.inputs.k[at..][..self.heads.d_k])
    }

    /// Where block `b` of this unit stands among the values of a head, and how many of its lanes are values.
    #[inline(always)]
    fn place(&self, b: usize) -> (usize, usize) {
        let first = (self.block + b) * LANES;
        (self.head * self.heads.d_v + first, LANES.min(self.heads.d_v - first))
    }

    /// The values of token `t` for block `b`.
    #[inline(always)]
    fn value(&self, t: usize, b: usize) -> [f32; LANES] {
        let (at, len) = self.place(b);
        let v = &self.inputs.v[t * self.inputs.stride + at..];
        match v.first_chunk() {
            Some(v) if len == LANES => *v,
            _ => filled(&v[..len]),
        }
    }

    /// Asks for the rows of token `t`, which are short and far apart.
    #[inline(always)]
    fn prefetch<L: Lanes, const B: usize>(&self, l: L, t: usize) {
        let (q, k) = self.query_and_key(t);
        for row in [q, k] {
            for line in row.as_chunks::<LANES>().0 {
                l.prefetch(line);
            }
        }
        for b in 0..B {
            l.prefetch(&self.inputs.v[t * self.inputs.stride + self.place(b).0]);
        }
    }

    /// Decay and beta of token `t`.
    #[inline(always)]
    fn gates(&self, t: usize) -> (f32, f32) {
        let at = t * self.heads.n_v + self.head;
        (self.inputs.decay[at], self.inputs.beta[at])
    }

    /// Where the outputs of token `t` for block `b` go.
    #[allow(clippy::mut_from_ref, reason = "each (token, head, block) is written by one unit, one slice at a time")]
    #[inline(always)]
    fn out(&self, t: usize, b: usize) -> &mut [f32] {
        let (at, len) = self.place(b);
        // SAFETY: inside `[n, n_v, d_v]`, checked in `delta_rule`; each (head, block) belongs to one unit.
        unsafe { self.out.slice(t * self.heads.n_v * self.heads.d_v + at, len) }
    }

    /// `B` blocks at once. One walk over the state does what token `t` changes and what token `t + 1` reads, so that a
    /// state is loaded and stored once per token. Row `i` always goes to sum `i % 2`, for the latency of the adds.
    #[inline(always)]
    fn walk<L: Lanes, const B: usize>(&mut self, l: L) {
        let d_k = self.heads.d_k;
        let mut read = [[l.splat(0.0); 2]; B];
        let (mut q, mut k) = self.query_and_key(0);
        for (i, k) in k.iter().enumerate() {
            for (b, read) in read.iter_mut().enumerate() {
                read[i % 2] = l.fma(l.load(&self.state[b * d_k + i]), l.splat(*k), read[i % 2]);
            }
        }
        for t in 0..self.n {
            let (decay, beta) = self.gates(t);
            let (decay, beta) = (l.splat(decay), l.splat(beta));
            let mut u = [l.splat(0.0); B];
            for b in 0..B {
                let read = l.add(read[b][0], read[b][1]);
                u[b] = l.mul(beta, l.sub(l.load(&self.value(t, b)), l.mul(decay, read)));
            }
            let now = (q, k);
            let out;
            if t + 2 < self.n {
                self.prefetch::<L, B>(l, t + 2);
            }
            if t + 1 < self.n {
                (q, k) = self.query_and_key(t + 1);
                (out, read) = self.step::<L, B, true>(l, decay, u, now, k);
            } else {
                (out, read) = self.step::<L, B, false>(l, decay, u, now, k);
            }
            for b in 0..B {
                let out_lanes = l.add(out[b][0], out[b][1]);
                let out = self.out(t, b);
                match out.first_chunk_mut() {
                    Some(out) => l.store(out_lanes, out),
                    None => {
                        let mut lanes = [0.0; LANES];
                        l.store(out_lanes, &mut lanes);
                        out.copy_from_slice(&lanes[..out.len()]);
                    }
                }
            }
        }
    }

    /// Moves the state on by one token: `S = decay * S + k u^T`. The sums of `S^T q`, and with `NEXT` of `S^T next_k`.
    #[inline(always)]
    fn step<L: Lanes, const B: usize, const NEXT: bool>(
        &mut self,
        l: L,
        decay: L::F,
        u: [L::F; B],
        (q, k): (&[f32], &[f32]),
        next_k: &[f32],
    ) -> (Sums<L, B>, Sums<L, B>) {
        let d_k = self.heads.d_k;
        let mut rows = self.state.chunks_exact_mut(d_k);
        let blocks = [(); B].map(|()| rows.next().expect("B blocks").as_chunks_mut::<ROWS>());
        let ((q, q_end), (k, k_end)) = (q[..d_k].as_chunks::<ROWS>(), k[..d_k].as_chunks::<ROWS>());
        let (next_k, next_k_end) = next_k[..d_k].as_chunks::<ROWS>();
        let mut out = [[l.splat(0.0); 2]; B];
        let mut read = out;
        for (i, ((q, k), next_k)) in q.iter().zip(k).zip(next_k).enumerate() {
            for r in 0..ROWS {
                let (q, k, next_k) = (l.splat(q[r]), l.splat(k[r]), l.splat(next_k[r]));
                // All loads before the stores: two blocks lie a multiple of 4 KiB apart, where a load waits for a store.
                let mut rows = u;
                for b in 0..B {
                    rows[b] = l.load(&blocks[b].0[i][r]);
                }
                for b in 0..B {
                    let s = l.fma(k, u[b], l.mul(rows[b], decay));
                    l.store(s, &mut blocks[b].0[i][r]);
                    out[b][r % 2] = l.fma(s, q, out[b][r % 2]);
                    if NEXT {
                        read[b][r % 2] = l.fma(s, next_k, read[b][r % 2]);
                    }
                }
            }
        }
        for r in 0..q_end.len() {
            let (q, k, next_k) = (l.splat(q_end[r]), l.splat(k_end[r]), l.splat(next_k_end[r]));
            for b in 0..B {
                let row = &mut blocks[b].1[r];
                let s = l.fma(k, u[b], l.mul(l.load(row), decay));
                l.store(s, row);
                out[b][r % 2] = l.fma(s, q, out[b][r % 2]);
                if NEXT {
                    read[b][r % 2] = l.fma(s, next_k, read[b][r % 2]);
                }
            }
        }
        (out, read)
    }
}

/// Two sums for each block.
type Sums<L, const B: usize> = [[<L as Lanes>::F; 2]; B];

/// Rows of a block that are done in one go; even, so that a row's place in it tells its sum.
const ROWS: usize = 4;

impl Kernel for Unit<'_> {
    type Out = ();

    fn scalar(self) {
        let d_k = self.heads.d_k;
        for t in 0..self.n {
            let ((q, k), (decay, beta)) = (self.query_and_key(t), self.gates(t));
            for b in 0..self.state.len() / d_k {
                let v = self.value(t, b);
                let mut lanes = [0.0; LANES];
                for (i, out) in lanes.iter_mut().enumerate() {
                    let rows = b * d_k..(b + 1) * d_k;
                    let read: f32 = rows.clone().zip(k).map(|(row, k)| self.state[row][i] * k).sum();
                    let u = beta * (v[i] - decay * read);
                    for ((row, q), k) in rows.zip(q).zip(k) {
                        let s = &mut self.state[row][i];
                        *s = decay * *s + k * u;
                        *out += *s * q;
                    }
                }
                let out = self.out(t, b);
                out.copy_from_slice(&lanes[..out.len()]);
            }
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(mut self, l: L) {
        let blocks = self.state.len() / self.heads.d_k;
        if L::WIDE && blocks == 2 {
            return self.walk::<L, 2>(l);
        }
        let state = self.state;
        for (b, state) in state.chunks_exact_mut(self.heads.d_k).enumerate() {
            Unit { state, block: self.block + b, ..self }.walk::<L, 1>(l);
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
        let Heads { n_v, d_k, d_v, .. } = heads;
        let (mut state, mut out) = (vec![0.0f64; n_v * d_k * d_v], vec![0.0f64; n * n_v * d_v]);
        for t in 0..n {
            for h in 0..n_v {
                let s = &mut state[h * d_k * d_v..][..d_k * d_v];
                let at = t * x.stride + x.key_head[h] * d_k;
                s.iter_mut().for_each(|s| *s *= f64::from(x.decay[t * n_v + h]));
                for j in 0..d_v {
                    let read: f64 = (0..d_k).map(|i| s[i * d_v + j] * f64::from(x.k[at + i])).sum();
                    let u = f64::from(x.beta[t * n_v + h]) * (f64::from(x.v[t * x.stride + h * d_v + j]) - read);
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
            let (keys, values) = (n_k * d_k, heads.n_v * d_v);
            let stride = 2 * keys + values;
            let rows = list(n * stride, 1);
            let gate = |seed| list(n * heads.n_v, seed).iter().map(|x| x.abs().clamp(0.01, 0.99)).collect::<Vec<f32>>();
            let (decay, beta) = (gate(4), gate(5));
            let key_head: Vec<usize> = (0..heads.n_v).map(|h| h / group).collect();
            let inputs = Inputs {
                q: &rows,
                k: &rows[keys..],
                v: &rows[2 * keys..],
                stride,
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
                for (o, e) in out.iter().zip(&expected) {
                    assert!((f64::from(*o) - e).abs() < 1e-5, "{o} for {e} on {}", isa.name());
                }
                let mut pieces = vec![0.0; state.len()];
                for t in 0..n {
                    let g = t * heads.n_v..(t + 1) * heads.n_v;
                    let one = Inputs {
                        q: &inputs.q[t * stride..],
                        k: &inputs.k[t * stride..],
                        v: &inputs.v[t * stride..],
                        decay: &decay[g.clone()],
                        beta: &beta[g],
                        ..inputs
                    };
                    let mut out1 = vec![0.0; values];
                    delta_rule(&ctx, heads, &mut pieces, one, &mut out1);
                    assert_eq!(out1, out[t * values..][..values], "token {t} alone on {}", isa.name());
                }
                assert_eq!(pieces, state, "pieces on {}", isa.name());
            }
        }
    }
}
