//! What a turn is about, fixed before foreign text comes in.

use std::collections::BTreeSet;

use crate::Effect;

use super::text::{TextIndex, normalize, words};
use super::tools::Tools;

/// What a turn may do once foreign text came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Nobody fixed it: the rule does not apply.
    #[default]
    None,
    /// These tools.
    Tools(BTreeSet<String>),
    /// Tools with these effects.
    Effects(BTreeSet<Effect>),
}

impl Scope {
    /// Whether a call is what the turn is about; reading always is.
    pub(crate) fn holds(&self, tool: &str, effect: Effect) -> bool {
        effect == Effect::Read
            || match self {
                Scope::None => true,
                Scope::Tools(tools) => tools.contains(tool),
                Scope::Effects(effects) => effects.contains(&effect),
            }
    }
}

/// Words that ask for an effect wherever they stand.
const ANYWHERE: [(Effect, &[&str]); 12] = [
    (
        Effect::OpenRead,
        &[
            "visit", "browse", "website", "websites", "webpage", "webpages", "article", "online", "internet", "web",
            "www", "http", "https", "url", "google", "download",
        ],
    ),
    (
        Effect::Write,
        &[
            "create",
            "creating",
            "schedule",
            "reschedule",
            "append",
            "insert",
            "adjust",
            "rename",
            "remind",
            "reminder",
            "alarm",
            "timer",
            "save",
            "edit",
            "write",
            "turn",
            "dim",
            "move",
        ],
    ),
    (Effect::MemoryWrite, &["remember", "memorize", "memorise"]),
    (
        Effect::ExternalMessage,
        &[
            "send", "sending", "reply", "forward", "notify", "respond", "announce", "tweet", "dm", "share", "submit",
            "publish", "write",
        ],
    ),
    (
        Effect::GrantAccess,
        &["invite", "share", "grant", "permit", "permission", "permissions", "access", "participants", "unshare"],
    ),
    (Effect::Identity, &["profile", "address", "username", "signature", "surname"]),
    (Effect::Credential, &["password", "passcode", "passphrase", "pin", "credentials", "2fa"]),
    (Effect::Destructive, &["delete", "remove", "erase", "cancel", "discard", "clear", "unsubscribe", "wipe", "kick"]),
    (
        Effect::Money,
        &[
            "pay",
            "paying",
            "transfer",
            "refund",
            "buy",
            "purchase",
            "reserve",
            "reservation",
            "donate",
            "deposit",
            "withdraw",
            "bill",
            "payment",
            "invoice",
            "rent",
            "recurring",
            "tip",
        ],
    ),
    (
        Effect::HealthRecord,
        &["medication", "allergy", "prescription", "symptom", "symptoms", "dose", "vaccination", "patient"],
    ),
    (Effect::Physical, &["unlock", "lock", "door", "garage", "oven", "heating", "thermostat", "robot", "camera"]),
    (Effect::CodeExecution, &["run", "execute", "install", "compile", "script", "command", "shell", "terminal"]),
];

/// Words that ask for an effect where a request begins: elsewhere they are names of things.
const AT_START: [(Effect, &[&str]); 7] = [
    (
        Effect::ExternalMessage,
        &["email", "mail", "message", "text", "post", "tell", "ask", "inform", "answer", "contact", "call", "let"],
    ),
    (
        Effect::Write,
        &[
            "add", "make", "put", "set", "update", "change", "note", "mark", "plan", "book", "switch", "list",
            "extend", "include", "invite",
        ],
    ),
    (Effect::GrantAccess, &["add", "allow", "let", "give"]),
    (Effect::Identity, &["update", "change", "set"]),
    (Effect::Money, &["book", "order", "send", "rent", "subscribe", "top"]),
    (Effect::OpenRead, &["search", "look", "open", "read", "find", "summarize", "summarise", "check"]),
    (Effect::Physical, &["open", "close", "start", "stop", "turn", "switch"]),
];

/// Words after which a request begins.
const BEFORE: [&str; 20] = [
    "please", "and", "then", "to", "you", "also", "just", "ahead", "now", "so", "or", "me", "i", "kindly", "can",
    "could", "will", "not", "forget", "finally",
];

/// The tools that the owner's words ask for, by lists of English words for each effect; of several tools with one effect those that
/// the words name, if they name any.
///
/// Words of delegation (`do what the list says`) bring in what lists usually ask for, never what is never silent.
pub fn lexical(user: &str, tools: &Tools) -> Scope {
    let effects = effects(user);
    let mut index = TextIndex::default();
    index.add(user);
    let all: Vec<(&str, Effect)> =
        tools.names().filter_map(|name| Some((name, tools.annotation(name)?.effect))).collect();
    // Words that every tool of an effect has, and verbs, tell nothing apart.
    let pages = ["webpage", "website", "page", "site", "url"];
    let is_said =
        |word: &str| index.has_word(word) || (pages.contains(&word) && pages.iter().any(|page| index.has_word(page)));
    let named = |name: &str| normalize(name).split('_').skip(1).any(|word| word.len() >= 3 && is_said(word));
    let is_named = |effect: Effect| all.iter().any(|(name, of)| *of == effect && named(name));
    let delegated = delegates(&words(&normalize(user)).collect::<Vec<_>>());
    let chosen = all.iter().filter(|(name, effect)| {
        effects.contains(effect) && (*effect == Effect::Read || delegated || !is_named(*effect) || named(name))
    });
    Scope::Tools(chosen.map(|(name, _)| (*name).to_owned()).collect())
}

/// The effects that a text asks for.
fn effects(user: &str) -> BTreeSet<Effect> {
    let text = normalize(user);
    let mut effects = BTreeSet::from([Effect::Read]);
    let all: Vec<&str> = words(&text).collect();
    let starts = clause_starts(&text);
    for (i, word) in all.iter().enumerate() {
        let before = i.checked_sub(1).map_or("", |before| all[before]);
        let to_owner = all.get(i + 1).is_some_and(|next| matches!(*next, "me" | "us"));
        let answers = |effect: Effect| to_owner && matches!(effect, Effect::ExternalMessage | Effect::GrantAccess);
        let of = |list: &[(Effect, &[&str])]| -> Vec<Effect> {
            let found = list.iter().filter(|(effect, list)| list.contains(word) && !answers(*effect));
            found.map(|(effect, _)| *effect).collect()
        };
        effects.extend(of(&ANYWHERE));
        if (starts.contains(&i) || BEFORE.contains(&before)) && !is_only_told(&all, i) {
            effects.extend(of(&AT_START));
        }
    }
    if delegates(&all) {
        effects.extend([Effect::OpenRead, Effect::Write, Effect::ExternalMessage, Effect::GrantAccess]);
    }
    narrow(&all, &mut effects);
    effects
}

/// Whether a verb after `to` is what somebody will do, not what is asked for: `remind me to book`, `I'm looking to rent`.
fn is_only_told(all: &[&str], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|i| all.get(i)).copied().unwrap_or_default();
    let plans = ["looking", "planning", "hoping", "going", "plan", "thinking", "about"];
    let reminded = (2..=12).any(|n| matches!(before(n), "remind" | "reminder"));
    before(1) == "to" && (plans.contains(&before(2)) || reminded)
        || matches!(before(1), "i" | "ll" | "they" | "he" | "she" | "we")
}

/// Takes back what the words around contradict.
fn narrow(all: &[&str], effects: &mut BTreeSet<Effect>) {
    let has = |list: &[&str]| all.iter().any(|word| list.contains(word));
    let change = has(&["change", "update", "set", "reset", "edit", "correct", "rename", "adjust"]);
    if effects.contains(&Effect::Credential) && !change && !has(&["rotate", "enable", "disable", "generate"]) {
        effects.remove(&Effect::Credential);
    }
    let of_money = [
        "money",
        "difference",
        "amount",
        "transaction",
        "transactions",
        "payment",
        "refund",
        "paid",
        "pay",
        "balance",
        "fee",
        "euro",
        "euros",
        "dollar",
        "dollars",
        "eur",
        "usd",
        "pounds",
        "bank",
        "order",
        "book",
        "reserve",
        "reservation",
        "transfer",
        "buy",
        "purchase",
        "rent",
        "bill",
        "invoice",
        "donate",
        "deposit",
        "withdraw",
        "recurring",
        "subscribe",
    ];
    if !has(&of_money) {
        effects.remove(&Effect::Money);
    }
    let of_self = has(&[
        "profile",
        "address",
        "username",
        "surname",
        "signature",
        "account",
        "name",
        "information",
        "info",
        "moved",
    ]);
    if !(change && of_self) {
        effects.remove(&Effect::Identity);
    }
}

fn delegates(all: &[&str]) -> bool {
    let has = |list: &[&str]| all.iter().any(|word| list.contains(word));
    has(&["do", "follow", "carry", "perform", "complete", "handle", "execute"])
        && has(&["todo", "todos", "instructions", "actions", "list", "steps", "says"])
        && !has(&["order"])
}

/// The numbers of the words that begin a clause.
fn clause_starts(text: &str) -> BTreeSet<usize> {
    let mut starts = BTreeSet::from([0]);
    let mut n = 0;
    for clause in text.split(['.', '!', '?', ';', ':', ',', '(']) {
        n += words(clause).count();
        starts.insert(n);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(user: &str, expected: &[Effect]) {
        let mut effects = BTreeSet::from([Effect::Read]);
        effects.extend(expected);
        assert_eq!(super::effects(user), effects, "{user}");
    }

    #[test]
    fn verbs_name_effects() {
        check("Please show me my unread emails.", &[]);
        check("Email bob@example.org that I am late", &[Effect::ExternalMessage]);
        check("What is the weather?", &[]);
        check("Delete the largest file", &[Effect::Destructive]);
        check("Is my password in the notes?", &[]);
        check("Tell me its price and let me know; remind me to book a table", &[Effect::Write]);
        check("Change my bank password to x", &[Effect::Credential, Effect::Write]);
    }
}
