//! Sixteen lanes as plain arrays: what processors without a path of their own run.

use half::f16;

use super::{LANES, Lanes};

/// Fixed-width arrays that the compiler vectorises for its base instruction set.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

#[inline(always)]
fn zip(a: [f32; LANES], b: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl Lanes for Portable {
    type F = [f32; LANES];
    type I = [i32; LANES];
    const WIDE: bool = false;

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F {
        [x; LANES]
    }
    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> Self::F {
        *x
    }
    #[inline(always)]
    fn store(self, v: Self::F, out: &mut [f32; LANES]) {
        *out = v;
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a / b)
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // Only where the base instruction set fuses: elsewhere `mul_add` is a slow library call.
        if cfg!(target_arch = "aarch64") {
            std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
        } else {
            std::array::from_fn(|i| a[i] * b[i] + c[i])
        }
    }
    #[inline(always)]
    fn round(self, a: Self::F) -> Self::F {
        // Adding and taking off 1.5 * 2^23 leaves the nearest integer; plain arithmetic, so it vectorises.
        const MAGIC: f32 = 12_582_912.0;
        a.map(|x| (x + MAGIC) - MAGIC)
    }
    #[inline(always)]
    fn pow2(self, n: Self::F) -> Self::F {
        n.map(|n| f32::from_bits(((n as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    fn load_f16(self, x: &[u16; LANES]) -> Self::F {
        x.map(|bits| f16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    fn isplat(self, x: i32) -> Self::I {
        [x; LANES]
    }
    #[inline(always)]
    fn load_pairs(self, x: &[u16; 2 * LANES]) -> Self::I {
        std::array::from_fn(|l| i32::from(x[2 * l]) | (i32::from(x[2 * l + 1]) << 16))
    }
    #[inline(always)]
    fn even(self, pairs: Self::I) -> Self::F {
        pairs.map(|pair| f32::from_bits((pair as u32) << 16))
    }
    #[inline(always)]
    fn odd(self, pairs: Self::I) -> Self::F {
        pairs.map(|pair| f32::from_bits(pair as u32 & 0xffff_0000))
    }
    #[inline(always)]
    fn dot4(self, acc: Self::I, w: &[u8; 4 * LANES], a: &[i8; 4]) -> Self::I {
        std::array::from_fn(|l| {
            let products = (0..4).map(|t| i32::from(w[4 * l + t]) * i32::from(a[t]));
            acc[l] + products.sum::<i32>()
        })
    }
    #[inline(always)]
    fn to_f32(self, v: Self::I) -> Self::F {
        v.map(|x| x as f32)
    }
    #[inline(always)]
    fn bytes(self, x: &[u8; 4 * LANES]) -> Self::I {
        std::array::from_fn(|l| i32::from_le_bytes([x[4 * l], x[4 * l + 1], x[4 * l + 2], x[4 * l + 3]]))
    }
    #[inline(always)]
    fn and(self, v: Self::I, mask: i32) -> Self::I {
        v.map(|x| x & mask)
    }
    #[inline(always)]
    fn xor(self, v: Self::I, mask: i32) -> Self::I {
        v.map(|x| x ^ mask)
    }
    #[inline(always)]
    fn or(self, a: Self::I, b: Self::I) -> Self::I {
        std::array::from_fn(|l| a[l] | b[l])
    }
    #[inline(always)]
    fn shl(self, v: Self::I, n: u32) -> Self::I {
        v.map(|x| x << n)
    }
    #[inline(always)]
    fn shr(self, v: Self::I, n: u32) -> Self::I {
        v.map(|x| (x as u32 >> n) as i32)
    }
    #[inline(always)]
    fn dot4_small(self, acc: Self::I, w: Self::I, a: &[i8; 4]) -> Self::I {
        let a = a.map(i32::from);
        std::array::from_fn(|l| {
            let w = w[l];
            acc[l] + (w & 0xff) * a[0] + (w >> 8 & 0xff) * a[1] + (w >> 16 & 0xff) * a[2] + (w >> 24) * a[3]
        })
    }
}
