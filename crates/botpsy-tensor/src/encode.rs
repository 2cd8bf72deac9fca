//! Values to bytes.

use half::{bf16, f16};

use crate::{DType, TensorError};

/// Converts `values`, rows of `cols` each, to `dtype`.
///
/// F16 and BF16 round to the nearest, ties to even. Q8_0 gives the same bytes as ggml.
///
/// # Errors
/// If `values` is not whole rows, a row is not whole blocks, there is no quantizer for `dtype`, or a block format cannot
/// hold a value (it is not finite, or so large that the block's F16 scale would be infinite).
pub fn quantize(values: &[f32], cols: usize, dtype: DType) -> Result<Vec<u8>, TensorError> {
    if values.len().checked_rem(cols).unwrap_or(values.len()) != 0 {
        return Err(TensorError::RowCount { cols, found: values.len() });
    }
    if dtype.row_bytes(cols).is_none() {
        return Err(TensorError::RowLength { dtype, cols });
    }
    match dtype {
        DType::F32 => Ok(values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        DType::F16 => Ok(values.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect()),
        DType::BF16 => Ok(values.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect()),
        DType::Q8_0 => q8_0(values),
        _ => Err(TensorError::UnsupportedTarget { dtype }),
    }
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
