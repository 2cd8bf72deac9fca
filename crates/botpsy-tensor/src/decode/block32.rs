//! Blocks of 32 values: an F16 scale `d` (and a minimum `m`), then the quants.
//!
//! In the 4- and 5-bit formats byte `i` holds value `i` in its low nibble and value `i + 16` in its high nibble; bit `i`
//! of the 32 high bits belongs to value `i`.

use super::{IQ4_LEVELS, half_at};

/// `x = d · (q − 8)`.
pub(super) fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half_at(block);
    let (low, high) = out.split_at_mut(16);
    for ((low, high), &q) in low.iter_mut().zip(high).zip(&block[2..]) {
        *low = d * (f32::from(q & 15) - 8.0);
        *high = d * (f32::from(q >> 4) - 8.0);
    }
}

/// `x = d · q + m`.
pub(super) fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block), half_at(&block[2..]));
    let (low, high) = out.split_at_mut(16);
    for ((low, high), &q) in low.iter_mut().zip(high).zip(&block[4..]) {
        *low = d * f32::from(q & 15) + m;
        *high = d * f32::from(q >> 4) + m;
    }
}

/// `x = d · (q − 16)`, with a fifth bit per value.
pub(super) fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let d = half_at(block);
    let high_bits = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    five_bits(high_bits, &block[6..], out, |q| d * (q - 16.0));
}

/// `x = d · q + m`, with a fifth bit per value.
pub(super) fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block), half_at(&block[2..]));
    let high_bits = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    five_bits(high_bits, &block[8..], out, |q| d * q + m);
}

/// Tests each fifth bit against a mask: a shift of its own for each value would not vectorize.
#[inline(always)]
fn five_bits(high_bits: u32, nibbles: &[u8], out: &mut [f32; 32], value: impl Fn(f32) -> f32) {
    let fifth = |mask: u32| if high_bits & mask == 0 { 0 } else { 16 };
    let (low, high) = out.split_at_mut(16);
    for (i, ((low, high), &q)) in low.iter_mut().zip(high).zip(nibbles).enumerate() {
        *low = value((i32::from(q & 15) + fifth(1 << i)) as f32);
        *high = value((i32::from(q >> 4) + fifth(1 << (i + 16))) as f32);
    }
}

/// `x = d · q`, `q` signed.
pub(super) fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let d = half_at(block);
    for (out, &q) in out.iter_mut().zip(&block[2..]) {
        *out = d * f32::from(q as i8);
    }
}

/// `x = d · level[q]`.
pub(super) fn iq4_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half_at(block);
    let (low, high) = out.split_at_mut(16);
    for ((low, high), &q) in low.iter_mut().zip(high).zip(&block[2..]) {
        *low = d * IQ4_LEVELS[usize::from(q & 15)];
        *high = d * IQ4_LEVELS[usize::from(q >> 4)];
    }
}
