//! Flags of the commands that work on text.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Reads text from standard input and prints a JSON array of token ids.
#[derive(Debug, Args)]
pub(crate) struct TokenizeArgs {
    /// A GGUF file, a safetensors folder, or `embedded`
    #[arg(short, long, value_name = "FILE", default_value = "embedded")]
    pub(crate) model: PathBuf,
    /// Take added tokens such as <|im_end|> for plain text
    #[arg(long)]
    pub(crate) untrusted: bool,
}

/// Reads a JSON array of token ids from standard input and prints their text, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct DetokenizeArgs {
    /// A GGUF file, a safetensors folder, or `embedded`
    #[arg(short, long, value_name = "FILE", default_value = "embedded")]
    pub(crate) model: PathBuf,
}

/// Reads a request from standard input and prints the prompt exactly, no newline added.
///
/// The request: {"messages": [..], "tools": [..], "chat_template_kwargs": {..}, "add_generation_prompt": true}
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// Take the template of this GGUF file or safetensors folder (or `embedded`) [default: the built-in Qwen3.5 template]
    #[arg(short, long, value_name = "FILE", conflicts_with = "template")]
    pub(crate) model: Option<PathBuf>,
    /// Take this Jinja template
    #[arg(long, value_name = "FILE.jinja")]
    pub(crate) template: Option<PathBuf>,
}

/// Reads a model's raw text from standard input and prints the message as JSON.
#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// The offered tools: a file with a JSON array of OpenAI tool objects
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// The prompt ended with an opened think block
    #[arg(long)]
    pub(crate) thinking: bool,
    /// Why the text ended
    #[arg(long, value_enum, default_value_t = StopArg::Eos)]
    pub(crate) stop: StopArg,
    /// What the request said about calls: auto, none, required, or the name of a tool
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    pub(crate) tool_choice: String,
    /// Read JSON lines (a string, or an array of byte values, per piece) and print a delta per line as soon as it is known
    #[arg(long)]
    pub(crate) stream: bool,
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StopArg {
    /// The model ended it
    Eos,
    /// The token limit cut it
    Length,
}
