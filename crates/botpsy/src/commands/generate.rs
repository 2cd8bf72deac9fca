//! `botpsy generate`.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use botpsy_chat::{ChatError, ChatModel, Overrides, Prompted};
use botpsy_engine::{Event, Finish, Session, Stats};
use botpsy_text::tokenizer::{Detokenizer, SpecialTokens, TokenId};
use serde_json::json;

use crate::args::GenerateArgs;
use crate::failure::Exit;
use crate::output::{self, Screen};
use crate::{input, interrupt, model_flags};

/// What was generated.
#[derive(Default)]
struct Generated {
    ids: Vec<u32>,
    text: String,
    stats: Stats,
}

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let given = if args.text { Input::Text(input::stdin_text()?) } else { Input::Ids(input::stdin_ids()?) };
    let model = model_flags::load(&args.load, model_flags::overrides(&args.sampling))?;
    let prompt = match given {
        Input::Ids(ids) => ids,
        Input::Text(text) => model.tokenizer().encode(&text).into_iter().map(|id| id.0).collect(),
    };
    let mut printed = Ok(());
    let screen = Screen::out();
    let (generated, finish) = generate(&model, prompt, &cancel, &mut |piece| {
        if !args.json && printed.is_ok() {
            printed = screen.write(piece);
        }
        printed.is_ok()
    })
    .map_err(model_flags::answer_error)?;
    printed?;
    if args.json {
        output::json(&json!({
            "ids": generated.ids,
            "text": generated.text,
            "finish_reason": if finish == Finish::Length { "length" } else { "stop" },
            "prefill_tps": generated.stats.prefill_tps(),
            "decode_tps": generated.stats.decode_tps(),
            "ttft_ms": generated.stats.ttft_ms,
        }))?;
    } else {
        screen.write("\n")?;
    }
    Ok(if finish == Finish::Cancelled { Exit::Interrupted } else { Exit::Done })
}

enum Input {
    Ids(Vec<u32>),
    Text(String),
}

/// Continues the prompt. `on` gets the text as it comes and says whether to go on.
fn generate(
    model: &ChatModel,
    prompt: Vec<u32>,
    cancel: &AtomicBool,
    on: &mut dyn FnMut(&str) -> bool,
) -> Result<(Generated, Finish), ChatError> {
    let settings = model.settings(&Overrides::default(), prompt.len())?;
    let job = model.job(Prompted { tokens: prompt, stable_marks: Vec::new(), thinking: false }, &settings)?;
    let mut generated = Generated::default();
    let mut text = Detokenizer::new(SpecialTokens::Keep);
    let finish = Session::new(model.engine()).generate(job, cancel, &mut |event| {
        match event {
            Event::Token { id, .. } => {
                generated.ids.push(id);
                let piece = text.push(model.tokenizer(), TokenId(id));
                generated.text.push_str(&piece);
                if !on(&piece) {
                    return ControlFlow::Break(());
                }
            }
            Event::Done { stats, .. } => generated.stats = stats,
            Event::Prefilling { .. } | Event::Prefilled { .. } | Event::ThinkingClosed { .. } => {}
        }
        ControlFlow::Continue(())
    })?;
    let rest = text.finish();
    generated.text.push_str(&rest);
    on(&rest);
    Ok((generated, finish))
}
