//! Element types and the sizes of their blocks.

use std::fmt;

/// How values are laid out in bytes, little endian. The `Q*` and `Iq*` types are ggml's block formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the field's own; `name` prints them")]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    I8,
    U8,
    I16,
    I32,
    I64,
    Bool,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Nl,
    Iq4Xs,
}

impl DType {
    /// Every type, in the order of declaration.
    pub const ALL: [Self; 22] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::Bool,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q2K,
        Self::Q3K,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
        Self::Iq4Nl,
        Self::Iq4Xs,
    ];

    /// Values in a block; 1 for plain types.
    pub const fn block_len(self) -> usize {
        self.layout().0
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        self.layout().1
    }

    const fn layout(self) -> (usize, usize) {
        match self {
            Self::F64 | Self::I64 => (1, 8),
            Self::F32 | Self::I32 => (1, 4),
            Self::F16 | Self::BF16 | Self::I16 => (1, 2),
            Self::I8 | Self::U8 | Self::Bool => (1, 1),
            Self::Q4_0 | Self::Iq4Nl => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q8_0 => (32, 34),
            Self::Q2K => (256, 84),
            Self::Q3K => (256, 110),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
            Self::Iq4Xs => (256, 136),
        }
    }

    /// The name that ggml and safetensors print, such as `Q4_K` or `BF16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::BF16 => "BF16",
            Self::I8 => "I8",
            Self::U8 => "U8",
            Self::I16 => "I16",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::Bool => "BOOL",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q8_0 => "Q8_0",
            Self::Q2K => "Q2_K",
            Self::Q3K => "Q3_K",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
            Self::Iq4Nl => "IQ4_NL",
            Self::Iq4Xs => "IQ4_XS",
        }
    }

    /// The type's number in a GGUF file; `None` for `U8` and `Bool`, which GGUF tensors do not have.
    pub const fn ggml_id(self) -> Option<u32> {
        Some(match self {
            Self::U8 | Self::Bool => return None,
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q4_1 => 3,
            Self::Q5_0 => 6,
            Self::Q5_1 => 7,
            Self::Q8_0 => 8,
            Self::Q2K => 10,
            Self::Q3K => 11,
            Self::Q4K => 12,
            Self::Q5K => 13,
            Self::Q6K => 14,
            Self::Iq4Nl => 20,
            Self::Iq4Xs => 23,
            Self::I8 => 24,
            Self::I16 => 25,
            Self::I32 => 26,
            Self::I64 => 27,
            Self::F64 => 28,
            Self::BF16 => 30,
        })
    }

    /// The type with this number in a GGUF file, if we read it.
    pub fn from_ggml_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.ggml_id() == Some(id))
    }

    /// True for types that hold real numbers, plain or in blocks: what a weight may be.
    pub const fn is_float(self) -> bool {
        !matches!(self, Self::I8 | Self::U8 | Self::I16 | Self::I32 | Self::I64 | Self::Bool)
    }

    /// True for block formats.
    pub const fn is_quantized(self) -> bool {
        self.block_len() > 1
    }

    /// Bytes of a row of `n_values`; `None` if that is not a whole number of blocks, or overflows.
    pub const fn row_bytes(self, n_values: usize) -> Option<usize> {
        if !n_values.is_multiple_of(self.block_len()) {
            return None;
        }
        (n_values / self.block_len()).checked_mul(self.block_bytes())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_there_and_back() {
        for dtype in DType::ALL {
            match dtype.ggml_id() {
                Some(id) => assert_eq!(DType::from_ggml_id(id), Some(dtype)),
                None => assert!(matches!(dtype, DType::U8 | DType::Bool)),
            }
        }
        // Q8_1, Q8_K, IQ2_XXS, removed Q4_2, beyond the table.
        for id in [4, 5, 9, 15, 16, 31, 1_000, u32::MAX] {
            assert_eq!(DType::from_ggml_id(id), None, "{id}");
        }
    }

    #[test]
    fn row_bytes_counts_whole_blocks_only() {
        assert_eq!(DType::Q8_0.row_bytes(64), Some(68));
        assert_eq!(DType::Q8_0.row_bytes(63), None);
        assert_eq!(DType::Q4K.row_bytes(0), Some(0));
        assert_eq!(DType::F64.row_bytes(usize::MAX), None);
    }
}
