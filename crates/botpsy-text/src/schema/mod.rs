//! What a tool's JSON Schema says about the raw text of a parameter.
//!
//! A model writes every argument as text. [`Parameters`] is read once from a tool's schema and tells which JSON types
//! each parameter may have; [`coerce`] turns a raw text into a value of one of them.

mod coerce;
mod flat;
mod literal;
mod number;
mod types;

pub(crate) use coerce::nested_at_most;
pub use coerce::{Coerced, coerce, fit};
pub(crate) use flat::flattened;
pub use literal::python_literal;
pub use types::{Parameters, Type, TypeSet};
pub(crate) use types::{percent_decode, resolve};

/// Deepest nesting of lists and objects that a value read from a model's output may have. With the object of
/// arguments around it, it stays under the 128 levels that JSON readers commonly allow.
pub const MAX_VALUE_DEPTH: usize = 100;
