//! The gate on whatever comes.

use std::collections::BTreeMap;

use botpsy_agent::policy::{
    Approval, Confirmation, Context, Policy, Tools, call_hash, check_answer, decide, normalize,
};
use botpsy_agent::{Annotation, Effect, Output, Role, Undo};
use botpsy_text::conversation::{ToolCall, ToolSpec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const EFFECTS: [Effect; 13] = [
    Effect::Read,
    Effect::OpenRead,
    Effect::Write,
    Effect::MemoryWrite,
    Effect::ExternalMessage,
    Effect::GrantAccess,
    Effect::Identity,
    Effect::Credential,
    Effect::Destructive,
    Effect::Money,
    Effect::HealthRecord,
    Effect::Physical,
    Effect::CodeExecution,
];

const ROLES: [Role; 9] = [
    Role::Destination,
    Role::Key,
    Role::KeyTime,
    Role::Amount,
    Role::Path,
    Role::Content,
    Role::Attachment,
    Role::Selector,
    Role::Other,
];

fn context(user: &str) -> Context {
    let mut context = Context::new("2024-05-15T09:00:00[UTC]".parse().unwrap());
    context.user(user);
    context
}

fn tools(effect: Effect, roles: &[Role], undo: Undo) -> Tools {
    let args: BTreeMap<String, Role> = roles.iter().enumerate().map(|(i, role)| (format!("a{i}"), *role)).collect();
    let parameters = json!({ "type": "object", "additionalProperties": true });
    let spec = ToolSpec { name: "tool".to_owned(), parameters, source: Value::Null };
    Tools::new([(&spec, &Annotation { effect, output: Output::ThirdParty, args, undo })])
}

fn call(values: &[String]) -> ToolCall {
    let arguments: Map<String, Value> =
        values.iter().enumerate().map(|(i, value)| (format!("a{i}"), Value::String(value.clone()))).collect();
    ToolCall { name: "tool".to_owned(), arguments }
}

/// Texts in which addresses, times, amounts and paths happen.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("bob@example.org".to_owned()),
        Just("https://news.example/a?b=1".to_owned()),
        Just("http://127.0.0.1".to_owned()),
        Just("15:00".to_owned()),
        Just("on Friday at 3 pm".to_owned()),
        Just("50 euro".to_owned()),
        Just("notes/../today.txt".to_owned()),
        Just("> quoted\n".to_owned()),
        Just("- id: 7\n  title: Lunch\n".to_owned()),
        Just("password hunter2".to_owned()),
        "[a-z]{1,8}",
        "\\PC{0,12}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.join(" "))
}

fn rank(word: &str) -> u8 {
    match word {
        "deny" => 0,
        "ask" => 1,
        _ => 2,
    }
}

proptest! {
    #[test]
    fn normalizing_twice_changes_nothing(text in any::<String>()) {
        let once = normalize(&text);
        prop_assert_eq!(normalize(&once), once);
    }

    #[test]
    fn nothing_panics(
        user in text(), read in text(), values in proptest::collection::vec(text(), 0..4), effect in 0..13usize,
        roles in proptest::collection::vec(0..9usize, 0..4), policy in text(),
    ) {
        let mut context = context(&user);
        context.untrusted("file", &read);
        context.memory(&read, botpsy_agent::policy::Integrity::Own);
        context.contact(&read, &[&user]);
        let roles: Vec<Role> = roles.iter().map(|i| ROLES[*i]).collect();
        let (tools, call, standard) = (tools(EFFECTS[effect], &roles, Undo::Trash), call(&values), Policy::default());
        let verdict = decide(&standard, &context, &tools, &call);
        let question = Confirmation::new(&standard, &context, &call, &verdict).text();
        prop_assert!(!question.replace('\n', "").chars().any(char::is_control), "{:?}", question);
        let annotation = tools.annotation("tool").unwrap().clone();
        context.result(&annotation, &call, &read);
        check_answer(&read, &context, &standard.secrets);
        let _ = Policy::from_toml(&policy);
    }

    #[test]
    fn text_by_others_never_opens_a_door(
        user in text(), first in text(), more in text(), values in proptest::collection::vec(text(), 0..4), effect in 0..13usize,
        roles in proptest::collection::vec(0..9usize, 0..4), same in any::<bool>(),
    ) {
        let roles: Vec<Role> = roles.iter().map(|i| ROLES[*i]).collect();
        let tools = tools(EFFECTS[effect], &roles, Undo::Trash);
        let call = call(&values);
        let mut context = context(&user);
        context.untrusted("first", &first);
        let policy = Policy::default();
        let before = decide(&policy, &context, &tools, &call).decision.word();
        let added = if same { values.concat() } else { more };
        context.untrusted("more", &added);
        let after = decide(&policy, &context, &tools, &call).decision.word();
        // A link that a text holds whole is asked about instead of denied; nothing becomes silent.
        prop_assert!(rank(after) <= rank(before) || after == "ask", "{} became {}", before, after);
    }

    #[test]
    fn an_approval_is_for_every_byte(value in any::<String>(), at in any::<prop::sample::Index>(), with in any::<char>()) {
        let one = call(std::slice::from_ref(&value));
        let mut chars: Vec<char> = value.chars().chain(['x']).collect();
        let i = at.index(chars.len());
        chars[i] = with;
        let other = call(&[chars.into_iter().collect()]);
        prop_assert_eq!(call_hash(&one) == call_hash(&other), one == other);
        let verdict = decide(&Policy::default(), &context(""), &Tools::default(), &one);
        let question = Confirmation::new(&Policy::default(), &context(""), &one, &verdict);
        prop_assert_eq!(Approval::of(&question).covers(&other), one == other);
    }
}

#[test]
fn deep_and_long_arguments_are_survived() {
    let mut deep = Value::String("x".to_owned());
    for _ in 0..100 {
        deep = Value::Array(vec![deep]);
    }
    let call = ToolCall { name: "tool".to_owned(), arguments: Map::from_iter([("a0".to_owned(), deep)]) };
    let tools = tools(Effect::ExternalMessage, &[Role::Destination], Undo::None);
    let verdict = decide(&Policy::default(), &context("x"), &tools, &call);
    assert_eq!((verdict.decision.word(), &*verdict.rule), ("deny", "arguments"));
    let long = self::call(&["word ".repeat(200_000)]);
    let verdict = decide(&Policy::default(), &context("x"), &tools, &long);
    assert_eq!(verdict.decision.word(), "ask");
}

#[test]
fn the_order_of_arguments_does_not_matter_to_an_approval() {
    let mut one = call(&["1".to_owned(), "2".to_owned()]);
    let hash = call_hash(&one);
    let first = one.arguments.shift_remove("a0").unwrap();
    one.arguments.insert("a0".to_owned(), first);
    assert_eq!(call_hash(&one), hash);
}
