//! Where the time of a pass goes, step by step.
//!
//! A pass is a straight line of steps, so a profile is a watch with laps: what passed since the last lap belongs to the step
//! that just ended. Without a profile a lap is one comparison.

use std::cell::Cell;
use std::time::{Duration, Instant};

use botpsy_kernels::PackedMatrix;

/// A kind of step of the forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Rows of the embedding, rotations, the last sum of the residual stream.
    Residual,
    /// The sums of the residual stream and the norms before mixers, MLPs and the output matrix, rounded as they are made.
    Norm,
    /// Rounding the input rows of products where that is a step of its own.
    Round,
    /// Linear attention: queries, keys, values, gates.
    LinearIn,
    /// Linear attention: the convolution with its activation and the norms of queries and keys.
    Conv,
    /// Linear attention: the delta rule.
    DeltaRule,
    /// Linear attention: gates and the norm of the heads, rounded as it is made.
    LinearGate,
    /// Linear attention: the output product.
    LinearOut,
    /// Full attention: queries, keys, values.
    AttentionIn,
    /// Full attention: norms and rotations of queries and keys, the cache written.
    Rope,
    /// Full attention: scores and values.
    Attend,
    /// Full attention: the gate, rounded as it is made.
    AttentionGate,
    /// Full attention: the output product.
    AttentionOut,
    /// The MLP: gate and up, with the activation, rounded as they are made.
    MlpUp,
    /// The MLP: down.
    MlpDown,
    /// The output matrix.
    LmHead,
}

impl Operation {
    /// All of them, in the order of the pass.
    pub const ALL: [Operation; 16] = [
        Operation::Residual,
        Operation::Norm,
        Operation::Round,
        Operation::LinearIn,
        Operation::Conv,
        Operation::DeltaRule,
        Operation::LinearGate,
        Operation::LinearOut,
        Operation::AttentionIn,
        Operation::Rope,
        Operation::Attend,
        Operation::AttentionGate,
        Operation::AttentionOut,
        Operation::MlpUp,
        Operation::MlpDown,
        Operation::LmHead,
    ];

    /// Its name, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Residual => "residual",
            Operation::Norm => "norm",
            Operation::Round => "round",
            Operation::LinearIn => "linear_in",
            Operation::Conv => "conv",
            Operation::DeltaRule => "delta_rule",
            Operation::LinearGate => "linear_gate",
            Operation::LinearOut => "linear_out",
            Operation::AttentionIn => "attention_in",
            Operation::Rope => "rope",
            Operation::Attend => "attend",
            Operation::AttentionGate => "attention_gate",
            Operation::AttentionOut => "attention_out",
            Operation::MlpUp => "mlp_up",
            Operation::MlpDown => "mlp_down",
            Operation::LmHead => "lm_head",
        }
    }
}

/// What a step has to do at the least; zero where that is of no interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of weights, states, keys and values that are read or written.
    pub bytes: usize,
    /// Multiplications and additions of int8 values.
    pub int8: usize,
    /// Of bfloat16 values.
    pub bf16: usize,
    /// Of `f32` values.
    pub f32: usize,
}

impl Work {
    /// A step whose work is not counted.
    pub(crate) const NONE: Work = Work { bytes: 0, int8: 0, bf16: 0, f32: 0 };

    /// Multiplications and additions, of whatever values.
    pub fn operations(&self) -> usize {
        self.int8 + self.bf16 + self.f32
    }

    /// Products of these matrices with `n` rows, rounded as the matrices take them.
    pub(crate) fn products(n: usize, matrices: &[&PackedMatrix]) -> Work {
        let of = |w: &&PackedMatrix| {
            let (bytes, operations) = (w.size_bytes(), 2 * n * w.rows() * w.cols());
            if w.takes_int8() {
                Work { bytes, int8: operations, ..Work::NONE }
            } else if w.takes_bf16() {
                Work { bytes, bf16: operations, ..Work::NONE }
            } else {
                Work { bytes, f32: operations, ..Work::NONE }
            }
        };
        matrices.iter().map(of).fold(Work::NONE, |sum, work| sum + work)
    }
}

impl std::ops::Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            bytes: self.bytes + other.bytes,
            int8: self.int8 + other.int8,
            bf16: self.bf16 + other.bf16,
            f32: self.f32 + other.f32,
        }
    }
}

/// Time and work of each operation since recording began.
#[derive(Debug)]
pub struct Profile {
    last: Cell<Instant>,
    spent: [Cell<(Duration, Work)>; Operation::ALL.len()],
}

impl Profile {
    pub(crate) fn new() -> Profile {
        Profile { last: Cell::new(Instant::now()), spent: Default::default() }
    }

    /// Begins a pass.
    pub(crate) fn start(&self) {
        self.last.set(Instant::now());
    }

    /// Ends a step: the time since the last lap is its own.
    pub(crate) fn lap(&self, operation: Operation, work: Work) {
        let now = Instant::now();
        let spent = &self.spent[operation as usize];
        let (time, before) = spent.get();
        spent.set((time + (now - self.last.get()), before + work));
        self.last.set(now);
    }

    /// Time spent on an operation, and its work.
    pub fn spent(&self, operation: Operation) -> (Duration, Work) {
        self.spent[operation as usize].get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_divide_the_time_among_the_operations() {
        assert!(Operation::ALL.iter().enumerate().all(|(i, operation)| *operation as usize == i));
        let (profile, started) = (Profile::new(), Instant::now());
        profile.start();
        std::thread::sleep(Duration::from_millis(2));
        profile.lap(Operation::Conv, Work { bytes: 3, f32: 4, ..Work::NONE });
        profile.lap(Operation::Norm, Work::NONE);
        profile.lap(Operation::Conv, Work { bytes: 5, f32: 6, ..Work::NONE });
        let all = started.elapsed();
        let (conv, norm) = (profile.spent(Operation::Conv), profile.spent(Operation::Norm));
        assert_eq!(conv.1, Work { bytes: 8, f32: 10, ..Work::NONE });
        assert!(conv.0 >= Duration::from_millis(2) && conv.0 + norm.0 <= all, "{conv:?} {norm:?} of {all:?}");
        assert_eq!(profile.spent(Operation::LmHead), (Duration::ZERO, Work::NONE));
    }
}
