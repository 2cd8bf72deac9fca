//! What is denied whatever anybody says, and what is looked for in text that leaves.

use crate::{Effect, Role};

use super::anchor::{as_url, leaves};
use super::decide::Gate;
use super::path::{self, Place};
use super::rule::Rule;
use super::schema;
use super::secret;
use super::text::{escaped, normalize, tokens};
use super::url;

type Denied = Option<(Rule, String)>;

/// What can be said without looking at the values.
pub(crate) fn before(gate: &Gate<'_>, is_known: bool) -> Denied {
    let policy = gate.policy;
    if !is_known && policy.has(Rule::UnknownTool) {
        return Some((Rule::UnknownTool, format!("there is no tool {}", escaped(&gate.call.name))));
    }
    if gate.tool.is_changed() && policy.has(Rule::ChangedTool) {
        return Some((Rule::ChangedTool, "the tool is no longer what you approved".to_owned()));
    }
    if is_known && policy.has(Rule::Arguments) {
        return schema::check(&gate.call.arguments, &gate.tool.parameters)
            .err()
            .map(|problem| (Rule::Arguments, problem));
    }
    None
}

/// What the values say, and the budgets.
pub(crate) fn deny(gate: &Gate<'_>) -> Denied {
    let found = urls(gate)
        .or_else(|| paths(gate))
        .or_else(|| secrets(gate))
        .or_else(|| topics(gate))
        .or_else(|| amounts(gate))
        .or_else(|| budgets(gate));
    found.filter(|(rule, _)| gate.policy.has(*rule))
}

fn urls(gate: &Gate<'_>) -> Denied {
    let of = |rule: Rule| gate.policy.has(rule);
    for finding in gate.values(Role::Destination) {
        let Some(url) = as_url(&finding.value, gate.effect()) else { continue };
        let host = escaped(&url.host);
        if !matches!(url.scheme.as_str(), "" | "http" | "https") && of(Rule::UrlScheme) {
            return Some((Rule::UrlScheme, format!("addresses of the kind {} are never opened", escaped(&url.scheme))));
        }
        if url::is_private_host(&url.host) && !gate.policy.hosts.contains(&url.host) && of(Rule::PrivateHost) {
            return Some((Rule::PrivateHost, format!("{host} lies in this computer or its network")));
        }
        if finding.against.is_some() && gate.context.carries_private(&url) && of(Rule::PrivateUrl) {
            return Some((Rule::PrivateUrl, format!("the address would carry some of your data to {host}")));
        }
    }
    None
}

fn paths(gate: &Gate<'_>) -> Denied {
    for finding in gate.findings.iter().filter(|finding| matches!(finding.role, Role::Path | Role::Attachment)) {
        let shown = escaped(&finding.value);
        match path::place(&finding.value, &gate.policy.folders) {
            Place::Secret if gate.policy.has(Rule::SecretPath) => {
                return Some((Rule::SecretPath, format!("{shown} is where keys and passwords are kept")));
            }
            Place::Escape if finding.role == Role::Path && gate.policy.has(Rule::PathEscape) => {
                return Some((Rule::PathEscape, format!("{shown} climbs out of its folder")));
            }
            _ => {}
        }
    }
    None
}

/// A registered secret leaves in whatever does more than read the owner's data.
fn secrets(gate: &Gate<'_>) -> Denied {
    if gate.effect() == Effect::Read || !gate.policy.has(Rule::RegisteredSecret) {
        return None;
    }
    let all = leaves(&serde_json::Value::Object(gate.call.arguments.clone()));
    let holds =
        all.iter().any(|value| gate.policy.secrets.stand_in(value)) || gate.policy.secrets.stand_in(&all.concat());
    holds.then(|| (Rule::RegisteredSecret, "it would give a stored secret away".to_owned()))
}

fn topics(gate: &Gate<'_>) -> Denied {
    let grave = matches!(gate.effect(), Effect::Money | Effect::HealthRecord);
    let topic = gate.context.topics().first().filter(|_| grave && gate.policy.has(Rule::Topic))?;
    let reason = format!(
        "you asked a {} question, and a model's word on that moves no money and changes no record",
        topic.word()
    );
    Some((Rule::Topic, reason))
}

fn amounts(gate: &Gate<'_>) -> Denied {
    if gate.effect() != Effect::Money {
        return None;
    }
    let mut total = 0.0;
    for finding in gate.values(Role::Amount) {
        let amount = finding.value.parse::<f64>().unwrap_or(f64::NAN);
        if !(amount > 0.0 && amount.is_finite()) && gate.policy.has(Rule::AmountSign) {
            return Some((Rule::AmountSign, format!("{} is no amount that can be paid", escaped(&finding.value))));
        }
        total += amount;
    }
    let ceiling = gate.policy.limits.money().unwrap_or(0.0);
    let above = ceiling > 0.0 && gate.context.spent_today + total > ceiling;
    above.then(|| {
        (
            Rule::MoneyCeiling,
            format!("it would cost more than the {} that a day may cost", gate.policy.limits.money_per_day),
        )
    })
}

fn budgets(gate: &Gate<'_>) -> Denied {
    let (turn, limits) = (&gate.context.turn, &gate.policy.limits);
    let side_effect = !matches!(gate.effect(), Effect::Read | Effect::OpenRead);
    let spent = [
        (turn.calls >= limits.calls_per_turn, Rule::CallBudget, format!("{} calls were made in this turn", turn.calls)),
        (
            side_effect && turn.side_effects >= limits.side_effects_per_turn,
            Rule::SideEffectBudget,
            format!("{} calls of this turn changed something", turn.side_effects),
        ),
        (
            turn.repeats(gate.call) >= limits.identical_calls,
            Rule::Loop,
            format!("the same call gave the same result {} times", limits.identical_calls),
        ),
        (
            turn.tool_ms >= u64::from(limits.tool_seconds) * 1000,
            Rule::TimeBudget,
            "the tools took too long in this turn".to_owned(),
        ),
        (
            turn.result_bytes >= limits.result_bytes,
            Rule::ResultBudget,
            "the tools gave too much text in this turn".to_owned(),
        ),
    ];
    spent.into_iter().find(|(over, rule, _)| *over && gate.policy.has(*rule)).map(|(_, rule, reason)| (rule, reason))
}

/// The values whose text is passed on.
fn texts<'a>(gate: &'a Gate<'_>) -> impl Iterator<Item = &'a str> {
    let passed = gate.findings.iter().filter(|finding| matches!(finding.role, Role::Content | Role::Key | Role::Other));
    passed.map(|finding| finding.value.as_str())
}

/// Why a text that leaves looks as if it held a secret which the owner did not write.
pub(crate) fn secret_text(gate: &Gate<'_>) -> Option<String> {
    if !gate.policy.has(Rule::SecretText) {
        return None;
    }
    let foreign = |token: &String| !gate.context.user.has(token);
    let looks = texts(gate).flat_map(secret::find).any(|token| foreign(&token));
    let was_read = texts(gate).any(|text| tokens(&normalize(text)).any(|token| gate.context.is_secret(token)));
    (looks || was_read).then(|| "its text holds what looks like a password, a code or a key".to_owned())
}

/// A link or an address in a text that leaves, which the owner did not write.
pub(crate) fn foreign_link(gate: &Gate<'_>) -> Option<String> {
    if !gate.policy.has(Rule::ForeignLink) {
        return None;
    }
    let link = |text: &str| {
        let links = url::links(text);
        let foreign = links.into_iter().find(|(_, link)| !gate.context.user_urls.contains(&link.key));
        foreign.map(|(written, _)| format!("the link {}", escaped(&written)))
    };
    let address = |text: &str| {
        let text = normalize(text);
        let mut addresses = tokens(&text)
            .filter(|token| token.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')));
        let known = |address: &str| gate.context.user.has(address) || gate.context.own.has(address);
        addresses.find(|address| !known(address)).map(|address| format!("the address {}", escaped(address)))
    };
    texts(gate).find_map(|text| link(text).or_else(|| address(text)))
}
