//! The JSON files beside Hugging Face weights, as they were written: nothing is filled in here.

mod config;
mod tokenizer;
mod tokenizer_config;

pub use config::{GenerationConfig, HfConfig};
pub use tokenizer::{TokenizerEntry, TokenizerFile};
pub use tokenizer_config::TokenizerConfig;
