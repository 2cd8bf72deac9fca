//! One call: planned, decided about, carried out or not.

use std::time::Instant;

use botpsy_text::conversation::ToolCall;
use serde_json::{Value, json};

use super::face::{Question, Reply};
use super::report::{Decided, Done};
use super::{AssistantError, Work};
use crate::journal::Event;
use crate::journal::audit::hex;
use crate::policy::{Approval, Confirmation, Context, Decision, Origin, Verdict, call_hash, decide};
use crate::store::Change;
use crate::tools::{label_memories, recalled};
use crate::{Annotation, Plan, ToolError, World};

/// What a call came to.
enum Outcome {
    /// The model is told this, which the tool said.
    Result(Value),
    /// Nothing came of it; the model is told why in our own words.
    Refused(Value),
    /// Only the owner can say what is meant.
    AskOwner(String),
}

impl Work<'_> {
    /// Carries out a call as far as it may be. Gives what the model is told, and a question that only the owner can answer.
    pub(super) fn call(&mut self, call: &ToolCall) -> Result<(String, Option<String>), AssistantError> {
        let verdict = decide(self.of.policy, &self.session.context, self.of.toolbox.gate(), call);
        self.log(Event::Decision, self.decision(call, &verdict))?;
        self.report.decisions.push(Decided::new(call, &verdict));
        self.face.decided(call, &verdict);
        let begun = Instant::now();
        let outcome = match verdict.decision {
            Decision::Deny { .. } => Outcome::Refused(json!({ "error": format!("refused: {}", verdict.reason) })),
            Decision::Allow { .. } | Decision::Ask => self.carry_out(call, &verdict)?,
        };
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.session.context.took_ms(ms);
        let refused = matches!(outcome, Outcome::Refused(_));
        // Whatever a tool says counts as its output, errors too: they name records, and anybody may have written those names.
        let label = match refused {
            true => Annotation::of_refusals(),
            false => self.of.toolbox.gate().annotation(&call.name).cloned().unwrap_or_else(Annotation::unknown),
        };
        let (result, question) = match outcome {
            Outcome::Result(result) | Outcome::Refused(result) => (result, None),
            Outcome::AskOwner(question) => (json!({ "error": question }), Some(question)),
        };
        let text = self.of.policy.secrets.hide(&result.to_string());
        hear(&mut self.session.context, &label, call, &text);
        let body = json!({ "call": self.written(call), "result": text, "ms": ms, "refused": refused });
        self.log(Event::Result, body)?;
        Ok((text, question))
    }

    fn carry_out(&mut self, call: &ToolCall, verdict: &Verdict) -> Result<Outcome, AssistantError> {
        let Some(tool) = self.of.toolbox.get(&call.name) else {
            return Ok(Outcome::Refused(json!({ "error": "there is no such tool" })));
        };
        let world = World { store: self.of.desk.store(), now: self.now };
        let plan = match tool.plan(&call.arguments, world) {
            Ok(plan) => plan,
            Err(ToolError::Ask { question }) => return Ok(Outcome::AskOwner(question)),
            Err(error) => return Ok(Outcome::Result(json!({ "error": error.to_string() }))),
        };
        let change = match plan {
            Plan::Answer(answer) if verdict.decision != Decision::Ask => return Ok(Outcome::Result(answer)),
            Plan::Answer(answer) => {
                let agreed = self.agreed(call, verdict, None)?;
                return Ok(if agreed { Outcome::Result(answer) } else { declined() });
            }
            Plan::Change(change) => change,
        };
        if self.of.how.dry_run {
            self.report.would.push(change.clone());
            self.face.would(&change);
            let result = json!({ "dry_run": true, "would": change.summary, "result": change.result });
            return Ok(Outcome::Result(result));
        }
        if verdict.decision == Decision::Ask && !self.agreed(call, verdict, Some(&change))? {
            return Ok(declined());
        }
        self.make(call, verdict, change).map(Outcome::Result)
    }

    /// Asks the owner; what was agreed to is this call, byte by byte.
    fn agreed(&mut self, call: &ToolCall, verdict: &Verdict, change: Option<&Change>) -> Result<bool, AssistantError> {
        let confirmation = Confirmation::new(self.of.policy, &self.session.context, call, verdict);
        let question = Question { confirmation: &confirmation, change };
        let text = question.text();
        let reply = self.face.ask(&question);
        let yes = reply == Reply::Yes && Approval::of(&confirmation).covers(call);
        self.session.context.answered(yes);
        let body = json!({ "call_hash": hex(&call_hash(call)), "question": text, "answer": reply.word() });
        self.log(Event::Question, body)?;
        Ok(yes)
    }

    fn make(&mut self, call: &ToolCall, verdict: &Verdict, mut change: Change) -> Result<Value, AssistantError> {
        label_memories(&mut change, label(verdict));
        match self.of.desk.make(&self.turn, &self.written(call), &change, self.now) {
            Ok(step) => {
                let (summary, details, warnings) =
                    (change.summary.clone(), change.details.clone(), change.warnings.clone());
                let done = Done { step, summary, details, warnings };
                self.face.done(&done);
                self.report.done.push(done);
                Ok(change.result)
            }
            Err(error) => {
                self.face.failed(&change.summary, &error);
                self.report.failed.push(format!("{}: {error}", change.summary));
                Ok(json!({ "error": error.to_string() }))
            }
        }
    }

    fn decision(&self, call: &ToolCall, verdict: &Verdict) -> Value {
        let origin = |finding: &crate::policy::Finding| {
            json!([finding.argument, self.of.policy.secrets.hide(&finding.value), origin_word(&finding.origin)])
        };
        json!({
            "call": self.written(call),
            "call_hash": hex(&call_hash(call)),
            "decision": verdict.decision.word(),
            "rule": verdict.rule,
            "reason": verdict.reason,
            "origins": verdict.origins.iter().map(origin).collect::<Value>(),
            "policy": hex(&self.of.policy.hash()),
            "tool": self.of.toolbox.gate().hash(&call.name).map(|hash| hex(&hash)),
        })
    }

    /// The call as it is written down: without registered secrets.
    fn written(&self, call: &ToolCall) -> Value {
        let text = self.of.policy.secrets.hide(&Value::Object(call.arguments.clone()).to_string());
        let arguments = serde_json::from_str(&text).unwrap_or(Value::String(text));
        json!({ "name": call.name, "arguments": arguments })
    }
}

fn declined() -> Outcome {
    Outcome::Refused(json!({ "error": "the user said no" }))
}

/// Takes what a call gave into the session; what was remembered keeps the label of whoever wrote it then.
pub(super) fn hear(context: &mut Context, annotation: &Annotation, call: &ToolCall, text: &str) {
    match recalled(call, text) {
        Some(memories) => {
            let memories = memories.iter().map(|(memory, label)| (memory.as_str(), *label));
            context.recalled(annotation, call, text, memories);
        }
        None => context.result(annotation, call, text),
    }
}

/// Where a value comes from, in a word and a name.
pub(crate) fn origin_word(origin: &Origin) -> String {
    match origin {
        Origin::User => "your words".to_owned(),
        Origin::AddressBook(name) => format!("your address book ({name})"),
        Origin::OwnAccount => "your account".to_owned(),
        Origin::ThirdParty(source) => format!("text by others: {source}"),
        Origin::Model => "the model".to_owned(),
    }
}

/// Who wrote what is to be remembered.
fn label(verdict: &Verdict) -> &'static str {
    match verdict.origins.first().map(|finding| &finding.origin) {
        Some(Origin::User) => "user",
        Some(Origin::AddressBook(_) | Origin::OwnAccount) => "own",
        Some(Origin::ThirdParty(_)) => "third",
        Some(Origin::Model) | None => "model",
    }
}
