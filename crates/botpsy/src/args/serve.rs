use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::{LoadArgs, SamplingArgs, ThinkingArgs};

const SERVE_HELP: &str = "\
Flags have llama-server's names where it has them, and its short -np too. The server answers POST /v1/chat/completions,
/v1/completions, /tokenize, /detokenize and /apply-template, GET /v1/models, /health, /props, /slots, /metrics, and at
/openapi.json says how. Any model name of a request is served, by the one model that is loaded.

Only programs on this machine can connect, unless --host names another address, which needs a key. Web pages of this
machine may use the paths under /v1, others only when --cors-origin lists them.

Ctrl-C stops it: no request is taken any more, and answers in the making have ten seconds; a second one stops it at once.";

/// Serves a model over HTTP, as OpenAI does.
#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArgs {
    /// The address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) host: IpAddr,
    /// The port to listen at; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub(crate) port: u16,
    /// A key that requests must carry; may be given several times
    #[arg(long, value_name = "KEY", env = "BOTPSY_API_KEY", hide_env_values = true, value_delimiter = ',')]
    pub(crate) api_key: Vec<String>,
    /// A file with such keys, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// A web origin that may use the server, such as https://example.org, or `*`; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) cors_origin: Vec<String>,
    /// The name that answers carry when a request names no model [default: the model's file name]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) alias: Option<String>,
    /// Requests that may wait; further ones are told to come back later
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) queue: u16,
    /// Requests that are answered at once, each with a context of its own; also -np
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) parallel: u16,
    /// Memory for what later prompts may share with earlier ones, such as system prompts and tools
    #[arg(long, value_name = "MB", default_value_t = 160)]
    pub(crate) cache_ram: u32,
    /// Keep nothing on disk: system messages and tools that were read are read again after a restart
    #[arg(long)]
    pub(crate) no_cache_disk: bool,
    /// Accepted for llama-server's sake: the chat template is always used
    #[arg(long)]
    pub(crate) jinja: bool,
    /// A Jinja chat template instead of the model's
    #[arg(long, value_name = "FILE")]
    pub(crate) chat_template_file: Option<PathBuf>,
    /// Variables of the chat template, a JSON object such as {"enable_thinking": true}
    #[arg(long, value_name = "JSON")]
    pub(crate) chat_template_kwargs: Option<String>,
    /// Tokens of thought, by llama-server's name: -1 sets no limit, 0 turns thinking off
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "thinking_budget",
        value_parser = clap::value_parser!(i64).range(-1..=u32::MAX as i64))]
    pub(crate) reasoning_budget: Option<i64>,
    #[command(flatten)]
    pub(crate) thinking: ThinkingArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// An address, or the one name that every machine has.
fn address(text: &str) -> Result<IpAddr, String> {
    match text {
        "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
        text => text.parse().map_err(|_| "expected an address such as 127.0.0.1, 0.0.0.0 or ::1".to_owned()),
    }
}
