//! Flags of the commands that open a model.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{LoadArgs, ModelArgs, SamplingArgs};

const GENERATE_HELP: &str = "\
Reads a JSON array of token ids (or text) from standard input and continues it until the model ends it or a limit is
reached. With --json the result is
  {\"ids\": [..], \"text\", \"finish_reason\", \"prefill_tps\", \"decode_tps\", \"ttft_ms\"}
The token with which the model ends is not among the ids.";

const LOGITS_HELP: &str = "\
Reads a JSON array of token ids from standard input and writes the tensor `logits`, F32 [ids, vocabulary]; with --states
also `layer<i>.recurrent` [value heads, key width, value width] and `layer<i>.conv` [channels, window], in the order of
heads that Hugging Face checkpoints have.";

const INSPECT_HELP: &str = "\
With --json the result is
  {\"format\", \"architecture\", \"n_params\", \"file_bytes\", \"metadata\": {..},
   \"tensors\": [{\"name\", \"dtype\", \"shape\", \"bytes\"}], \"memory\": {\"weights\", \"kv_per_token\", \"state\"}}
`memory` is in bytes, with F16 keys and values; it is null for a file that is no model which this program runs. Arrays of
more than 64 items are shown as type and length.";

/// Whether and how long a model thinks before it answers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Thinking")]
pub(crate) struct ThinkingArgs {
    /// Think before answering [default]
    #[arg(long, overrides_with = "no_thinking")]
    pub(crate) thinking: bool,
    /// Answer at once
    #[arg(long, overrides_with = "thinking")]
    pub(crate) no_thinking: bool,
    /// Tokens of thought after which it is closed [default: max-tokens less 1024, or half of it]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) thinking_budget: Option<u32>,
}

/// Continues token ids or plain text, without a chat template.
#[derive(Debug, Args)]
#[command(after_help = GENERATE_HELP)]
pub(crate) struct GenerateArgs {
    /// Standard input holds text, not a JSON array of token ids
    #[arg(long)]
    pub(crate) text: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// Computes the logits of every given token.
#[derive(Debug, Args)]
#[command(after_help = LOGITS_HELP)]
pub(crate) struct LogitsArgs {
    /// Where to write, as safetensors
    #[arg(short, long, value_name = "FILE.safetensors")]
    pub(crate) out: PathBuf,
    /// Compute in pieces of these lengths, the last one repeated; the result is the same
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pieces: Vec<u32>,
    /// Also write the state after the last id
    #[arg(long)]
    pub(crate) states: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// Shows what a model file holds.
#[derive(Debug, Args)]
#[command(after_help = INSPECT_HELP)]
pub(crate) struct InspectArgs {
    /// A GGUF file, a safetensors file or folder, or `embedded`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Converts a safetensors folder to one GGUF file, with its tokenizer, chat template and sampling defaults.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// A folder with safetensors, config.json and tokenizer.json
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Where to write
    #[arg(short, long, value_name = "FILE.gguf")]
    pub(crate) out: PathBuf,
    /// The type of the matrices
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t = FileType::Q8_0)]
    pub(crate) file_type: FileType,
    /// Set a text in the file's metadata; may be given several times
    #[arg(long = "meta", value_name = "KEY=TEXT")]
    pub(crate) meta: Vec<String>,
}

/// The type of the matrices in a converted file.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum FileType {
    F32,
    Bf16,
    F16,
    #[value(name = "q8_0")]
    Q8_0,
}

/// Prints a completion script for a shell on standard output.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
