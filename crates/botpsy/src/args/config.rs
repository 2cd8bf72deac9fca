//! Flags of `botpsy config`.

use clap::{Args, Subcommand};

const CONFIG_HELP: &str = "\
With --json the result is one object with a field for each setting:
  {\"model\": {\"value\", \"origin\": \"default\"|\"file\"|NAME}, ..}
where NAME is the environment variable that says so.";

/// Shows and changes the settings.
#[derive(Debug, Args)]
#[command(after_help = CONFIG_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with the settings; without a command they are shown.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Prints where the settings file is, or would be
    Path,
    /// Writes a settings file and a policy file with comments, where there are none
    Init,
    /// Changes one setting in the file; comments and the other settings stay
    Set(SetArgs),
}

/// A setting and its value.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// model, endpoint, model_name, key_file, calendar, notes or timezone
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// What it is from now on
    #[arg(value_name = "VALUE")]
    pub(crate) value: String,
}
