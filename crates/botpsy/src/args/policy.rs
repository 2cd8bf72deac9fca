use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXPLAIN_HELP: &str = "\
Reads one JSON object from FILE or standard input:
  {\"user\": \"the owner's words\", \"steps\": [{\"function\", \"args\", \"result\"}], \"call\": {\"function\", \"args\"},
   \"tools\": {NAME: {\"effect\", \"output\", \"args\": {ARGUMENT: ROLE}, \"undo\"}}, \"headless\": false}
The steps are calls that ran before. All but the call may be left out; a tool that is not told is not known.

With --json the result is
  {\"decision\": \"allow\"|\"ask\"|\"deny\", \"undo\", \"delay_seconds\", \"draft\", \"rule\", \"reason\", \"policy_sha256\", \"question\",
   \"origins\": [{\"argument\", \"value\", \"role\", \"origin\", \"against\"}]}
where `question` is what the owner would be asked, or null, and `against` the rule that speaks against a value, or null.";

/// Shows what may happen, and why a tool call may or may not.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// What to show.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    Explain(ExplainArgs),
    Show(ShowArgs),
}

/// Decides about one call and tells the decision, the rule, and where each value comes from.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct ExplainArgs {
    /// The call and what came before it [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// A policy in TOML [default: the one in force]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints the policy in force as TOML, with comments.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A policy in TOML [default: the one in force]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The one that is built in, whatever your own says
    #[arg(long, conflicts_with = "policy")]
    pub(crate) built_in: bool,
}
