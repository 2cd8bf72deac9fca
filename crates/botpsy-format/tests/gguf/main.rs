//! GGUF files: written, read, hostile.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub)]

mod hostile;
mod mutate;
mod peak;
mod vocabulary;
mod write;

use std::path::{Path, PathBuf};

/// A file or folder under `fixtures/`.
fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(name)
}
