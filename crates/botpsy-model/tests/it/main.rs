//! The model against the fixtures of the reference implementation, and against itself.

mod equalities;
mod fixture;
mod logits;
mod plain;
mod states;
