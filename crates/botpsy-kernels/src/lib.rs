//! Arithmetic at speed for the Qwen3.5 family: packed weights, SIMD chosen at run time, a thread pool.
//!
//! It never reads a file and knows nothing of layers. Every result depends on its inputs and on the instruction set only:
//! never on the number of threads, on how many rows are computed together, or on how a sequence was cut into pieces.
//!
//! The main types are [`Isa`] (a proof of what this processor can do), [`ThreadPool`] and [`PackedMatrix`].
//!
//! ```
//! use botpsy_kernels::{Context, Isa, PackedMatrix, Rows, ThreadPool, matmul};
//! use botpsy_tensor::{DType, TensorView};
//!
//! let weights: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let view = TensorView::new(DType::F32, vec![2, 2], &weights)?;
//! let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
//! let packed = PackedMatrix::pack(&ctx, &view);
//! let mut out = [0.0f32; 2];
//! matmul(&ctx, &packed, Rows::exact(&[1.0, 1.0], 2), &mut out);
//! assert_eq!(out, [3.0, 7.0]);
//! # Ok::<(), botpsy_tensor::TensorError>(())
//! ```

#[allow(unsafe_code, reason = "threads round disjoint blocks of one buffer")]
mod activation;
#[allow(unsafe_code, reason = "threads write disjoint heads of one output")]
pub mod attention;
pub mod conv;
#[allow(unsafe_code, reason = "threads write disjoint parts of the state and the output")]
pub mod delta;
#[allow(unsafe_code, reason = "runs kernels compiled for features that the `Isa` value proves")]
mod isa;
mod lanes;
pub mod math;
#[allow(unsafe_code, reason = "threads write disjoint columns of one output")]
mod matmul;
pub mod norm;
mod pack;
#[allow(unsafe_code, reason = "lends a caller's closure to threads that outlive it")]
mod pool;
pub mod roofline;

pub use activation::{QuantizedRows, Rows};
pub use isa::{Isa, UnknownIsa};
pub use matmul::{Product, gated_matmul_int8, matmul, matmul_many};
pub use pack::{FloatBuffer, OutOfMemory, PackedMatrix};
pub use pool::ThreadPool;

/// What every kernel needs to know: the instruction set and the threads. Made once, at the top.
#[derive(Debug)]
pub struct Context {
    /// The instruction set in force.
    pub isa: Isa,
    /// The threads that share the work.
    pub pool: ThreadPool,
}
