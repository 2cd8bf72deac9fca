//! Sixteen lanes in two 256-bit registers.

use std::arch::x86_64::*;

use super::{LANES, Lanes};

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

#[inline(always)]
fn zip(a: F, b: F, f: impl Fn(__m256, __m256) -> __m256) -> F {
    [f(a[0], b[0]), f(a[1], b[1])]
}

impl Lanes for Avx2 {
    type F = F;
    type I = [__m256i; 2];
    const WIDE: bool = false;

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
        zip(a, b, |a, b| proven!(_mm256_add_ps(a, b)))
    }
    #[inline(always)]
    fn sub(self, a: F, b: F) -> F {
        zip(a, b, |a, b| proven!(_mm256_sub_ps(a, b)))
    }
    #[inline(always)]
    fn mul(self, a: F, b: F) -> F {
        zip(a, b, |a, b| proven!(_mm256_mul_ps(a, b)))
    }
    #[inline(always)]
    fn div(self, a: F, b: F) -> F {
        zip(a, b, |a, b| proven!(_mm256_div_ps(a, b)))
    }
    #[inline(always)]
    fn max(self, a: F, b: F) -> F {
        zip(a, b, |a, b| proven!(_mm256_max_ps(a, b)))
    }
    #[inline(always)]
    fn min(self, a: F, b: F) -> F {
        zip(a, b, |a, b| proven!(_mm256_min_ps(a, b)))
    }
    #[inline(always)]
    fn fma(self, a: F, b: F, c: F) -> F {
        proven!([_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn round(self, a: F) -> F {
        a.map(|x| proven!(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)))
    }
    #[inline(always)]
    fn pow2(self, n: F) -> F {
        n.map(|n| {
            proven! {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
            }
        })
    }
    #[inline(always)]
    fn load_f16(self, x: &[u16; LANES]) -> F {
        proven! {[
            _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().cast())),
            _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().add(8).cast())),
        ]}
    }
    #[inline(always)]
    fn load_bf16_pairs(self, x: &[u16; 2 * LANES]) -> (F, F) {
        let halves: [__m256i; 2] = proven!([
            _mm256_loadu_si256(x.as_ptr().cast()),
            _mm256_loadu_si256(x.as_ptr().add(16).cast())
        ]);
        let even = halves.map(|x| proven!(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(x))));
        let odd = halves.map(|x| {
            proven!(_mm256_castsi256_ps(_mm256_and_si256(
                x,
                _mm256_set1_epi32(0xffff_0000_u32 as i32)
            )))
        });
        (even, odd)
    }

    #[inline(always)]
    fn isplat(self, x: i32) -> [__m256i; 2] {
        proven!([_mm256_set1_epi32(x); 2])
    }
    #[inline(always)]
    fn dot4(self, acc: [__m256i; 2], w: &[u8; 4 * LANES], a: &[i8; 4]) -> [__m256i; 2] {
        // Unsigned times signed bytes would saturate in `maddubs`: widen to 16 bits instead, even and odd bytes apart.
        let pair = |x: i8, y: i8| (i32::from(y) << 16) | (i32::from(x) & 0xffff);
        proven! {
            let even_a = _mm256_set1_epi32(pair(a[0], a[2]));
            let odd_a = _mm256_set1_epi32(pair(a[1], a[3]));
            let low_bytes = _mm256_set1_epi16(0x00ff);
            let half = |acc: __m256i, w: *const u8| {
                let w = _mm256_loadu_si256(w.cast());
                let even = _mm256_madd_epi16(_mm256_and_si256(w, low_bytes), even_a);
                let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(w), odd_a);
                _mm256_add_epi32(acc, _mm256_add_epi32(even, odd))
            };
            [half(acc[0], w.as_ptr()), half(acc[1], w.as_ptr().add(32))]
        }
    }
    #[inline(always)]
    fn to_f32(self, v: [__m256i; 2]) -> F {
        v.map(|v| proven!(_mm256_cvtepi32_ps(v)))
    }
}
