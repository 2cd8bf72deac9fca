//! Q8_0 into groups of sixteen rows: bytes and scales apart.

use botpsy_tensor::TensorView;

use super::{Buffer, Packed, Q8Bytes, group_rows};
use crate::Context;
use crate::activation::BLOCK;
use crate::lanes::LANES;

pub(super) fn pack_q8(ctx: &Context, view: &TensorView<'_>) -> Packed {
    const FILE_BLOCK: usize = 2 + BLOCK;
    let blocks = view.cols() / BLOCK;
    let n = view.rows().div_ceil(LANES) * blocks;
    let mut q = Buffer::<Q8Bytes>::zeros(n);
    let mut d = Buffer::<[u16; LANES]>::zeros(n);
    ctx.pool.for_each_chunk2((&mut q[..], blocks), (&mut d[..], blocks), |group, q, d| {
        for (lane, row) in group_rows(view, group).into_iter().enumerate() {
            let row = row.unwrap_or_default().as_chunks::<FILE_BLOCK>().0;
            for ((q, d), block) in q.iter_mut().zip(d.iter_mut()).zip(row) {
                d[lane] = u16::from_le_bytes([block[0], block[1]]);
                for (line, four) in q.iter_mut().zip(block[2..].as_chunks::<4>().0) {
                    line.0.as_chunks_mut().0[lane] = four.map(|x| x ^ 0x80);
                }
            }
        }
    });
    Packed::Q8 { q, d }
}
