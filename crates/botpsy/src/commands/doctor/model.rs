//! The model, and how fast it is.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use botpsy_chat::{ChatModel, ModelSource, Overrides};
use botpsy_engine::{BenchCase, BenchWork, Engine};
use botpsy_text::template::Template;

use super::{Check, size};
use crate::args::{Act, Kv, LoadArgs, ModelArgs};
use crate::failure::message;
use crate::{embedded, model_flags};

/// What a measurement may take, about; one token may take longer.
const TIME: Duration = Duration::from_millis(400);

pub(super) fn checks(path: &Path) -> Vec<Check> {
    let args = ModelArgs { model: Some(path.to_owned()), threads: None, kv: Kv::F16, act: Act::Int8 };
    let model = match model_flags::load(&LoadArgs { model: args, ctx: None }, Overrides::default()) {
        Ok(model) => model,
        Err(error) => {
            let help = "name another one with `botpsy config set model FILE`; `botpsy inspect` shows a file";
            return vec![Check::problem("model", message(&error), help)];
        }
    };
    vec![what(path, &model), template(&model), sampling(&model), speed(model.engine())]
}

fn what(path: &Path, model: &ChatModel) -> Check {
    let (bytes, name) = match model_flags::source(path) {
        ModelSource::Embedded(..) => (Some(embedded::bytes().len() as u64), "embedded".to_owned()),
        ModelSource::Path(path) => (file_bytes(&path), path.display().to_string()),
    };
    let bytes = bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    let text = format!("{name}{bytes}, context of {} tokens", model.engine().options().context_tokens);
    match model.remark() {
        Some(remark) => {
            Check::note("model", format!("{text}; {remark}"), "give a better one: `botpsy config set model FILE`")
        }
        None => Check::ok("model", text),
    }
}

/// Of a folder, the files in it.
fn file_bytes(path: &Path) -> Option<u64> {
    if !path.is_dir() {
        return Some(fs::metadata(path).ok()?.len());
    }
    let entries = fs::read_dir(path).ok()?.filter_map(Result::ok);
    let names = entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "safetensors"));
    Some(names.filter_map(|entry| Some(fs::metadata(entry.path()).ok()?.len())).sum())
}

fn template(model: &ChatModel) -> Check {
    match model.template() {
        Template::Qwen35 => Check::ok("template", "that of Qwen3.5, built in"),
        Template::Jinja(_) => Check::ok("template", "the file's own"),
    }
}

fn sampling(model: &ChatModel) -> Check {
    let settings = match model.settings(&Overrides::default(), 1) {
        Ok(settings) => settings,
        Err(error) => return Check::problem("sampling", error.to_string(), "take a model with a larger context"),
    };
    let s = &settings.sampling;
    let top_k = s.top_k.map_or("all".to_owned(), |k| k.to_string());
    let thinking = if settings.thinking { "on" } else { "off" };
    Check::ok(
        "sampling",
        format!(
            "temperature {}, top_p {}, top_k {top_k}, presence penalty {}; thinking {thinking}",
            s.temperature, s.top_p, s.presence_penalty
        ),
    )
}

fn speed(engine: &Engine) -> Check {
    let measured = measure(engine, BenchWork::Prefill, 256).and_then(|prefill| {
        let decode = measure(engine, BenchWork::Decode, 64)?;
        Ok(format!("reads {prefill:.0} tokens per second, makes {decode:.1} (`botpsy bench` measures well)"))
    });
    match measured {
        Ok(text) => Check::ok("speed", text),
        Err(error) => Check::problem("speed", error, "run `botpsy bench` to see more"),
    }
}

/// Tokens per second, of as many tokens as fit in the time after a first one.
fn measure(engine: &Engine, work: BenchWork, at_most: usize) -> Result<f64, String> {
    let time = |tokens: usize| -> Result<f64, String> {
        let case = BenchCase { work, tokens, depth: 0, batch: 1 };
        let times = engine.bench(&case, 1, &AtomicBool::new(false), &mut |_| {}).map_err(|error| error.to_string())?;
        let time = times.and_then(|times| times.first().copied()).unwrap_or_default();
        Ok(time.as_secs_f64().max(1e-6))
    };
    let one = time(1)?;
    let fit = (TIME.as_secs_f64() / one) as usize;
    let room = engine.options().context_tokens / 2;
    match fit.min(at_most).min(room) {
        0 | 1 => Ok(1.0 / one),
        tokens => Ok(tokens as f64 / time(tokens)?),
    }
}
