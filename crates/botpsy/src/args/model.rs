//! Flags that choose a model and how it answers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which model, and how it computes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// A GGUF file, a safetensors folder, or `embedded` (a small demonstration model) [default: the settings' model, or embedded]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// Threads to compute with [default: BOTPSY_THREADS, or as many as the system grants; 1 for the embedded model]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// How keys and values are kept
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = Kv::F16)]
    pub(crate) kv: Kv,
    /// Inputs of products: int8 rounds them (to BF16 for BF16 weights), f32 keeps them exact
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = Act::Int8)]
    pub(crate) act: Act,
}

/// A model with room for a conversation.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Tokens of prompt and answer together [default: 32768, or what the model was made for or memory bears]
    #[arg(short, long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ctx: Option<u32>,
}

/// A type of keys and values.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kv {
    F16,
    F32,
}

/// A type of activations.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Act {
    F32,
    Int8,
}

/// How tokens are chosen, and how many. What is not stated comes from the model file, else the defaults in brackets hold.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Sampling (a flag goes before the model file, the file before the default)")]
pub(crate) struct SamplingArgs {
    /// Divides the logits; 0 takes the best token [default: 0.3]
    #[arg(long = "temp", visible_alias = "temperature", value_name = "T", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f32>,
    /// Keep the most likely tokens up to this sum of probabilities [default: 0.95]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) top_p: Option<f32>,
    /// Keep this many of the most likely tokens; 0 keeps all [default: 20]
    #[arg(long, value_name = "K")]
    pub(crate) top_k: Option<u32>,
    /// Drop tokens less likely than this share of the best one [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) min_p: Option<f32>,
    /// Subtracted once from each token seen [default: 1.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) presence_penalty: Option<f32>,
    /// Subtracted for each time a token was seen [default: 0]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) frequency_penalty: Option<f32>,
    /// Divides the logits of tokens seen [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) repetition_penalty: Option<f32>,
    /// Penalties see the last N tokens of prompt and answer, as in llama.cpp [default: all tokens of the answer]
    #[arg(long, value_name = "N")]
    pub(crate) penalty_window: Option<u32>,
    /// The order of the filters: temperature, min-p, top-k, top-p, or top-k, top-p, min-p, temperature [default: vllm]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(crate) sampler_order: Option<Order>,
    /// Seed of the draw; equal seeds give equal answers [default: 0]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Always take the best token: temperature 0, no penalties
    #[arg(long, conflicts_with = "temperature")]
    pub(crate) greedy: bool,
    /// Tokens that the answer may have, the thought included [default: 8192, or what the context leaves]
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
}

/// An order of the filters.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Order {
    Vllm,
    #[value(name = "llama.cpp")]
    LlamaCpp,
}
