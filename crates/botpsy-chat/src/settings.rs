//! Which settings an answer is made with: request before flag before file before ours.

use std::num::NonZeroU32;

use botpsy_engine::{PenaltyScope, SamplerOrder, SamplingSettings, thinking_budget};

/// Tokens that an answer may have when nobody says.
const MAX_TOKENS: u32 = 8192;

/// Settings that somebody stated; `None` where they did not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Whether the model thinks before it answers.
    pub thinking: Option<bool>,
    /// Tokens of thought after which it is closed.
    pub thinking_budget: Option<u32>,
    /// Tokens that the answer may have, the thought included.
    pub max_tokens: Option<u32>,
    /// As in [`SamplingSettings`], like all that follow.
    pub temperature: Option<f32>,
    /// Sum of probabilities to keep.
    pub top_p: Option<f32>,
    /// Candidates to keep; 0 keeps all.
    pub top_k: Option<u32>,
    /// Least share of the best probability.
    pub min_p: Option<f32>,
    /// Once per token seen.
    pub presence_penalty: Option<f32>,
    /// Per occurrence.
    pub frequency_penalty: Option<f32>,
    /// By division.
    pub repetition_penalty: Option<f32>,
    /// What the penalties count.
    pub penalty_scope: Option<PenaltyScope>,
    /// Order of the filters.
    pub sampler_order: Option<SamplerOrder>,
    /// Seed of the draw.
    pub seed: Option<u64>,
    /// Alternatives to report beside each token.
    pub top_logprobs: Option<u32>,
    /// Added to single logits.
    pub logit_bias: Option<Vec<(u32, f32)>>,
}

/// Takes the first stated value of each field.
macro_rules! first_stated {
    ($first:expr, $second:expr; $($field:ident),+ $(,)?) => {
        Overrides { $($field: $first.$field.clone().or_else(|| $second.$field.clone()),)+ }
    };
}

impl Overrides {
    /// These settings, and `other`'s where these say nothing.
    pub fn or(&self, other: &Overrides) -> Overrides {
        first_stated!(self, other; thinking, thinking_budget, max_tokens, temperature, top_p, top_k, min_p,
            presence_penalty, frequency_penalty, repetition_penalty, penalty_scope, sampler_order, seed, top_logprobs,
            logit_bias)
    }

    /// The settings in force, ours where nobody said otherwise. `room` is what the context leaves for the answer.
    pub fn resolve(&self, room: u32) -> Settings {
        let ours = SamplingSettings::default();
        let max_tokens = self.max_tokens.unwrap_or(MAX_TOKENS).min(room);
        Settings {
            thinking: self.thinking.unwrap_or(true),
            thinking_budget: self.thinking_budget.unwrap_or_else(|| thinking_budget(max_tokens)),
            max_tokens,
            sampling: SamplingSettings {
                temperature: self.temperature.unwrap_or(ours.temperature),
                top_p: self.top_p.unwrap_or(ours.top_p),
                top_k: self.top_k.map_or(ours.top_k, NonZeroU32::new),
                min_p: self.min_p.unwrap_or(ours.min_p),
                presence_penalty: self.presence_penalty.unwrap_or(ours.presence_penalty),
                frequency_penalty: self.frequency_penalty.unwrap_or(ours.frequency_penalty),
                repetition_penalty: self.repetition_penalty.unwrap_or(ours.repetition_penalty),
                penalty_scope: self.penalty_scope.unwrap_or(ours.penalty_scope),
                order: self.sampler_order.unwrap_or(ours.order),
                seed: self.seed.unwrap_or(ours.seed),
                top_logprobs: self.top_logprobs,
                logit_bias: self.logit_bias.clone().unwrap_or_default(),
            },
        }
    }
}

/// The settings in force for one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether the model thinks before it answers.
    pub thinking: bool,
    /// Tokens of thought after which it is closed.
    pub thinking_budget: u32,
    /// Tokens that the answer may have, the thought included.
    pub max_tokens: u32,
    /// How tokens are chosen.
    pub sampling: SamplingSettings,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_those_the_model_was_evaluated_with() {
        let settings = Overrides::default().resolve(30_000);
        assert!(settings.thinking);
        assert_eq!((settings.max_tokens, settings.thinking_budget), (8192, 7168));
        let s = settings.sampling;
        assert_eq!(
            (s.temperature, s.top_p, s.top_k, s.presence_penalty, s.min_p),
            (0.3, 0.95, NonZeroU32::new(20), 1.5, 0.0)
        );
        assert_eq!(Overrides::default().resolve(100).max_tokens, 100);
    }

    #[test]
    fn the_first_who_says_something_wins() {
        let request = Overrides { temperature: Some(1.0), top_k: Some(0), ..Overrides::default() };
        let flags = Overrides { temperature: Some(0.5), min_p: Some(0.1), ..Overrides::default() };
        let file = Overrides { min_p: Some(0.2), thinking: Some(false), top_k: Some(7), ..Overrides::default() };
        let settings = request.or(&flags).or(&file).resolve(1000);
        let s = settings.sampling;
        assert_eq!((s.temperature, s.min_p, s.top_k, settings.thinking), (1.0, 0.1, None, false));
    }
}
