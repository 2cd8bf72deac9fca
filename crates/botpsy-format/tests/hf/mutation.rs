//! Changes to JSON files, how many of them, and what their errors promise.

use std::env;

use super::peak::PRINT_PEAK;

#[path = "json_mutation.rs"]
mod json_mutation;

pub use json_mutation::{Random, mutate};

/// How many inputs to try: `BOTPSY_FUZZ_N`, or 20,000; a few in the process that measures memory.
pub fn n_inputs() -> usize {
    let default = if env::var_os(PRINT_PEAK).is_some() { 2_000 } else { 20_000 };
    env::var("BOTPSY_FUZZ_N").map_or(default, |text| text.parse().unwrap())
}

/// What every error promises: the file in front, not too long, and nothing that acts on a terminal.
pub fn check_error(error: &botpsy_format::FormatError, file: &str) {
    let error = error.to_string();
    assert!(error.starts_with(&format!("{file}: ")) && error.len() < 1000, "{error}");
    assert!(!error.contains(char::is_control), "{error:?}");
}
