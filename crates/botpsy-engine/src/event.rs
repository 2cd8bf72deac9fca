//! What a running job tells its caller.

use crate::{CloseReason, Logprobs, TokenId};

/// One step of a job. A job sends `Prefilling` any number of times, `Prefilled` once, then tokens, and `Done` last.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Another piece of the prompt was computed.
    Prefilling {
        /// Prompt tokens whose state exists, reused ones included.
        done: usize,
        /// Length of the prompt.
        total: usize,
    },
    /// The whole prompt was computed.
    Prefilled {
        /// Length of the prompt.
        prompt_tokens: usize,
        /// How many of its tokens were reused from an earlier state.
        cached_tokens: usize,
    },
    /// A token was appended to the answer. Stop tokens are not part of it and send no event.
    Token {
        /// The token.
        id: TokenId,
        /// Whether it was written for the model instead of drawn.
        forced: bool,
        /// Log-probabilities under the raw logits, if the job asked for them.
        logprobs: Option<Logprobs>,
    },
    /// The thought ended with the token just sent.
    ThinkingClosed {
        /// Why it ended.
        reason: CloseReason,
        /// Tokens of thought before its end.
        thought_tokens: u32,
    },
    /// The job is over.
    Done {
        /// Why it ended.
        finish: Finish,
        /// Counts and times.
        stats: Stats,
    },
}

/// Why a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model produced a stop token.
    Eos,
    /// The token limit or the end of the context was reached.
    Length,
    /// The receiver of the events asked to stop.
    Stop,
    /// The cancel flag was raised.
    Cancelled,
}

/// Counts and times of one job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Length of the prompt.
    pub prompt_tokens: usize,
    /// Prompt tokens reused from an earlier state.
    pub cached_tokens: usize,
    /// Tokens appended, forced ones included and a final stop token too.
    pub generated_tokens: usize,
    /// Time spent on the prompt.
    pub prefill_ms: f64,
    /// Time from the end of the prompt to the end of the job.
    pub decode_ms: f64,
    /// Time from the start of the job to its first token; 0 if there was none.
    pub ttft_ms: f64,
}

impl Stats {
    /// Prompt tokens computed per second, of a job whose whole prompt was; 0 if none were.
    pub fn prefill_tps(&self) -> f64 {
        rate(self.prompt_tokens.saturating_sub(self.cached_tokens), self.prefill_ms)
    }

    /// Tokens generated per second; 0 if none were.
    pub fn decode_tps(&self) -> f64 {
        rate(self.generated_tokens, self.decode_ms)
    }
}

fn rate(count: usize, ms: f64) -> f64 {
    if ms > 0.0 { count as f64 * 1e3 / ms } else { 0.0 }
}
