//! The fields about sampling, which chat and plain completions share.

use std::collections::BTreeMap;

use botpsy_chat::Overrides;
use botpsy_engine::MAX_TOP_LOGPROBS;
use serde::Deserialize;
use utoipa::ToSchema;

use super::lenient::{real, strings, whole};
use crate::error::ApiError;

/// The most stop strings of a request.
const MAX_STOPS: usize = 64;
/// The most answers to one request.
const MAX_CHOICES: i64 = 16;

/// How tokens are chosen and when the answer ends.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct SamplingFields {
    /// Divides the logits; 0 takes the best token.
    #[serde(deserialize_with = "real")]
    temperature: Option<f32>,
    /// Keeps the best tokens until their probabilities reach this sum.
    #[serde(deserialize_with = "real")]
    top_p: Option<f32>,
    /// Keeps this many of the best tokens; 0 and -1 keep all.
    #[serde(deserialize_with = "whole")]
    top_k: Option<i64>,
    /// Drops tokens less likely than this share of the best one.
    #[serde(deserialize_with = "real")]
    min_p: Option<f32>,
    /// Subtracted once from the logit of each token of the answer so far.
    #[serde(deserialize_with = "real")]
    presence_penalty: Option<f32>,
    /// Subtracted once for each occurrence.
    #[serde(deserialize_with = "real")]
    frequency_penalty: Option<f32>,
    /// Divides positive logits and multiplies negative ones.
    #[serde(deserialize_with = "real", alias = "repeat_penalty")]
    repetition_penalty: Option<f32>,
    /// Equal seeds give equal answers.
    #[serde(deserialize_with = "whole")]
    seed: Option<i64>,
    /// Token ids, as strings, with what is added to their logits.
    logit_bias: Option<BTreeMap<String, f32>>,
    /// One text or several that end the answer.
    #[serde(deserialize_with = "strings")]
    #[schema(value_type = Vec<String>)]
    stop: Vec<String>,
    /// Tokens that the answer may have, its reasoning included.
    #[serde(deserialize_with = "whole")]
    max_tokens: Option<i64>,
    /// The same by its newer name, which counts when both are there.
    #[serde(deserialize_with = "whole")]
    max_completion_tokens: Option<i64>,
    /// How many answers.
    #[serde(deserialize_with = "whole")]
    n: Option<i64>,
}

/// How few tokens an answer may be limited to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Least {
    /// The request asks for something about its prompt.
    None = 0,
    One = 1,
}

impl SamplingFields {
    pub(crate) const NAMES: &'static [&'static str] = &[
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "repeat_penalty",
        "seed",
        "logit_bias",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "n",
    ];

    /// What the request states about sampling. `top` is the field, and its value, that asks for alternatives beside each
    /// token; `least` the smallest number of tokens that makes sense.
    pub(crate) fn overrides(
        &self,
        vocab: usize,
        top: (&str, Option<i64>),
        least: Least,
    ) -> Result<Overrides, ApiError> {
        let top_logprobs = match top {
            (name, Some(n)) if !(0..=i64::from(MAX_TOP_LOGPROBS)).contains(&n) => {
                return Err(ApiError::field(name, format!("{name} is {n}: it must be from 0 to {MAX_TOP_LOGPROBS}")));
            }
            (_, n) => n.map(|n| n as u32),
        };
        Ok(Overrides {
            max_tokens: self.limit(least)?,
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k()?,
            min_p: self.min_p,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed.map(|seed| seed as u64),
            top_logprobs,
            logit_bias: self.logit_bias(vocab)?,
            ..Overrides::default()
        })
    }

    /// How many answers are asked for.
    pub(crate) fn n_choices(&self) -> Result<u32, ApiError> {
        match self.n.unwrap_or(1) {
            n if (1..=MAX_CHOICES).contains(&n) => Ok(n as u32),
            n => Err(ApiError::field("n", format!("n is {n}: it must be from 1 to {MAX_CHOICES}"))),
        }
    }

    /// The texts that end the answer.
    pub(crate) fn stops(&self) -> Result<Vec<String>, ApiError> {
        if self.stop.len() > MAX_STOPS {
            let n = self.stop.len();
            return Err(ApiError::field("stop", format!("stop has {n} texts: at most {MAX_STOPS} are taken")));
        }
        if self.stop.iter().any(String::is_empty) {
            return Err(ApiError::field("stop", "stop holds an empty text, which would end every answer at once"));
        }
        Ok(self.stop.clone())
    }

    fn limit(&self, least: Least) -> Result<Option<u32>, ApiError> {
        let fields = [("max_completion_tokens", self.max_completion_tokens), ("max_tokens", self.max_tokens)];
        let Some((name, limit)) = fields.into_iter().find_map(|(name, limit)| Some((name, limit?))) else {
            return Ok(None);
        };
        if limit == -1 {
            return Ok(Some(u32::MAX));
        }
        if limit < least as i64 {
            let least = least as i64;
            return Err(ApiError::field(name, format!("{name} is {limit}: it must be at least {least}")));
        }
        // What the context has no room for is no limit.
        Ok(Some(u32::try_from(limit).unwrap_or(u32::MAX)))
    }

    fn top_k(&self) -> Result<Option<u32>, ApiError> {
        match self.top_k {
            None => Ok(None),
            Some(-1) => Ok(Some(0)),
            Some(k) => match u32::try_from(k) {
                Ok(k) => Ok(Some(k)),
                Err(_) => {
                    Err(ApiError::field("top_k", format!("top_k is {k}: it must be -1, 0 or a number of tokens")))
                }
            },
        }
    }

    fn logit_bias(&self, vocab: usize) -> Result<Option<Vec<(u32, f32)>>, ApiError> {
        let Some(bias) = &self.logit_bias else { return Ok(None) };
        let entry = |(id, bias): (&String, &f32)| match id.parse::<u32>() {
            Ok(id) if (id as usize) < vocab => Ok((id, *bias)),
            _ => Err(ApiError::field("logit_bias", format!("logit_bias: `{id}` is no token id below {vocab}"))),
        };
        bias.iter().map(entry).collect::<Result<_, _>>().map(Some)
    }
}
