//! The definition of each product, in plain loops.

use half::f16;

use super::{Dot, Groups};
use crate::activation::{BLOCK, QuantizedRows};
use crate::lanes::LANES;
use crate::pack::{KBlocks, KQuant, Line, MAX_BLOCK, Q8Bytes, SUPER_BLOCK};

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
                groups.out(t, group, 1)[lane] = InOrder.of(&row, x);
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
            for (lane, out) in groups.out(t, group, 1).iter_mut().enumerate() {
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
        for t in 0..groups.x.n {
            for (lane, out) in groups.out(t, group, 1).iter_mut().enumerate() {
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

/// Int8 input rows with K-quants: an integer sum per scale, scaled and added up in `f32`; minima times the sum of inputs.
pub(super) fn k_quants(groups: &Groups<'_>, w: &KBlocks, x: &QuantizedRows) {
    let blocks = groups.x.cols / SUPER_BLOCK;
    let mut file = [0; MAX_BLOCK];
    for group in groups.groups.clone() {
        for t in 0..groups.x.n {
            for (lane, out) in groups.out(t, group, 1).iter_mut().enumerate() {
                *out = 0.0;
                for block in 0..blocks {
                    let bytes = w.block(group * blocks + block, lane, &mut file);
                    add_block(w.kind, bytes, x, (t * blocks + block) * (SUPER_BLOCK / BLOCK), out);
                }
            }
        }
    }
}

/// Adds one block of 256 columns, for the input blocks from `first` on. The layouts are those of `botpsy_tensor`'s decoders.
fn add_block(kind: KQuant, block: &[u8], x: &QuantizedRows, first: usize, out: &mut f32) {
    let half = |at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
    let sum = |start: usize, len: usize, q: &dyn Fn(usize) -> i32| -> f32 {
        (start..start + len).map(|k| q(k) * i32::from(x.q[first * BLOCK + k])).sum::<i32>() as f32
    };
    match kind {
        KQuant::Q4 | KQuant::Q5 => {
            let nibbles = &block[block.len() - 128..];
            let nibble = |k: usize| i32::from(nibbles[k / 64 * 32 + k % 32] >> (k / 32 % 2 * 4) & 15);
            let fifth = |k: usize| if kind == KQuant::Q5 { i32::from(block[16 + k % 32] >> (k / 32) & 1) } else { 0 };
            let s = &block[4..16];
            for i in 0..8 {
                let (scale, min) = match i {
                    0..4 => (s[i] & 63, s[i + 4] & 63),
                    _ => (s[i + 4] & 15 | s[i - 4] >> 6 << 4, s[i + 4] >> 4 | s[i] >> 6 << 4),
                };
                let products = sum(32 * i, 32, &|k| nibble(k) + 16 * fifth(k));
                *out += products * (half(0) * f32::from(scale) * x.d[first + i]);
                *out += half(2) * f32::from(min) * x.minus_sum[first + i];
            }
        }
        KQuant::Q6 => {
            let nibble = |k: usize| block[k / 128 * 64 + k % 64] >> (k / 64 % 2 * 4) & 15;
            let pair = |k: usize| block[128 + k / 128 * 32 + k % 32] >> (k / 32 % 4 * 2) & 3;
            for i in 0..16 {
                let products = sum(16 * i, 16, &|k| i32::from(nibble(k) | pair(k) << 4) - 32);
                *out += products * (half(208) * f32::from(block[192 + i] as i8) * x.d[first + i / 2]);
            }
        }
    }
}
