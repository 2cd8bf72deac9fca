//! Weights in the layout that the products read: sixteen rows side by side.
//!
//! | kind | group of 16 rows | from |
//! |---|---|---|
//! | `F32` | per column: 16 x f32 | F32 |
//! | `Bf16` | per two columns: 16 pairs of bfloat16 | BF16 |
//! | `Q8` | per 32 columns: 16 x f16 scales; 8 x (16 rows x 4 columns) bytes holding q + 128 | Q8_0 |
//! | `K` | per 256 columns: 16 x each word of the file | Q4_K, Q5_K, Q6_K |
//! | `Blocks` | rows as in the file, decoded on the way | every other type |
//!
//! One lane is one row, so each output element adds up its columns in order, whatever is computed beside it: a product of
//! one row and of five hundred give the same bits. The last group is filled up with zero rows.

#[allow(unsafe_code, reason = "typed views of memory from the system")]
mod buffer;
mod float;
mod k_quants;
mod q8;

use botpsy_tensor::{DType, TensorView, dequantize_row};
pub(crate) use buffer::Buffer;
pub use buffer::{FloatBuffer, OutOfMemory};

use crate::Context;
use crate::activation::BLOCK;
use crate::lanes::LANES;
pub(crate) use k_quants::{KBlocks, KQuant, MAX_BLOCK, Q4_WORDS, Q5_WORDS, Q6_WORDS, SUPER_BLOCK, Words};

/// One 64-byte line: what a 512-bit load takes.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) T);

/// Bytes of sixteen rows and 32 columns: `[k / 4][row][k % 4]`.
pub(crate) type Q8Bytes = [Line<[u8; 4 * LANES]>; BLOCK / 4];

pub(crate) enum Packed {
    F32(Buffer<Line<[f32; LANES]>>),
    Bf16(Buffer<Line<[u16; 2 * LANES]>>),
    Q8 { q: Buffer<Q8Bytes>, d: Buffer<[u16; LANES]> },
    K(KBlocks),
    Blocks { dtype: DType, bytes: Vec<u8>, row_bytes: usize },
}

/// A weight matrix, ready for products.
pub struct PackedMatrix {
    pub(crate) packed: Packed,
    rows: usize,
    cols: usize,
}

impl std::fmt::Debug for PackedMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedMatrix([{}, {}])", self.rows, self.cols)
    }
}

impl PackedMatrix {
    /// Packs a matrix `[rows, cols]` of any decodable type. Nothing is rounded.
    ///
    /// # Panics
    /// If the view is no matrix of a type that decodes to floats; the loader checks both.
    pub fn pack(ctx: &Context, view: &TensorView<'_>) -> PackedMatrix {
        assert_eq!(view.shape().len(), 2, "a weight matrix has two dimensions");
        let (rows, cols) = (view.rows(), view.cols());
        let packed = match view.dtype() {
            DType::F32 => float::pack_f32(ctx, view),
            DType::BF16 => float::pack_bf16(ctx, view),
            DType::Q8_0 => q8::pack_q8(ctx, view),
            dtype => match KQuant::of(dtype) {
                Some(kind) => Packed::K(KBlocks::pack(ctx, view, kind)),
                None => {
                    let row_bytes = dtype.row_bytes(cols).expect("a view holds whole rows");
                    Packed::Blocks { dtype, bytes: view.bytes().to_vec(), row_bytes }
                }
            },
        };
        PackedMatrix { packed, rows, cols }
    }

    /// Number of rows: the length of a product's output.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns: the length of a product's input.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether products of this matrix use int8 input rows where the caller offers them.
    pub fn takes_int8(&self) -> bool {
        matches!(self.packed, Packed::Q8 { .. } | Packed::K(_))
    }

    /// Whether products of this matrix use input rows rounded to bfloat16 where the caller offers them.
    pub fn takes_bf16(&self) -> bool {
        matches!(self.packed, Packed::Bf16(_))
    }

    /// Bytes that it holds in memory.
    pub fn size_bytes(&self) -> usize {
        match &self.packed {
            Packed::F32(lines) => size_of_val(&lines[..]),
            Packed::Bf16(lines) => size_of_val(&lines[..]),
            Packed::Q8 { q, d } => size_of_val(&q[..]) + size_of_val(&d[..]),
            Packed::K(blocks) => blocks.size_bytes(),
            Packed::Blocks { bytes, .. } => bytes.len(),
        }
    }

    /// Decodes one row: an embedding.
    ///
    /// # Panics
    /// If `row` is out of range or `out` is not `cols` long.
    pub fn row(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.rows && out.len() == self.cols, "row {row} of {self:?} into {} values", out.len());
        let (group, lane) = (row / LANES, row % LANES);
        match &self.packed {
            Packed::F32(lines) => {
                for (out, line) in out.iter_mut().zip(&lines[group * self.cols..]) {
                    *out = line.0[lane];
                }
            }
            Packed::Bf16(lines) => {
                for (out, line) in out.chunks_mut(2).zip(&lines[group * self.cols.div_ceil(2)..]) {
                    for (t, out) in out.iter_mut().enumerate() {
                        *out = half::bf16::from_bits(line.0[2 * lane + t]).to_f32();
                    }
                }
            }
            Packed::Q8 { q, d } => {
                let blocks = self.cols / BLOCK;
                let (q, d) = (&q[group * blocks..], &d[group * blocks..]);
                for ((out, q), d) in out.chunks_mut(BLOCK).zip(q).zip(d) {
                    let d = half::f16::from_bits(d[lane]).to_f32();
                    for (k, out) in out.iter_mut().enumerate() {
                        *out = d * (f32::from(q[k / 4].0[4 * lane + k % 4]) - 128.0);
                    }
                }
            }
            Packed::K(blocks) => blocks.row(row, out),
            Packed::Blocks { dtype, bytes, row_bytes } => {
                dequantize_row(*dtype, &bytes[row * row_bytes..][..*row_bytes], out)
            }
        }
    }
}

/// The bytes of a group's rows; `None` past the last row.
fn group_rows<'a>(view: &'a TensorView<'_>, group: usize) -> [Option<&'a [u8]>; LANES] {
    std::array::from_fn(|lane| {
        let row = group * LANES + lane;
        (row < view.rows()).then(|| view.row_bytes(row))
    })
}
