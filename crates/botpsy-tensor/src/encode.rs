//! Values to bytes.

use half::{bf16, f16};

use crate::{DType, TensorError};

/// Converts `values`, rows of `cols` each, to `dtype`.
///
/// F16 and BF16 round to the nearest, ties to even. Q8_0 gives the same bytes as ggml.
///
/// # Errors
/// If `values` is not whole rows, a row is not whole blocks, there is no quantizer for `dtype`, or a value does not fit: it
/// is finite and would become infinite, or not finite and the target a block format.
pub fn quantize(values: &[f32], cols: usize, dtype: DType) -> Result<Vec<u8>, TensorError> {
    if values.len().checked_rem(cols).unwrap_or(values.len()) != 0 {
        return Err(TensorError::RowCount { cols, found: values.len() });
    }
    if dtype.row_bytes(cols).is_none() {
        return Err(TensorError::RowLength { dtype, cols });
    }
    match dtype {
        DType::F32 => Ok(values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        DType::F16 => halves(values, dtype, |x| f16::from_f32(x).to_bits(), |bits| f16::from_bits(bits).is_finite()),
        DType::BF16 => halves(values, dtype, |x| bf16::from_f32(x).to_bits(), |bits| bf16::from_bits(bits).is_finite()),
        DType::Q8_0 => q8_0(values),
        _ => Err(TensorError::UnsupportedTarget { dtype }),
    }
}

/// Infinities and NaN stay what they are; a finite value that would become infinite is an error.
fn halves(
    values: &[f32],
    dtype: DType,
    encode: impl Fn(f32) -> u16,
    is_finite: impl Fn(u16) -> bool,
) -> Result<Vec<u8>, TensorError> {
    let mut bytes = Vec::with_capacity(2 * values.len());
    for (index, x) in values.iter().enumerate() {
        let bits = encode(*x);
        if x.is_finite() && !is_finite(bits) {
            return Err(TensorError::Unrepresentable { dtype, index, value: x.to_string() });
        }
        bytes.extend(bits.to_le_bytes());
    }
    Ok(bytes)
}

/// `d = max|x| / 127`; `q = round(x / d)` with the F32 `d`, halves away from zero; then `d` is rounded to F16.
fn q8_0(values: &[f32]) -> Result<Vec<u8>, TensorError> {
    let dtype = DType::Q8_0;
    let mut bytes = Vec::with_capacity(values.len() / dtype.block_len() * dtype.block_bytes());
    for (i, block) in values.as_chunks::<32>().0.iter().enumerate() {
        let max = block.iter().fold(0.0f32, |max, x| max.max(x.abs()));
        let d = max / 127.0;
        let d16 = f16::from_f32(d);
        // A NaN does not raise `max`, so the values are looked at too.
        let bad = block.iter().position(|x| !x.is_finite());
        let bad = bad.or_else(|| d16.is_infinite().then(|| block.iter().position(|x| x.abs() == max)).flatten());
        if let Some(j) = bad {
            return Err(TensorError::Unrepresentable { dtype, index: i * 32 + j, value: block[j].to_string() });
        }
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        bytes.extend(d16.to_le_bytes());
        bytes.extend(block.map(|x| (x * inverse).round() as i8 as u8));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_even() {
        let bits = |x: f32, dtype| {
            let bytes = quantize(&[x], 1, dtype).unwrap();
            u16::from_le_bytes([bytes[0], bytes[1]])
        };
        assert_eq!(bits(f32::from_bits(0x3f80_8000), DType::BF16), 0x3f80);
        assert_eq!(bits(f32::from_bits(0x3f81_8000), DType::BF16), 0x3f82);
        assert_eq!(bits(f32::from_bits(0x3f80_8001), DType::BF16), 0x3f81);
        assert_eq!(bits(1.0 + 1.0 / 2048.0, DType::F16), 0x3c00);
        assert_eq!(bits(1.0 + 3.0 / 2048.0, DType::F16), 0x3c02);
    }

    #[test]
    fn finite_values_do_not_become_infinite() {
        let text = |x: f32, dtype| quantize(&[0.0, x], 2, dtype).unwrap_err().to_string();
        assert_eq!(text(65520.0, DType::F16), "value 1: F16 cannot hold it or its block: 65520");
        assert!(text(f32::MIN, DType::BF16).starts_with("value 1: BF16 cannot hold it"));
        let largest = quantize(&[65519.0, f32::INFINITY, f32::NAN], 3, DType::F16).unwrap();
        assert_eq!(largest[..4], [0xff, 0x7b, 0x00, 0x7c]);
        assert_eq!(largest[5] & 0x7c, 0x7c);
    }

    #[test]
    fn q8_0_rounds_halves_away_from_zero() {
        let mut row = [0.0f32; 32];
        row[..4].copy_from_slice(&[127.0, 2.5, -2.5, 0.49]);
        let bytes = quantize(&row, 32, DType::Q8_0).unwrap();
        assert_eq!(bytes[..2], f16::ONE.to_le_bytes());
        assert_eq!(bytes[2..6].iter().map(|&b| b as i8).collect::<Vec<_>>(), [127, 3, -3, 0]);
    }

    #[test]
    fn what_cannot_be_held_is_named() {
        let text = |values: &[f32], cols, dtype| quantize(values, cols, dtype).unwrap_err().to_string();
        assert_eq!(text(&[0.0; 256], 256, DType::Q4K), "quantizing to Q4_K is not supported");
        assert_eq!(text(&[0.0; 33], 33, DType::Q8_0), "Q8_0: expected rows of a multiple of 32 values, found 33");
        assert_eq!(text(&[0.0; 33], 32, DType::Q8_0), "expected a multiple of 32 values, found 33");
        assert_eq!(text(&[0.0; 1], 0, DType::F32), "expected a multiple of 0 values, found 1");
        let mut row = [0.0f32; 64];
        row[40] = f32::NAN;
        assert_eq!(text(&row, 64, DType::Q8_0), "value 40: Q8_0 cannot hold it or its block: NaN");
        row[40] = 1e8;
        assert_eq!(text(&row, 64, DType::Q8_0), "value 40: Q8_0 cannot hold it or its block: 100000000");
    }
}
