//! Products of bfloat16 weights with rows rounded to bfloat16.

use super::*;

/// Rows and columns: one of each, odd ones, off the sixteen rows of a group, off the groups of a tile.
const SHAPES: [(usize, usize); 8] = [(1, 1), (3, 5), (16, 2), (17, 33), (40, 64), (70, 95), (129, 31), (200, 257)];

fn bf16_bits(x: f32) -> u16 {
    half::bf16::from_f32(x).to_bits()
}

fn rounded(x: f32) -> f32 {
    half::bf16::from_f32(x).to_f32()
}

fn bytes_of(weights: &[f32]) -> Vec<u8> {
    weights.iter().flat_map(|w| bf16_bits(*w).to_le_bytes()).collect()
}

/// `weights` and `x` rounded to bfloat16, multiplied.
fn product(isa: Isa, n_threads: usize, (rows, cols): (usize, usize), weights: &[f32], x: &[f32]) -> Vec<f32> {
    let ctx = Context { isa, pool: ThreadPool::new(n_threads) };
    let bytes = bytes_of(weights);
    let w = PackedMatrix::pack(&ctx, &TensorView::new(DType::BF16, vec![rows, cols], &bytes).unwrap());
    assert!(w.takes_bf16() && !w.takes_int8());
    let mut out = vec![f32::NAN; x.len() / cols * rows];
    let mut buffer = QuantizedRows::default();
    matmul(&ctx, &w, Rows::bf16(x, cols, &ctx, &mut buffer), &mut out);
    out
}

#[test]
fn every_isa_is_near_the_sum_of_the_rounded_values() {
    for (seed, (rows, cols)) in SHAPES.into_iter().enumerate() {
        for n in [1, 2, 5, 6, 7, 13] {
            let (w, x) = (values(rows * cols, seed), values(n * cols, seed + 1));
            for isa in Isa::levels() {
                let out = product(isa, 1, (rows, cols), &w, &x);
                for (i, out) in out.iter().enumerate() {
                    let (w, x) = (&w[i % rows * cols..][..cols], &x[i / rows * cols..][..cols]);
                    let terms = w.iter().zip(x).map(|(w, x)| f64::from(rounded(*w)) * f64::from(rounded(*x)));
                    let (exact, size) = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
                    // Each of up to `cols` additions rounds a sum no larger than `size` to 24 bits.
                    let tolerance = size * cols as f64 * 2.0_f64.powi(-24);
                    let error = (f64::from(*out) - exact).abs();
                    assert!(error <= tolerance, "{out} for {exact}: {rows} x {cols}, {n} rows, {}", isa.name());
                }
            }
        }
    }
}

#[test]
fn a_row_of_a_batch_is_that_row_alone() {
    for (rows, cols) in [(150, 96), (33, 51)] {
        let (w, x) = (values(rows * cols, 5), values(64 * cols, 6));
        for isa in Isa::levels() {
            let alone: Vec<f32> = x.chunks(cols).flat_map(|x| product(isa, 1, (rows, cols), &w, x)).collect();
            for n in (1..=17).chain([64]) {
                let together = product(isa, 1 + n % 3, (rows, cols), &w, &x[..n * cols]);
                assert_eq!(together, alone[..n * rows], "{n} rows of {cols} on {}", isa.name());
            }
        }
    }
}

#[test]
fn values_that_are_no_numbers_go_where_they_belong() {
    let (rows, cols) = (37, 9);
    let odd_ones = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX];
    for (at, odd_one) in odd_ones.into_iter().flat_map(|x| (0..cols).map(move |at| (at, x))) {
        // Weights of one sign: a product with infinity is infinite, and no two infinities cancel.
        let mut w = vec![0.5; rows * cols];
        let mut x = vec![0.25; 3 * cols];
        x[cols + at] = odd_one;
        w[20 * cols + at] = odd_one;
        for isa in Isa::levels() {
            for (i, out) in product(isa, 1, (rows, cols), &w, &x).iter().enumerate() {
                let hit = [i / rows == 1, i % rows == 20].iter().filter(|hit| **hit).count();
                let expected = match hit {
                    0 => 0.125 * cols as f32,
                    // The largest number rounds up to infinity, as one and as a factor.
                    _ if odd_one == f32::MAX => f32::INFINITY,
                    2 => odd_one * odd_one,
                    _ => odd_one,
                };
                let same = *out == expected || (out.is_nan() && expected.is_nan());
                assert!(same, "{out} for {expected}: {odd_one} at {at} on {}", isa.name());
            }
        }
    }
}

#[test]
fn huge_and_tiny_values_keep_their_sums() {
    let cols = 64;
    // Denormals may count as zero: what they add is far below the smallest normal number.
    for scale in [1e-39, 1e-38, 1e-30, 1e30] {
        let w: Vec<f32> = values(16 * cols, 1).iter().map(|w| w * scale).collect();
        let x = values(2 * cols, 2);
        let scalar = product(Isa::SCALAR, 1, (16, cols), &w, &x);
        for isa in Isa::levels() {
            for (a, b) in product(isa, 1, (16, cols), &w, &x).iter().zip(&scalar) {
                let tolerance = scale * cols as f32 * 1e-6 + cols as f32 * f32::MIN_POSITIVE;
                assert!((a - b).abs() <= tolerance, "{a} for {b} with weights of {scale} on {}", isa.name());
            }
        }
    }
}

#[test]
fn a_matrix_of_another_kind_sees_exact_rows() {
    let (rows, cols) = (33, 64);
    let (values_w, x) = (values(rows * cols, 1), values(3 * cols, 2));
    let kinds = [DType::BF16, DType::F32, DType::Q8_0, DType::F16];
    for isa in Isa::levels() {
        let ctx = Context { isa, pool: ThreadPool::new(2) };
        let packed = kinds.map(|dtype| {
            let bytes = quantize(&values_w, cols, dtype).unwrap();
            PackedMatrix::pack(&ctx, &TensorView::new(dtype, vec![rows, cols], &bytes).unwrap())
        });
        let mut outs = [const { Vec::new() }; 4];
        outs.iter_mut().for_each(|out| out.resize(3 * rows, f32::NAN));
        let mut buffer = QuantizedRows::default();
        let mut products: Vec<_> =
            packed.iter().zip(&mut outs).map(|(weights, out)| Product { weights, out: &mut out[..] }).collect();
        matmul_many(&ctx, Rows::bf16(&x, cols, &ctx, &mut buffer), &mut products);
        for ((dtype, weights), found) in kinds.iter().zip(&packed).zip(&outs) {
            let mut alone = vec![f32::NAN; 3 * rows];
            let rows = match weights.takes_bf16() {
                true => Rows::bf16(&x, cols, &ctx, &mut buffer),
                false => Rows::exact(&x, cols),
            };
            matmul(&ctx, weights, rows, &mut alone);
            assert_eq!(*found, alone, "{} on {}", dtype.name(), isa.name());
        }
        // The other way round: int8 rows are none for bfloat16 weights.
        let mut int8 = vec![f32::NAN; 3 * rows];
        matmul(&ctx, &packed[0], Rows::quantized(&x, cols, &ctx, &mut buffer), &mut int8);
        let mut exact = vec![f32::NAN; 3 * rows];
        matmul(&ctx, &packed[0], Rows::exact(&x, cols), &mut exact);
        assert_eq!(int8, exact, "{}", isa.name());
        assert_ne!(outs[0], exact, "rounding has left no trace on {}", isa.name());
    }
}

#[test]
fn a_buffer_serves_rows_of_any_number() {
    let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
    let (w, x) = (values(20 * 6, 1), values(9 * 6, 2));
    let bytes = bytes_of(&w);
    let packed = PackedMatrix::pack(&ctx, &TensorView::new(DType::BF16, vec![20, 6], &bytes).unwrap());
    let mut buffer = QuantizedRows::default();
    for n in [9, 1, 4, 9] {
        let mut out = vec![f32::NAN; n * 20];
        matmul(&ctx, &packed, Rows::bf16(&x[..n * 6], 6, &ctx, &mut buffer), &mut out);
        assert_eq!(out, product(ctx.isa, 1, (20, 6), &w, &x[..n * 6]));
    }
}
