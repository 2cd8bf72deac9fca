//! Sixteen lanes of `f32` or `i32`, one type per instruction set, so that each kernel is written once.
//!
//! A value of a lane type is a proof that the processor has the instructions: `Avx2` and `Avx512` are made only inside
//! functions that enable the features, which run only behind an `Isa` that detection made.
//!
//! Around lane operations there are no closures and no `map` or `from_fn` of arrays: those are functions of their own,
//! compiled without the features, and a call to one costs more than what it does.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "intrinsics, proven by the lane type")]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "intrinsics, proven by the lane type")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::Portable;

/// The number of lanes, the same on every instruction set: it fixes the order of every sum.
pub(crate) const LANES: usize = 16;

/// Work for any lane type. `run` must be `#[inline(always)]`: it is compiled anew, with the features, for each.
pub(crate) trait Work {
    fn run<L: Lanes>(self, l: L);
}

/// Operations on sixteen lanes. `F` holds `f32`, `I` holds `i32`.
pub(crate) trait Lanes: Copy {
    type F: Copy;
    type I: Copy;
    /// True where 32 vector registers of full width allow the larger tiles.
    const WIDE: bool;

    /// Runs `work` as a function of its own, whose loops share their registers with nothing around it. Not for `dot2`: the
    /// features of that are not enabled there.
    #[inline(always)]
    fn apart<W: Work>(self, work: W) {
        work.run(self);
    }

    fn splat(self, x: f32) -> Self::F;
    fn load(self, x: &[f32; LANES]) -> Self::F;
    fn store(self, v: Self::F, out: &mut [f32; LANES]);
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, fused where the instruction set fuses.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The nearest integer, as a float; exact for `|x| < 2^22`.
    fn round(self, a: Self::F) -> Self::F;
    /// `2^n` for an integral `n` in -126..=127.
    fn pow2(self, n: Self::F) -> Self::F;
    /// Sixteen half-precision values.
    fn load_f16(self, x: &[u16; LANES]) -> Self::F;

    /// Asks for the line in which `at` begins, to have it in the second-level cache soon. Nothing but time depends on it.
    #[inline(always)]
    fn prefetch<T>(self, _at: &T) {}

    fn isplat(self, x: i32) -> Self::I;
    /// Sixteen pairs of bfloat16, as they are.
    fn load_pairs(self, x: &[u16; 2 * LANES]) -> Self::I;
    /// The first of each pair of bfloat16.
    fn even(self, pairs: Self::I) -> Self::F;
    /// The second of each pair of bfloat16.
    fn odd(self, pairs: Self::I) -> Self::F;
    /// `acc[l] + w[l].odd * x[l].odd + w[l].even * x[l].even`, in that order, for pairs of bfloat16. Where one instruction
    /// does it, denormals count as zero and roundings in between are those of the processor.
    #[inline(always)]
    fn dot2(self, acc: Self::F, w: Self::I, x: Self::I) -> Self::F {
        // Products of bfloat16 are exact in `f32`, so each sum is rounded once where the instruction set fuses.
        self.fma(self.even(w), self.even(x), self.fma(self.odd(w), self.odd(x), acc))
    }
    /// `acc[l] += sum over t < 4 of (w[4 l + t] - 128) * a[t]`, given that `acc` was started at `128 * sum of a`
    /// less: the caller takes `128 * sum(a)` off, so `w` counts as unsigned here. Exact.
    fn dot4(self, acc: Self::I, w: &[u8; 4 * LANES], a: &[i8; 4]) -> Self::I;
    fn to_f32(self, v: Self::I) -> Self::F;

    /// Sixteen lanes of four bytes each, the first one lowest.
    fn bytes(self, x: &[u8; 4 * LANES]) -> Self::I;
    /// `v & mask` in each lane.
    fn and(self, v: Self::I, mask: i32) -> Self::I;
    /// `v ^ mask` in each lane.
    fn xor(self, v: Self::I, mask: i32) -> Self::I;
    fn or(self, a: Self::I, b: Self::I) -> Self::I;
    fn shl(self, v: Self::I, n: u32) -> Self::I;
    /// Shifts zeros in from above.
    fn shr(self, v: Self::I, n: u32) -> Self::I;
    /// `acc[l] += sum over t < 4 of w[l].byte(t) * a[t]` for unsigned bytes of at most 127. Exact.
    fn dot4_small(self, acc: Self::I, w: Self::I, a: &[i8; 4]) -> Self::I;

    /// Byte `t` of each lane, unsigned.
    #[inline(always)]
    fn byte(self, v: Self::I, t: u32) -> Self::F {
        self.to_f32(self.and(self.shr(v, 8 * t), 0xff))
    }

    /// Rounds values of at most 127 to the nearest integers, ties to even, and gives their sum.
    #[inline(always)]
    fn store_i8(self, v: Self::F, out: &mut [i8; LANES]) -> i32 {
        let mut lanes = [0.0; LANES];
        self.store(v, &mut lanes);
        round_to_i8(&lanes, out)
    }

    /// The sum of the lanes, always in the order of [`tree_sum`].
    #[inline(always)]
    fn sum(self, v: Self::F) -> f32 {
        let mut lanes = [0.0; LANES];
        self.store(v, &mut lanes);
        tree_sum(lanes)
    }

    /// The largest lane.
    #[inline(always)]
    fn largest(self, v: Self::F) -> f32 {
        let mut lanes = [0.0; LANES];
        self.store(v, &mut lanes);
        lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }

    /// `e^x`, relative error under 2e-7 for x in -87..=88; outside it is clamped to those ends.
    ///
    /// Cody-Waite reduction to |r| <= ln(2)/2, then the Taylor polynomial of degree 7.
    #[inline(always)]
    fn exp(self, x: Self::F) -> Self::F {
        let x = self.min(self.max(x, self.splat(-87.0)), self.splat(88.0));
        let n = self.round(self.mul(x, self.splat(std::f32::consts::LOG2_E)));
        let r = self.fma(n, self.splat(-0.693_359_4), x);
        let r = self.fma(n, self.splat(2.121_944_4e-4), r);
        let mut p = self.splat(1.0 / 5040.0);
        for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = self.fma(p, r, self.splat(c));
        }
        self.mul(p, self.pow2(n))
    }

    /// `1 / (1 + e^-x)`.
    #[inline(always)]
    fn sigmoid(self, x: Self::F) -> Self::F {
        let one = self.splat(1.0);
        self.div(one, self.add(one, self.exp(self.sub(self.splat(0.0), x))))
    }

    /// `x * sigmoid(x)`.
    #[inline(always)]
    fn silu(self, x: Self::F) -> Self::F {
        let e = self.exp(self.sub(self.splat(0.0), x));
        self.div(x, self.add(self.splat(1.0), e))
    }
}

/// What [`Lanes::store_i8`] does. Adding 1.5 * 2^23 rounds, and leaves the integer in the low bits.
#[inline(always)]
pub(crate) fn round_to_i8(x: &[f32; LANES], out: &mut [i8; LANES]) -> i32 {
    let mut sum = 0;
    for (out, x) in out.iter_mut().zip(x) {
        *out = (x + 12_582_912.0).to_bits() as i8;
        sum += i32::from(*out);
    }
    sum
}

/// Adds lane 0 to 8, 1 to 9, ...; then 0 to 4, ...; then 0 to 2, 1 to 3; then 0 to 1.
#[inline(always)]
pub(crate) fn tree_sum(mut x: [f32; LANES]) -> f32 {
    for width in [8, 4, 2, 1] {
        for i in 0..width {
            x[i] += x[i + width];
        }
    }
    x[0]
}
