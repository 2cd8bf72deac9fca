//! Products of packed matrices with rows of activations.
//!
//! Each output element adds up its columns in one fixed order, so the bits are the same for one row and for many, on one
//! thread and on several.

#[allow(clippy::needless_range_loop, reason = "lanes are indexed, for the reason that `lanes` gives")]
mod gated;
#[allow(clippy::needless_range_loop, reason = "lanes are indexed, for the reason that `lanes` gives")]
mod k_quants;
mod panel;
mod scalar;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Context;
use crate::activation::Rows;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes, Work};
use crate::pack::{KQuant, Packed, PackedMatrix, Q4_WORDS, Q5_WORDS};
use crate::pool::Disjoint;
pub use gated::gated_matmul_int8;
use k_quants::{MinPanel, Q6Panel};
use panel::{Bf16PairsPanel, Bf16Panel, F32Panel, Panel, Q8ExactPanel, Q8Panel};

/// One matrix and where its product goes: `out` is `[n, rows]`, row-major.
#[derive(Debug)]
pub struct Product<'a> {
    /// The weights.
    pub weights: &'a PackedMatrix,
    /// The output rows.
    pub out: &'a mut [f32],
}

/// `out[t] = W x[t]` for each input row.
///
/// # Panics
/// If the lengths disagree.
pub fn matmul(ctx: &Context, weights: &PackedMatrix, x: Rows<'_>, out: &mut [f32]) {
    matmul_many(ctx, x, &mut [Product { weights, out }]);
}

/// Several products with the same input rows, shared among the threads as one operation.
///
/// # Panics
/// If the lengths disagree.
pub fn matmul_many(ctx: &Context, x: Rows<'_>, products: &mut [Product<'_>]) {
    let mut parts = Vec::with_capacity(products.len());
    let mut n_groups = 0;
    for product in products {
        let w = product.weights;
        assert_eq!(x.cols, w.cols(), "input rows of {} values for {w:?}", x.cols);
        assert!(x.exact.len() == x.n * x.cols || w.takes_int8(), "rows rounded to int8 for {w:?}");
        assert_eq!(product.out.len(), x.n * w.rows(), "output of {w:?} for {} rows", x.n);
        let groups = n_groups..n_groups + w.rows().div_ceil(LANES);
        n_groups = groups.end;
        parts.push((w, groups, Disjoint(product.out.as_mut_ptr())));
    }
    share(ctx, n_groups, x.n, x.cols, |mine| {
        for (w, groups, out) in &parts {
            let (start, end) = (mine.start.max(groups.start), mine.end.min(groups.end));
            if start < end {
                let groups = start - groups.start..end - groups.start;
                ctx.isa.run(Groups { w, x, groups, out });
            }
        }
    });
}

/// Shares `n_groups` groups of sixteen rows of `cols` columns among the threads, for `n` input rows. A thread that is done
/// takes more, in pieces that become smaller, so that one that was held up keeps no other waiting. With few rows most of the
/// work is given away at once, as each piece's first lines are waited for.
fn share(ctx: &Context, n_groups: usize, n: usize, cols: usize, compute: impl Fn(Range<usize>) + Sync) {
    // Below this it takes longer to hand work over than to do it.
    if n_groups * LANES * cols * n < SMALL {
        return compute(0..n_groups);
    }
    let n_threads = ctx.pool.n_threads();
    // Small steps end together; in large ones fewer strips come without having been asked for.
    let step = if n < MANY { 2 } else { 8 };
    let steps = n_groups.div_ceil(step);
    let own = if n < MANY { steps / n_threads * 7 / 8 } else { 0 };
    let next = AtomicUsize::new(own * n_threads);
    let take = |done: usize| (done < steps).then(|| done + (steps - done).div_ceil(2 * n_threads));
    ctx.pool.run(|part| {
        if own > 0 {
            compute(step * own * part..step * own * (part + 1));
        }
        while let Ok(start) = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            let end = take(start).expect("the update took it");
            compute(step * start..n_groups.min(step * end));
        }
    });
}

/// From this many input rows on arithmetic takes longer than the memory needs to bring the next strip, which is asked for
/// meanwhile. With fewer the memory itself is what is waited for.
const MANY: usize = 48;

/// Multiply-adds that one thread does in the time that waking another takes, about ten microseconds.
const SMALL: usize = 1 << 17;

/// The part of one product that one thread computes: some groups of sixteen rows, for all input rows.
struct Groups<'a> {
    w: &'a PackedMatrix,
    x: Rows<'a>,
    groups: Range<usize>,
    out: &'a Disjoint<f32>,
}

impl Groups<'_> {
    /// Where the outputs of input row `t` for the rows of `n` groups go.
    #[allow(clippy::mut_from_ref, reason = "each (row, group) is written by one thread, one slice at a time")]
    #[inline(always)]
    fn out(&self, t: usize, group: usize, n: usize) -> &mut [f32] {
        let rows = self.w.rows();
        let len = (n * LANES).min(rows - group * LANES);
        // SAFETY: inside `[n, rows]`, checked in `matmul_many`; each group belongs to one thread.
        unsafe { self.out.slice(t * rows + group * LANES, len) }
    }

    /// Covers the groups with tiles that keep all their sums in registers: one register per sum for exact rows, two (an
    /// integer and a float) for int8 rows. There are 32 registers on a wide set, and half of 16 elsewhere: there one group
    /// with four rows leaves room for the weights, and eight sums are enough to wait for none.
    #[inline(always)]
    fn panels<L: Lanes, P: Panel>(&self, l: L, panel: &P) {
        let mut group = self.groups.start;
        if self.x.n == 1 {
            // Eight groups of sums leave no register of a narrow set for the weights.
            while !L::WIDE && !P::INT8 && group + 2 <= self.groups.end {
                self.tile::<L, P, 1, 2>(l, panel, 0, group);
                group += 2;
            }
            while !P::ONE_BY_ONE && group + 8 <= self.groups.end {
                self.tile::<L, P, 1, 8>(l, panel, 0, group);
                group += 8;
            }
        }
        while L::WIDE && !P::INT8 && group + 4 <= self.groups.end {
            self.strip::<L, P, 4>(l, panel, group);
            group += 4;
        }
        while L::WIDE && !(P::ONE_BY_ONE && self.x.n < MANY) && group + 2 <= self.groups.end {
            self.strip::<L, P, 2>(l, panel, group);
            group += 2;
        }
        while group < self.groups.end {
            self.strip::<L, P, 1>(l, panel, group);
            group += 1;
        }
    }

    /// All input rows against `G` groups.
    #[inline(always)]
    fn strip<L: Lanes, P: Panel, const G: usize>(&self, l: L, panel: &P, group: usize) {
        let next = group + G..(group + 2 * G).min(self.groups.end);
        walk(&PanelStrip::<L, P, G> { groups: self, l, panel, group, next }, self.x.n, height::<L, P>());
    }

    #[inline(always)]
    fn tile<L: Lanes, P: Panel, const T: usize, const G: usize>(&self, l: L, panel: &P, t0: usize, g0: usize) {
        let tile = Tile::<P, T, G> { groups: self, panel, t0, g0 };
        if P::APART { l.apart(tile) } else { tile.run(l) }
    }

    /// Block types with exact input rows: each row is decoded once and multiplied with every input row.
    #[inline(always)]
    fn decoded_rows(&self, dot: impl Dot) {
        thread_local!(static ROW: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) });
        let mut row = ROW.take();
        row.resize(self.w.cols(), 0.0);
        for group in self.groups.clone() {
            for lane in 0..LANES.min(self.w.rows() - group * LANES) {
                self.w.row(group * LANES + lane, &mut row);
                for (t, x) in self.x.exact.chunks_exact(self.x.cols).enumerate() {
                    self.out(t, group, 1)[lane] = dot.of(&row, x);
                }
            }
        }
        ROW.set(row);
    }
}

/// Some groups of weights and all input rows, covered by tiles of several rows.
trait Strip {
    /// Asks for part `part` of `n_parts` of the next strip.
    fn prefetch(&self, part: usize, n_parts: usize);

    /// Input rows `t0..t0 + T`.
    fn tile<const T: usize>(&self, t0: usize);
}

/// Input rows of a tile.
#[inline(always)]
fn height<L: Lanes, P: Panel>() -> usize {
    match (L::WIDE, P::INT8) {
        (true, _) => P::HEIGHT,
        (false, false) => 4,
        (false, true) => 2,
    }
}

/// Covers `n` input rows with tiles of `height`, 2, 4 or 6, and one for the rest.
#[inline(always)]
fn walk(strip: &impl Strip, n: usize, height: usize) {
    let mut t = 0;
    while t + height <= n {
        if n >= MANY {
            strip.prefetch(t / height, n / height);
        }
        match height {
            6 => strip.tile::<6>(t),
            4 => strip.tile::<4>(t),
            _ => strip.tile::<2>(t),
        }
        t += height;
    }
    match n - t {
        0 => {}
        // The rest of a lower tile; known to the compiler, so that the others are not made.
        _ if height == 2 => strip.tile::<1>(t),
        1 => strip.tile::<1>(t),
        2 => strip.tile::<2>(t),
        3 => strip.tile::<3>(t),
        4 => strip.tile::<4>(t),
        _ => strip.tile::<5>(t),
    }
}

/// `G` groups from `group` on; `next` are those of the next strip.
struct PanelStrip<'a, L, P, const G: usize> {
    groups: &'a Groups<'a>,
    l: L,
    panel: &'a P,
    group: usize,
    next: Range<usize>,
}

impl<L: Lanes, P: Panel, const G: usize> Strip for PanelStrip<'_, L, P, G> {
    #[inline(always)]
    fn prefetch(&self, part: usize, n_parts: usize) {
        self.panel.prefetch(self.l, self.next.clone(), part, n_parts);
    }

    #[inline(always)]
    fn tile<const T: usize>(&self, t0: usize) {
        self.groups.tile::<L, P, T, G>(self.l, self.panel, t0, self.group);
    }
}

/// `T` input rows from `t0` on times `G` groups from `g0` on.
struct Tile<'a, P, const T: usize, const G: usize> {
    groups: &'a Groups<'a>,
    panel: &'a P,
    t0: usize,
    g0: usize,
}

impl<P: Panel, const T: usize, const G: usize> Work for Tile<'_, P, T, G> {
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        for t in 0..T {
            if let Some(lines) = self.groups.out(self.t0 + t, self.g0, G).as_chunks::<LANES>().0.first_chunk::<G>() {
                for line in lines {
                    l.prefetch(line);
                }
            }
        }
        let sums = self.panel.tile::<L, T, G>(l, self.g0, self.t0);
        for (t, sums) in sums.iter().enumerate() {
            let (whole, rest) = self.groups.out(self.t0 + t, self.g0, G).as_chunks_mut();
            if whole.len() == G {
                for (sum, out) in sums.iter().zip(whole) {
                    l.store(*sum, out);
                }
                continue;
            }
            for (sum, out) in sums.iter().zip(whole.iter_mut().map(|out| out.as_mut_slice()).chain([rest])) {
                let mut lanes = [0.0; LANES];
                l.store(*sum, &mut lanes);
                out.copy_from_slice(&lanes[..out.len()]);
            }
        }
    }
}

impl Kernel for Groups<'_> {
    type Out = ();

    fn scalar(self) {
        match (&self.w.packed, self.x.quantized) {
            (Packed::Blocks { .. }, _) => self.decoded_rows(scalar::InOrder),
            (Packed::Q8 { q, d }, Some(x)) => scalar::int8(&self, q, d, x),
            (Packed::K(blocks), Some(x)) => scalar::k_quants(&self, blocks, x),
            (Packed::Bf16(lines), _) if let Some(x) = self.x.bf16 => scalar::bf16(&self, lines, x),
            _ => scalar::exact(&self),
        }
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) {
        let x = self.x;
        match (&self.w.packed, x.quantized) {
            (Packed::K(w), Some(rows)) => {
                let (words, factors, cols) = (&w.words, &w.factors, x.cols);
                match w.kind {
                    KQuant::Q4 => self.panels(l, &MinPanel::<Q4_WORDS> { words, factors, x: rows, cols }),
                    KQuant::Q5 => self.panels(l, &MinPanel::<Q5_WORDS> { words, factors, x: rows, cols }),
                    KQuant::Q6 => self.panels(l, &Q6Panel { words, factors, x: rows, cols }),
                }
            }
            (Packed::K(_) | Packed::Blocks { .. }, _) => self.decoded_rows(OnLanes(l)),
            (Packed::F32(lines), _) => self.panels(l, &F32Panel { lines, x: x.exact, cols: x.cols }),
            (Packed::Bf16(lines), _) if let Some(x) = x.bf16 => {
                self.panels(l, &Bf16PairsPanel { lines, x, cols: self.x.cols })
            }
            (Packed::Bf16(lines), _) => self.panels(l, &Bf16Panel { lines, x: x.exact, cols: x.cols }),
            (Packed::Q8 { q, d }, Some(rows)) => self.panels(l, &Q8Panel { q, d, x: rows, cols: x.cols }),
            (Packed::Q8 { q, d }, None) => self.panels(l, &Q8ExactPanel { q, d, x: x.exact, cols: x.cols }),
        }
    }
}

/// How a decoded row is multiplied with an input row. A trait and no closure, for the reason that `lanes` gives.
trait Dot {
    fn of(&self, w: &[f32], x: &[f32]) -> f32;
}

struct OnLanes<L>(L);

impl<L: Lanes> Dot for OnLanes<L> {
    #[inline(always)]
    fn of(&self, w: &[f32], x: &[f32]) -> f32 {
        dot(self.0, w, x)
    }
}

/// Sum of products, lanes over the columns; a ragged end counts as filled up with zeros.
#[inline(always)]
pub(crate) fn dot<L: Lanes>(l: L, a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_end), (b, b_end)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut acc = l.splat(0.0);
    for (a, b) in a.iter().zip(b) {
        acc = l.fma(l.load(a), l.load(b), acc);
    }
    if !a_end.is_empty() {
        acc = l.fma(l.load(&filled(a_end)), l.load(&filled(b_end)), acc);
    }
    l.sum(acc)
}

/// A ragged end, filled up with zeros.
#[inline(always)]
pub(crate) fn filled(end: &[f32]) -> [f32; LANES] {
    let mut lanes = [0.0; LANES];
    lanes[..end.len()].copy_from_slice(end);
    lanes
}

#[cfg(test)]
mod tests;
