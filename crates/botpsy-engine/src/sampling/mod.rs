//! From logits to the next token.
//!
//! Both orders begin with mask, logit bias and penalties (repetition, then frequency and presence) on the logits. Then:
//!
//! | [`SamplerOrder`] | filters |
//! |---|---|
//! | `Vllm` | temperature, `min_p`, `top_k`, `top_p` over what `top_k` left, draw |
//! | `LlamaCpp` | `top_k`, `top_p` and `min_p` on probabilities at temperature 1, temperature, draw |
//!
//! Every filter keeps a prefix of the candidates in the order (logit descending, id ascending), so sorting is done only as far
//! as a filter or the draw looks. At temperature 0 the best processed logit wins and no filter can change that.
//! Probabilities are summed in f64.

mod draw;
mod logprobs;
mod mask;
mod penalty;
mod ranking;
mod settings;
#[cfg(test)]
mod tests;

pub use draw::DrawKey;
pub use logprobs::{Logprobs, TokenLogprob};
pub use mask::TokenMask;
pub use penalty::TokenHistory;
pub use settings::{MAX_TOP_LOGPROBS, PenaltyScope, SamplerOrder, Sampling, SamplingSettings};

use crate::{Error, TokenId};
use ranking::Ranking;

/// Buffers of the sampler, made once and lent to each call.
#[derive(Clone, Debug, Default)]
pub struct SamplerScratch {
    values: Vec<f32>,
    ranking: Ranking,
}

/// Chooses the next token.
///
/// `logits` is `[vocab]` as the model gave it; `mask` covers the same vocabulary. Calls with equal arguments choose equal tokens.
///
/// ```
/// use botpsy_engine::{DrawKey, SamplerScratch, Sampling, TokenHistory, sample};
///
/// let sampling = Sampling::default();
/// let history = TokenHistory::new(sampling.settings().penalty_scope, &[]);
/// let key = DrawKey { seed: sampling.settings().seed, choice: 0, position: 0 };
/// let id = sample(&[0.0, 9.0, 1.0], &sampling, &history, None, key, &mut SamplerScratch::default())?;
/// assert_eq!(id, 1);
/// # Ok::<(), botpsy_engine::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadLogit`] if a logit is NaN or positive infinity, [`Error::NothingAllowed`] if mask, bias and logits together leave
/// no token, [`Error::MaskLength`] and [`Error::UnknownToken`] if mask or bias belong to another vocabulary.
pub fn sample(
    logits: &[f32],
    sampling: &Sampling,
    history: &TokenHistory,
    mask: Option<&TokenMask>,
    key: DrawKey,
    scratch: &mut SamplerScratch,
) -> Result<TokenId, Error> {
    let settings = sampling.settings();
    let SamplerScratch { values, ranking } = scratch;
    process(logits, settings, history, mask, values)?;
    let best = maximum(values);
    if best == f32::NEG_INFINITY {
        return Err(Error::NothingAllowed);
    }
    if settings.temperature == 0.0 {
        let first = values.iter().zip(0..).find(|(value, _)| **value == best);
        return first.map(|(_, id)| id).ok_or(Error::NothingAllowed);
    }
    keep(values, settings, best, ranking);
    ranking.pick(key.uniform(), weight(best, settings.temperature)).ok_or(Error::NothingAllowed)
}

/// The log-softmax of the raw `logits` for `chosen` and as many best tokens as `sampling` asks for; `None` if it asks for none.
pub fn raw_logprobs(
    logits: &[f32],
    sampling: &Sampling,
    chosen: TokenId,
    scratch: &mut SamplerScratch,
) -> Option<Logprobs> {
    let n_top = sampling.settings().top_logprobs?;
    Some(logprobs::logprobs(logits, chosen, n_top as usize, &mut scratch.ranking))
}

/// Copies the logits to `values` and applies mask, bias and penalties.
fn process(
    logits: &[f32],
    settings: &SamplingSettings,
    history: &TokenHistory,
    mask: Option<&TokenMask>,
    values: &mut Vec<f32>,
) -> Result<(), Error> {
    values.clear();
    // Piece by piece, so that each is read from memory once.
    for (i, piece) in logits.chunks(PIECE).enumerate() {
        check_logits(piece, i * PIECE)?;
        values.extend_from_slice(piece);
    }
    if let Some(mask) = mask {
        if mask.len() != logits.len() {
            return Err(Error::MaskLength { expected: logits.len(), found: mask.len() });
        }
        mask.apply(values);
    }
    for (id, bias) in &settings.logit_bias {
        let vocab = values.len();
        let value = values.get_mut(*id as usize).ok_or(Error::UnknownToken { what: "logit_bias", id: *id, vocab })?;
        *value = (*value + bias).min(f32::MAX);
    }
    penalty::penalize(values, history, settings);
    Ok(())
}

/// Fills the ranking with the candidates that `top_k`, `top_p` and `min_p` keep, in the order of `settings`.
///
/// `top_k` goes first in both orders: `min_p` too keeps a prefix and always the best candidate, so those two can change places.
/// `top_p` cannot, its sum is over what is left.
fn keep(values: &[f32], settings: &SamplingSettings, best: f32, ranking: &mut Ranking) {
    match settings.top_k {
        Some(k) => ranking.fill_best(values, k.get() as usize),
        None => ranking.fill(values),
    }
    let min_p = |ranking: &mut Ranking, temperature: f32| {
        if settings.min_p > 0.0 {
            let floor = f64::from(settings.min_p);
            let weight = weight(best, temperature);
            ranking.retain(|value| weight(value) >= floor);
        }
    };
    let top_p = |ranking: &mut Ranking, temperature: f32| {
        if settings.top_p < 1.0 {
            ranking.keep_share(f64::from(settings.top_p), weight(best, temperature));
        }
    };
    match settings.order {
        SamplerOrder::Vllm => {
            min_p(ranking, settings.temperature);
            top_p(ranking, settings.temperature);
        }
        SamplerOrder::LlamaCpp => {
            top_p(ranking, 1.0);
            min_p(ranking, 1.0);
        }
    }
}

/// The weight of a logit relative to the best one, in `[0, 1]`: subtracting first keeps any temperature from overflowing.
fn weight(best: f32, temperature: f32) -> impl Fn(f32) -> f64 {
    let (best, temperature) = (f64::from(best), f64::from(temperature));
    move |value| ((f64::from(value) - best) / temperature).exp()
}

/// Logits that the first cache holds with their copy.
const PIECE: usize = 2048;

/// `first` is the token of the first logit.
fn check_logits(logits: &[f32], first: usize) -> Result<(), Error> {
    // NaN and positive infinity both fail the comparison; a fold without early exit runs at memory speed.
    if logits.iter().fold(true, |fine, logit| fine & (*logit <= f32::MAX)) {
        return Ok(());
    }
    let bad = logits.iter().zip(first as TokenId..).find(|(logit, _)| logit.is_nan() || **logit == f32::INFINITY);
    bad.map_or(Ok(()), |(logit, id)| Err(Error::BadLogit { id, value: *logit }))
}

/// The largest value, in lanes so that the compiler can vectorize it. There is no NaN.
fn maximum(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; 16];
    let (blocks, rest) = values.as_chunks::<16>();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = if *value > *lane { *value } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}
