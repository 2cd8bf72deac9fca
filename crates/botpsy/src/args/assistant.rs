//! Flags of the commands that act for the owner, and of those that look back on it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AnsweringArgs;

const ASK_HELP: &str = "\
Every call of a tool is decided about before it happens (`botpsy policy show`): what you named yourself happens and can be taken back
with `botpsy undo`, the rest is asked about or refused. A question is answered with y and Enter within 60 seconds; anything else is a
no. Where nobody can be asked nothing is changed; --yes agrees to all that would be asked, and to nothing that is refused. The demonstration model inside the program changes nothing unasked.

A request that sounds like a life in danger is answered with where to find help, by no model; an answer about medicines, the law or
investments comes with a note, and moves no money and changes no health record.

Standard input, when it is not a terminal, and each --file are text by somebody else. The model is shown them as results of
a tool that reads text; they are never the request.

With --tools the calls are shown, not made: nobody here could carry them out.

With --json the result is one object:
  {\"reasoning_content\", \"content\", \"tool_calls\": [{\"name\", \"arguments\"}],
   \"decisions\": [{\"call\", \"decision\": \"allow\"|\"ask\"|\"deny\", \"rule\", \"reason\", \"origins\": [{\"argument\", \"value\", \"origin\"}]}],
   \"effects\": [{\"step\", \"summary\", \"details\": {..}}], \"would\": [{\"summary\", \"details\", \"warnings\": [..]}], \"failed\": [..],
   \"notes\": [{\"about\": \"medical\"|\"legal\"|\"investment\"|\"crisis\"|\"language\", \"text\"}], \"demonstration\": bool,
   \"end\": \"answered\"|\"question\"|\"no_progress\"|\"too_long\"|\"cancelled\"|\"help\", \"session\", \"log_head\", \"timings\": {..}}
`effects` is what was changed, `would` what a dry run would change; --explain adds `offered`, the tools by how well they fit. With
--tools it is
  {\"reasoning_content\", \"content\", \"tool_calls\": [{\"name\", \"arguments\"}], \"decisions\": [], \"effects\": [], \"timings\": {..}}";

const CHAT_HELP: &str = "\
Calls of tools are decided about as in `botpsy ask`. Conversations are kept on this computer; --list, --export and --delete are about
those, and need no model. With --tools nothing is kept, and calls are shown, not made.

With --json, --list prints {\"id\", \"title\", \"made\", \"used\", \"messages\"}, a line each, and --export the messages in OpenAI's form.";

const UNDO_HELP: &str = "\
Nothing is overwritten that was changed again since, by you or by another program: then it is told, and stays.

With --json the result is one object: {\"undone\": [{\"step\", \"summary\"}], \"problem\": str|null}";

const LOG_HELP: &str = "\
With --json the rows are objects, a line each: {\"seq\", \"time\", \"session\", \"turn\", \"event\", \"body\", \"hash\"}";

const VERIFY_HELP: &str = "\
Each row holds the hash of the row before, so a row that was changed, removed or swapped is found. Rows that were cut off at the end
are found with --head: `ask --json` and `chat` tell the hash of the last row.

With --json the result is one object: {\"rows\", \"head\", \"fault\": {\"seq\", \"what\"}|null}. Exit code 1 when something does not hold.";

const REPLAY_HELP: &str = "\
With --json the result is one object:
  {\"calls\", \"differences\": [{\"seq\", \"session\", \"call\", \"then\": {\"decision\", \"rule\"}, \"now\": {\"decision\", \"rule\", \"reason\"}}]}
Exit code 1 when there are differences.";

/// Does what you ask for: with your calendar, reminders, lists and notes, each change decided about first.
#[derive(Debug, Args)]
#[command(after_help = ASK_HELP)]
pub(crate) struct AskArgs {
    /// What is asked for; several words are joined
    #[arg(value_name = "REQUEST")]
    pub(crate) request: Vec<String>,
    /// Show calls of these tools instead: a file with a JSON array of OpenAI tool objects
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "yes", "explain"])]
    pub(crate) tools: Option<PathBuf>,
    /// Let the model write calls as it likes, instead of holding them to the tools' schemas
    #[arg(long)]
    pub(crate) free_calls: bool,
    /// A text by somebody else for the model to read; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// Change nothing: show what is decided and what would be changed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Agree to all that would be asked; what is refused stays refused
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Show the tools that were offered, by how well they fit, and each decision
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// No remarks, no timings: only what was done, and the answer
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) answering: AnsweringArgs,
}

/// Talks, turn by turn, and does what you ask for.
#[derive(Debug, Args)]
#[command(after_help = CHAT_HELP)]
pub(crate) struct ChatArgs {
    /// Go on with a conversation: the latest, or the one of this name
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, conflicts_with = "tools")]
    pub(crate) go_on: Option<Option<String>>,
    /// List the conversations that are kept
    #[arg(long, group = "kept")]
    pub(crate) list: bool,
    /// Print a conversation as Markdown
    #[arg(long, value_name = "ID", group = "kept")]
    pub(crate) export: Option<String>,
    /// Remove a conversation; what it changed stays, and the log
    #[arg(long, value_name = "ID", group = "kept")]
    pub(crate) delete: Option<String>,
    /// Print --list and --export as JSON
    #[arg(long, requires = "kept")]
    pub(crate) json: bool,
    /// Show calls of these tools instead: a file with a JSON array of OpenAI tool objects
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// With --tools: what the model is told about itself and its task
    #[arg(long, value_name = "TEXT", requires = "tools")]
    pub(crate) system: Option<String>,
    /// No remarks, no timings: only what was done, and the answers
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) answering: AnsweringArgs,
}

/// Takes back what was changed.
#[derive(Debug, Args)]
#[command(after_help = UNDO_HELP)]
pub(crate) struct UndoArgs {
    /// `last`, `session` (all of the latest session, or of the one of this name), or the number of a change
    #[arg(value_name = "last|session|ID", default_value = "last")]
    pub(crate) what: String,
    /// Do not ask before several changes are taken back
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Shows what happened: requests, decisions, questions, changes.
#[derive(Debug, Args)]
#[command(after_help = LOG_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LogCommand>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Print one JSON object per row
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with the log.
#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    Verify(VerifyArgs),
    Replay(ReplayArgs),
}

/// Checks that no row was changed, removed or swapped.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyArgs {
    /// The hash of a row that must be there
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Decides about the log's calls again and shows what would be decided otherwise.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub(crate) struct ReplayArgs {
    /// A policy in TOML [default: the one in force]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
