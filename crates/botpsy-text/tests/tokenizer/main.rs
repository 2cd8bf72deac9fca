//! The tokenizer against the reference tokenizer's ids, and against itself.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod build;
mod load;
mod mutate;
mod random;
mod reference;
mod round_trip;
mod stream;
mod untrusted;
