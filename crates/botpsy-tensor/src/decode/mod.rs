//! Bytes to `f32`: one function per layout, each over one block at a time.
//!
//! The multiplications and their order are those of ggml, so every value is bit-equal to what the `gguf` Python package
//! gives. Blocks are fixed-size arrays: bounds checks vanish and the inner loops vectorize.

mod block256;
mod block32;

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::{DType, TensorError, TensorView};

/// All values of a tensor. Integers and booleans are converted.
///
/// # Errors
/// Only types that [`dequantize_row`] decodes can be held by a view today, so there are none; the signature leaves room
/// for a type that cannot be decoded.
pub fn dequantize(view: &TensorView<'_>) -> Result<Vec<f32>, TensorError> {
    let mut out = vec![0.0; view.n_values()];
    dequantize_row(view.dtype(), view.bytes(), &mut out);
    Ok(out)
}

/// Decodes `bytes` into `out`: a row, or any whole number of blocks.
///
/// # Panics
/// If `bytes` is not exactly `dtype.row_bytes(out.len())` long.
pub fn dequantize_row(dtype: DType, bytes: &[u8], out: &mut [f32]) {
    assert_eq!(
        dtype.row_bytes(out.len()),
        Some(bytes.len()),
        "{dtype}: {} bytes for {} values",
        bytes.len(),
        out.len()
    );
    match dtype {
        DType::F64 => each(bytes, out, |b| f64::from_le_bytes(*b) as f32),
        DType::F32 => each(bytes, out, |b| f32::from_le_bytes(*b)),
        DType::F16 => f16_row(bytes, out),
        DType::BF16 => each(bytes, out, |b| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16)),
        DType::I8 => each(bytes, out, |&[b]| f32::from(b as i8)),
        DType::U8 => each(bytes, out, |&[b]| f32::from(b)),
        DType::I16 => each(bytes, out, |b| f32::from(i16::from_le_bytes(*b))),
        DType::I32 => each(bytes, out, |b| i32::from_le_bytes(*b) as f32),
        DType::I64 => each(bytes, out, |b| i64::from_le_bytes(*b) as f32),
        DType::Bool => each(bytes, out, |&[b]| f32::from(u8::from(b != 0))),
        DType::Q4_0 => blocks(bytes, out, block32::q4_0),
        DType::Q4_1 => blocks(bytes, out, block32::q4_1),
        DType::Q5_0 => blocks(bytes, out, block32::q5_0),
        DType::Q5_1 => blocks(bytes, out, block32::q5_1),
        DType::Q8_0 => blocks(bytes, out, block32::q8_0),
        DType::Iq4Nl => blocks(bytes, out, block32::iq4_nl),
        DType::Q2K => blocks(bytes, out, block256::q2_k),
        DType::Q3K => blocks(bytes, out, block256::q3_k),
        DType::Q4K => blocks(bytes, out, block256::q4_k),
        DType::Q5K => blocks(bytes, out, block256::q5_k),
        DType::Q6K => blocks(bytes, out, block256::q6_k),
        DType::Iq4Xs => blocks(bytes, out, block256::iq4_xs),
    }
}

fn each<const N: usize>(bytes: &[u8], out: &mut [f32], value: impl Fn(&[u8; N]) -> f32) {
    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *out = value(bytes);
    }
}

fn blocks<const N: usize, const LEN: usize>(bytes: &[u8], out: &mut [f32], decode: impl Fn(&[u8; N], &mut [f32; LEN])) {
    for (out, block) in out.as_chunks_mut().0.iter_mut().zip(bytes.as_chunks().0) {
        decode(block, out);
    }
}

/// Through a small aligned buffer: the slice conversion asks once for F16C instead of once per value.
fn f16_row(bytes: &[u8], out: &mut [f32]) {
    let mut aligned = [f16::ZERO; 64];
    for (out, bytes) in out.chunks_mut(64).zip(bytes.chunks(128)) {
        for (half, bytes) in aligned.iter_mut().zip(bytes.as_chunks().0) {
            *half = f16::from_le_bytes(*bytes);
        }
        aligned[..out.len()].convert_to_f32_slice(out);
    }
}

/// The F16 at the start of `bytes`.
fn half_at(bytes: &[u8]) -> f32 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// The sixteen levels of IQ4_NL and IQ4_XS.
const IQ4_LEVELS: [f32; 16] =
    [-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_types_convert() {
        let check = |dtype, bytes: &[u8], expected: &[f32]| {
            let view = TensorView::new(dtype, vec![expected.len()], bytes).unwrap();
            assert_eq!(dequantize(&view).unwrap(), expected, "{dtype}");
        };
        check(DType::F64, &1.5f64.to_le_bytes(), &[1.5]);
        check(DType::I8, &[255, 127], &[-1.0, 127.0]);
        check(DType::U8, &[255, 127], &[255.0, 127.0]);
        check(DType::I16, &[0, 128], &[-32768.0]);
        check(DType::I32, &(-7i32).to_le_bytes(), &[-7.0]);
        check(DType::I64, &i64::MIN.to_le_bytes(), &[-9_223_372_036_854_775_808.0]);
        check(DType::Bool, &[0, 1, 2], &[0.0, 1.0, 1.0]);
        check(DType::BF16, &[0x80, 0x3f, 0x80, 0xff], &[1.0, f32::NEG_INFINITY]);
        let long: Vec<f32> = (0..130).map(|i| i as f32).collect();
        let bytes: Vec<u8> = long.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect();
        check(DType::F16, &bytes, &long);
    }

    #[test]
    #[should_panic(expected = "Q8_0: 33 bytes for 32 values")]
    fn lengths_are_asserted() {
        dequantize_row(DType::Q8_0, &[0; 33], &mut [0.0; 32]);
    }
}
