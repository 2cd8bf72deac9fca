//! The tokenizer against the reference tokenizer's ids, and against itself.

mod load;
mod reference;
