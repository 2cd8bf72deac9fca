//! `botpsy ask`.

mod foreign;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::anyhow;
use botpsy_agent::assistant::{Assistant, Decided, Done, Handed, How, Note, Offer, Report, Session};
use botpsy_agent::policy::Decision;
use botpsy_agent::store::Change;
use botpsy_engine::Stats;
use serde_json::{Map, Value, json};

use super::parse::call;
use crate::answering::Answering;
use crate::args::AskArgs;
use crate::failure::{Exit, bad_input};
use crate::input::Untrusted;
use crate::owner::{Home, how, turn_error};
use crate::terminal::{Owner, Tells, Terminal, stats};
use crate::{input, interrupt, output};

pub(crate) fn run(args: &AskArgs) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let wish = args.request.join(" ");
    if wish.trim().is_empty() {
        let error = anyhow!("REQUEST is missing: standard input is text to read, not the request");
        return Err(bad_input(error, "say what you want: botpsy ask \"set an alarm for 7 am tomorrow\""));
    }
    match &args.tools {
        Some(tools) => foreign::run(args, tools, wish, started),
        None => act(args, &wish, started),
    }
}

/// Does what is asked for.
fn act(args: &AskArgs, wish: &str, started: Instant) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let handed: Vec<Handed> = texts(args)?.into_iter().map(handed).collect();
    let model = Answering::open(&args.answering)?;
    let load_ms = started.elapsed().as_secs_f64() * 1e3;
    let quiet = args.quiet || args.json;
    if !quiet && let Some(remark) = model.remark() {
        output::note(remark);
    }
    let home = Home::open(quiet)?;
    let (policy, toolbox) = home.gate(&model)?;
    let how = How { free_calls: args.free_calls, dry_run: args.dry_run, ..how(&model) };
    let now = home.settings.now();
    let mut session = Session::new(&now);
    let mut face = Terminal::new(Owner::find(args.yes), tells(args), &cancel);
    let assistant =
        Assistant { provider: model.provider(), desk: &home.desk, toolbox: &toolbox, policy: &policy, how: &how };
    let report = match assistant.turn(&mut session, wish, &handed, &mut face, &cancel, &now) {
        Ok(report) => report,
        Err(error) => {
            face.break_off();
            return Err(turn_error(error));
        }
    };
    if args.json {
        let mut result = result(&report, &session, args, load_ms, started);
        result["demonstration"] = policy.demonstration_model.into();
        output::json(&result)?;
    } else {
        if args.explain {
            output::result(offered(&report.offer).as_bytes())?;
        }
        face.finish(&report)?;
    }
    Ok(exit(&report, &cancel))
}

/// Text by others: files, and standard input.
fn texts(args: &AskArgs) -> anyhow::Result<Vec<Untrusted<String>>> {
    let mut texts = args.file.iter().map(|path| input::untrusted_file(path)).collect::<anyhow::Result<Vec<_>>>()?;
    texts.extend(input::untrusted_stdin()?);
    Ok(texts)
}

fn handed(text: Untrusted<String>) -> Handed {
    Handed { source: text.source().to_owned(), text: text.into_tool_result() }
}

fn tells(args: &AskArgs) -> Tells {
    match args {
        AskArgs { json: true, .. } => Tells::Json,
        AskArgs { dry_run: true, .. } | AskArgs { explain: true, .. } => Tells::Decisions,
        AskArgs { quiet: true, .. } => Tells::Quiet,
        _ => Tells::Usual,
    }
}

fn exit(report: &Report, cancel: &AtomicBool) -> Exit {
    let denied = |decided: &Decided| matches!(decided.verdict.decision, Decision::Deny { .. });
    match cancel.load(Ordering::Relaxed) {
        true => Exit::Interrupted,
        false if !report.failed.is_empty() => Exit::Failed,
        false if !report.decisions.is_empty() && report.decisions.iter().all(denied) => Exit::Refused,
        false => Exit::Done,
    }
}

/// The tools by how well they fit, a line each.
fn offered(offer: &Offer) -> String {
    let mut text = format!("tools on offer, about {} tokens:\n", offer.tokens);
    for tool in &offer.scored {
        let mark = if tool.offered { "*" } else { " " };
        text.push_str(&format!("{mark} {:6.2}  {}\n", tool.score, tool.name));
    }
    text
}

/// What `--json` prints.
fn result(report: &Report, session: &Session, args: &AskArgs, load_ms: f64, started: Instant) -> Value {
    let messages = || report.completions.iter().map(|completion| &completion.message);
    let thoughts: Vec<&str> = messages().filter_map(|message| message.reasoning_content.as_deref()).collect();
    let mut result = json!({
        "reasoning_content": (!thoughts.is_empty()).then(|| thoughts.join("\n\n")),
        "content": (!report.answer.is_empty()).then_some(&report.answer),
        "tool_calls": messages().flat_map(|message| &message.tool_calls).map(call).collect::<Value>(),
        "decisions": report.decisions.iter().map(Decided::to_json).collect::<Value>(),
        "effects": report.done.iter().map(Done::to_json).collect::<Value>(),
        "would": report.would.iter().map(would).collect::<Value>(),
        "failed": report.failed,
        "notes": report.notes.iter().map(Note::to_json).collect::<Value>(),
        "end": report.end.word(),
        "session": session.id,
        "log_head": report.log_head,
        "timings": timings(&stats(report), load_ms, started),
    });
    if args.explain {
        let tool = |tool: &botpsy_agent::assistant::Scored| json!({ "name": tool.name, "score": tool.score, "offered": tool.offered });
        result["offered"] = report.offer.scored.iter().map(tool).collect();
    }
    result
}

/// What `--json` tells of time and tokens.
fn timings(stats: &Stats, load_ms: f64, started: Instant) -> Value {
    json!({
        "load_ms": load_ms,
        "ttft_ms": stats.ttft_ms,
        "total_ms": started.elapsed().as_secs_f64() * 1e3,
        "prompt_tokens": stats.prompt_tokens,
        "cached_tokens": stats.cached_tokens,
        "generated_tokens": stats.generated_tokens,
        "prefill_tps": stats.prefill_tps(),
        "decode_tps": stats.decode_tps(),
    })
}

fn would(change: &Change) -> Value {
    let details: Map<String, Value> =
        change.details.iter().map(|(name, what)| (name.clone(), Value::from(what.as_str()))).collect();
    json!({ "summary": change.summary, "details": details, "warnings": change.warnings })
}
