//! Blocks of 256 columns: every byte of a block is a valid one, so they are made from random bytes.

use botpsy_tensor::{DType, TensorView, dequantize};
use half::f16;

use super::{Case, product, value, values};
use crate::activation::Rows;
use crate::matmul::matmul;
use crate::{Context, Isa, PackedMatrix, QuantizedRows, ThreadPool};

const KINDS: [DType; 3] = [DType::Q4K, DType::Q5K, DType::Q6K];

fn cases(dtype: DType) -> [Case; 5] {
    [(1, 256), (16, 512), (33, 256), (50, 1024), (17, 3584)].map(|(rows, cols)| Case { dtype, rows, cols, int8: true })
}

/// Where the half-precision factors of a block are.
fn factors(dtype: DType) -> &'static [usize] {
    if dtype == DType::Q6K { &[208] } else { &[0, 2] }
}

/// Blocks of random bytes; factors of either sign, below 1/16, some of them zero.
fn random(case: &Case, seed: usize) -> Vec<u8> {
    blocks(case, |i| (value(i + seed).to_bits() >> 7) as u8, |i| f16::from_f32(value(7 * i + seed).max(-0.9) / 16.0))
}

fn blocks(case: &Case, byte: impl Fn(usize) -> u8, factor: impl Fn(usize) -> f16) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..case.dtype.row_bytes(case.cols).unwrap() * case.rows).map(byte).collect();
    for (i, block) in bytes.chunks_exact_mut(case.dtype.block_bytes()).enumerate() {
        for (j, at) in factors(case.dtype).iter().enumerate() {
            let x = if i % 7 == 3 { f16::ZERO } else { factor(2 * i + j) };
            block[*at..at + 2].copy_from_slice(&x.to_le_bytes());
        }
    }
    bytes
}

/// Decoded weights, and per output the sum of the products' sizes: what its rounding is measured with.
fn exact(case: &Case, bytes: &[u8], x: &[f32]) -> Vec<(f64, f64)> {
    let w = dequantize(&TensorView::new(case.dtype, vec![case.rows, case.cols], bytes).unwrap()).unwrap();
    let mut out = Vec::new();
    for x in x.chunks(case.cols) {
        for w in w.chunks(case.cols) {
            let products = w.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
            let sizes = w.iter().map(|w| f64::from(w.abs()));
            out.push((products.sum(), sizes.sum()));
        }
    }
    out
}

#[test]
fn a_row_is_what_the_file_holds() {
    let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(2) };
    for dtype in KINDS {
        for case in cases(dtype) {
            let bytes = random(&case, 5);
            let view = TensorView::new(dtype, vec![case.rows, case.cols], &bytes).unwrap();
            let (w, decoded) = (PackedMatrix::pack(&ctx, &view), dequantize(&view).unwrap());
            let mut row = vec![0.0f32; case.cols];
            for (i, expected) in decoded.chunks(case.cols).enumerate() {
                w.row(i, &mut row);
                let same = row.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "row {i} of {w:?} in {dtype}");
            }
        }
    }
}

#[test]
fn packing_adds_no_bytes_to_whole_groups() {
    let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
    for dtype in KINDS {
        let case = Case { dtype, rows: 32, cols: 512, int8: true };
        let bytes = random(&case, 1);
        let w = PackedMatrix::pack(&ctx, &TensorView::new(dtype, vec![32, 512], &bytes).unwrap());
        assert!(w.takes_int8());
        assert_eq!(w.size_bytes(), bytes.len());
    }
}

#[test]
fn every_isa_agrees_with_the_definition_and_is_near_the_decoded_product() {
    for dtype in KINDS {
        for (seed, case) in cases(dtype).into_iter().enumerate() {
            let (bytes, x) = (random(&case, seed), values(3 * case.cols, seed + 1));
            let scalar = product(Isa::SCALAR, 1, &case, &bytes, &x);
            let exact = exact(&case, &bytes, &x);
            for isa in Isa::levels() {
                let out = product(isa, 1, &case, &bytes, &x);
                let unrounded = product(isa, 1, &Case { int8: false, ..case }, &bytes, &x);
                for (i, (exact, size)) in exact.iter().enumerate() {
                    let name = format!("output {i} in {dtype} on {}", isa.name());
                    let (out, scalar, unrounded) = (f64::from(out[i]), f64::from(scalar[i]), f64::from(unrounded[i]));
                    // Integer sums are exact: only the roundings per scale differ, in `f32`.
                    assert!((out - scalar).abs() <= 1e-5 * size, "{out} for {scalar}: {name}");
                    // Each input value is below 1, so rounding moves it by at most 1 / 254.
                    assert!((out - exact).abs() <= size / 254.0, "{out} for {exact}: {name}");
                    assert!((unrounded - exact).abs() <= 1e-5 * size, "{unrounded} for {exact}: {name}");
                }
            }
        }
    }
}

#[test]
fn extremes_are_exact() {
    // All bits set, none, or the sign bits only, with inputs at both ends: integer sums at their largest. With inputs of
    // 127 and a factor of a power of two, every product is a whole number.
    for dtype in KINDS {
        let case = Case { dtype, rows: 17, cols: 512, int8: true };
        for byte in [0xff, 0x00, 0x80, 0x7f] {
            for factor in [1.0, -0.5] {
                let bytes = blocks(&case, |_| byte, |_| f16::from_f32(factor));
                for x in [vec![127.0; 512], vec![-127.0; 512], (0..512).map(|i| 127.0 - (i % 2 * 254) as f32).collect()]
                {
                    let exact = exact(&case, &bytes, &x);
                    for isa in Isa::levels() {
                        let out = product(isa, 1, &case, &bytes, &x);
                        for (out, (exact, size)) in out.iter().zip(&exact) {
                            let near = (f64::from(*out) - exact).abs() <= 1e-6 * 127.0 * size;
                            assert!(near, "{out} for {exact}: {dtype} of {byte:#x} on {}", isa.name());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_row_of_a_batch_is_that_row_alone() {
    for dtype in KINDS {
        for (seed, case) in [(40, 512), (130, 256)].into_iter().enumerate() {
            let case = Case { dtype, rows: case.0, cols: case.1, int8: true };
            let (bytes, x) = (random(&case, seed), values(64 * case.cols, seed + 1));
            let view = TensorView::new(dtype, vec![case.rows, case.cols], &bytes).unwrap();
            for isa in Isa::levels() {
                let ctx = Context { isa, pool: ThreadPool::new(2) };
                let w = PackedMatrix::pack(&ctx, &view);
                let mut buffer = QuantizedRows::default();
                let mut alone = Vec::new();
                for x in x.chunks(case.cols) {
                    let mut out = vec![f32::NAN; case.rows];
                    matmul(&ctx, &w, Rows::quantized(x, case.cols, &ctx, &mut buffer), &mut out);
                    alone.extend(out);
                }
                for n in (1..=17).chain([64]) {
                    let mut out = vec![f32::NAN; n * case.rows];
                    let x = &x[..n * case.cols];
                    matmul(&ctx, &w, Rows::quantized(x, case.cols, &ctx, &mut buffer), &mut out);
                    assert!(out == alone[..out.len()], "{n} rows: {dtype} on {}", isa.name());
                }
            }
        }
    }
}
