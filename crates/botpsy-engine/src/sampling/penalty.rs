//! Counting tokens for the penalties, and applying them.

use std::collections::{HashMap, VecDeque};

use super::settings::{PenaltyScope, SamplingSettings};
use crate::TokenId;

/// How often each token occurred where the penalties look.
///
/// The caller reports the prompt once and then every token of the answer, chosen or forced.
#[derive(Clone, Debug)]
pub struct TokenHistory {
    scope: PenaltyScope,
    counts: HashMap<TokenId, u32>,
    /// The tokens counted under [`PenaltyScope::LastN`], oldest first; empty otherwise.
    window: VecDeque<TokenId>,
}

impl TokenHistory {
    /// A history at the start of an answer to `prompt`.
    pub fn new(scope: PenaltyScope, prompt: &[TokenId]) -> Self {
        let mut history = TokenHistory { scope, counts: HashMap::new(), window: VecDeque::new() };
        if let PenaltyScope::LastN(n) = scope {
            let seen = prompt.len().saturating_sub(n as usize);
            prompt[seen..].iter().for_each(|id| history.push(*id));
        }
        history
    }

    /// Counts one token of the answer.
    pub fn push(&mut self, id: TokenId) {
        match self.scope {
            PenaltyScope::Generated => {}
            PenaltyScope::LastN(0) => return,
            PenaltyScope::LastN(n) => {
                if self.window.len() >= n as usize {
                    let oldest =
                        self.window.pop_front().expect("a full window of at least one token has an oldest one");
                    self.forget(oldest);
                }
                self.window.push_back(id);
            }
        }
        *self.counts.entry(id).or_insert(0) += 1;
    }

    /// How often `id` is counted now.
    pub fn count(&self, id: TokenId) -> u32 {
        self.counts.get(&id).copied().unwrap_or(0)
    }

    fn forget(&mut self, id: TokenId) {
        if let Some(count) = self.counts.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&id);
            }
        }
    }
}

/// Repetition penalty, then frequency and presence, on the logits of the counted tokens: the arithmetic of vLLM and llama.cpp.
///
/// Finite logits stay finite. Tokens beyond `values` are passed over.
pub(super) fn penalize(values: &mut [f32], history: &TokenHistory, settings: &SamplingSettings) {
    let (repetition, frequency, presence) =
        (settings.repetition_penalty, settings.frequency_penalty, settings.presence_penalty);
    if (repetition, frequency, presence) == (1.0, 0.0, 0.0) {
        return;
    }
    // The map's order is random, but each entry touches a logit of its own.
    for (id, count) in &history.counts {
        if let Some(value) = values.get_mut(*id as usize).filter(|value| value.is_finite()) {
            let scaled = if *value > 0.0 { *value / repetition } else { *value * repetition };
            let lowered = scaled - *count as f32 * frequency - presence;
            *value = lowered.clamp(f32::MIN, f32::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(repetition: f32, frequency: f32, presence: f32) -> SamplingSettings {
        SamplingSettings {
            repetition_penalty: repetition,
            frequency_penalty: frequency,
            presence_penalty: presence,
            ..SamplingSettings::greedy()
        }
    }

    fn history(scope: PenaltyScope, prompt: &[TokenId], answer: &[TokenId]) -> TokenHistory {
        let mut history = TokenHistory::new(scope, prompt);
        answer.iter().for_each(|id| history.push(*id));
        history
    }

    fn counts(scope: PenaltyScope, prompt: &[TokenId], answer: &[TokenId]) -> Vec<u32> {
        let history = history(scope, prompt, answer);
        (0..4).map(|id| history.count(id)).collect()
    }

    #[test]
    fn the_scope_decides_what_counts() {
        let (prompt, answer) = ([0, 0, 1], [2, 2, 3]);
        assert_eq!(counts(PenaltyScope::Generated, &prompt, &answer), [0, 0, 2, 1]);
        assert_eq!(counts(PenaltyScope::LastN(0), &prompt, &answer), [0, 0, 0, 0]);
        assert_eq!(counts(PenaltyScope::LastN(2), &prompt, &answer), [0, 0, 1, 1]);
        assert_eq!(counts(PenaltyScope::LastN(5), &prompt, &answer), [1, 1, 2, 1]);
        assert_eq!(counts(PenaltyScope::LastN(64), &prompt, &answer), [2, 1, 2, 1]);
        assert_eq!(counts(PenaltyScope::LastN(2), &prompt, &[]), [1, 1, 0, 0]);
    }

    #[test]
    fn presence_counts_once_and_frequency_each_time() {
        let history = history(PenaltyScope::Generated, &[], &[1, 1, 1, 2]);
        let mut values = [4.0, 4.0, -4.0, 4.0];
        penalize(&mut values, &history, &settings(1.0, 0.5, 1.5));
        assert_eq!(values, [4.0, 1.0, -6.0, 4.0]);
    }

    #[test]
    fn repetition_divides_positive_and_multiplies_negative_logits() {
        let history = history(PenaltyScope::Generated, &[], &[0, 1, 2]);
        let mut values = [4.0, -4.0, 0.0, 4.0];
        penalize(&mut values, &history, &settings(2.0, 0.0, 0.0));
        assert_eq!(values, [2.0, -8.0, 0.0, 4.0]);
    }

    #[test]
    fn extreme_penalties_keep_logits_finite_and_bans_banned() {
        let history = history(PenaltyScope::Generated, &[], &[0, 1, 2, 99]);
        let mut values = [3e38, -3e38, f32::NEG_INFINITY];
        penalize(&mut values, &history, &settings(1e-30, 0.0, 0.0));
        assert_eq!((values[0], values[2]), (f32::MAX, f32::NEG_INFINITY));
        penalize(&mut values, &history, &settings(1e30, 0.0, 0.0));
        assert!(values[1].is_finite());
    }
}
