//! Numbers at rest: element types, shapes, views over bytes, and the scalar codecs of the block formats.
//!
//! This crate never opens a file, starts a thread or knows what a tensor means. Its main types are [`DType`] (how
//! values are laid out), [`TensorView`] (borrowed bytes with a type and a shape that fit together) and
//! [`TensorError`]. Values come out with [`dequantize`] or, a row at a time, [`dequantize_row`]; they go in with
//! [`quantize`].
//!
//! ```
//! use botpsy_tensor::{DType, TensorView, dequantize, quantize};
//!
//! let values: Vec<f32> = (0..64).map(|i| i as f32 / 64.0).collect();
//! let bytes = quantize(&values, 32, DType::Q8_0)?;
//! let view = TensorView::new(DType::Q8_0, vec![2, 32], &bytes)?;
//! let back = dequantize(&view)?;
//! assert!(values.iter().zip(&back).all(|(a, b)| (a - b).abs() < 0.005));
//! # Ok::<(), botpsy_tensor::TensorError>(())
//! ```

mod decode;
mod dtype;
mod encode;
mod error;
mod view;

pub use decode::{dequantize, dequantize_row};
pub use dtype::DType;
pub use encode::quantize;
pub use error::TensorError;
pub use view::TensorView;
