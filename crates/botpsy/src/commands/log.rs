//! `botpsy log`, `botpsy log verify` and `botpsy log replay`.

use std::path::Path;

use anyhow::{Context, anyhow};
use botpsy_agent::assistant::{Replayed, Toolbox, replay};
use botpsy_agent::journal::Event;
use botpsy_agent::journal::audit::Row;
use botpsy_agent::policy::Policy;
use serde_json::{Value, json};

use super::parse::call;
use crate::args::{LogArgs, LogCommand, ReplayArgs, VerifyArgs};
use crate::failure::{Exit, OrFail, bad_input, failed};
use crate::input;
use crate::output::{self, Screen};
use crate::owner::{Home, store_error};

pub(crate) fn run(args: &LogArgs) -> anyhow::Result<Exit> {
    match &args.command {
        None => show(args),
        Some(LogCommand::Verify(args)) => verify(args),
        Some(LogCommand::Replay(args)) => again(args),
    }
}

fn show(args: &LogArgs) -> anyhow::Result<Exit> {
    let rows = Home::open(true)?.desk.log_rows(args.session.as_deref()).map_err(store_error)?;
    if let Some(session) = args.session.as_deref().filter(|_| rows.is_empty()) {
        return Err(bad_input(anyhow!("--session: the log knows no session {session}"), "`botpsy log` shows all"));
    }
    if args.json {
        let lines: String = rows.iter().map(|row| format!("{}\n", as_json(row))).collect();
        output::result(lines.as_bytes())?;
    } else {
        // Others wrote parts of it.
        Screen::out().write(&rows.iter().map(line).collect::<String>())?;
    }
    Ok(Exit::Done)
}

fn as_json(row: &Row) -> Value {
    let (entry, seq, hash) = (&row.entry, row.seq, &row.hash);
    json!({
        "seq": seq, "time": entry.time, "session": entry.session, "turn": entry.turn, "event": entry.event,
        "body": entry.body, "hash": hash,
    })
}

/// A row for people: when, where, and what, in one line.
fn line(row: &Row) -> String {
    let (entry, body) = (&row.entry, &row.entry.body);
    let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let call = || format!("{} {}", body["call"]["name"].as_str().unwrap_or("?"), body["call"]["arguments"]);
    let what = match entry.event {
        Event::User => word("text"),
        Event::Untrusted => format!("text by others: {}", word("source")),
        Event::Decision => format!("{} ({}): {}", word("decision"), word("rule"), call()),
        Event::Question => format!("{}: {}", word("answer"), word("question")),
        Event::Result => word("result"),
        Event::Answer => word("answer"),
        Event::Failed => format!("step {}: {}: {}", body["step"], word("summary"), word("why")),
        Event::Reminder => body.to_string(),
        Event::Begun | Event::Done | Event::Recovered | Event::Undone => {
            format!("step {}: {}", body["step"], word("summary"))
        }
    };
    let what: Vec<&str> = what.split_whitespace().collect();
    let event = json!(entry.event).as_str().unwrap_or_default().to_owned();
    let time: String = entry.time.chars().take(19).collect();
    format!("{:>5}  {time}  {}  {event:<9}  {}\n", row.seq, entry.session, what.join(" "))
}

fn verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let desk = Home::open(true)?.desk;
    let (rows, head, fault) = match desk.verify_log().map_err(store_error)? {
        Ok((rows, head)) => (Some(rows), Some(head), None),
        Err(fault) => (None, None, Some((Some(fault.seq), fault.what))),
    };
    let known = |head: &str| -> anyhow::Result<bool> {
        Ok(desk.log_rows(None).map_err(store_error)?.iter().any(|row| row.hash == head))
    };
    let fault = match &args.head {
        Some(head) if fault.is_none() && !known(head)? => {
            Some((None, format!("no row has the hash {head}: rows at the end are missing")))
        }
        _ => fault,
    };
    if args.json {
        let fault = fault.as_ref().map(|(seq, what)| json!({ "seq": seq, "what": what }));
        output::json(&json!({ "rows": rows, "head": head, "fault": fault }))?;
    }
    match (fault, args.json) {
        (None, true) => Ok(Exit::Done),
        (None, false) => {
            let (rows, head) = (rows.unwrap_or(0), head.unwrap_or_default());
            output::result(format!("all {rows} rows hold; the last one has the hash {head}\n").as_bytes())?;
            Ok(Exit::Done)
        }
        (Some((seq, what)), _) => {
            let row = seq.map_or("log".to_owned(), |seq| format!("log: row {seq}"));
            let help = "somebody or something wrote into the database; a copy of it from before shows what was there";
            Err(failed(anyhow!("{row}: {what}"), help))
        }
    }
}

fn again(args: &ReplayArgs) -> anyhow::Result<Exit> {
    let home = Home::open(true)?;
    let policy = match &args.policy {
        Some(path) => read_policy(path)?,
        None => home.settings.policy()?,
    };
    let rows = home.desk.log_rows(None).map_err(store_error)?;
    let toolbox = Toolbox::default().stated(&policy.annotations);
    let replayed = replay(&rows, &policy, &toolbox);
    let others: Vec<&Replayed> = replayed.iter().filter(|replayed| !replayed.is_same()).collect();
    if args.json {
        let differences: Value = others.iter().map(|replayed| difference(replayed)).collect();
        output::json(&json!({ "calls": replayed.len(), "differences": differences }))?;
    } else {
        Screen::out().write(&others.iter().map(|replayed| difference_line(replayed)).collect::<String>())?;
        output::result(format!("{} calls, {} decided otherwise\n", replayed.len(), others.len()).as_bytes())?;
    }
    Ok(if others.is_empty() { Exit::Done } else { Exit::Failed })
}

fn read_policy(path: &Path) -> anyhow::Result<Policy> {
    let policy = Policy::from_toml(&input::file_text(path)?).with_context(|| path.display().to_string());
    policy.or_bad_input("correct that line; `botpsy policy show --built-in` prints every key with its meaning")
}

fn difference(of: &Replayed) -> Value {
    let verdict = &of.verdict;
    json!({
        "seq": of.seq, "session": of.session, "call": call(&of.call),
        "then": { "decision": of.decision, "rule": of.rule },
        "now": { "decision": verdict.decision.word(), "rule": verdict.rule, "reason": verdict.reason },
    })
}

fn difference_line(of: &Replayed) -> String {
    let (verdict, arguments) = (&of.verdict, Value::Object(of.call.arguments.clone()));
    format!(
        "row {}: {} {arguments}: {} ({}) then, {} ({}) now, because {}\n",
        of.seq,
        of.call.name,
        of.decision,
        of.rule,
        verdict.decision.word(),
        verdict.rule,
        verdict.reason
    )
}
