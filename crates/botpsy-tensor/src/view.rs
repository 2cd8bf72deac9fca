//! Borrowed bytes with a type and a shape that fit together.

use std::fmt;

use crate::{DType, TensorError};

/// A tensor at rest: element type, shape (outermost dimension first, as in `[rows, cols]`) and its bytes, row-major.
///
/// The constructor proves that the bytes are exactly what type and shape need. A shape of no dimensions is one value.
#[derive(Clone, PartialEq, Eq)]
pub struct TensorView<'a> {
    dtype: DType,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl<'a> TensorView<'a> {
    /// Joins type, shape and bytes.
    ///
    /// # Errors
    /// If a row is not a whole number of blocks, the size overflows, or `bytes` has another length.
    pub fn new(dtype: DType, shape: Vec<usize>, bytes: &'a [u8]) -> Result<Self, TensorError> {
        let expected = byte_count(dtype, &shape)?;
        if bytes.len() != expected {
            return Err(TensorError::ByteCount { dtype, shape, expected, found: bytes.len() });
        }
        Ok(Self { dtype, shape, bytes })
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Dimensions, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All bytes, row after row.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Number of values.
    pub fn n_values(&self) -> usize {
        self.shape.iter().product()
    }

    /// Number of rows: the product of all dimensions but the last.
    pub fn rows(&self) -> usize {
        self.shape.split_last().map_or(1, |(_, outer)| outer.iter().product())
    }

    /// Values in a row: the last dimension.
    pub fn cols(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// The bytes of row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_bytes(&self, i: usize) -> &'a [u8] {
        assert!(i < self.rows(), "row {i} of {} rows", self.rows());
        let len = self.bytes.len() / self.rows();
        &self.bytes[i * len..(i + 1) * len]
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorView({} {:?})", self.dtype, self.shape)
    }
}

/// Bytes that a tensor of this type and shape takes.
fn byte_count(dtype: DType, shape: &[usize]) -> Result<usize, TensorError> {
    let overflow = || TensorError::Overflow { dtype, shape: shape.to_vec() };
    let cols = shape.last().copied().unwrap_or(1);
    if !cols.is_multiple_of(dtype.block_len()) {
        return Err(TensorError::RowLength { dtype, cols });
    }
    // Zeros last: a shape such as [2^40, 2^40, 0] must not pass because its product happens to be 0 in another order.
    let n_values = shape.iter().filter(|&&dim| dim != 0).try_fold(1usize, |n, &dim| n.checked_mul(dim));
    let bytes = n_values.and_then(|n| n.checked_mul(dtype.block_bytes())).ok_or_else(overflow)?;
    if shape.contains(&0) { Ok(0) } else { Ok(bytes / dtype.block_len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_must_match_type_and_shape() {
        let bytes = [0u8; 68];
        let view = TensorView::new(DType::Q8_0, vec![2, 32], &bytes).unwrap();
        assert_eq!((view.rows(), view.cols(), view.n_values()), (2, 32, 64));
        assert_eq!(view.row_bytes(1).len(), 34);

        let text = |dtype, shape: &[usize], len| {
            TensorView::new(dtype, shape.to_vec(), &bytes[..len]).unwrap_err().to_string()
        };
        assert_eq!(text(DType::Q8_0, &[2, 32], 67), "Q8_0 [2, 32]: expected 68 bytes, found 67");
        assert_eq!(text(DType::Q4K, &[2, 32], 68), "Q4_K: expected rows of a multiple of 256 values, found 32");
        let huge = [usize::MAX / 2, 3];
        assert_eq!(text(DType::F32, &huge, 4), format!("F32 {huge:?}: size overflows"));
        assert!(TensorView::new(DType::F32, vec![usize::MAX, usize::MAX, 0], &[]).is_err());
    }

    #[test]
    fn a_scalar_has_one_row_of_one_value() {
        let view = TensorView::new(DType::F32, vec![], &[0, 0, 128, 63]).unwrap();
        assert_eq!((view.rows(), view.cols(), view.n_values()), (1, 1, 1));
        let empty = TensorView::new(DType::F32, vec![0, 4], &[]).unwrap();
        assert_eq!((empty.rows(), empty.n_values()), (0, 0));
    }
}
