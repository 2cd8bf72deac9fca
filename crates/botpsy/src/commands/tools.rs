//! `botpsy tools check`.

use anyhow::anyhow;
use botpsy_text::tool_call::constrain::{CallRules, Dropped, Grammars};
use botpsy_text::tool_call::python::json_spaced;
use serde_json::{Value, json};

use crate::args::{CheckArgs, ToolsArgs, ToolsCommand};
use crate::failure::{Exit, bad_input};
use crate::{input, model_flags, output};

pub(crate) fn run(args: &ToolsArgs) -> anyhow::Result<Exit> {
    match &args.command {
        ToolsCommand::Check(args) => check(args),
    }
}

fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let vocabulary = model_flags::vocabulary(&args.model)?;
    let tokenizer = &vocabulary.tokenizer;
    let grammars = Grammars::new(tokenizer, tokenizer.n_tokens(), &vocabulary.eos).ok_or_else(|| {
        let error = anyhow!("{}: its vocabulary has no tokens for the borders of calls", args.model.display());
        bad_input(error, "take a model of the Qwen3.5 family")
    })?;
    let tools = input::tools(&args.file)?;
    let mut all_enforced = true;
    for tool in &tools {
        // `strict` would refuse at the first keyword; here all are told.
        let lenient = botpsy_text::conversation::ToolSpec { source: Value::Null, ..tool.clone() };
        let rules = CallRules::new(&grammars, &[lenient])?;
        let prompt_tokens = tokenizer.encode_untrusted(&format!("\n{}", json_spaced(&tool.source))).len();
        all_enforced &= rules.dropped().is_empty();
        if args.json {
            let dropped: Vec<Value> =
                rules.dropped().iter().map(|dropped| json!({ "path": dropped.path, "why": dropped.why })).collect();
            output::json(&json!({
                "name": tool.name, "enforced": dropped.is_empty(), "dropped": dropped, "prompt_tokens": prompt_tokens
            }))?;
        } else {
            output::result(told(&tool.name, rules.dropped(), prompt_tokens).as_bytes())?;
        }
    }
    Ok(if all_enforced { Exit::Done } else { Exit::Failed })
}

fn told(name: &str, dropped: &[Dropped], prompt_tokens: usize) -> String {
    let verdict = if dropped.is_empty() { "enforced" } else { "enforced in part" };
    let mut text = format!("{name}: {verdict}, {prompt_tokens} tokens of prompt\n");
    for dropped in dropped {
        text.push_str(&format!("  {} is not: {}\n", dropped.path, dropped.why));
    }
    text
}
