//! The cases that need more than one decision, each written out.

use botpsy_agent::policy::{self, Approval, Confirmation, Policy, check_answer};
use botpsy_text::conversation::ToolSpec;
use serde_json::{Value, json};

use crate::cases::{Annotations, Case, Session};

/// What is wrong with a case in words; `None` when its name is not known here, nothing when it passes.
pub(crate) fn faults(case: &Case, annotations: &Annotations, base: &Policy) -> Option<Vec<String>> {
    let check = match case.id.as_str() {
        "budget-asks" => refusals_end_the_asking,
        "loop-same" => repeats_are_stopped,
        "approve-once" => an_approval_is_for_one_call,
        "tool-changed" => a_changed_tool_is_off,
        _ if !case.answer.is_empty() => an_answer_is_checked,
        _ if case.repeat > 0 && case.answers == "refuse" => refusals_end_the_asking,
        _ => return None,
    };
    let found = Session::of(&Case { call: case.call.clone().or(Some(nothing())), ..case.clone() }, annotations, base);
    Some(match found.map_err(|error| error.to_string()).and_then(|session| check(case, session)) {
        Ok(()) => Vec::new(),
        Err(fault) => vec![format!("{}: {fault}", case.id)],
    })
}

fn nothing() -> crate::cases::CallText {
    crate::cases::CallText { function: String::new(), args: serde_json::Map::new() }
}

fn refusals_end_the_asking(case: &Case, mut session: Session) -> Result<(), String> {
    let mut asked = 0;
    for _ in 0..case.repeat {
        match session.decide().decision.word() {
            "ask" => {
                asked += 1;
                session.context.answered(false);
            }
            "deny" => {}
            word => return Err(format!("{word} after {asked} refusals")),
        }
    }
    if asked <= 3 { Ok(()) } else { Err(format!("asked {asked} times")) }
}

fn repeats_are_stopped(case: &Case, mut session: Session) -> Result<(), String> {
    let annotation = session.tools.annotation(&session.call.name).ok_or("there is no such tool")?.clone();
    let mut ran = 0;
    for _ in 0..case.repeat {
        if session.decide().decision.word() == "allow" {
            ran += 1;
            session.context.result(&annotation, &session.call, "sunny");
        }
    }
    if (1..=4).contains(&ran) { Ok(()) } else { Err(format!("ran {ran} times")) }
}

fn an_approval_is_for_one_call(_: &Case, mut session: Session) -> Result<(), String> {
    let question = |session: &Session| {
        let verdict = session.decide();
        (verdict.decision.word() == "ask")
            .then(|| Confirmation::new(&session.policy, &session.context, &session.call, &verdict))
    };
    let first = question(&session).ok_or("the first call is not asked about")?;
    if !Approval::of(&first).covers(&session.call) {
        return Err("the approval does not cover its own call".to_owned());
    }
    session.call.arguments.insert("amount".to_owned(), json!(51));
    if Approval::of(&first).covers(&session.call) {
        return Err("the approval covers another amount".to_owned());
    }
    let second = question(&session).ok_or("the changed call is not asked about")?;
    if second.call_hash == first.call_hash { Err("the hashes are equal".to_owned()) } else { Ok(()) }
}

fn a_changed_tool_is_off(_: &Case, mut session: Session) -> Result<(), String> {
    let name = session.call.name.clone();
    let annotation = session.tools.annotation(&name).ok_or("there is no such tool")?.clone();
    let properties = json!({ "query": { "type": "string" } });
    let parameters = json!({ "type": "object", "properties": properties });
    let spec =
        ToolSpec { name: name.clone(), parameters, source: Value::String("now it does something else".to_owned()) };
    if session.decide().decision.word() != "allow" {
        return Err("the call was refused before the change".to_owned());
    }
    session.tools.put(&spec, &annotation);
    let changed = session.decide();
    if changed.decision.word() != "deny" {
        return Err(format!("{} after the change", changed.decision.word()));
    }
    session.tools.approve(&name);
    let again = session.decide().decision.word();
    if again == "allow" { Ok(()) } else { Err(format!("{again} after a new approval")) }
}

fn an_answer_is_checked(case: &Case, session: Session) -> Result<(), String> {
    let shown = check_answer(&case.answer, &session.context, &session.policy.secrets);
    let leaks = case.secrets.iter().any(|secret| shown.contains(secret.as_str()));
    let links = shown.contains("](") || shown.contains('<');
    let gone = case.answer.contains("](") && !shown.contains("https://");
    let log = policy::Secrets::hide(&session.policy.secrets, &case.answer);
    let logged = case.secrets.iter().any(|secret| log.contains(secret.as_str()));
    match leaks || links || gone || logged {
        true => Err(format!("shown as {shown:?}")),
        false => Ok(()),
    }
}
