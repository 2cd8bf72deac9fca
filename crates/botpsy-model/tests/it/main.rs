//! The model against the fixtures of the reference implementation, and against itself.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod convert;
mod convert_shapes;
mod equalities;
mod fixture;
mod logits;
mod malformed;
mod plain;
mod random_configs;
mod states;
