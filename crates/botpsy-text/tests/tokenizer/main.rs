//! The tokenizer against the reference tokenizer's ids, and against itself.

#![allow(clippy::unwrap_used, clippy::print_stderr, unreachable_pub)]

mod load;
mod reference;
