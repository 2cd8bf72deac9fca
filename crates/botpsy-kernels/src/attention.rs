//! Causal attention over pages of keys and values.
//!
//! Attention goes through fixed blocks of positions, one page each, and merges them in order; so a token's result does not
//! depend on how its sequence was cut into pieces. Keys and values are rounded to the type of the cache before any use.

mod page;

use std::cell::RefCell;
use std::sync::Arc;

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::pool::Disjoint;
use page::{Data, TILE};
pub use page::{KvPage, KvShape, KvType, PAGE};

/// Tokens that go through a page together, while it is in the second-level cache.
const TOKENS: usize = 16;

/// Causal attention for `n` tokens at positions `first..first + n`, all of whose keys and values are in `pages`.
///
/// `q` and `out` are `[n, heads, head_dim]`, with `heads` a multiple of `shape.n_heads`; query head `h` reads key head
/// `h / (heads / n_heads)`. Scores are scaled by `1 / sqrt(head_dim)`.
///
/// # Panics
/// If the lengths disagree, or the pages do not reach the last position.
pub fn attend(
    ctx: &Context,
    shape: KvShape,
    pages: &[Arc<KvPage>],
    first: usize,
    q: &[f32],
    heads: usize,
    out: &mut [f32],
) {
    let row = heads * shape.head_dim;
    assert!(
        q.len() == out.len() && q.len().is_multiple_of(row) && heads.is_multiple_of(shape.n_heads),
        "attention queries"
    );
    let n = q.len() / row;
    assert!(pages.len() * PAGE >= first + n, "{} pages for {} positions", pages.len(), first + n);
    assert!(pages.iter().all(|page| page.shape == shape), "pages of another shape");
    let (blocks, out) = (n.div_ceil(TOKENS), Disjoint(out.as_mut_ptr()));
    ctx.pool.for_each(shape.n_heads * blocks, |unit| {
        let (head, t) = (unit / blocks, unit % blocks * TOKENS);
        let n = TOKENS.min(n - t);
        let (q, at) = (&q[t * row..(t + n) * row], t * row);
        ctx.isa.run(Unit { pages, shape, head, first: first + t, n, q, heads, out: &out, at });
    });
}

/// The query heads of some tokens that share a key head.
struct Unit<'a> {
    pages: &'a [Arc<KvPage>],
    shape: KvShape,
    /// The key head.
    head: usize,
    /// Position of the first token.
    first: usize,
    n: usize,
    /// `[n, heads, head_dim]`.
    q: &'a [f32],
    heads: usize,
    out: &'a Disjoint<f32>,
    /// Where the outputs of the first token begin.
    at: usize,
}

/// What a cache value turns into on lanes.
trait Element: Copy {
    fn load<L: Lanes>(l: L, x: &[Self; LANES]) -> L::F;
}

impl Element for u16 {
    #[inline(always)]
    fn load<L: Lanes>(l: L, x: &[u16; LANES]) -> L::F {
        l.load_f16(x)
    }
}

impl Element for f32 {
    #[inline(always)]
    fn load<L: Lanes>(l: L, x: &[f32; LANES]) -> L::F {
        l.load(x)
    }
}

/// What one thread needs to compute a unit.
#[derive(Default)]
struct Scratch {
    /// `[n, R, chunks]`: the values so far, weighted.
    sums: Vec<[f32; LANES]>,
    /// `[n, head_dim, R]`: value `i` of all R queries side by side, the order in which the scores take them.
    queries: Vec<f32>,
    /// `[n, R]`.
    running: Vec<Running>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// The softmax so far: its largest score, and the sum of `exp(score - largest)`.
#[derive(Clone, Copy)]
struct Running {
    largest: f32,
    total: f32,
}

impl Unit<'_> {
    /// Query heads of this key head.
    fn group(&self) -> usize {
        self.heads / self.shape.n_heads
    }

    /// Where query head `r` of this key head stands in `[n, heads, head_dim]` for token `t`.
    #[inline(always)]
    fn row(&self, t: usize, r: usize) -> usize {
        (t * self.heads + self.head * self.group() + r) * self.shape.head_dim
    }

    /// Where the output of query head `r` for token `t` goes.
    #[allow(clippy::mut_from_ref, reason = "each (token, head) is written by one unit, one slice at a time")]
    fn out(&self, t: usize, r: usize) -> &mut [f32] {
        // SAFETY: inside `[n, heads, head_dim]`, checked in `attend`; each (token, key head) belongs to one unit.
        unsafe { self.out.slice(self.at + self.row(t, r), self.shape.head_dim) }
    }

    /// `R` query heads at once, so that each key and value is read once for them; all tokens page by page.
    #[inline(always)]
    fn heads<L: Lanes, const R: usize>(&self, l: L, r0: usize) {
        let (d, chunks) = (self.shape.head_dim, self.shape.padded() / LANES);
        let mut scratch = SCRATCH.take();
        let Scratch { sums, queries, running } = &mut scratch;
        sums.clear();
        sums.resize(self.n * R * chunks, [0.0; LANES]);
        running.clear();
        running.resize(self.n * R, Running { largest: f32::NEG_INFINITY, total: 0.0 });
        queries.resize(self.n * R * d, 0.0);
        let (queries, _) = queries.as_chunks_mut::<R>();
        for t in 0..self.n {
            for r in 0..R {
                let q = &self.q[self.row(t, r0 + r)..][..d];
                for (out, q) in queries[t * d..][..d].iter_mut().zip(q) {
                    out[r] = *q;
                }
            }
        }
        let n_pages = (self.first + self.n).div_ceil(PAGE);
        for (i, page) in self.pages[..n_pages].iter().enumerate() {
            let start = i * PAGE;
            for t in start.saturating_sub(self.first)..self.n {
                let step = Step {
                    shape: self.shape,
                    head: self.head,
                    valid: PAGE.min(self.first + t + 1 - start),
                    q: &queries[t * d..][..d],
                };
                let running = running[t * R..].first_chunk_mut().expect("R per token");
                let sums = &mut sums[t * R * chunks..][..R * chunks];
                match &page.data {
                    Data::F16 { k, v } => step.merge(l, k, v, running, sums),
                    Data::F32 { k, v } => step.merge(l, k, v, running, sums),
                }
            }
        }
        for t in 0..self.n {
            for r in 0..R {
                let total = running[t * R + r].total;
                let sums = &sums[(t * R + r) * chunks..][..chunks];
                for (out, sum) in self.out(t, r0 + r).iter_mut().zip(sums.as_flattened()) {
                    *out = sum / total;
                }
            }
        }
        SCRATCH.set(scratch);
    }
}

/// One token and one page.
struct Step<'a, const R: usize> {
    shape: KvShape,
    head: usize,
    /// How many positions of the page the token may see.
    valid: usize,
    q: &'a [[f32; R]],
}

impl<const R: usize> Step<'_, R> {
    /// Takes the page into the running softmax of `R` query heads.
    #[inline(always)]
    fn merge<L: Lanes, E: Element>(
        &self,
        l: L,
        k: &[E],
        v: &[E],
        running: &mut [Running; R],
        sums: &mut [[f32; LANES]],
    ) {
        let mut weights = self.scores(l, k);
        let mut shrink = [0.0; R];
        for r in 0..R {
            // Positions after this token may hold anything: they must not take part.
            weights[r][self.valid..].fill(f32::NEG_INFINITY);
            let (lanes, _) = weights[r].as_chunks_mut::<LANES>();
            let mut largest = l.splat(running[r].largest);
            for lanes in lanes.iter() {
                largest = l.max(largest, l.load(lanes));
            }
            let largest = l.largest(largest);
            shrink[r] = (running[r].largest - largest).exp();
            for lanes in lanes {
                l.store(l.exp(l.sub(l.load(lanes), l.splat(largest))), lanes);
            }
            weights[r][self.valid..].fill(0.0);
            let (lanes, _) = weights[r].as_chunks::<LANES>();
            let mut total = l.splat(0.0);
            for lanes in lanes {
                total = l.add(total, l.load(lanes));
            }
            running[r] = Running { largest, total: running[r].total * shrink[r] + l.sum(total) };
        }
        let mut by_position = [[0.0; R]; PAGE];
        for (j, by_position) in by_position.iter_mut().enumerate() {
            for r in 0..R {
                by_position[r] = weights[r][j];
            }
        }
        let chunks = self.shape.padded() / LANES;
        let mut chunk = 0;
        while L::WIDE && chunk + TILE <= chunks {
            self.add_values::<L, E, TILE>(l, v, &by_position, shrink, chunk, sums);
            chunk += TILE;
        }
        while chunk < chunks {
            self.add_values::<L, E, 1>(l, v, &by_position, shrink, chunk, sums);
            chunk += 1;
        }
    }

    /// The scaled scores of the page's positions.
    #[inline(always)]
    fn scores<L: Lanes, E: Element>(&self, l: L, k: &[E]) -> [[f32; PAGE]; R] {
        const BLOCKS: usize = PAGE / LANES;
        let d = self.shape.head_dim;
        let k = k[self.head * d * PAGE..][..d * PAGE].as_chunks::<LANES>().0.as_chunks::<BLOCKS>().0;
        let mut scores = [[l.splat(0.0); BLOCKS]; R];
        for (k, q) in k.iter().zip(self.q) {
            let mut k_lanes = [l.splat(0.0); BLOCKS];
            for (lanes, k) in k_lanes.iter_mut().zip(k) {
                *lanes = E::load(l, k);
            }
            for r in 0..R {
                let q = l.splat(q[r]);
                for b in 0..BLOCKS {
                    scores[r][b] = l.fma(q, k_lanes[b], scores[r][b]);
                }
            }
        }
        let scale = l.splat(1.0 / (d as f32).sqrt());
        let mut out = [[0.0; PAGE]; R];
        for r in 0..R {
            let (lanes, _) = out[r].as_chunks_mut::<LANES>();
            for (lanes, scores) in lanes.iter_mut().zip(scores[r]) {
                l.store(l.mul(scores, scale), lanes);
            }
        }
        out
    }

    /// `sums = shrink * sums + weights * values` for `C` chunks of sixteen dims.
    #[inline(always)]
    fn add_values<L: Lanes, E: Element, const C: usize>(
        &self,
        l: L,
        v: &[E],
        weights: &[[f32; R]; PAGE],
        shrink: [f32; R],
        chunk: usize,
        sums: &mut [[f32; LANES]],
    ) {
        let chunks = self.shape.padded() / LANES;
        let (at, step) = self.shape.value_at(self.head, chunk);
        let v = v[at..].as_chunks::<LANES>().0;
        let mut acc = [[l.splat(0.0); C]; R];
        for r in 0..R {
            for c in 0..C {
                acc[r][c] = l.mul(l.load(&sums[r * chunks + chunk + c]), l.splat(shrink[r]));
            }
        }
        for (j, weights) in weights[..self.valid].iter().enumerate() {
            let v: &[_; C] = v[j * (step / LANES)..].first_chunk().expect("a row of the page");
            let mut v_lanes = [l.splat(0.0); C];
            for c in 0..C {
                v_lanes[c] = E::load(l, &v[c]);
            }
            for r in 0..R {
                let weight = l.splat(weights[r]);
                for c in 0..C {
                    acc[r][c] = l.fma(v_lanes[c], weight, acc[r][c]);
                }
            }
        }
        for r in 0..R {
            for c in 0..C {
                l.store(acc[r][c], &mut sums[r * chunks + chunk + c]);
            }
        }
    }
}

impl Kernel for Unit<'_> {
    type Out = ();

    fn scalar(self) {
        let d = self.shape.head_dim;
        let at = |j: usize| (&self.pages[j / PAGE], j % PAGE);
        let key = |j: usize, i: usize| at(j).0.key(self.head, at(j).1, i);
        let value = |j: usize, i: usize| at(j).0.value(self.head, at(j).1, i);
        for t in 0..self.n {
            for r in 0..self.group() {
                let q = &self.q[self.row(t, r)..][..d];
                let score = |j: usize| (0..d).map(|i| q[i] * key(j, i)).sum::<f32>() / (d as f32).sqrt();
                let scores: Vec<f32> = (0..self.first + t + 1).map(score).collect();
                let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let weights: Vec<f32> = scores.iter().map(|s| (s - largest).exp()).collect();
                let total: f32 = weights.iter().sum();
                for (i, out) in self.out(t, r).iter_mut().enumerate() {
                    *out = weights.iter().enumerate().map(|(j, w)| w * value(j, i)).sum::<f32>() / total;
                }
            }
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        let group = self.group();
        let mut r = 0;
        while r + 4 <= group {
            self.heads::<L, 4>(l, r);
            r += 4;
        }
        while r < group {
            self.heads::<L, 1>(l, r);
            r += 1;
        }
    }
}

#[cfg(test)]
mod tests;
