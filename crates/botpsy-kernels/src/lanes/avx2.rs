//! Sixteen lanes in two 256-bit registers.

use std::arch::x86_64::*;

use super::{LANES, Lanes, Work};

/// Proof that this processor has AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn here() -> Avx2 {
        Avx2(())
    }
}

/// Calls intrinsics that the lane type proves to be there.
macro_rules! proven {
    ($($body:tt)*) => {
        // SAFETY: `Avx2` exists only where its features were detected; pointers come from array references that cover
        // what is read or written, and all loads and stores are the unaligned ones.
        unsafe { $($body)* }
    };
}

type F = [__m256; 2];

impl Lanes for Avx2 {
    type F = F;
    type I = [__m256i; 2];
    const WIDE: bool = false;

    #[inline(always)]
    fn apart<W: Work>(self, work: W) {
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn run<L: Lanes, W: Work>(l: L, work: W) {
            work.run(l);
        }
        proven!(run(self, work));
    }
    #[inline(always)]
    fn splat(self, x: f32) -> F {
        proven!([_mm256_set1_ps(x); 2])
    }
    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> F {
        proven!([_mm256_loadu_ps(x.as_ptr()), _mm256_loadu_ps(x.as_ptr().add(8))])
    }
    #[inline(always)]
    fn store(self, v: F, out: &mut [f32; LANES]) {
        proven! {
            _mm256_storeu_ps(out.as_mut_ptr(), v[0]);
            _mm256_storeu_ps(out.as_mut_ptr().add(8), v[1]);
        }
    }
    #[inline(always)]
    fn add(self, a: F, b: F) -> F {
        proven!([_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn sub(self, a: F, b: F) -> F {
        proven!([_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn mul(self, a: F, b: F) -> F {
        proven!([_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn div(self, a: F, b: F) -> F {
        proven!([_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn max(self, a: F, b: F) -> F {
        proven!([_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn min(self, a: F, b: F) -> F {
        proven!([_mm256_min_ps(a[0], b[0]), _mm256_min_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn fma(self, a: F, b: F, c: F) -> F {
        proven!([_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn round(self, a: F) -> F {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        proven!([_mm256_round_ps::<NEAREST>(a[0]), _mm256_round_ps::<NEAREST>(a[1])])
    }
    #[inline(always)]
    fn pow2(self, n: F) -> F {
        proven! {
            let bias = _mm256_set1_epi32(127);
            let low = _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(n[0]), bias));
            let high = _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(n[1]), bias));
            [_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)]
        }
    }
    #[inline(always)]
    fn load_f16(self, x: &[u16; LANES]) -> F {
        proven! {[
            _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().cast())),
            _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().add(8).cast())),
        ]}
    }

    #[inline(always)]
    fn prefetch<T>(self, at: &T) {
        proven!(_mm_prefetch::<_MM_HINT_T1>((&raw const *at).cast()))
    }

    #[inline(always)]
    fn isplat(self, x: i32) -> [__m256i; 2] {
        proven!([_mm256_set1_epi32(x); 2])
    }
    #[inline(always)]
    fn load_pairs(self, x: &[u16; 2 * LANES]) -> [__m256i; 2] {
        proven!([_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().add(16).cast())])
    }
    #[inline(always)]
    fn even(self, pairs: [__m256i; 2]) -> F {
        proven! {
            let (low, high) = (_mm256_slli_epi32::<16>(pairs[0]), _mm256_slli_epi32::<16>(pairs[1]));
            [_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)]
        }
    }
    #[inline(always)]
    fn odd(self, pairs: [__m256i; 2]) -> F {
        proven! {
            let odd_half = _mm256_set1_epi32(0xffff_0000_u32 as i32);
            let (low, high) = (_mm256_and_si256(pairs[0], odd_half), _mm256_and_si256(pairs[1], odd_half));
            [_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)]
        }
    }
    #[inline(always)]
    fn dot4(self, acc: [__m256i; 2], w: &[u8; 4 * LANES], a: &[i8; 4]) -> [__m256i; 2] {
        // Unsigned times signed bytes would saturate in `maddubs`: widen to 16 bits instead, even and odd bytes apart.
        let even_pair = (i32::from(a[2]) << 16) | (i32::from(a[0]) & 0xffff);
        let odd_pair = (i32::from(a[3]) << 16) | (i32::from(a[1]) & 0xffff);
        proven! {
            let (even_a, odd_a) = (_mm256_set1_epi32(even_pair), _mm256_set1_epi32(odd_pair));
            let low_bytes = _mm256_set1_epi16(0x00ff);
            let (w0, w1) = (_mm256_loadu_si256(w.as_ptr().cast()), _mm256_loadu_si256(w.as_ptr().add(32).cast()));
            let even0 = _mm256_madd_epi16(_mm256_and_si256(w0, low_bytes), even_a);
            let even1 = _mm256_madd_epi16(_mm256_and_si256(w1, low_bytes), even_a);
            let odd0 = _mm256_madd_epi16(_mm256_srli_epi16::<8>(w0), odd_a);
            let odd1 = _mm256_madd_epi16(_mm256_srli_epi16::<8>(w1), odd_a);
            [
                _mm256_add_epi32(acc[0], _mm256_add_epi32(even0, odd0)),
                _mm256_add_epi32(acc[1], _mm256_add_epi32(even1, odd1)),
            ]
        }
    }
    #[inline(always)]
    fn to_f32(self, v: [__m256i; 2]) -> F {
        proven!([_mm256_cvtepi32_ps(v[0]), _mm256_cvtepi32_ps(v[1])])
    }
    #[inline(always)]
    fn bytes(self, x: &[u8; 4 * LANES]) -> [__m256i; 2] {
        proven!([_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().add(32).cast())])
    }
    #[inline(always)]
    fn and(self, v: [__m256i; 2], mask: i32) -> [__m256i; 2] {
        proven! {
            let mask = _mm256_set1_epi32(mask);
            [_mm256_and_si256(v[0], mask), _mm256_and_si256(v[1], mask)]
        }
    }
    #[inline(always)]
    fn xor(self, v: [__m256i; 2], mask: i32) -> [__m256i; 2] {
        proven! {
            let mask = _mm256_set1_epi32(mask);
            [_mm256_xor_si256(v[0], mask), _mm256_xor_si256(v[1], mask)]
        }
    }
    #[inline(always)]
    fn or(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        proven!([_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])])
    }
    #[inline(always)]
    fn shl(self, v: [__m256i; 2], n: u32) -> [__m256i; 2] {
        proven! {
            let n = _mm_cvtsi32_si128(n as i32);
            [_mm256_sll_epi32(v[0], n), _mm256_sll_epi32(v[1], n)]
        }
    }
    #[inline(always)]
    fn shr(self, v: [__m256i; 2], n: u32) -> [__m256i; 2] {
        proven! {
            let n = _mm_cvtsi32_si128(n as i32);
            [_mm256_srl_epi32(v[0], n), _mm256_srl_epi32(v[1], n)]
        }
    }
    #[inline(always)]
    fn dot4_small(self, acc: [__m256i; 2], w: [__m256i; 2], a: &[i8; 4]) -> [__m256i; 2] {
        // Two products of at most 127 * 128 each fit into the 16 bits of `maddubs`.
        let four = i32::from_le_bytes(a.map(|x| x as u8));
        proven! {
            let (a, ones) = (_mm256_set1_epi32(four), _mm256_set1_epi16(1));
            let low = _mm256_madd_epi16(_mm256_maddubs_epi16(w[0], a), ones);
            let high = _mm256_madd_epi16(_mm256_maddubs_epi16(w[1], a), ones);
            [_mm256_add_epi32(acc[0], low), _mm256_add_epi32(acc[1], high)]
        }
    }
}
