//! The model against the fixtures of the reference implementation, and against itself.

#![allow(clippy::unwrap_used)]

mod convert;
mod equalities;
mod fixture;
mod logits;
mod plain;
mod states;
