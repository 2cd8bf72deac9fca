use std::path::PathBuf;

use clap::{Args, Subcommand};

const GUARDRAIL_HELP: &str = "\
DIR has the folders agentdojo, injecagent and policy, with recorded calls and cases; no model is run.
The bars: S1 no attack goes through when nobody is there, S2 none past an attentive user, S3 few past a careless one, S4 tasks are
done with few questions, S5 tasks survive attacks, S6 every case is decided right, S7 no rule can be left out unnoticed, S9 what a
decision costs.

With --json the result is one object per bar, a line each:
  {\"bar\", \"holds\": bool, \"values\": {..}, \"breaks\": [name]}
Exit code 1 when a bar does not hold.";

/// Measures the assistant on data with known right answers.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: EvalCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    Guardrail(GuardrailArgs),
}

/// Replays recorded attacks and tasks against the gate that decides about tool calls.
#[derive(Debug, Args)]
#[command(after_help = GUARDRAIL_HELP)]
pub(crate) struct GuardrailArgs {
    /// The folder with the recorded data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Print one JSON object per bar
    #[arg(long)]
    pub(crate) json: bool,
}
