//! Flags of the commands that have a model answer, here or elsewhere.

use clap::Args;

use super::{LoadArgs, SamplingArgs, ThinkingArgs};

/// Who answers, and how.
#[derive(Debug, Args)]
pub(crate) struct AnsweringArgs {
    #[command(flatten)]
    pub(crate) thinking: ThinkingArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) endpoint: EndpointArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// A model behind somebody's server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct EndpointArgs {
    /// Ask an OpenAI-compatible server instead, such as http://127.0.0.1:8080; its key is in BOTPSY_API_KEY [default: the settings' endpoint]
    #[arg(long, value_name = "URL", conflicts_with_all = ["model", "threads", "ctx"])]
    pub(crate) endpoint: Option<String>,
    /// Which of the endpoint's models [default: the only one]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["model", "threads", "ctx"])]
    pub(crate) model_name: Option<String>,
}
