//! The definition of each product, in plain loops.

use half::f16;

use super::{Dot, Groups};
use crate::activation::{BLOCK, QuantizedRows};
use crate::lanes::LANES;
use crate::pack::{Line, Q8Bytes};

/// Sum of products, column by column.
pub(super) struct InOrder;

impl Dot for InOrder {
    fn of(&self, w: &[f32], x: &[f32]) -> f32 {
        w.iter().zip(x).map(|(w, x)| w * x).sum()
    }
}

/// Exact input rows: each weight row is decoded, then multiplied column by column.
pub(super) fn exact(groups: &Groups<'_>) {
    let mut row = vec![0.0; groups.x.cols];
    for group in groups.groups.clone() {
        for lane in 0..LANES.min(groups.w.rows() - group * LANES) {
            groups.w.row(group * LANES + lane, &mut row);
            for (t, x) in groups.x.exact.chunks_exact(groups.x.cols).enumerate() {
                groups.out(t, group)[lane] = InOrder.of(&row, x);
            }
        }
    }
}

/// Input rows rounded to bfloat16: as if they were exact, but for the order within a pair of columns.
pub(super) fn bf16(groups: &Groups<'_>, lines: &[Line<[u16; 2 * LANES]>], x: &[u32]) {
    let value = |bits: u32| f32::from_bits(bits << 16);
    let pairs = groups.x.cols.div_ceil(2);
    for group in groups.groups.clone() {
        for (t, x) in x.chunks_exact(pairs).enumerate() {
            for (lane, out) in groups.out(t, group).iter_mut().enumerate() {
                *out = 0.0;
                for (line, x) in lines[group * pairs..].iter().zip(x) {
                    let w = [line.0[2 * lane], line.0[2 * lane + 1]].map(u32::from);
                    *out += value(w[1]) * value(x >> 16);
                    *out += value(w[0]) * value(x & 0xffff);
                }
            }
        }
    }
}

/// Int8 input rows: an integer sum per block of 32 columns, scaled and added up in `f32`.
pub(super) fn int8(groups: &Groups<'_>, q: &[Q8Bytes], d: &[[u16; LANES]], x: &QuantizedRows) {
    let blocks = groups.x.cols / BLOCK;
    for group in groups.groups.clone() {
        for t in 0..groups.x.n() {
            for (lane, out) in groups.out(t, group).iter_mut().enumerate() {
                *out = 0.0;
                for block in 0..blocks {
                    let (w, x_block) = (group * blocks + block, t * blocks + block);
                    let products = x.q[x_block * BLOCK..][..BLOCK]
                        .iter()
                        .enumerate()
                        .map(|(k, a)| (i32::from(q[w][k / 4].0[4 * lane + k % 4]) - 128) * i32::from(*a));
                    *out += products.sum::<i32>() as f32 * (f16::from_bits(d[w][lane]).to_f32() * x.d[x_block]);
                }
            }
        }
    }
}
