//! Flags of the commands that work on text.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const RENDER_HELP: &str = "\
Reads a request from standard input and prints the prompt exactly, no newline added:
  {\"messages\": [..], \"tools\": [..], \"chat_template_kwargs\": {..}, \"add_generation_prompt\": true}
The last three may be left out.";

const PARSE_HELP: &str = "\
Reads text from standard input and prints
  {\"reasoning_content\", \"content\", \"tool_calls\": [{\"name\", \"arguments\"}], \"finish_reason\", \"faults\": [..]}
With --stream it reads JSON lines, a string or an array of byte values per piece, and prints a line per delta, in the shape
of a chat.completion.chunk; the last one has the finish_reason and the faults.";

/// Turns text into token ids.
#[derive(Debug, Args)]
#[command(after_help = "Reads text from standard input and prints a JSON array of token ids.")]
pub(crate) struct TokenizeArgs {
    /// A GGUF file, a safetensors folder, or `embedded`
    #[arg(short, long, value_name = "FILE", default_value = "embedded")]
    pub(crate) model: PathBuf,
    /// Take added tokens such as <|im_end|> for plain text
    #[arg(long)]
    pub(crate) untrusted: bool,
}

/// Turns token ids into text.
#[derive(Debug, Args)]
#[command(after_help = "Reads a JSON array of token ids from standard input and prints their text, byte for byte.")]
pub(crate) struct DetokenizeArgs {
    /// A GGUF file, a safetensors folder, or `embedded`
    #[arg(short, long, value_name = "FILE", default_value = "embedded")]
    pub(crate) model: PathBuf,
}

/// Renders messages and tools through a chat template.
#[derive(Debug, Args)]
#[command(after_help = RENDER_HELP)]
pub(crate) struct RenderArgs {
    /// Take the template of this GGUF file or safetensors folder (or `embedded`) [default: the built-in Qwen3.5 template]
    #[arg(short, long, value_name = "FILE", conflicts_with = "template")]
    pub(crate) model: Option<PathBuf>,
    /// Take this Jinja template
    #[arg(long, value_name = "FILE.jinja")]
    pub(crate) template: Option<PathBuf>,
}

/// Takes a model's raw text apart: reasoning, content, tool calls.
#[derive(Debug, Args)]
#[command(after_help = PARSE_HELP)]
pub(crate) struct ParseArgs {
    /// The offered tools: a file with a JSON array of OpenAI tool objects
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// The prompt ended with an opened think block
    #[arg(long)]
    pub(crate) thinking: bool,
    /// Why the text ended: the model ended it, or the token limit cut it
    #[arg(long, value_name = "WHY", value_enum, default_value_t = StopArg::Eos)]
    pub(crate) stop: StopArg,
    /// What the request said about calls: auto, none, required, or the name of a tool
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    pub(crate) tool_choice: String,
    /// Read pieces and print deltas
    #[arg(long)]
    pub(crate) stream: bool,
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StopArg {
    Eos,
    Length,
}
