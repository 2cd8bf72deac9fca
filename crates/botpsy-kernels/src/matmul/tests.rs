mod bf16;
mod gated;
mod k_quants;

use botpsy_tensor::{DType, TensorView, dequantize, quantize};

use super::*;
use crate::{Isa, QuantizedRows, ThreadPool};

fn value(i: usize) -> f32 {
    // A small generator of values in (-1, 1), the same on every machine.
    let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f32 / (1 << 23) as f32) - 1.0
}

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| value(i * 31 + seed)).collect()
}

struct Case {
    dtype: DType,
    rows: usize,
    cols: usize,
    int8: bool,
}

fn cases() -> Vec<Case> {
    let shapes = [(1, 1), (3, 5), (16, 32), (17, 33), (40, 64), (70, 96), (200, 256)];
    let mut cases = Vec::new();
    for (rows, cols) in shapes {
        cases.push(Case { dtype: DType::F32, rows, cols, int8: false });
        cases.push(Case { dtype: DType::BF16, rows, cols, int8: false });
        cases.push(Case { dtype: DType::F16, rows, cols, int8: false });
        if cols % 32 == 0 {
            cases.push(Case { dtype: DType::Q8_0, rows, cols, int8: false });
            cases.push(Case { dtype: DType::Q8_0, rows, cols, int8: true });
        }
    }
    cases
}

fn product(isa: Isa, n_threads: usize, case: &Case, bytes: &[u8], x: &[f32]) -> Vec<f32> {
    let ctx = Context { isa, pool: ThreadPool::new(n_threads) };
    let view = TensorView::new(case.dtype, vec![case.rows, case.cols], bytes).unwrap();
    let w = PackedMatrix::pack(&ctx, &view);
    let mut out = vec![f32::NAN; x.len() / case.cols * case.rows];
    let mut buffer = QuantizedRows::default();
    let rows = match case.int8 {
        true => Rows::quantized(x, case.cols, &ctx, &mut buffer),
        false => Rows::exact(x, case.cols),
    };
    matmul(&ctx, &w, rows, &mut out);
    out
}

#[test]
fn every_isa_is_near_the_decoded_product() {
    for (seed, case) in cases().iter().enumerate() {
        let n = 1 + seed % 6;
        let bytes = quantize(&values(case.rows * case.cols, seed), case.cols, case.dtype).unwrap();
        let x = values(n * case.cols, seed + 1);
        let w = dequantize(&TensorView::new(case.dtype, vec![case.rows, case.cols], &bytes).unwrap()).unwrap();
        // Rounding x to int8 moves each of its values by at most 1 / 254, and each is below 1.
        let tolerance = if case.int8 { case.cols as f32 / 254.0 } else { 1e-6 * case.cols as f32 };
        for isa in Isa::available() {
            let out = product(isa, 1, case, &bytes, &x);
            for (i, out) in out.iter().enumerate() {
                let (t, row) = (i / case.rows, i % case.rows);
                let (w, x) = (&w[row * case.cols..][..case.cols], &x[t * case.cols..][..case.cols]);
                let exact: f64 = w.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                assert!(
                    (f64::from(*out) - exact).abs() <= f64::from(tolerance),
                    "{out} for {exact}: {} on {}",
                    case.dtype.name(),
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn int8_products_agree_between_instruction_sets() {
    for (seed, case) in cases().iter().enumerate().filter(|(_, case)| case.int8) {
        let bytes = quantize(&values(case.rows * case.cols, seed), case.cols, case.dtype).unwrap();
        let x = values(3 * case.cols, seed + 1);
        let scalar = product(Isa::SCALAR, 1, case, &bytes, &x);
        for isa in Isa::available() {
            // Only the order of float roundings per block differs: the integer sums are exact.
            for (a, b) in product(isa, 1, case, &bytes, &x).iter().zip(&scalar) {
                assert!((a - b).abs() <= 1e-5, "{a} for {b} on {}", isa.name());
            }
        }
    }
}

#[test]
fn extreme_bytes_do_not_saturate() {
    // Every weight -128 or 127 and every input at the ends: where saturating instructions would go wrong.
    let case = Case { dtype: DType::Q8_0, rows: 16, cols: 32, int8: true };
    for byte in [0x80u8, 0x7f] {
        let mut block = vec![0x00, 0x3c]; // scale 1.0
        block.extend([byte; 32]);
        for sign in [1.0f32, -1.0] {
            let expected = f32::from(byte as i8) * 127.0 * 32.0 * (sign / 127.0);
            for isa in Isa::available() {
                let out = product(isa, 1, &case, &block.repeat(16), &[sign; 32]);
                assert!(
                    out.iter().all(|x| (x - expected).abs() <= expected.abs() * 1e-6),
                    "{out:?} for {expected} on {}",
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_neighbours_or_threads() {
    for (seed, case) in cases().iter().enumerate() {
        let bytes = quantize(&values(case.rows * case.cols, seed), case.cols, case.dtype).unwrap();
        let x = values(11 * case.cols, seed + 1);
        for isa in Isa::available() {
            let together = product(isa, 1, case, &bytes, &x);
            assert_eq!(product(isa, 3, case, &bytes, &x), together, "threads on {}", isa.name());
            for n in [1, 2, 3, 5] {
                let pieces: Vec<f32> = x.chunks(n * case.cols).flat_map(|x| product(isa, 2, case, &bytes, x)).collect();
                assert_eq!(pieces, together, "{n} at a time: {} on {}", case.dtype.name(), isa.name());
            }
        }
    }
}

#[test]
fn a_row_is_what_the_file_holds() {
    let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
    for (seed, case) in cases().iter().enumerate() {
        let bytes = quantize(&values(case.rows * case.cols, seed), case.cols, case.dtype).unwrap();
        let view = TensorView::new(case.dtype, vec![case.rows, case.cols], &bytes).unwrap();
        let (w, decoded) = (PackedMatrix::pack(&ctx, &view), dequantize(&view).unwrap());
        let mut row = vec![0.0; case.cols];
        for (i, expected) in decoded.chunks(case.cols).enumerate() {
            w.row(i, &mut row);
            assert_eq!(row, expected, "row {i} of {w:?} in {}", case.dtype.name());
        }
    }
}

#[test]
fn several_products_are_each_their_own() {
    let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(2) };
    let pack = |rows, seed| {
        let bytes = quantize(&values(rows * 40, seed), 40, DType::BF16).unwrap();
        PackedMatrix::pack(&ctx, &TensorView::new(DType::BF16, vec![rows, 40], &bytes).unwrap())
    };
    let (a, b, x) = (pack(33, 1), pack(5, 2), values(3 * 40, 3));
    let mut alone = [vec![0.0; 99], vec![0.0; 15]];
    matmul(&ctx, &a, Rows::exact(&x, 40), &mut alone[0]);
    matmul(&ctx, &b, Rows::exact(&x, 40), &mut alone[1]);
    let mut both = [vec![0.0; 99], vec![0.0; 15]];
    let [out_a, out_b] = &mut both;
    matmul_many(
        &ctx,
        Rows::exact(&x, 40),
        &mut [Product { weights: &a, out: out_a }, Product { weights: &b, out: out_b }],
    );
    assert_eq!(both, alone);
}
