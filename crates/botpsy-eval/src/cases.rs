//! One call with all that came before it, and what the gate makes of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use botpsy_agent::policy::{self, Confirmation, Context, Policy, Presence, Scope, Tools, Verdict};
use botpsy_agent::{Annotation, Effect, Role, Undo};
use botpsy_text::conversation::{ToolCall, ToolSpec};
use jiff::Zoned;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Annotations by the names of the tools.
pub type Annotations = BTreeMap<String, Annotation>;

/// A call as data files write it.
#[derive(Clone, Debug, Deserialize)]
pub struct CallText {
    /// The tool.
    pub function: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
}

impl CallText {
    /// As the gate takes it.
    pub fn call(&self) -> ToolCall {
        ToolCall { name: self.function.clone(), arguments: self.args.clone() }
    }
}

/// A call that ran before, and what it gave.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    /// The call.
    #[serde(flatten)]
    pub call: CallText,
    /// Its result.
    #[serde(default)]
    pub result: String,
    /// How often it ran.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// One call with all that came before it.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Its name.
    #[serde(default)]
    pub id: String,
    /// The owner's words of this turn.
    #[serde(default)]
    pub user: String,
    /// What ran before.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// What the model wants now.
    pub call: Option<CallText>,
    /// The tools, beside those of the file.
    #[serde(default)]
    pub tools: Annotations,
    /// A policy as TOML.
    #[serde(default)]
    pub policy: String,
    /// Tools that the turn is about.
    pub scope: Option<BTreeSet<String>>,
    /// Values that must never leave.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Questions that were asked in this turn, and those of them that were refused.
    #[serde(default)]
    pub asked: u32,
    /// Refused questions.
    #[serde(default)]
    pub refused: u32,
    /// Milliseconds that tools took in this turn.
    #[serde(default)]
    pub took_ms: u64,
    /// What was paid today.
    #[serde(default)]
    pub spent_today: f64,
    /// Whether nobody is there.
    #[serde(default)]
    pub headless: bool,
    /// The right decisions.
    #[serde(default)]
    pub expect: Vec<String>,
    /// The right decisions when nobody is there.
    #[serde(default)]
    pub headless_expect: Vec<String>,
    /// What the question must show.
    #[serde(default)]
    pub must_show: Vec<String>,
    /// What it must not show.
    #[serde(default)]
    pub must_not_show: Vec<String>,
    /// How often the call comes, in cases in words.
    #[serde(default)]
    pub repeat: u32,
    /// What the owner answers, in cases in words.
    #[serde(default)]
    pub answers: Value,
    /// What the model answered, in cases in words.
    #[serde(default)]
    pub answer: String,
}

/// A file of cases.
#[derive(Clone, Debug, Deserialize)]
pub struct Cases {
    /// The tools of all cases.
    #[serde(default)]
    pub tools: Annotations,
    /// The cases.
    pub cases: Vec<Case>,
}

/// The moment at which every replay happens.
pub(crate) fn now() -> Zoned {
    let day = jiff::civil::date(2024, 5, 15).at(9, 0, 0, 0);
    day.to_zoned(jiff::tz::TimeZone::UTC).unwrap_or_else(|_| Zoned::now())
}

/// A case made ready for the gate.
#[derive(Clone, Debug)]
pub struct Session {
    /// What may happen.
    pub policy: Policy,
    /// What is in the session.
    pub context: Context,
    /// The tools.
    pub tools: Tools,
    /// What the model wants.
    pub call: ToolCall,
}

impl Session {
    /// Makes a case ready; `base` is the policy unless the case has its own.
    ///
    /// # Errors
    /// If the case has no call, or its policy cannot be read.
    pub fn of(case: &Case, annotations: &Annotations, base: &Policy) -> anyhow::Result<Session> {
        let call = case.call.as_ref().context("call: expected an object with function and args, found nothing")?;
        let mut policy = match case.policy.is_empty() {
            true => base.clone(),
            false => Policy::from_toml(&case.policy).context("policy")?,
        };
        case.secrets.iter().for_each(|secret| policy.secrets.register(secret));
        let mut all = annotations.clone();
        all.extend(case.tools.clone());
        all.extend(policy.annotations.clone());
        let mut context = Context::new(now());
        context.user(&case.user);
        if let Some(scope) = &case.scope {
            context.set_scope(Scope::Tools(scope.clone()));
        }
        for step in &case.steps {
            let annotation = all.get(&step.call.function).cloned().unwrap_or_else(Annotation::unknown);
            (0..step.times).for_each(|_| context.result(&annotation, &step.call.call(), &step.result));
        }
        (0..case.asked).for_each(|_| context.answered(true));
        (0..case.refused).for_each(|_| context.answered(false));
        context.took_ms(case.took_ms);
        context.set_spent_today(case.spent_today);
        context.set_presence(if case.headless { Presence::Nobody } else { Presence::There });
        Ok(Session { policy, context, tools: tools(&all), call: call.call() })
    }

    /// What the gate says.
    pub fn decide(&self) -> Verdict {
        policy::decide(&self.policy, &self.context, &self.tools, &self.call)
    }

    /// The question to the owner.
    pub fn question(&self, verdict: &Verdict) -> String {
        Confirmation::new(&self.policy, &self.context, &self.call, verdict).text()
    }
}

/// Tools of data files that say nothing of undo have it, but for those whose name says otherwise.
fn cannot_be_undone(tool: &str) -> bool {
    tool.ends_with("_for_good")
}

/// The tools of a file of cases: all arguments are optional, and there are no others.
pub fn tools(annotations: &Annotations) -> Tools {
    let mut list = Tools::default();
    for (name, annotation) in annotations {
        let mut annotation = annotation.clone();
        if matches!(annotation.effect, Effect::Write | Effect::MemoryWrite)
            && annotation.undo == Undo::None
            && !cannot_be_undone(name)
        {
            annotation.undo = Undo::InverseCall;
        }
        let properties: Map<String, Value> = annotation
            .args
            .iter()
            .map(|(argument, role)| (argument.clone(), schema_of(name, argument, *role)))
            .collect();
        let parameters = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        list.put(&ToolSpec { name: name.clone(), parameters, source: Value::Null }, &annotation);
    }
    list
}

fn schema_of(tool: &str, argument: &str, role: Role) -> Value {
    match argument {
        "level" | "minutes" => json!({ "type": "integer" }),
        _ if role == Role::Amount => json!({ "type": "number" }),
        "to" | "cc" | "bcc" | "attachments" if tool == "send_mail" => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        "guests" => json!({ "type": "array", "items": { "type": "string" } }),
        _ => json!({ "type": "string" }),
    }
}

/// What is wrong with a case under a policy; nothing when it passes. Cases without `expect` are in words and pass here.
pub fn faults(case: &Case, annotations: &Annotations, base: &Policy) -> Vec<String> {
    let mut faults = Vec::new();
    let runs = [(case.headless, &case.expect), (true, &case.headless_expect)];
    for (headless, expect) in runs.into_iter().filter(|(_, expect)| !expect.is_empty()) {
        let case = Case { headless, ..case.clone() };
        let session = match Session::of(&case, annotations, base) {
            Ok(session) => session,
            Err(error) => return vec![format!("{}: {error:#}", case.id)],
        };
        let verdict = session.decide();
        let found = verdict.decision.word();
        if !expect.iter().any(|word| word == found) {
            faults.push(format!("{}: expected {}, found {found} by {}", case.id, expect.join(" or "), verdict.rule));
        }
        if found == "ask" {
            let text = session.question(&verdict);
            let missing = case.must_show.iter().filter(|part| !text.contains(part.as_str()));
            faults.extend(missing.map(|part| format!("{}: the question does not show {part:?}", case.id)));
            let shown = case.must_not_show.iter().filter(|part| text.contains(part.as_str()));
            faults.extend(shown.map(|part| format!("{}: the question shows {part:?}", case.id)));
        }
    }
    faults
}
