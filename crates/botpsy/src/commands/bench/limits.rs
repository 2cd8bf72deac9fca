//! What the machine does at most: `--roofline`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use botpsy_kernels::Context;
use botpsy_kernels::roofline::{ReadStream, WeightStream, bf16_peak, f32_peak, int8_peak};
use serde_json::{Value, json};

use super::Halt;
use super::spread::Spread;
use crate::output;

/// Memory that a plain read goes through: far beyond any cache.
const READ_BYTES: usize = 1 << 30;
/// Memory of all threads that a shared last-level cache holds.
const L3_BYTES: usize = 16 << 20;
/// Memory of one thread that a second-level cache holds.
const L2_BYTES: usize = 512 << 10;

/// How often each limit is measured.
const REPS: u64 = 9;
/// How often each stream is measured between two repetitions of a case.
const REPS_BETWEEN: u64 = 3;

/// Limits in 10^9 per second.
pub(super) struct Limits {
    memory: Memory,
    weights: Vec<f64>,
    read: Vec<f64>,
    l3: Vec<f64>,
    l2: Vec<f64>,
    int8: Vec<f64>,
    bf16: Vec<f64>,
    f32: Vec<f64>,
}

/// What the streams go through. Kept, so that they can be measured again.
struct Memory {
    weights: WeightStream,
    plain: ReadStream,
}

impl Limits {
    /// Measures all of them.
    pub(super) fn measure(ctx: &Context, cancel: &AtomicBool) -> Result<Limits, Halt> {
        let mut memory = Memory { weights: WeightStream::new(ctx), plain: ReadStream::new(READ_BYTES) };
        let (l3, l2) = (ReadStream::new(L3_BYTES), ReadStream::new(L2_BYTES * ctx.pool.n_threads()));
        Ok(Limits {
            weights: repeat("memory", cancel, || memory.weights.gemv(ctx))?,
            read: repeat("memory", cancel, || memory.plain.once(ctx))?,
            l3: repeat("caches", cancel, || l3.cached(ctx))?,
            l2: repeat("caches", cancel, || l2.cached(ctx))?,
            int8: repeat("operations", cancel, || int8_peak(ctx))?,
            bf16: repeat("operations", cancel, || bf16_peak(ctx))?,
            f32: repeat("operations", cancel, || f32_peak(ctx))?,
            memory,
        })
    }

    /// Measures the streams once more; the best of these few. Memory of shared machines is faster and slower by the minute.
    pub(super) fn measure_streams_again(&mut self, ctx: &Context) -> f64 {
        let mut best: f64 = 0.0;
        for _ in 0..REPS_BETWEEN {
            let (weights, read) = (self.memory.weights.gemv(ctx) / 1e9, self.memory.plain.once(ctx) / 1e9);
            self.weights.push(weights);
            self.read.push(read);
            best = best.max(weights).max(read);
        }
        best
    }

    /// The best stream of memory in 10^9 bytes per second.
    pub(super) fn stream_gbs(&self) -> f64 {
        self.weights.iter().chain(&self.read).copied().fold(0.0, f64::max)
    }

    /// The best rates of operations on int8, bfloat16 and `f32`, in 10^9 per second.
    pub(super) fn peaks(&self) -> (f64, f64, f64) {
        let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        (best(&self.int8), best(&self.bf16), best(&self.f32))
    }

    fn rows(&self) -> [(&'static str, &'static str, &'static str, &[f64]); 7] {
        [
            ("weights_gbs", "memory, Q8_0 weights", "GB/s", &self.weights),
            ("read_gbs", "memory, plain read", "GB/s", &self.read),
            ("l3_gbs", "16 MiB, plain read", "GB/s", &self.l3),
            ("l2_gbs", "512 KiB per thread", "GB/s", &self.l2),
            ("int8_gops", "int8 operations", "GOPS", &self.int8),
            ("bf16_gflops", "bfloat16 operations", "GFLOPS", &self.bf16),
            ("f32_gflops", "f32 operations", "GFLOPS", &self.f32),
        ]
    }

    pub(super) fn json(&self, ctx: &Context) -> Value {
        let mut limits = json!({
            "threads": ctx.pool.n_threads(), "isa": ctx.isa.name(), "stream_gbs": self.stream_gbs(),
        });
        for (key, _, _, samples) in self.rows() {
            let spread = Spread::new(samples.to_vec());
            limits[key] = json!({ "best": spread.max(), "median": spread.median(), "min": spread.min() });
        }
        json!({ "roofline": limits })
    }

    pub(super) fn table(&self, ctx: &Context) -> String {
        let mut table = format!("limits: {}, threads {}\n\n", ctx.isa.name(), ctx.pool.n_threads());
        let _ = writeln!(table, "{:<24}{:>12}{:>12}{:>12}", "", "best", "median", "smallest");
        for (_, name, unit, samples) in self.rows() {
            let spread = Spread::new(samples.to_vec());
            let (best, median, min) = (spread.max(), spread.median(), spread.min());
            let _ = writeln!(table, "{name:<24}{best:>12.1}{median:>12.1}{min:>12.1}  {unit}");
        }
        table
    }
}

/// Several measurements of one rate, in 10^9 per second.
fn repeat(what: &'static str, cancel: &AtomicBool, mut measure: impl FnMut() -> f64) -> Result<Vec<f64>, Halt> {
    let bar = output::progress(what, REPS);
    let samples = (0..REPS).map(|_| match cancel.load(Ordering::Relaxed) {
        true => Err(Halt::Cancelled),
        false => {
            bar.inc(1);
            Ok(measure() / 1e9)
        }
    });
    let samples = samples.collect();
    bar.finish_and_clear();
    samples
}
