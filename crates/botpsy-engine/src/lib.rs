//! One loaded model serving requests: sampling, budgets and events over token ids.

mod budget;
mod error;
mod event;
mod repetition;
mod sampling;

pub use budget::{ANSWER_RESERVE, CloseReason, Thinking, ThinkingSetup, thinking_budget};
pub use error::Error;
pub use event::{Event, Finish, Stats};
pub use repetition::{MAX_PERIOD, PHRASE, Repetition, RepetitionDetector, WINDOW};
pub use sampling::{
    DrawKey, Logprobs, MAX_TOP_LOGPROBS, PenaltyScope, SamplerOrder, SamplerScratch, Sampling, SamplingSettings,
    TokenHistory, TokenLogprob, TokenMask, raw_logprobs, sample,
};

/// A token of the model's vocabulary.
pub type TokenId = u32;
