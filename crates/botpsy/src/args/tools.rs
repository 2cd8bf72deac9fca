use std::path::PathBuf;

use clap::{Args, Subcommand};

const CHECK_HELP: &str = "\
While a model writes a call, it is held to the schema of the tool. What a schema says that raw text cannot be held to, such as
the pattern of a string, is listed here with its path; a request that marks the tool as strict would be refused for it.

With --json the result is one object per tool, a line each:
  {\"name\", \"enforced\": bool, \"dropped\": [{\"path\", \"why\"}], \"prompt_tokens\"}
Exit code 1 when something is not enforced.";

/// Looks at lists of tools.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: ToolsCommand,
}

/// What to do with them.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    Check(CheckArgs),
}

/// Tells what of the tools' schemas calls can be held to, and what each tool costs in the prompt.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// A file with a JSON array of OpenAI tool objects
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object per tool
    #[arg(long)]
    pub(crate) json: bool,
    /// The model whose vocabulary counts the tokens: a GGUF file, a safetensors folder, or `embedded`
    #[arg(short, long, value_name = "FILE", default_value = "embedded")]
    pub(crate) model: PathBuf,
}
