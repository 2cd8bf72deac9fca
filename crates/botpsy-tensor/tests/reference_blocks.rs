//! Every layout against the values of the PyPI package `gguf`: `fixtures/dequant`, made by
//! `checks/make_dequant_fixtures.py`.

#![allow(clippy::unwrap_used)]

use std::fs;

use botpsy_tensor::{DType, TensorView, dequantize, dequantize_row, quantize};

/// What is decoded, and whether also encoded.
const LAYOUTS: [(DType, bool); 15] = [
    (DType::F32, false),
    (DType::F16, true),
    (DType::BF16, true),
    (DType::Q4_0, false),
    (DType::Q4_1, false),
    (DType::Q5_0, false),
    (DType::Q5_1, false),
    (DType::Q8_0, true),
    (DType::Q2K, false),
    (DType::Q3K, false),
    (DType::Q4K, false),
    (DType::Q5K, false),
    (DType::Q6K, false),
    (DType::Iq4Nl, false),
    (DType::Iq4Xs, false),
];

fn read(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../fixtures/dequant/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    assert_eq!(bytes.len() % 4, 0);
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// The same bits; any NaN for a NaN, since processors differ in what they keep of one.
fn is_same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn every_value_is_bit_equal() {
    for (dtype, _) in LAYOUTS {
        let (len, size) = (dtype.block_len(), dtype.block_bytes());
        let file = read(&format!("{dtype}.decode.bin"));
        let n_blocks = file.len() / (size + 4 * len);
        assert!(n_blocks >= 64, "{dtype}: {n_blocks} blocks");
        let (blocks, values) = file.split_at(n_blocks * size);
        let expected = floats(values);
        let found = dequantize(&TensorView::new(dtype, vec![n_blocks, len], blocks).unwrap()).unwrap();
        assert_eq!(found.len(), expected.len());
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(is_same(*found, *expected), "{dtype}: value {i}: {found:e}, expected {expected:e}");
        }
    }
}

#[test]
fn pieces_of_any_length_give_the_same_values() {
    for (dtype, _) in LAYOUTS {
        let (len, size) = (dtype.block_len(), dtype.block_bytes());
        let blocks = &read(&format!("{dtype}.decode.bin"))[..64 * size];
        let mut whole = vec![0.0; 64 * len];
        dequantize_row(dtype, blocks, &mut whole);
        for n_blocks in [0, 1, 2, 3, 7, 63] {
            let mut piece = vec![0.0; n_blocks * len];
            dequantize_row(dtype, &blocks[64 * size - n_blocks * size..], &mut piece);
            let expected = &whole[(64 - n_blocks) * len..];
            assert!(piece.iter().zip(expected).all(|(a, b)| is_same(*a, *b)), "{dtype}: {n_blocks} blocks");
        }
    }
}

#[test]
fn encoded_bytes_are_equal() {
    for (dtype, _) in LAYOUTS.into_iter().filter(|(_, is_encoded)| *is_encoded) {
        let file = read(&format!("{dtype}.encode.bin"));
        let row_bytes = dtype.row_bytes(32).unwrap();
        let n_rows = file.len() / (4 * 32 + row_bytes);
        assert!(n_rows >= 64, "{dtype}: {n_rows} rows");
        let (values, expected) = file.split_at(n_rows * 4 * 32);
        for (i, (values, expected)) in values.chunks(4 * 32).zip(expected.chunks(row_bytes)).enumerate() {
            assert_eq!(quantize(&floats(values), 32, dtype).unwrap(), expected, "{dtype}: row {i}");
        }
    }
}

#[test]
fn f32_goes_through_unchanged() {
    let file = read("F32.decode.bin");
    let bytes = &file[..file.len() / 2];
    assert_eq!(quantize(&floats(bytes), 1, DType::F32).unwrap(), bytes);
}
