//! Log-probabilities of the model itself.

use super::ranking::Ranking;
use crate::TokenId;

/// A token and the natural logarithm of its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenLogprob {
    /// The token.
    pub id: TokenId,
    /// `ln p`, at most 0; negative infinity for a logit of negative infinity.
    pub logprob: f32,
}

/// What is reported beside a chosen token: the log-softmax of the raw logits, before mask, bias, penalties and temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    /// The token that was chosen (or forced).
    pub chosen: TokenLogprob,
    /// The most likely tokens, best first, the lower id first among equals.
    pub top: Vec<TokenLogprob>,
}

/// The log-softmax of `logits` at `chosen` and at the `n_top` best tokens.
///
/// Sums run in f64 over ids in ascending order, so the result is the same on every machine with the same `exp`.
pub(super) fn logprobs(logits: &[f32], chosen: TokenId, n_top: usize, ranking: &mut Ranking) -> Logprobs {
    ranking.fill_best(logits, n_top.max(1));
    let best = ranking.best().first().map_or(0.0, |candidate| f64::from(candidate.value));
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - best).exp()).sum();
    let log_sum = sum.ln();
    let at = |id, logit: f32| TokenLogprob { id, logprob: (f64::from(logit) - best - log_sum) as f32 };
    let chosen = at(chosen, logits.get(chosen as usize).copied().unwrap_or(f32::NEG_INFINITY));
    Logprobs {
        chosen,
        top: ranking.best().iter().take(n_top).map(|candidate| at(candidate.id, candidate.value)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_softmax_of_known_logits() {
        // p = 1/8, 4/8, 2/8, 1/8.
        let logits = [1.0_f32, 4.0, 2.0, 1.0].map(|weight| weight.ln() + 3.0);
        let result = logprobs(&logits, 3, 3, &mut Ranking::default());
        assert!((result.chosen.logprob - 0.125_f32.ln()).abs() < 1e-6);
        assert_eq!(result.top.iter().map(|top| top.id).collect::<Vec<_>>(), [1, 2, 0]);
        assert!((result.top[0].logprob - 0.5_f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn huge_logits_do_not_overflow_and_bans_have_no_probability() {
        let logits = [3.0e38, 3.0e38, f32::NEG_INFINITY, -3.0e38];
        let result = logprobs(&logits, 2, 0, &mut Ranking::default());
        assert_eq!((result.chosen.logprob, result.top.len()), (f32::NEG_INFINITY, 0));
        assert!((logprobs(&logits, 0, 1, &mut Ranking::default()).chosen.logprob - 0.5_f32.ln()).abs() < 1e-6);
    }
}
