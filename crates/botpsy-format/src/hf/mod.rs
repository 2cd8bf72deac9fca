//! The JSON files beside Hugging Face weights, as they were written: nothing is filled in here.

mod config;
pub(crate) mod json;
mod tokenizer;

pub use config::{GenerationConfig, HfConfig};
pub use tokenizer::{TokenizerConfig, TokenizerEntry, TokenizerFile};
