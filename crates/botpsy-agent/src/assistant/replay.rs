//! The log's calls, decided about again.

use std::collections::HashMap;

use botpsy_text::conversation::ToolCall;
use serde_json::Value;

use super::call::hear;
use super::toolbox::Toolbox;
use crate::Annotation;
use crate::journal::Event;
use crate::journal::audit::Row;
use crate::policy::{Context, Policy, Presence, Verdict, decide, lexical};

/// A call of the log: what was decided about it then, and what is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The row of the log.
    pub seq: i64,
    /// The session that it is in.
    pub session: String,
    /// The call.
    pub call: ToolCall,
    /// The decision then, in a word.
    pub decision: String,
    /// The rule that decided then.
    pub rule: String,
    /// What is decided now.
    pub verdict: Verdict,
}

impl Replayed {
    /// Whether the same is decided, by the same rule.
    pub fn is_same(&self) -> bool {
        self.decision == self.verdict.decision.word() && self.rule == self.verdict.rule
    }
}

/// Decides again about each call of the log, with what was in its session by then. Whether the model was a demonstration, whether
/// somebody was there, and the time are as they were.
pub fn replay(rows: &[Row], policy: &Policy, toolbox: &Toolbox) -> Vec<Replayed> {
    let mut sessions: HashMap<&str, Replay> = HashMap::new();
    let mut replayed = Vec::new();
    for row in rows {
        let body = &row.entry.body;
        if row.entry.event == Event::User
            && let Some(now) = body["now"].as_str().and_then(|now| now.parse().ok())
        {
            let begin = || Replay { policy: policy.clone(), context: Context::new(now) };
            sessions.entry(&row.entry.session).or_insert_with(begin);
        }
        let Some(session) = sessions.get_mut(row.entry.session.as_str()) else { continue };
        if row.entry.event == Event::Decision {
            let Some(call) = call(&body["call"]) else { continue };
            let verdict = decide(&session.policy, &session.context, toolbox.gate(), &call);
            let (decision, rule) = (word(&body["decision"]), word(&body["rule"]));
            let of = row.entry.session.clone();
            replayed.push(Replayed { seq: row.seq, session: of, call, decision, rule, verdict });
        } else {
            session.take(row.entry.event, body, policy, toolbox);
        }
    }
    replayed
}

/// A session as far as it is replayed.
struct Replay {
    policy: Policy,
    context: Context,
}

impl Replay {
    fn take(&mut self, event: Event, body: &Value, policy: &Policy, toolbox: &Toolbox) {
        let context = &mut self.context;
        match event {
            Event::User => {
                let text = body["text"].as_str().unwrap_or_default();
                if let Some(now) = body["now"].as_str().and_then(|now| now.parse().ok()) {
                    context.set_now(now);
                }
                context.set_presence(if body["presence"] == "there" { Presence::There } else { Presence::Nobody });
                context.user(text);
                context.set_scope(lexical(text, toolbox.gate()));
                self.policy.demonstration_model = policy.demonstration_model || body["demonstration"] == true;
            }
            Event::Untrusted => context.untrusted(&word(&body["source"]), body["text"].as_str().unwrap_or_default()),
            Event::Question => context.answered(body["answer"] == "yes"),
            Event::Result => {
                let Some(call) = call(&body["call"]) else { return };
                let label = match body["refused"] == true {
                    true => Annotation::of_refusals(),
                    false => toolbox.gate().annotation(&call.name).cloned().unwrap_or_else(Annotation::unknown),
                };
                context.took_ms(body["ms"].as_u64().unwrap_or(0));
                hear(context, &label, &call, body["result"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn call(value: &Value) -> Option<ToolCall> {
    Some(ToolCall { name: value["name"].as_str()?.to_owned(), arguments: value["arguments"].as_object()?.clone() })
}
