//! Each kernel alone, on the shapes of the 0.8B model: `cargo bench -p botpsy-kernels [-- NAME]`.
//!
//! On the instruction set and as many threads as `BOTPSY_ISA` and `BOTPSY_THREADS` say, else the best one and all. Weights rotate
//! through more memory than caches hold, so that a product of one row shows the speed that a decode step sees.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed measurement")]

use std::sync::Arc;

use botpsy_kernels::attention::{KvPage, KvShape, KvType, PAGE, attend};
use botpsy_kernels::conv::conv_silu;
use botpsy_kernels::delta::{Heads, Inputs, delta_rule};
use botpsy_kernels::norm::{gated_norm, rms_norm};
use botpsy_kernels::{Context, Isa, PackedMatrix, QuantizedRows, Rows, ThreadPool, math, matmul};
use botpsy_tensor::{DType, TensorView};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

/// Tokens that are computed together: decode, four sequences, small prompts, a chunk of a long one.
const ROWS: [usize; 6] = [1, 2, 4, 16, 128, 512];
const HIDDEN: usize = 1024;
/// More than the caches hold.
const WEIGHT_BYTES: usize = 128 << 20;

fn main() {
    divan::main();
}

fn context() -> Context {
    let granted = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = std::env::var("BOTPSY_THREADS").map_or_else(|_| granted(), |n| n.parse().unwrap());
    Context { isa: Isa::from_env().unwrap(), pool: ThreadPool::new(threads) }
}

/// Values in -1..1, always the same.
fn values(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) as i32 as f32 / i32::MAX as f32).collect()
}

/// Products of a matrix `[3584, 1024]`, one of the MLP's, with rows rounded as that type takes them. Items are operations.
mod products {
    use super::*;

    #[divan::bench(args = ROWS)]
    fn q8_0(bencher: Bencher<'_, '_>, rows: usize) {
        product(bencher, DType::Q8_0, rows);
    }

    #[divan::bench(args = ROWS)]
    fn q4_k(bencher: Bencher<'_, '_>, rows: usize) {
        product(bencher, DType::Q4K, rows);
    }

    #[divan::bench(args = ROWS)]
    fn q6_k(bencher: Bencher<'_, '_>, rows: usize) {
        product(bencher, DType::Q6K, rows);
    }

    #[divan::bench(args = ROWS)]
    fn bf16(bencher: Bencher<'_, '_>, rows: usize) {
        product(bencher, DType::BF16, rows);
    }

    #[divan::bench(args = ROWS)]
    fn f32(bencher: Bencher<'_, '_>, rows: usize) {
        product(bencher, DType::F32, rows);
    }

    fn product(bencher: Bencher<'_, '_>, dtype: DType, rows: usize) {
        const OUT: usize = 3584;
        let (ctx, bytes) = (context(), matrix_bytes(dtype, OUT));
        let view = TensorView::new(dtype, vec![OUT, HIDDEN], &bytes).unwrap();
        let matrices: Vec<_> =
            (0..WEIGHT_BYTES.div_ceil(bytes.len())).map(|_| PackedMatrix::pack(&ctx, &view)).collect();
        let (x, mut buffer, mut out) = (values(rows * HIDDEN), QuantizedRows::default(), vec![0.0; rows * OUT]);
        let x = match &matrices[0] {
            w if w.takes_int8() => Rows::quantized(&x, HIDDEN, &ctx, &mut buffer),
            w if w.takes_bf16() => Rows::bf16(&x, HIDDEN, &ctx, &mut buffer),
            _ => Rows::exact(&x, HIDDEN),
        };
        let mut next = matrices.iter().cycle();
        let (size, operations) = (matrices[0].size_bytes(), 2 * rows * OUT * HIDDEN);
        bencher
            .counter(BytesCount::new(size))
            .counter(ItemsCount::new(operations))
            .bench_local(|| matmul(&ctx, next.next().unwrap(), x, black_box(&mut out)));
    }

    /// A matrix of arbitrary bytes whose scales are small numbers.
    fn matrix_bytes(dtype: DType, rows: usize) -> Vec<u8> {
        let len = rows * dtype.row_bytes(HIDDEN).unwrap();
        let mut bytes: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        // Where a block's scales in half precision stand.
        let (block, scales) = match dtype {
            DType::Q8_0 => (34, 0..2),
            DType::Q4K => (144, 0..4),
            DType::Q6K => (210, 208..210),
            DType::BF16 => {
                return values(len / 2).iter().flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes()).collect();
            }
            _ => return values(len / 4).iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        for block in bytes.chunks_exact_mut(block) {
            block[scales.clone()].chunks_exact_mut(2).for_each(|scale| scale.copy_from_slice(&[0x00, 0x14]));
        }
        bytes
    }
}

/// What stands between the products of a linear-attention layer.
mod linear_attention {
    use super::*;

    const HEADS: Heads = Heads { n_k: 16, n_v: 16, d_k: 128, d_v: 128 };
    const CHANNELS: usize = 6144;

    #[divan::bench(args = ROWS)]
    fn delta(bencher: Bencher<'_, '_>, rows: usize) {
        let (ctx, width) = (context(), HEADS.n_k * HEADS.d_k);
        let mixed: Vec<f32> = values(rows * CHANNELS).iter().map(|x| x / 16.0).collect();
        let (decay, beta) = (vec![0.9; rows * HEADS.n_v], vec![0.5; rows * HEADS.n_v]);
        // As many states as the model has layers of this kind.
        let mut states = vec![vec![0.0; HEADS.state_len()]; 18];
        let (mut out, mut layer) = (vec![0.0; HEADS.out_len(rows)], 0);
        let key_head: Vec<usize> = (0..HEADS.n_v).collect();
        bencher.counter(ItemsCount::new(rows)).bench_local(|| {
            let inputs = Inputs {
                q: &mixed,
                k: &mixed[width..],
                v: &mixed[2 * width..],
                stride: CHANNELS,
                decay: &decay,
                beta: &beta,
                key_head: &key_head,
            };
            layer = (layer + 1) % states.len();
            delta_rule(&ctx, HEADS, &mut states[layer], inputs, black_box(&mut out));
        });
    }

    #[divan::bench(args = ROWS)]
    fn conv(bencher: Bencher<'_, '_>, rows: usize) {
        let (ctx, w, x) = (context(), values(4 * CHANNELS), values(rows * CHANNELS));
        let (mut history, mut y) = (vec![0.0; 3 * CHANNELS], vec![0.0; rows * CHANNELS]);
        bencher.counter(ItemsCount::new(rows)).bench_local(|| {
            conv_silu(&ctx, CHANNELS, &w, &mut history, &x, black_box(&mut y), |_, _| ());
        });
    }

    #[divan::bench]
    fn norm_of_a_head(bencher: Bencher<'_, '_>) {
        let (ctx, w, z, mut x) = (context(), values(128), values(128), values(128));
        bencher.bench_local(|| gated_norm(&ctx, black_box(&mut x), &w, &z, 1e-6));
    }
}

/// Causal attention of the last rows of a context; arguments are context and rows.
#[divan::bench(args = [(4096, 1), (4096, 128), (16_384, 1), (16_384, 128)])]
fn attention(bencher: Bencher<'_, '_>, (context_len, rows): (usize, usize)) {
    const HEADS: usize = 8;
    let (ctx, shape) = (context(), KvShape { n_heads: 2, head_dim: 256 });
    let mut pages = Vec::new();
    for page in 0..context_len / PAGE {
        let mut filled = KvPage::new(shape, KvType::F16);
        for slot in 0..PAGE {
            let row = values((page % 7 + 1) * 512);
            filled.write(slot, &row[row.len() - 512..], &row[row.len() - 512..]);
        }
        pages.push(Arc::new(filled));
    }
    let (q, mut out) = (values(rows * HEADS * 256), vec![0.0; rows * HEADS * 256]);
    let first = context_len - rows;
    bencher
        .counter(BytesCount::new(pages.len() * shape.page_bytes(KvType::F16)))
        .counter(ItemsCount::new(4 * rows * HEADS * 256 * context_len))
        .bench_local(|| attend(&ctx, shape, &pages, first, &q, HEADS, black_box(&mut out)));
}

/// What stands between all layers.
mod rows {
    use super::*;

    #[divan::bench(args = ROWS)]
    fn norm(bencher: Bencher<'_, '_>, rows: usize) {
        let (ctx, x, w, mut out) = (context(), values(rows * HIDDEN), values(HIDDEN), vec![0.0; rows * HIDDEN]);
        bencher.counter(ItemsCount::new(rows)).bench_local(|| rms_norm(&ctx, &x, &w, 1e-6, black_box(&mut out)));
    }

    #[divan::bench(args = ROWS)]
    fn quantize(bencher: Bencher<'_, '_>, rows: usize) {
        let (ctx, x, mut buffer) = (context(), values(rows * HIDDEN), QuantizedRows::default());
        bencher.counter(ItemsCount::new(rows)).bench_local(|| {
            black_box(Rows::quantized(&x, HIDDEN, &ctx, &mut buffer));
        });
    }

    #[divan::bench(args = ROWS)]
    fn silu_times(bencher: Bencher<'_, '_>, rows: usize) {
        const WIDTH: usize = 3584;
        let (ctx, gate, mut up) = (context(), values(rows * WIDTH), values(rows * WIDTH));
        bencher.counter(ItemsCount::new(rows)).bench_local(|| math::silu_times(&ctx, &gate, black_box(&mut up), WIDTH));
    }
}
