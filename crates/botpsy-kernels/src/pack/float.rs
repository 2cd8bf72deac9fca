//! Floating-point matrices into groups of sixteen rows.

use botpsy_tensor::TensorView;

use super::{Buffer, Line, Packed, group_rows};
use crate::Context;
use crate::lanes::LANES;

pub(super) fn pack_f32(ctx: &Context, view: &TensorView<'_>) -> Packed {
    let cols = view.cols();
    let mut lines: Buffer<Line<[f32; LANES]>> = Buffer::zeros(view.rows().div_ceil(LANES) * cols);
    ctx.pool.for_each_chunk(&mut lines, cols, |group, lines| {
        for (lane, row) in group_rows(view, group).into_iter().enumerate() {
            for (line, x) in lines.iter_mut().zip(row.unwrap_or_default().as_chunks::<4>().0) {
                line.0[lane] = f32::from_le_bytes(*x);
            }
        }
    });
    Packed::F32(lines)
}

pub(super) fn pack_bf16(ctx: &Context, view: &TensorView<'_>) -> Packed {
    let pairs = view.cols().div_ceil(2);
    let mut lines: Buffer<Line<[u16; 2 * LANES]>> = Buffer::zeros(view.rows().div_ceil(LANES) * pairs);
    ctx.pool.for_each_chunk(&mut lines, pairs, |group, lines| {
        for (lane, row) in group_rows(view, group).into_iter().enumerate() {
            for (k, x) in row.unwrap_or_default().as_chunks::<2>().0.iter().enumerate() {
                lines[k / 2].0[2 * lane + k % 2] = u16::from_le_bytes(*x);
            }
        }
    });
    Packed::Bf16(lines)
}
