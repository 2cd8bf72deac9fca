//! How many tokens, and how fast.

use botpsy_chat::Completion;
use serde::Serialize;
use utoipa::ToSchema;

/// How many tokens.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: usize,
    pub(crate) completion_tokens: usize,
    pub(crate) total_tokens: usize,
    pub(crate) prompt_tokens_details: PromptDetails,
    pub(crate) completion_tokens_details: CompletionDetails,
}

/// Of the prompt.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct PromptDetails {
    /// Tokens that were not computed again.
    pub(crate) cached_tokens: usize,
}

/// Of the answer.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct CompletionDetails {
    pub(crate) reasoning_tokens: usize,
}

/// Times and speeds, by llama-server's names.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Timings {
    /// Prompt tokens that were reused.
    pub(crate) cache_n: usize,
    /// Prompt tokens that were computed.
    pub(crate) prompt_n: usize,
    pub(crate) prompt_ms: f64,
    pub(crate) prompt_per_second: f64,
    pub(crate) predicted_n: usize,
    pub(crate) predicted_ms: f64,
    pub(crate) predicted_per_second: f64,
}

impl Usage {
    /// Takes in one more answer; answers to the same prompt count it once.
    pub(crate) fn add(&mut self, answer: &Completion, same_prompt: bool) {
        let stats = &answer.stats;
        if !same_prompt {
            self.prompt_tokens += stats.prompt_tokens;
            self.prompt_tokens_details.cached_tokens += stats.cached_tokens;
        }
        self.completion_tokens += stats.generated_tokens;
        self.completion_tokens_details.reasoning_tokens += answer.thought_tokens;
        self.total_tokens = self.prompt_tokens + self.completion_tokens;
    }
}

impl Timings {
    /// Takes in one more answer.
    pub(crate) fn add(&mut self, answer: &Completion) {
        let stats = &answer.stats;
        self.cache_n += stats.cached_tokens;
        self.prompt_n += stats.prompt_tokens - stats.cached_tokens;
        self.prompt_ms += stats.prefill_ms;
        self.prompt_per_second = per_second(self.prompt_n, self.prompt_ms);
        self.predicted_n += stats.generated_tokens;
        self.predicted_ms += stats.decode_ms;
        self.predicted_per_second = per_second(self.predicted_n, self.predicted_ms);
    }
}

fn per_second(n: usize, ms: f64) -> f64 {
    if ms > 0.0 { n as f64 * 1e3 / ms } else { 0.0 }
}
