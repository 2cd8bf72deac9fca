//! One loaded model serving requests: sampling, budgets and events over token ids.

mod error;
mod sampling;

pub use error::Error;
pub use sampling::{
    DrawKey, Logprobs, MAX_TOP_LOGPROBS, PenaltyScope, SamplerOrder, SamplerScratch, Sampling,
    SamplingSettings, TokenHistory, TokenLogprob, TokenMask, raw_logprobs, sample,
};

/// A token of the model's vocabulary.
pub type TokenId = u32;
