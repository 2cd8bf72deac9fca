//! Sixteen lanes in one 512-bit register; int8 products by VNNI, those of bfloat16 by AVX512_BF16 where it is there.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::{LANES, Lanes, Work};

/// Proof that this processor has AVX-512 F, BW, VL, DQ and VNNI, and if `BF16` says so, AVX512_BF16.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const BF16: bool>(());

impl Avx512<true> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")]
    pub(crate) fn here_with_bf16() -> Avx512<true> {
        Avx512(())
    }
}

impl Avx512<false> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
    pub(crate) fn here() -> Avx512<false> {
        Avx512(())
    }
}

/// Calls intrinsics that the lane type proves to be there.
macro_rules! proven {
    ($($body:tt)*) => {
        // SAFETY: `Avx512` exists only where its features were detected; pointers come from array references of the
        // very size that is read or written, and all loads and stores are the unaligned ones.
        unsafe { $($body)* }
    };
}

impl<const BF16: bool> Lanes for Avx512<BF16> {
    type F = __m512;
    type I = __m512i;
    const WIDE: bool = true;

    #[inline(always)]
    fn apart<W: Work>(self, work: W) {
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
        fn run<L: Lanes, W: Work>(l: L, work: W) {
            work.run(l);
        }
        proven!(run(self, work));
    }
    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        proven!(_mm512_set1_ps(x))
    }
    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> __m512 {
        proven!(_mm512_loadu_ps(x.as_ptr()))
    }
    #[inline(always)]
    fn store(self, v: __m512, out: &mut [f32; LANES]) {
        proven!(_mm512_storeu_ps(out.as_mut_ptr(), v))
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_div_ps(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_max_ps(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_min_ps(a, b))
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        proven!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn round(self, a: __m512) -> __m512 {
        proven!(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a))
    }
    #[inline(always)]
    fn pow2(self, n: __m512) -> __m512 {
        proven! {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    fn load_f16(self, x: &[u16; LANES]) -> __m512 {
        proven!(_mm512_cvtph_ps(_mm256_loadu_si256(x.as_ptr().cast())))
    }

    #[inline(always)]
    fn prefetch<T>(self, at: &T) {
        proven!(_mm_prefetch::<_MM_HINT_T1>((&raw const *at).cast()))
    }

    #[inline(always)]
    fn largest(self, v: __m512) -> f32 {
        proven!(_mm512_reduce_max_ps(v))
    }

    #[inline(always)]
    fn store_i8(self, v: __m512, out: &mut [i8; LANES]) -> i32 {
        proven! {
            let rounded = _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v);
            let bytes = _mm512_cvtepi32_epi8(rounded);
            _mm_storeu_si128(out.as_mut_ptr().cast(), bytes);
            // Of what was stored: no number, or one out of range, becomes some byte. The sums of eight are of `byte + 128`.
            let sums = _mm_sad_epu8(_mm_xor_si128(bytes, _mm_set1_epi8(i8::MIN)), _mm_setzero_si128());
            _mm_cvtsi128_si32(sums) + _mm_extract_epi16::<4>(sums) - 128 * LANES as i32
        }
    }

    #[inline(always)]
    fn isplat(self, x: i32) -> __m512i {
        proven!(_mm512_set1_epi32(x))
    }
    #[inline(always)]
    fn load_pairs(self, x: &[u16; 2 * LANES]) -> __m512i {
        proven!(_mm512_loadu_si512(x.as_ptr().cast()))
    }
    #[inline(always)]
    fn even(self, pairs: __m512i) -> __m512 {
        proven!(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(pairs)))
    }
    #[inline(always)]
    fn odd(self, pairs: __m512i) -> __m512 {
        proven!(_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32 as i32))))
    }
    #[inline(always)]
    fn dot2(self, acc: __m512, w: __m512i, x: __m512i) -> __m512 {
        if BF16 {
            // SAFETY: `BF16` is true only where the feature was detected; both types are 64 bytes without padding.
            return unsafe {
                _mm512_dpbf16_ps(acc, transmute::<__m512i, __m512bh>(w), transmute::<__m512i, __m512bh>(x))
            };
        }
        self.fma(self.even(w), self.even(x), self.fma(self.odd(w), self.odd(x), acc))
    }
    #[inline(always)]
    fn dot4(self, acc: __m512i, w: &[u8; 4 * LANES], a: &[i8; 4]) -> __m512i {
        let four = i32::from_le_bytes(a.map(|x| x as u8));
        proven!(_mm512_dpbusd_epi32(acc, _mm512_loadu_si512(w.as_ptr().cast()), _mm512_set1_epi32(four)))
    }
    #[inline(always)]
    fn to_f32(self, v: __m512i) -> __m512 {
        proven!(_mm512_cvtepi32_ps(v))
    }
    #[inline(always)]
    fn bytes(self, x: &[u8; 4 * LANES]) -> __m512i {
        proven!(_mm512_loadu_si512(x.as_ptr().cast()))
    }
    #[inline(always)]
    fn and(self, v: __m512i, mask: i32) -> __m512i {
        proven!(_mm512_and_si512(v, _mm512_set1_epi32(mask)))
    }
    #[inline(always)]
    fn xor(self, v: __m512i, mask: i32) -> __m512i {
        proven!(_mm512_xor_si512(v, _mm512_set1_epi32(mask)))
    }
    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_or_si512(a, b))
    }
    #[inline(always)]
    fn shl(self, v: __m512i, n: u32) -> __m512i {
        proven!(_mm512_sll_epi32(v, _mm_cvtsi32_si128(n as i32)))
    }
    #[inline(always)]
    fn shr(self, v: __m512i, n: u32) -> __m512i {
        proven!(_mm512_srl_epi32(v, _mm_cvtsi32_si128(n as i32)))
    }
    #[inline(always)]
    fn dot4_small(self, acc: __m512i, w: __m512i, a: &[i8; 4]) -> __m512i {
        let four = i32::from_le_bytes(a.map(|x| x as u8));
        proven!(_mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(four)))
    }
}
