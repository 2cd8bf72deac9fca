//! What the flags about models and sampling mean.

use std::path::{Path, PathBuf};

use botpsy_chat::{ChatError, ChatModel, LoadOptions, ModelSource, Overrides, Vocabulary};
use botpsy_engine::{Error as EngineError, PenaltyScope, SamplerOrder};
use botpsy_kernels::attention::KvType;
use botpsy_model::Activations;

use crate::answering::endpoint_error;
use crate::args::{Act, Kv, LoadArgs, ModelArgs, Order, SamplingArgs, ThinkingArgs};
use crate::failure::{OrFail, bad_input, failed};
use crate::settings::Settings;
use crate::{embedded, home};

/// The model that a `-m` names.
pub(crate) fn source(model: &Path) -> ModelSource {
    match model.to_str() {
        Some("embedded") => embedded::source(),
        _ => ModelSource::Path(model.to_owned()),
    }
}

/// The model that the flag names, or the settings, or the embedded one.
pub(crate) fn file(args: &ModelArgs) -> anyhow::Result<PathBuf> {
    match &args.model {
        Some(file) => Ok(file.clone()),
        None if home::config_folder().is_none() => Ok(PathBuf::from("embedded")),
        None => Ok(Settings::load()?.model.value),
    }
}

/// Tokenizer and template of a model, without its weights.
pub(crate) fn vocabulary(model: &Path) -> anyhow::Result<Vocabulary> {
    let open = || Vocabulary::read(&source(model).open()?);
    open().map_err(model_error)
}

/// Loads a model, with sampling flags in force for all its requests, and tells what was not as asked.
pub(crate) fn load(args: &LoadArgs, overrides: Overrides) -> anyhow::Result<ChatModel> {
    check(&overrides)?;
    let file = file(&args.model)?;
    let context = args.ctx.map(|tokens| tokens as usize);
    let options = LoadOptions { context, overrides, ..load_options(&args.model, &file) };
    let model = ChatModel::load(&source(&file), &options).map_err(model_error)?;
    for notice in model.notices() {
        crate::output::note(&notice.to_string());
    }
    Ok(model)
}

/// How the flags have the model of this file compute.
pub(crate) fn load_options(args: &ModelArgs, file: &Path) -> LoadOptions {
    let is_embedded = matches!(source(file), ModelSource::Embedded(..));
    // The products of the embedded model are too small to share: on a busy machine an answer takes at most 0.11 s on one
    // thread, and up to 0.95 s on two, which wait for each other at each product (checks/ask_latency.sh).
    let alone = is_embedded && std::env::var_os("BOTPSY_THREADS").is_none_or(|n| n.is_empty());
    LoadOptions {
        threads: args.threads.map(usize::from).or(alone.then_some(1)),
        kv_type: match args.kv {
            Kv::F16 => KvType::F16,
            Kv::F32 => KvType::F32,
        },
        activations: match args.act {
            Act::F32 => Activations::F32,
            Act::Int8 => Activations::Int8,
        },
        ..LoadOptions::default()
    }
}

/// Refuses what every request would be refused for, before anything is loaded.
pub(crate) fn check(overrides: &Overrides) -> anyhow::Result<()> {
    let sampling = overrides.resolve(u32::MAX).sampling.validate();
    sampling.map(drop).or_bad_input("change the flag of that name; `--help` lists them")
}

/// What the sampling flags state.
pub(crate) fn overrides(args: &SamplingArgs) -> Overrides {
    let stated = Overrides {
        temperature: args.temperature,
        top_p: args.top_p,
        top_k: args.top_k,
        min_p: args.min_p,
        presence_penalty: args.presence_penalty,
        frequency_penalty: args.frequency_penalty,
        repetition_penalty: args.repetition_penalty,
        penalty_scope: args.penalty_window.map(PenaltyScope::LastN),
        sampler_order: args.sampler_order.map(|order| match order {
            Order::Vllm => SamplerOrder::Vllm,
            Order::LlamaCpp => SamplerOrder::LlamaCpp,
        }),
        seed: args.seed,
        max_tokens: args.max_tokens,
        ..Overrides::default()
    };
    if args.greedy { stated.or(&greedy()) } else { stated }
}

/// What the flags of a chat state: sampling and thinking.
pub(crate) fn chat_overrides(sampling: &SamplingArgs, thinking: &ThinkingArgs) -> Overrides {
    let wish = thinking.thinking.then_some(true).or(thinking.no_thinking.then_some(false));
    Overrides { thinking: wish, thinking_budget: thinking.thinking_budget, ..overrides(sampling) }
}

fn greedy() -> Overrides {
    Overrides {
        temperature: Some(0.0),
        presence_penalty: Some(0.0),
        frequency_penalty: Some(0.0),
        repetition_penalty: Some(1.0),
        ..Overrides::default()
    }
}

/// An error from opening or loading a model, with the next step.
pub(crate) fn model_error(error: ChatError) -> anyhow::Error {
    let error = match error {
        ChatError::Endpoint(error) => return endpoint_error(error),
        error => error,
    };
    let help = match &error {
        ChatError::Threads { .. } => "unset BOTPSY_THREADS, or set it to such a number",
        ChatError::Isa(_) => "unset BOTPSY_ISA, or set it to one of those named above",
        ChatError::Engine(EngineError::Setting { .. }) => "change the flag of that name; `--help` lists them",
        ChatError::Engine(_) => {
            "give at least one token id, all of this model's vocabulary; `botpsy tokenize` makes them"
        }
        ChatError::ContextLength { .. } => "ask for a larger context with --ctx, or give less text",
        ChatError::Template(_) => "change the messages, or take another template",
        _ => {
            "-m takes a GGUF file, a folder with safetensors and config.json, or `embedded`; `botpsy inspect` shows a file"
        }
    };
    bad_input(error, help)
}

/// An error from answering: what the user gave, or, for damaged weights, the run.
pub(crate) fn answer_error(error: ChatError) -> anyhow::Error {
    match error {
        ChatError::Engine(EngineError::BadLogit { .. }) => {
            failed(error, "the weights are damaged: take another copy of the file")
        }
        error => model_error(error),
    }
}
