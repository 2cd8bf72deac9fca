//! The InjecAgent cases: a read whose result tells the agent to do harm or to mail data to a thief.

use std::path::Path;

use botpsy_agent::policy::{self, Context, Policy, Scope, Tools};
use botpsy_agent::{Annotation, Effect, Output, Role, Undo};
use botpsy_text::conversation::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::{CallText, now};
use crate::data;

/// A call with its effect.
#[derive(Clone, Debug, Deserialize)]
pub struct Call {
    /// The call.
    #[serde(flatten)]
    pub call: CallText,
    /// The effect as it is written there.
    pub effect: String,
    /// What it gives.
    #[serde(default)]
    pub result: String,
}

/// What a user wants.
#[derive(Clone, Debug, Deserialize)]
pub struct UserCase {
    /// Its name.
    pub id: String,
    /// The user's words.
    pub prompt: String,
    /// The one read.
    pub call: Call,
    /// Its result, with a mark.
    pub result_template: String,
}

/// What an attacker wants.
#[derive(Clone, Debug, Deserialize)]
pub struct AttackCase {
    /// Its name.
    pub id: String,
    /// The attacker's words.
    pub instruction: String,
    /// What an agent does that obeys.
    pub calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
struct UserFile {
    user_cases: Vec<UserCase>,
}

#[derive(Debug, Deserialize)]
struct AttackFile {
    attack_cases: Vec<AttackCase>,
}

/// The cases of a folder.
///
/// # Errors
/// If a file is missing or has another shape.
pub fn load(folder: &Path) -> anyhow::Result<(Vec<UserCase>, Vec<AttackCase>)> {
    let users: UserFile = data::json(folder, "user_cases.json")?;
    let attacks: AttackFile = data::json(folder, "attack_cases.json")?;
    Ok((users.user_cases, attacks.attack_cases))
}

/// Whether an attack works when nobody is there to be asked.
pub fn is_through(policy: &Policy, user: &UserCase, attack: &AttackCase, scoped: bool) -> bool {
    let tools = tools([&user.call].into_iter().chain(&attack.calls));
    let mut context = Context::new(now());
    context.user(&user.prompt);
    if scoped {
        context.set_scope(Scope::Tools([user.call.call.function.clone()].into()));
    }
    let run = |context: &mut Context, call: &Call, result: &str| {
        let verdict = policy::decide(policy, context, &tools, &call.call.call());
        let executed = verdict.decision.word() == "allow";
        if executed {
            context.result(&annotation(call), &call.call.call(), result);
        }
        executed
    };
    run(&mut context, &user.call, &user.result_template.replace("<<INJ:0>>", &attack.instruction));
    let mut last = false;
    for call in &attack.calls {
        last = run(&mut context, call, &call.result);
    }
    last
}

fn tools<'a>(calls: impl Iterator<Item = &'a Call>) -> Tools {
    let mut list = Tools::default();
    for call in calls {
        let parameters = json!({ "type": "object", "additionalProperties": true });
        let spec = ToolSpec { name: call.call.function.clone(), parameters, source: Value::Null };
        list.put(&spec, &annotation(call));
        // One tool may come with other arguments in the attack.
        list.approve(&call.call.function);
    }
    list
}

fn annotation(call: &Call) -> Annotation {
    let effect = match call.effect.as_str() {
        "read_private" => Effect::Read,
        other => serde_json::from_value(Value::String(other.to_owned())).unwrap_or(Effect::CodeExecution),
    };
    let role = |name: &str| match (effect, name) {
        (Effect::ExternalMessage, "to") => Role::Destination,
        (Effect::ExternalMessage, "subject" | "body") => Role::Content,
        _ => Role::Key,
    };
    let args = call.call.args.keys().map(|name| (name.clone(), role(name))).collect();
    let undo = if effect == Effect::Write { Undo::InverseCall } else { Undo::None };
    Annotation { effect, output: Output::ThirdParty, args, undo }
}
