//! What this machine does at most, on this instruction set and these threads: the limits that speeds are held against.
//!
//! Rates are per second, of all threads together. Memory is taken for the time of a measurement and given back.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use botpsy_tensor::{DType, TensorView};

use crate::Context;
use crate::activation::{BLOCK, QuantizedRows, Rows};
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::matmul::{Product, matmul_many};
use crate::pack::{Buffer, Line, PackedMatrix};
use crate::pool::part_of;

/// How long a loop in registers or caches runs: long enough for a steady clock, short enough to repeat.
const LOOP_TIME: Duration = Duration::from_millis(40);

/// Weights in the packed Q8_0 layout, far beyond the caches: the stream of a decode step and nothing else.
pub struct WeightStream {
    matrices: Vec<PackedMatrix>,
    x: Vec<f32>,
    out: Vec<f32>,
}

impl WeightStream {
    const COLS: usize = 1024;
    const ROWS: usize = 1 << 16;
    /// 1.14 GB in all.
    const MATRICES: usize = 16;

    /// Packs the weights.
    pub fn new(ctx: &Context) -> WeightStream {
        let row_bytes = Self::COLS / BLOCK * (2 + BLOCK);
        let mut bytes: Vec<u8> = (0..Self::ROWS * row_bytes).map(|i| (i * 167 % 251) as u8).collect();
        for block in bytes.chunks_exact_mut(2 + BLOCK) {
            // The scale, 2^-10 in half precision.
            block[..2].copy_from_slice(&0x1400_u16.to_le_bytes());
        }
        let view = TensorView::new(DType::Q8_0, vec![Self::ROWS, Self::COLS], &bytes).expect("whole rows of blocks");
        let x = (0..Self::COLS).map(|i| (i as f32 - 512.0) / 512.0).collect();
        let matrices = (0..Self::MATRICES).map(|_| PackedMatrix::pack(ctx, &view)).collect();
        WeightStream { matrices, x, out: vec![0.0; Self::ROWS * Self::MATRICES] }
    }

    /// Multiplies all of them with one row: bytes of weights per second.
    pub fn gemv(&mut self, ctx: &Context) -> f64 {
        let mut quantized = QuantizedRows::default();
        let x = Rows::quantized(&self.x, Self::COLS, ctx, &mut quantized);
        let outs = self.out.chunks_exact_mut(Self::ROWS);
        let mut products: Vec<_> =
            self.matrices.iter().zip(outs).map(|(weights, out)| Product { weights, out }).collect();
        let started = Instant::now();
        matmul_many(ctx, x, &mut products);
        let bytes: usize = self.matrices.iter().map(PackedMatrix::size_bytes).sum();
        bytes as f64 / started.elapsed().as_secs_f64()
    }
}

impl std::fmt::Debug for WeightStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WeightStream({} matrices)", self.matrices.len())
    }
}

/// Memory that is only read: each thread has a part of its own.
pub struct ReadStream {
    lines: Buffer<Line<[f32; LANES]>>,
}

impl ReadStream {
    /// `size_bytes` of memory, all of it in place.
    pub fn new(size_bytes: usize) -> ReadStream {
        let mut lines = Buffer::zeros(size_bytes / size_of::<Line<[f32; LANES]>>());
        // Written once, so that each page is there.
        lines.fill(Line([1.0; LANES]));
        ReadStream { lines }
    }

    /// Reads it once: bytes per second.
    pub fn once(&self, ctx: &Context) -> f64 {
        let n_threads = ctx.pool.n_threads();
        let started = Instant::now();
        ctx.pool.run(|part| {
            let lines = &self.lines[part_of(self.lines.len(), part, n_threads)];
            black_box(ctx.isa.run(Read { lines }));
        });
        size_of_val(&self.lines[..]) as f64 / started.elapsed().as_secs_f64()
    }

    /// Reads it over and over: bytes per second of the cache that it fits in.
    pub fn cached(&self, ctx: &Context) -> f64 {
        let n_threads = ctx.pool.n_threads();
        rate(ctx, |part| {
            let lines = &self.lines[part_of(self.lines.len(), part, n_threads)];
            // Small memory is read several times between two looks at the clock.
            let passes = (1 << 14) / lines.len().max(1) + 1;
            for _ in 0..passes {
                black_box(ctx.isa.run(Read { lines: black_box(lines) }));
            }
            (passes * size_of_val(lines)) as f64
        })
    }
}

impl std::fmt::Debug for ReadStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadStream({} bytes)", size_of_val(&self.lines[..]))
    }
}

/// Operations per second on int8 operands in registers, a multiplication and an addition counting as two.
pub fn int8_peak(ctx: &Context) -> f64 {
    rate(ctx, |_| ctx.isa.run(Int8Loop))
}

/// The same for `f32`.
pub fn f32_peak(ctx: &Context) -> f64 {
    rate(ctx, |_| ctx.isa.run(F32Loop))
}

/// The same for pairs of bfloat16.
pub fn bf16_peak(ctx: &Context) -> f64 {
    rate(ctx, |_| ctx.isa.run(Bf16Loop))
}

/// Repeats `work` on each thread for a while; it says how much it did. The sum of what the threads did per second.
fn rate(ctx: &Context, work: impl Fn(usize) -> f64 + Sync) -> f64 {
    let total = Mutex::new(0.0);
    ctx.pool.run(|part| {
        let started = Instant::now();
        let mut done = 0.0;
        while started.elapsed() < LOOP_TIME {
            done += work(part);
        }
        let rate = done / started.elapsed().as_secs_f64();
        *total.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += rate;
    });
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Sums that go on side by side: enough to hide the latency of an instruction.
const SUMS: usize = 12;
/// The same where a sum of sixteen lanes takes two of sixteen registers.
const NARROW_SUMS: usize = 6;
/// Rounds between two looks at the clock.
const ROUNDS: usize = 1 << 14;

/// Adds up memory in eight independent sums.
struct Read<'a> {
    lines: &'a [Line<[f32; LANES]>],
}

impl Kernel for Read<'_> {
    type Out = f32;

    fn scalar(self) -> f32 {
        self.lines.iter().flat_map(|line| line.0).sum()
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) -> f32 {
        let mut sums = [l.splat(0.0); 8];
        let (eights, rest) = self.lines.as_chunks::<8>();
        for eight in eights {
            for i in 0..8 {
                sums[i] = l.add(sums[i], l.load(&eight[i].0));
            }
        }
        for line in rest {
            sums[0] = l.add(sums[0], l.load(&line.0));
        }
        let mut sum = sums[0];
        for more in &sums[1..] {
            sum = l.add(sum, *more);
        }
        l.sum(sum)
    }
}

/// Products of four int8 values per lane, added up in registers; how many operations that took.
struct Int8Loop;

impl Kernel for Int8Loop {
    type Out = f64;

    fn scalar(self) -> f64 {
        let (w, a) = ([3_u8; 4 * LANES], [1_i8; 4]);
        let mut sums = [0_i32; LANES];
        for _ in 0..ROUNDS {
            let (w, a) = black_box((&w, &a));
            for (lane, sum) in sums.iter_mut().enumerate() {
                for (t, a) in a.iter().enumerate() {
                    *sum += i32::from(w[4 * lane + t]) * i32::from(*a);
                }
            }
        }
        black_box(sums);
        (2 * 4 * LANES * ROUNDS) as f64
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) -> f64 {
        if L::WIDE { int8_loop::<L, SUMS>(l) } else { int8_loop::<L, NARROW_SUMS>(l) }
    }
}

/// The operands are hidden from the compiler once a round, and differ between sums: it can neither leave a round out nor use
/// a product twice.
#[inline(always)]
fn int8_loop<L: Lanes, const N: usize>(l: L) -> f64 {
    let w = Line([3_u8; 4 * LANES]);
    let mut a = [[1_i8; 4]; N];
    for (i, a) in a.iter_mut().enumerate() {
        a[0] = i as i8;
    }
    let mut sums = [l.isplat(0); N];
    for _ in 0..ROUNDS {
        let (w, a) = (black_box(&w), black_box(&a));
        for i in 0..N {
            sums[i] = l.dot4(sums[i], &w.0, &a[i]);
        }
    }
    for sum in sums {
        black_box(l.sum(l.to_f32(sum)));
    }
    (2 * 4 * LANES * N * ROUNDS) as f64
}

/// Products of `f32` values, added up in registers; how many operations that took.
struct F32Loop;

impl Kernel for F32Loop {
    type Out = f64;

    fn scalar(self) -> f64 {
        let x = [1e-3_f32; LANES];
        let mut sums = [0.0_f32; LANES];
        for _ in 0..ROUNDS {
            for (sum, x) in sums.iter_mut().zip(black_box(&x)) {
                *sum += x * x;
            }
        }
        black_box(sums);
        (2 * LANES * ROUNDS) as f64
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) -> f64 {
        if L::WIDE { f32_loop::<L, SUMS>(l) } else { f32_loop::<L, NARROW_SUMS>(l) }
    }
}

#[inline(always)]
fn f32_loop<L: Lanes, const N: usize>(l: L) -> f64 {
    let x = Line([1e-3_f32; LANES]);
    let mut a = [1e-3_f32; N];
    for (i, a) in a.iter_mut().enumerate() {
        *a *= i as f32;
    }
    let mut sums = [l.splat(0.0); N];
    for _ in 0..ROUNDS {
        let (x, a) = (l.load(&black_box(&x).0), black_box(&a));
        for i in 0..N {
            sums[i] = l.fma(x, l.splat(a[i]), sums[i]);
        }
    }
    for sum in sums {
        black_box(l.sum(sum));
    }
    (2 * LANES * N * ROUNDS) as f64
}

/// Products of pairs of bfloat16, added up in registers; how many operations that took.
struct Bf16Loop;

impl Kernel for Bf16Loop {
    type Out = f64;

    fn scalar(self) -> f64 {
        // The plain definition multiplies such weights as `f32`.
        F32Loop.scalar()
    }

    #[inline(always)]
    fn vector<L: Lanes>(self, l: L) -> f64 {
        if L::WIDE { bf16_loop::<L, SUMS>(l) } else { bf16_loop::<L, NARROW_SUMS>(l) }
    }
}

#[inline(always)]
fn bf16_loop<L: Lanes, const N: usize>(l: L) -> f64 {
    // Small numbers, both halves of each pair.
    let x = Line([0x3a83_u16; 2 * LANES]);
    let mut a = [0x3a83_3a83; N];
    for (i, a) in a.iter_mut().enumerate() {
        *a += i as i32;
    }
    let mut sums = [l.splat(0.0); N];
    for _ in 0..ROUNDS {
        let (x, a) = (l.load_pairs(&black_box(&x).0), black_box(&a));
        for i in 0..N {
            sums[i] = l.dot2(sums[i], x, l.isplat(a[i]));
        }
    }
    for sum in sums {
        black_box(l.sum(sum));
    }
    (4 * LANES * N * ROUNDS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, ThreadPool};

    #[test]
    fn every_instruction_set_has_limits_and_threads_add_up() {
        for isa in Isa::available() {
            let ctx = Context { isa, pool: ThreadPool::new(2) };
            let read = ReadStream::new(1 << 16);
            for rate in [int8_peak(&ctx), bf16_peak(&ctx), f32_peak(&ctx), read.once(&ctx), read.cached(&ctx)] {
                assert!(rate.is_finite() && rate > 1e6, "{rate} on {}", isa.name());
            }
        }
    }

    #[test]
    fn reading_sees_every_line() {
        let mut lines = vec![Line([0.0; LANES]); 8 * 3 + 5];
        for (i, line) in lines.iter_mut().enumerate() {
            line.0[i % LANES] = 1.0;
        }
        for isa in Isa::available() {
            assert_eq!(isa.run(Read { lines: &lines }), 29.0, "{}", isa.name());
        }
    }
}
