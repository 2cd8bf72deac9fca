//! The instruction set, detected once and handed down as a value that proves what it names.

use std::fmt;

#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::lanes::{Lanes, Portable};

/// An instruction set that this processor has. It can be made only by detection, so holding one is the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Scalar,
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// The same with products of bfloat16 in one instruction.
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
}

/// A name that is no instruction set, or one that this processor lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsa {
    /// The name that was asked for.
    pub name: String,
}

impl fmt::Display for UnknownIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Isa::available().iter().map(|isa| isa.name()).collect();
        write!(f, "BOTPSY_ISA: `{}` is not available here; use one of {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownIsa {}

impl Isa {
    /// The plain definition of every kernel.
    pub const SCALAR: Isa = Isa(Level::Scalar);
    /// Fixed-width arrays that the compiler vectorises: for processors without a path of their own.
    pub const PORTABLE: Isa = Isa(Level::Portable);

    /// The best instruction set of this processor.
    pub fn detect() -> Isa {
        Isa::available().pop().expect("the scalar path is always there")
    }

    /// All instruction sets of this processor, from the plainest to the best.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut, reason = "stays empty of additions on other processors")]
        let mut all = vec![Isa::SCALAR, Isa::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
                all.push(Isa(Level::Avx2));
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vnni")
                {
                    let bf16 = is_x86_feature_detected!("avx512bf16");
                    all.push(Isa(if bf16 { Level::Avx512Bf16 } else { Level::Avx512 }));
                }
            }
        }
        all
    }

    /// The instruction set named by `BOTPSY_ISA`, or the best one when the variable is not set.
    ///
    /// # Errors
    /// If the variable names no instruction set of this processor.
    pub fn from_env() -> Result<Isa, UnknownIsa> {
        match std::env::var("BOTPSY_ISA") {
            Ok(name) if !name.is_empty() => Isa::from_name(&name),
            _ => Ok(Isa::detect()),
        }
    }

    /// The instruction set called `name`: `scalar`, `portable`, `avx2` or `avx512`.
    ///
    /// # Errors
    /// If there is none of that name on this processor.
    pub fn from_name(name: &str) -> Result<Isa, UnknownIsa> {
        Isa::available().into_iter().find(|isa| isa.name() == name).ok_or_else(|| UnknownIsa { name: name.into() })
    }

    /// All that can run here, those included that a better one of the same name hides.
    #[cfg(test)]
    pub(crate) fn levels() -> Vec<Isa> {
        #[allow(unused_mut, reason = "stays as it is on other processors")]
        let mut all = Isa::available();
        #[cfg(target_arch = "x86_64")]
        if all.contains(&Isa(Level::Avx512Bf16)) {
            all.push(Isa(Level::Avx512));
        }
        all
    }

    /// Its name, as `BOTPSY_ISA` takes it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Scalar => "scalar",
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Bf16 => "avx512",
        }
    }

    /// Runs a kernel on this instruction set.
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Out {
        match self.0 {
            Level::Scalar => kernel.scalar(),
            Level::Portable => kernel.vector(Portable),
            // SAFETY: `Level::Avx2` exists only if detection found AVX2, FMA and F16C.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { run_avx2(kernel) },
            // SAFETY: `Level::Avx512` exists only if detection found all the features that `run_avx512` enables.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { run_avx512(kernel) },
            // SAFETY: `Level::Avx512Bf16` exists only if detection found those and AVX512_BF16.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Bf16 => unsafe { run_avx512_bf16(kernel) },
        }
    }
}

/// One operation: its plain definition, and the same on vectors of sixteen lanes.
///
/// `vector` must be `#[inline(always)]`: it is compiled anew, with the features enabled, for each instruction set.
pub(crate) trait Kernel {
    type Out;
    fn scalar(self) -> Self::Out;
    fn vector<L: Lanes>(self, l: L) -> Self::Out;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Out {
    kernel.vector(Avx2::here())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Out {
    kernel.vector(Avx512::<false>::here())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")]
fn run_avx512_bf16<K: Kernel>(kernel: K) -> K::Out {
    kernel.vector(Avx512::<true>::here_with_bf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_available_isa_is_found_by_its_name() {
        for isa in Isa::available() {
            assert_eq!(Isa::from_name(isa.name()), Ok(isa));
        }
        let error = Isa::from_name("mmx").expect_err("no such instruction set");
        assert!(error.to_string().starts_with("BOTPSY_ISA: `mmx` is not available here; use one of scalar, portable"));
    }
}
