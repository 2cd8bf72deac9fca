//! `botpsy policy explain` and `botpsy policy show`.

use std::path::Path;

use anyhow::Context;
use botpsy_agent::policy::{Decision, Finding, Origin, Policy, Verdict};
use botpsy_eval::Case;
use botpsy_eval::cases::Session;
use serde_json::{Value, json};

use crate::args::{ExplainArgs, PolicyArgs, PolicyCommand, ShowArgs};
use crate::failure::{Exit, OrFail};
use crate::settings::Settings;
use crate::{home, input, output};

pub(crate) fn run(args: &PolicyArgs) -> anyhow::Result<Exit> {
    match &args.command {
        PolicyCommand::Explain(args) => explain(args),
        PolicyCommand::Show(args) => show(args),
    }
}

fn show(args: &ShowArgs) -> anyhow::Result<Exit> {
    let policy = if args.built_in { Policy::default() } else { policy(args.policy.as_deref())? };
    output::result(policy.to_toml().as_bytes())?;
    Ok(Exit::Done)
}

fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let policy = policy(args.policy.as_deref())?;
    let (name, text) = match &args.file {
        Some(path) => (path.display().to_string(), input::file_text(path)?),
        None => ("standard input".to_owned(), input::stdin_text()?),
    };
    let help = "see `botpsy policy explain --help` for what the object holds";
    let case: Case = serde_json::from_str(&text).with_context(|| name.clone()).or_bad_input(help)?;
    let session = Session::of(&case, &Default::default(), &policy).with_context(|| name.clone()).or_bad_input(help)?;
    let verdict = session.decide();
    let question = (verdict.decision == Decision::Ask).then(|| session.question(&verdict));
    match args.json {
        true => output::json(&as_json(&session, &verdict, question))?,
        false => output::result(told(&session, &verdict, question).as_bytes())?,
    }
    Ok(Exit::Done)
}

fn policy(path: Option<&Path>) -> anyhow::Result<Policy> {
    let Some(path) = path else {
        // Where the system names no home there is no policy but ours.
        return if home::config_folder().is_some() { Settings::load()?.policy() } else { Ok(Policy::default()) };
    };
    let policy = Policy::from_toml(&input::file_text(path)?).with_context(|| path.display().to_string());
    policy.or_bad_input("correct that line; `botpsy policy show --built-in` prints every key with its meaning")
}

fn as_json(session: &Session, verdict: &Verdict, question: Option<String>) -> Value {
    let (undo, delay, draft) = match verdict.decision {
        Decision::Allow { undo, delay_seconds } => (undo, delay_seconds, false),
        Decision::Ask => (false, 0, false),
        Decision::Deny { draft } => (false, 0, draft),
    };
    let origins: Vec<Value> = verdict.origins.iter().map(|finding| origin_json(session, finding)).collect();
    let hash: String = session.policy.hash().iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "decision": verdict.decision.word(), "undo": undo, "delay_seconds": delay, "draft": draft, "rule": verdict.rule,
        "reason": verdict.reason, "policy_sha256": hash, "question": question, "origins": origins,
    })
}

fn origin_json(session: &Session, finding: &Finding) -> Value {
    json!({
        "argument": finding.argument, "value": session.policy.secrets.hide(&finding.value), "role": finding.role,
        "origin": origin(&finding.origin), "against": finding.against.map(|rule| rule.id()),
    })
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::User => "user".to_owned(),
        Origin::AddressBook(name) => format!("address book: {name}"),
        Origin::OwnAccount => "own account".to_owned(),
        Origin::ThirdParty(source) => format!("others: {source}"),
        Origin::Model => "model".to_owned(),
    }
}

fn told(session: &Session, verdict: &Verdict, question: Option<String>) -> String {
    let mut text = format!("{}  ({})\nbecause {}\n", verdict.decision.word(), verdict.rule, verdict.reason);
    for finding in &verdict.origins {
        let value = input::excerpt(&session.policy.secrets.hide(&finding.value));
        let against = finding.against.map(|rule| format!("  against: {}", rule.id())).unwrap_or_default();
        text.push_str(&format!("  {} = {value:?}  from: {}{against}\n", finding.argument, origin(&finding.origin)));
    }
    if let Some(question) = question {
        text.push_str(&format!("\nThe question:\n{question}"));
    }
    text
}
