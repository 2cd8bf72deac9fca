//! The assistant, from outside.
#![allow(clippy::unwrap_used)]

mod policy;
