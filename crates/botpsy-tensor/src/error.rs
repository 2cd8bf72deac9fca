//! What can be wrong with a tensor before its values are known.

use crate::DType;

/// A tensor whose type, shape and bytes do not fit together, or a conversion that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The byte count does not follow from type and shape.
    #[error("{dtype} {shape:?}: expected {expected} bytes, found {found}")]
    ByteCount {
        /// Element type.
        dtype: DType,
        /// Shape, outermost dimension first.
        shape: Vec<usize>,
        /// Bytes that type and shape need.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The shape's product or byte size is beyond the address space.
    #[error("{dtype} {shape:?}: size overflows")]
    Overflow {
        /// Element type.
        dtype: DType,
        /// Shape, outermost dimension first.
        shape: Vec<usize>,
    },
    /// Rows of a block format hold whole blocks.
    #[error("{dtype}: expected rows of a multiple of {} values, found {cols}", dtype.block_len())]
    RowLength {
        /// Element type.
        dtype: DType,
        /// Values in a row.
        cols: usize,
    },
    /// The values are not a whole number of rows.
    #[error("expected a multiple of {cols} values, found {found}")]
    RowCount {
        /// Values in a row.
        cols: usize,
        /// Values that were given.
        found: usize,
    },
    /// There is no quantizer for this type.
    #[error("quantizing to {dtype} is not supported")]
    UnsupportedTarget {
        /// The type that was asked for.
        dtype: DType,
    },
    /// A value that the block format cannot hold: not finite, or its block's scale is beyond F16.
    #[error("value {index}: {dtype} cannot hold it or its block: {value}")]
    Unrepresentable {
        /// The type that was asked for.
        dtype: DType,
        /// Index of the value.
        index: usize,
        /// The value as text.
        value: String,
    },
}
