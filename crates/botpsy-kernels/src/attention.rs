//! Pages of keys and values, and causal attention over them.
//!
//! Attention goes through fixed blocks of positions, one page each, and merges them in order; so a token's result does not
//! depend on how its sequence was cut into pieces. Keys and values are rounded to the type of the cache before any use.

use std::cell::RefCell;
use std::sync::Arc;

use half::f16;

use crate::Context;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};

/// Positions in a page.
pub const PAGE: usize = 64;

/// The type in which keys and values are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KvType {
    /// Half precision, the default.
    #[default]
    F16,
    /// Exact.
    F32,
}

impl KvType {
    /// Bytes of one value.
    pub fn size_bytes(self) -> usize {
        match self {
            KvType::F16 => 2,
            KvType::F32 => 4,
        }
    }
}

/// Shape of the keys and values of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Number of key and value heads.
    pub n_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

impl KvShape {
    fn padded(&self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    /// Bytes of a page.
    pub fn page_bytes(&self, kv: KvType) -> usize {
        self.n_heads * (self.head_dim + self.padded()) * PAGE * kv.size_bytes()
    }
}

/// Keys and values of [`PAGE`] positions of one layer.
///
/// Keys are `[head][dim][position]`, so that scores of sixteen positions fill the lanes; values are
/// `[head][position][dim]`, dims padded to a multiple of sixteen.
#[derive(Clone, Debug)]
pub struct KvPage {
    shape: KvShape,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    F16 { k: Vec<u16>, v: Vec<u16> },
    F32 { k: Vec<f32>, v: Vec<f32> },
}

impl KvPage {
    /// A page of zeros.
    pub fn new(shape: KvShape, kv: KvType) -> KvPage {
        let (k, v) = (shape.n_heads * shape.head_dim * PAGE, shape.n_heads * shape.padded() * PAGE);
        let data = match kv {
            KvType::F16 => Data::F16 { k: vec![0; k], v: vec![0; v] },
            KvType::F32 => Data::F32 { k: vec![0.0; k], v: vec![0.0; v] },
        };
        KvPage { shape, data }
    }

    /// Writes the key and value rows `[n_heads, head_dim]` of one position.
    ///
    /// # Panics
    /// If `slot` is no position of a page, or the lengths disagree.
    pub fn write(&mut self, slot: usize, key: &[f32], value: &[f32]) {
        let len = self.shape.n_heads * self.shape.head_dim;
        assert!(slot < PAGE && key.len() == len && value.len() == len, "key and value of one position");
        match &mut self.data {
            Data::F16 { k, v } => scatter(self.shape, slot, (key, k), (value, v), |x| f16::from_f32(x).to_bits()),
            Data::F32 { k, v } => scatter(self.shape, slot, (key, k), (value, v), |x| x),
        }
    }

    /// Value `i` of a head's key at `slot`, as it is kept.
    fn key(&self, head: usize, slot: usize, i: usize) -> f32 {
        let at = (head * self.shape.head_dim + i) * PAGE + slot;
        match &self.data {
            Data::F16 { k, .. } => f16::from_bits(k[at]).to_f32(),
            Data::F32 { k, .. } => k[at],
        }
    }

    /// Value `i` of a head's value at `slot`, as it is kept.
    fn value(&self, head: usize, slot: usize, i: usize) -> f32 {
        let at = (head * PAGE + slot) * self.shape.padded() + i;
        match &self.data {
            Data::F16 { v, .. } => f16::from_bits(v[at]).to_f32(),
            Data::F32 { v, .. } => v[at],
        }
    }
}

fn scatter<T>(
    shape: KvShape,
    slot: usize,
    (key, k): (&[f32], &mut [T]),
    (value, v): (&[f32], &mut [T]),
    to: impl Fn(f32) -> T,
) {
    for (i, x) in key.iter().enumerate() {
        k[i * PAGE + slot] = to(*x);
    }
    for (head, row) in value.chunks_exact(shape.head_dim).enumerate() {
        for (out, x) in v[(head * PAGE + slot) * shape.padded()..].iter_mut().zip(row) {
            *out = to(*x);
        }
    }
}

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
    let group = heads / shape.n_heads * shape.head_dim;
    ctx.pool.for_each_chunk(out, group, |i, out| {
        let (t, head) = (i / shape.n_heads, i % shape.n_heads);
        ctx.isa.run(Group { pages, shape, head, n_positions: first + t + 1, q: &q[i * group..][..group], out });
    });
}

/// The query heads of one token that share a key head.
struct Group<'a> {
    pages: &'a [Arc<KvPage>],
    shape: KvShape,
    head: usize,
    n_positions: usize,
    q: &'a [f32],
    out: &'a mut [f32],
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

thread_local! {
    static SUMS: RefCell<Vec<[f32; LANES]>> = const { RefCell::new(Vec::new()) };
    static QUERIES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

impl Group<'_> {
    /// `R` query heads at once, so that each key and value is read once for them.
    #[inline(always)]
    fn heads<L: Lanes, const R: usize>(&mut self, l: L, first: usize) {
        let (d, chunks) = (self.shape.head_dim, self.shape.padded() / LANES);
        let (mut sums, mut queries) = (SUMS.take(), QUERIES.take());
        queries.clear();
        queries.resize(R * d, 0.0);
        // Value `i` of all R queries side by side: the order in which the scores take them.
        let (q, _) = queries.as_chunks_mut::<R>();
        for (i, q) in q.iter_mut().enumerate() {
            for (r, q) in q.iter_mut().enumerate() {
                *q = self.q[(first + r) * d + i];
            }
        }
        sums.clear();
        sums.resize(R * chunks, [0.0; LANES]);
        let mut running = [Running { largest: f32::NEG_INFINITY, total: 0.0 }; R];
        for (i, page) in self.pages.iter().enumerate().take(self.n_positions.div_ceil(PAGE)) {
            let valid = PAGE.min(self.n_positions - i * PAGE);
            match &page.data {
                Data::F16 { k, v } => {
                    merge::<L, u16, R>(l, self.shape, self.head, (k, v), valid, q, &mut running, &mut sums);
                }
                Data::F32 { k, v } => {
                    merge::<L, f32, R>(l, self.shape, self.head, (k, v), valid, q, &mut running, &mut sums);
                }
            }
        }
        for r in 0..R {
            let out = &mut self.out[(first + r) * d..][..d];
            for (out, sum) in out.iter_mut().zip(sums[r * chunks..].as_flattened()) {
                *out = sum / running[r].total;
            }
        }
        SUMS.set(sums);
        QUERIES.set(queries);
    }
}

/// The softmax so far: its largest score, and the sum of `exp(score - largest)`.
#[derive(Clone, Copy)]
struct Running {
    largest: f32,
    total: f32,
}

/// Takes the first `valid` positions of one page into the running softmax of `R` query heads.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the inner step of one loop, inlined there")]
fn merge<L: Lanes, E: Element, const R: usize>(
    l: L,
    shape: KvShape,
    head: usize,
    (k, v): (&[E], &[E]),
    valid: usize,
    q: &[[f32; R]],
    running: &mut [Running; R],
    sums: &mut [[f32; LANES]],
) {
    const BLOCKS: usize = PAGE / LANES;
    let (d, padded) = (shape.head_dim, shape.padded());
    let k = k[head * d * PAGE..][..d * PAGE].as_chunks::<LANES>().0.as_chunks::<BLOCKS>().0;
    let mut scores = [[l.splat(0.0); BLOCKS]; R];
    for (k, q) in k.iter().zip(q) {
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
    let mut weights = [[0.0; PAGE]; R];
    let mut shrink = [0.0; R];
    for r in 0..R {
        let (lanes, _) = weights[r].as_chunks_mut::<LANES>();
        for (lanes, scores) in lanes.iter_mut().zip(scores[r]) {
            l.store(l.mul(scores, scale), lanes);
        }
        // Positions after this token may hold anything: they must not take part.
        weights[r][valid..].fill(f32::NEG_INFINITY);
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
        weights[r][valid..].fill(0.0);
        let (lanes, _) = weights[r].as_chunks::<LANES>();
        let mut total = l.splat(0.0);
        for lanes in lanes {
            total = l.add(total, l.load(lanes));
        }
        running[r] = Running { largest, total: running[r].total * shrink[r] + l.sum(total) };
    }
    let chunks = padded / LANES;
    let mut by_position = [[0.0; R]; PAGE];
    for (j, by_position) in by_position.iter_mut().enumerate() {
        for r in 0..R {
            by_position[r] = weights[r][j];
        }
    }
    let v = v[head * PAGE * padded..][..PAGE * padded].as_chunks::<LANES>().0;
    for c in 0..chunks {
        let mut acc = [l.splat(0.0); R];
        for r in 0..R {
            acc[r] = l.mul(l.load(&sums[r * chunks + c]), l.splat(shrink[r]));
        }
        for (v, weights) in v.chunks_exact(chunks).zip(&by_position[..valid]) {
            let v = E::load(l, &v[c]);
            for r in 0..R {
                acc[r] = l.fma(v, l.splat(weights[r]), acc[r]);
            }
        }
        for r in 0..R {
            l.store(acc[r], &mut sums[r * chunks + c]);
        }
    }
}

impl Kernel for Group<'_> {
    type Out = ();

    fn scalar(self) {
        let d = self.shape.head_dim;
        let at = |j: usize| (&self.pages[j / PAGE], j % PAGE);
        let key = |j: usize, i: usize| at(j).0.key(self.head, at(j).1, i);
        let value = |j: usize, i: usize| at(j).0.value(self.head, at(j).1, i);
        for (q, out) in self.q.chunks_exact(d).zip(self.out.chunks_exact_mut(d)) {
            let score = |j: usize| (0..d).map(|i| q[i] * key(j, i)).sum::<f32>() / (d as f32).sqrt();
            let scores: Vec<f32> = (0..self.n_positions).map(score).collect();
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights: Vec<f32> = scores.iter().map(|s| (s - largest).exp()).collect();
            let total: f32 = weights.iter().sum();
            for (i, out) in out.iter_mut().enumerate() {
                *out = weights.iter().enumerate().map(|(j, w)| w * value(j, i)).sum::<f32>() / total;
            }
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(mut self, l: L) {
        let n = self.q.len() / self.shape.head_dim;
        let mut first = 0;
        while first + 4 <= n {
            self.heads::<L, 4>(l, first);
            first += 4;
        }
        while first < n {
            self.heads::<L, 1>(l, first);
            first += 1;
        }
    }
}

#[cfg(test)]
mod tests;
