//! What a request may choose about sampling, checked once.

use std::num::NonZeroU32;

use crate::{Error, TokenId};

/// The most alternatives that can be reported beside each token.
pub const MAX_TOP_LOGPROBS: u32 = 20;

/// The order in which the filters act on the processed logits.
///
/// Mask, logit bias and penalties come first in both. The filters are the same; the order changes what `top_p` sums over and
/// whether temperature comes before or after it, so the two keep different candidates from the same logits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SamplerOrder {
    /// Temperature, `min_p`, `top_k`, `top_p` over what `top_k` left, draw: the order of vLLM, under which the model was evaluated.
    #[default]
    Vllm,
    /// `top_k`, `top_p`, `min_p`, temperature, draw: llama.cpp's default chain without the members that we do not have.
    LlamaCpp,
}

/// Which tokens the three penalties count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PenaltyScope {
    /// Every token after the generation prompt: thought, written closer and forced tokens too; nothing of the prompt.
    ///
    /// For presence and frequency this is vLLM's rule. vLLM's repetition penalty counts the prompt as well; here it does not,
    /// because a model that must copy tool names and arguments out of its prompt would be punished for doing so.
    #[default]
    Generated,
    /// The last `n` tokens of prompt and answer together: llama.cpp's window (its default is 64). `0` counts nothing.
    LastN(u32),
}

/// Sampling options as a caller states them; [`SamplingSettings::validate`] turns them into a [`Sampling`].
///
/// `Default` is the product's own default for a model whose file says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingSettings {
    /// Divides the logits; at least 0. At 0 the best processed logit wins, the lowest id among equals.
    pub temperature: f32,
    /// Keeps the smallest set of best candidates whose probabilities reach this sum; in `(0, 1]`, 1 is off.
    pub top_p: f32,
    /// Keeps exactly this many best candidates (among equals the lower ids); `None` is off.
    pub top_k: Option<NonZeroU32>,
    /// Drops candidates less likely than this share of the best one; in `[0, 1)`, 0 is off.
    pub min_p: f32,
    /// Subtracted once from the logit of each counted token; in `[-2, 2]`.
    pub presence_penalty: f32,
    /// Subtracted from the logit of each counted token once per occurrence; in `[-2, 2]`.
    pub frequency_penalty: f32,
    /// Divides positive and multiplies negative logits of counted tokens; above 0, 1 is off.
    pub repetition_penalty: f32,
    /// Added to single logits, in `[-100, 100]`; negative infinity bans a token. Any order, each id once.
    pub logit_bias: Vec<(TokenId, f32)>,
    /// Which tokens the penalties count.
    pub penalty_scope: PenaltyScope,
    /// The order of the filters.
    pub order: SamplerOrder,
    /// The seed of the draw.
    pub seed: u64,
    /// `None`: no log-probabilities. `Some(n)`: of the chosen token and of the `n` most likely ones, at most 20.
    pub top_logprobs: Option<u32>,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        SamplingSettings {
            temperature: 0.3,
            top_p: 0.95,
            top_k: NonZeroU32::new(20),
            presence_penalty: 1.5,
            ..SamplingSettings::greedy()
        }
    }
}

impl SamplingSettings {
    /// Temperature 0 with every filter and penalty off.
    pub fn greedy() -> Self {
        SamplingSettings {
            temperature: 0.0,
            top_p: 1.0,
            top_k: None,
            min_p: 0.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            logit_bias: Vec::new(),
            penalty_scope: PenaltyScope::Generated,
            order: SamplerOrder::Vllm,
            seed: 0,
            top_logprobs: None,
        }
    }

    /// Checks every field and sorts the bias by id.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first field out of range, and the range.
    pub fn validate(mut self) -> Result<Sampling, Error> {
        // Written as "is inside" so that NaN falls outside.
        let checks = [
            (
                "temperature",
                self.temperature,
                (0.0..=f32::MAX).contains(&self.temperature),
                "a finite number, at least 0",
            ),
            ("top_p", self.top_p, self.top_p > 0.0 && self.top_p <= 1.0, "above 0 and at most 1"),
            ("min_p", self.min_p, (0.0..1.0).contains(&self.min_p), "at least 0 and below 1"),
            ("presence_penalty", self.presence_penalty, (-2.0..=2.0).contains(&self.presence_penalty), "from -2 to 2"),
            (
                "frequency_penalty",
                self.frequency_penalty,
                (-2.0..=2.0).contains(&self.frequency_penalty),
                "from -2 to 2",
            ),
            (
                "repetition_penalty",
                self.repetition_penalty,
                self.repetition_penalty > 0.0 && self.repetition_penalty <= f32::MAX,
                "a finite number above 0",
            ),
        ];
        for (field, value, inside, range) in checks {
            if !inside {
                return Err(Error::Setting { field: field.to_owned(), value: value.to_string(), range });
            }
        }
        if let Some(n) = self.top_logprobs.filter(|n| *n > MAX_TOP_LOGPROBS) {
            return Err(Error::Setting {
                field: "top_logprobs".to_owned(),
                value: n.to_string(),
                range: "from 0 to 20",
            });
        }
        self.logit_bias.sort_by_key(|(id, _)| *id);
        self.check_bias()?;
        Ok(Sampling(self))
    }

    fn check_bias(&self) -> Result<(), Error> {
        for (id, bias) in &self.logit_bias {
            if !(-100.0..=100.0).contains(bias) && *bias != f32::NEG_INFINITY {
                let range = "from -100 to 100, or negative infinity";
                return Err(Error::Setting { field: format!("logit_bias[{id}]"), value: bias.to_string(), range });
            }
        }
        match self.logit_bias.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Error::Setting {
                field: format!("logit_bias[{}]", pair[0].0),
                value: "two entries".to_owned(),
                range: "one entry for each token id",
            }),
            None => Ok(()),
        }
    }
}

/// Sampling options that were checked: every field of [`Sampling::settings`] is inside its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling(SamplingSettings);

impl Sampling {
    /// The checked values; `logit_bias` is sorted by id.
    pub fn settings(&self) -> &SamplingSettings {
        &self.0
    }
}

impl Default for Sampling {
    fn default() -> Self {
        SamplingSettings::default().validate().expect("the product's defaults are inside their ranges")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut SamplingSettings)) -> String {
        let mut settings = SamplingSettings::default();
        change(&mut settings);
        settings.validate().expect_err("the setting should be refused").to_string()
    }

    #[test]
    fn each_field_is_refused_outside_its_range_and_named() {
        assert_eq!(error(|s| s.temperature = -0.1), "temperature is -0.1: it must be a finite number, at least 0");
        assert_eq!(error(|s| s.temperature = f32::NAN), "temperature is NaN: it must be a finite number, at least 0");
        assert_eq!(error(|s| s.top_p = 0.0), "top_p is 0: it must be above 0 and at most 1");
        assert_eq!(error(|s| s.top_p = 1.01), "top_p is 1.01: it must be above 0 and at most 1");
        assert_eq!(error(|s| s.min_p = 1.0), "min_p is 1: it must be at least 0 and below 1");
        assert_eq!(error(|s| s.presence_penalty = 2.5), "presence_penalty is 2.5: it must be from -2 to 2");
        assert_eq!(error(|s| s.frequency_penalty = -2.5), "frequency_penalty is -2.5: it must be from -2 to 2");
        assert_eq!(
            error(|s| s.repetition_penalty = 0.0),
            "repetition_penalty is 0: it must be a finite number above 0"
        );
        assert_eq!(error(|s| s.top_logprobs = Some(21)), "top_logprobs is 21: it must be from 0 to 20");
        assert_eq!(
            error(|s| s.logit_bias = vec![(7, 101.0)]),
            "logit_bias[7] is 101: it must be from -100 to 100, or negative infinity"
        );
        assert_eq!(
            error(|s| s.logit_bias = vec![(7, 1.0), (3, 1.0), (7, 2.0)]),
            "logit_bias[7] is two entries: it must be one entry for each token id"
        );
    }

    #[test]
    fn the_ends_of_the_ranges_are_allowed_and_the_bias_is_sorted() {
        let settings = SamplingSettings {
            temperature: 0.0,
            top_p: 1.0,
            min_p: 0.0,
            presence_penalty: 2.0,
            frequency_penalty: -2.0,
            logit_bias: vec![(9, f32::NEG_INFINITY), (2, 100.0)],
            top_logprobs: Some(20),
            ..SamplingSettings::default()
        };
        let sampling = settings.validate().unwrap();
        assert_eq!(sampling.settings().logit_bias, [(2, 100.0), (9, f32::NEG_INFINITY)]);
    }

    #[test]
    fn the_defaults_are_the_ones_that_we_name() {
        let sampling = Sampling::default();
        let s = sampling.settings();
        assert_eq!((s.temperature, s.top_p, s.top_k, s.min_p), (0.3, 0.95, NonZeroU32::new(20), 0.0));
        assert_eq!((s.presence_penalty, s.frequency_penalty, s.repetition_penalty), (1.5, 0.0, 1.0));
    }
}
