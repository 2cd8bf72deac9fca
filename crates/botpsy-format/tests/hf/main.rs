//! The JSON files beside Hugging Face weights: read, refused, mutated.

#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

mod config;
mod mutate;
mod mutation;
#[path = "../gguf/peak.rs"]
mod peak;
mod tokenizer;

use std::path::{Path, PathBuf};

/// A file or folder under `fixtures/`.
fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(name)
}
