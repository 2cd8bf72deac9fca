//! Paths of our own, by llama-server's names where it has them.

pub(crate) mod status;
pub(crate) mod text;
