//! Flags as they are written. What they mean is decided by the commands and by `model_flags`.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    rustdoc::bare_urls,
    reason = "doc comments here are help texts"
)]

mod agenda;
mod answering;
mod assistant;
mod bench;
mod config;
mod daemon;
mod doctor;
mod eval;
mod import;
mod model;
mod policy;
mod run;
mod serve;
mod text;
mod time;
mod tools;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

pub(crate) use agenda::AgendaArgs;
pub(crate) use answering::{AnsweringArgs, EndpointArgs};
pub(crate) use assistant::{AskArgs, ChatArgs, LogArgs, LogCommand, ReplayArgs, UndoArgs, VerifyArgs};
pub(crate) use bench::BenchArgs;
pub(crate) use config::{ConfigArgs, ConfigCommand, SetArgs};
pub(crate) use daemon::DaemonArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use eval::{EvalArgs, EvalCommand, GuardrailArgs};
pub(crate) use import::ImportArgs;
pub(crate) use model::{Act, Kv, LoadArgs, ModelArgs, Order, SamplingArgs};
pub(crate) use policy::{ExplainArgs, PolicyArgs, PolicyCommand, ShowArgs};
pub(crate) use run::{CompletionsArgs, ConvertArgs, FileType, GenerateArgs, InspectArgs, LogitsArgs, ThinkingArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use text::{DetokenizeArgs, ParseArgs, RenderArgs, StopArg, TokenizeArgs};
pub(crate) use time::TimeArgs;
pub(crate) use tools::{CheckArgs, ToolsArgs, ToolsCommand};

const AFTER_HELP: &str = "\
Results go to standard output, everything else to standard error.
Exit codes: 0 done, 1 the run failed, 2 bad usage or bad input, 3 refused by the policy, 130 interrupted.
Environment: BOTPSY_ISA=scalar|portable|avx2|avx512 forces an instruction set, BOTPSY_THREADS the number of threads,
BOTPSY_HOME the data folder, NO_COLOR switches off dimming.";

/// A private assistant in one program: it runs models of the Qwen3.5 family and reads their tool calls.
#[derive(Debug, Parser)]
#[command(name = "botpsy", version, after_help = AFTER_HELP, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Ask(AskArgs),
    Chat(ChatArgs),
    Undo(UndoArgs),
    Log(LogArgs),
    Agenda(AgendaArgs),
    Daemon(DaemonArgs),
    Import(ImportArgs),
    Serve(ServeArgs),
    Tools(ToolsArgs),
    Policy(PolicyArgs),
    Config(ConfigArgs),
    Doctor(DoctorArgs),
    Generate(GenerateArgs),
    Logits(LogitsArgs),
    Tokenize(TokenizeArgs),
    Detokenize(DetokenizeArgs),
    Render(RenderArgs),
    Parse(ParseArgs),
    Inspect(InspectArgs),
    Convert(ConvertArgs),
    Time(TimeArgs),
    Bench(BenchArgs),
    Eval(EvalArgs),
    Completions(CompletionsArgs),
}

/// The words of the command line. llama-server's `-np`, which is no short flag as they are known here, becomes `--parallel`.
pub(crate) fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.get(1).is_some_and(|command| command == "serve") {
        words.iter_mut().filter(|word| *word == "-np").for_each(|word| *word = "--parallel".into());
    }
    words
}
