//! Super-blocks of 256 values with sub-blocks of 16 or 32, each with its own small integer scale.

use super::{IQ4_LEVELS, half_at};

/// 16 bytes of scale (low nibble) and minimum (high nibble) per 16 values, 64 bytes of 2-bit quants, `d`, `dmin`.
///
/// `x = d · sc · q − dmin · m`. Each half of 128 values has 32 quant bytes; bits `2s, 2s + 1` of byte `l` are value
/// `32 s + l` of the half.
pub(super) fn q2_k(block: &[u8; 84], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(&block[80..]), half_at(&block[82..]));
    for (i, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let scale = d * f32::from(block[i] & 15);
        let min = dmin * f32::from(block[i] >> 4);
        let (start, shift) = two_bits_at(i);
        for (out, &q) in out.iter_mut().zip(&block[16 + start..]) {
            *out = scale * f32::from(q >> shift & 3) - min;
        }
    }
}

/// 32 bytes of high bits, 64 bytes of 2-bit quants (as in Q2_K), 12 bytes of 6-bit scales, `d`.
///
/// `x = d · (sc − 32) · (q − 4)`, where the high bit of value `32 j + l` is bit `j` of high byte `l`.
pub(super) fn q3_k(block: &[u8; 110], out: &mut [f32; 256]) {
    let d = half_at(&block[108..]);
    let scales = &block[96..108];
    for (i, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // Eight bytes hold the low nibbles of scales i and i + 8; four bytes hold two high bits of each.
        let low = scales[i % 8] >> (4 * (i / 8)) & 15;
        let high = scales[8 + i % 4] >> (2 * (i / 4)) & 3;
        let scale = d * (f32::from(low | high << 4) - 32.0);
        let (start, shift) = two_bits_at(i);
        let high_bits = &block[16 * (i % 2)..];
        for ((out, &q), &h) in out.iter_mut().zip(&block[32 + start..]).zip(high_bits) {
            let q = (q >> shift & 3) | (h >> (i / 2) & 1) << 2;
            *out = scale * (f32::from(q) - 4.0);
        }
    }
}

/// First quant byte and bit shift of the 16 values of sub-block `i`.
fn two_bits_at(i: usize) -> (usize, usize) {
    (32 * (i / 8) + 16 * (i % 2), 2 * (i / 2 % 4))
}

/// `d`, `dmin`, 12 bytes of 6-bit scales and minima, 128 bytes of nibbles.
///
/// `x = d · sc · q − dmin · m` per 32 values; bytes `32 p ..` hold sub-block `2p` low, `2p + 1` high.
pub(super) fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    let (scales, mins) = scales_and_mins(block);
    let pairs = out.as_chunks_mut::<64>().0;
    for (p, (out, quants)) in pairs.iter_mut().zip(block[16..].as_chunks::<32>().0).enumerate() {
        let (low, high) = out.split_at_mut(32);
        for ((low, high), &q) in low.iter_mut().zip(high).zip(quants) {
            *low = scales[2 * p] * f32::from(q & 15) - mins[2 * p];
            *high = scales[2 * p + 1] * f32::from(q >> 4) - mins[2 * p + 1];
        }
    }
}

/// As Q4_K with 32 bytes of high bits before the nibbles: bit `j` of high byte `l` belongs to value `32 j + l`.
pub(super) fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let (scales, mins) = scales_and_mins(block);
    let high_bits = &block[16..48];
    let pairs = out.as_chunks_mut::<64>().0;
    for (p, (out, quants)) in pairs.iter_mut().zip(block[48..].as_chunks::<32>().0).enumerate() {
        let (low, high) = out.split_at_mut(32);
        for (((low, high), &q), &h) in low.iter_mut().zip(high).zip(quants).zip(high_bits) {
            let q_low = (q & 15) | (h >> (2 * p) & 1) << 4;
            let q_high = (q >> 4) | (h >> (2 * p + 1) & 1) << 4;
            *low = scales[2 * p] * f32::from(q_low) - mins[2 * p];
            *high = scales[2 * p + 1] * f32::from(q_high) - mins[2 * p + 1];
        }
    }
}

/// `d · sc` and `dmin · m` of the eight sub-blocks of Q4_K and Q5_K.
///
/// Bytes 0-3 and 4-7 hold the first four scales and minima in 6 bits; bytes 8-11 the low nibbles of the last four, whose
/// two high bits sit on top of bytes 0-7.
fn scales_and_mins<const N: usize>(block: &[u8; N]) -> ([f32; 8], [f32; 8]) {
    let (d, dmin) = (half_at(block), half_at(&block[2..]));
    let packed = &block[4..16];
    let (mut scales, mut mins) = ([0.0; 8], [0.0; 8]);
    for j in 0..4 {
        scales[j] = d * f32::from(packed[j] & 63);
        mins[j] = dmin * f32::from(packed[j + 4] & 63);
        scales[j + 4] = d * f32::from(packed[j + 8] & 15 | packed[j] >> 6 << 4);
        mins[j + 4] = dmin * f32::from(packed[j + 8] >> 4 | packed[j + 4] >> 6 << 4);
    }
    (scales, mins)
}

/// 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, `d`.
///
/// `x = d · sc · (q − 32)` per 16 values. Each half of 128 values has 64 low and 32 high bytes; its values `l`, `l + 32`,
/// `l + 64`, `l + 96` take the low nibbles of bytes `l`, `l + 32`, then their high nibbles, and bits 0-1, 2-3, 4-5, 6-7 of
/// high byte `l`.
pub(super) fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = half_at(&block[208..]);
    let low = block[..128].as_chunks::<16>().0;
    let high = block[128..192].as_chunks::<16>().0;
    // Sixteen values at a time, and the shifts written out: a shift that varies would not vectorize.
    for (half, out) in out.as_chunks_mut::<128>().0.iter_mut().enumerate() {
        let out = out.as_chunks_mut::<16>().0;
        for i in 0..2 {
            let scale = |quarter: usize| d * f32::from(block[192 + 8 * half + 2 * quarter + i] as i8);
            let (near, far, high) = (&low[4 * half + i], &low[4 * half + 2 + i], &high[2 * half + i]);
            six_bits(&mut out[i], scale(0), |l| near[l] & 15 | (high[l] & 3) << 4);
            six_bits(&mut out[2 + i], scale(1), |l| far[l] & 15 | (high[l] >> 2 & 3) << 4);
            six_bits(&mut out[4 + i], scale(2), |l| near[l] >> 4 | (high[l] >> 4 & 3) << 4);
            six_bits(&mut out[6 + i], scale(3), |l| far[l] >> 4 | (high[l] >> 6) << 4);
        }
    }
}

fn six_bits(out: &mut [f32; 16], scale: f32, q: impl Fn(usize) -> u8) {
    for (l, out) in out.iter_mut().enumerate() {
        *out = scale * (f32::from(q(l)) - 32.0);
    }
}

/// `d`, 16 bits of high scale bits, 4 bytes of low scale nibbles, 128 bytes of nibbles.
///
/// `x = d · (sc − 32) · level[q]` per 32 values; within a sub-block byte `i` holds values `i` and `i + 16`.
pub(super) fn iq4_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    let d = half_at(block);
    let high_bits = u16::from_le_bytes([block[2], block[3]]);
    let sub_blocks = out.as_chunks_mut::<32>().0;
    for (i, (out, quants)) in sub_blocks.iter_mut().zip(block[8..].as_chunks::<16>().0).enumerate() {
        let low = block[4 + i / 2] >> (4 * (i % 2)) & 15;
        let high = (high_bits >> (2 * i) & 3) as u8;
        let scale = d * (f32::from(low | high << 4) - 32.0);
        let (first, second) = out.split_at_mut(16);
        for ((first, second), &q) in first.iter_mut().zip(second).zip(quants) {
            *first = scale * IQ4_LEVELS[usize::from(q & 15)];
            *second = scale * IQ4_LEVELS[usize::from(q >> 4)];
        }
    }
}
