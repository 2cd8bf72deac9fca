//! What the owner is asked, drawn from the call itself and never from a model's words.

use botpsy_text::conversation::ToolCall;
use jiff::ToSpan;

use crate::{Effect, Role};

use super::anchor::{Finding, true_address};
use super::config::{Grant, Policy, Profile, is_never_silent};
use super::context::{Context, Origin};
use super::decide::Verdict;
use super::text::{escaped, normalize};
use super::tools::{Hash, call_hash};

/// Characters of a text that are shown.
const SHOWN: usize = 400;

/// Days for which a standing agreement holds.
const GRANT_DAYS: i64 = 90;

/// A question to the owner. Everything in it is escaped: nothing can move a cursor, hide or reorder.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// What would happen and to whom, in one line.
    pub headline: String,
    /// One line for each value: what it is and where it comes from.
    pub details: Vec<String>,
    /// Why it is asked, one sentence.
    pub why: String,
    /// What an agreement binds to: the call, byte by byte.
    pub call_hash: Hash,
    /// What the owner may agree to for longer: this tool and these destinations, until a day. Empty where that is not offered.
    pub grants: Vec<Grant>,
}

impl Confirmation {
    /// Draws the question for a call that [`decide`](super::decide) asks about.
    pub fn new(policy: &Policy, context: &Context, call: &ToolCall, verdict: &Verdict) -> Confirmation {
        let draw = Draw { policy, context, call, verdict };
        let details = verdict.origins.iter().map(|finding| draw.detail(finding)).collect();
        Confirmation {
            headline: draw.headline(),
            details,
            why: policy.secrets.hide(&format!("This is asked because {}.", escaped(&verdict.reason))),
            call_hash: call_hash(call),
            grants: draw.grants(),
        }
    }

    /// The whole question as text.
    pub fn text(&self) -> String {
        let details: String = self.details.iter().map(|line| format!("  {line}\n")).collect();
        format!("{}\n{details}{}\n", self.headline, self.why)
    }
}

/// An agreement to one call. It is used up by the first call that it is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval(Hash);

impl Approval {
    /// The owner agreed to what was shown.
    pub fn of(confirmation: &Confirmation) -> Approval {
        Approval(confirmation.call_hash)
    }

    /// Whether it covers a call: the same, byte by byte.
    pub fn covers(self, call: &ToolCall) -> bool {
        self.0 == call_hash(call)
    }
}

struct Draw<'a> {
    policy: &'a Policy,
    context: &'a Context,
    call: &'a ToolCall,
    verdict: &'a Verdict,
}

impl Draw<'_> {
    fn headline(&self) -> String {
        let of = |role: Role| self.verdict.origins.iter().filter(move |finding| finding.role == role);
        let destinations: Vec<String> =
            of(Role::Destination).map(|finding| self.shown(&true_address(&finding.value), finding)).collect();
        let amounts: Vec<String> =
            of(Role::Amount).map(|finding| format!("{}{}", plain_number(&finding.value), self.currency())).collect();
        let objects: Vec<String> = of(Role::Object).chain(of(Role::Path)).map(|finding| self.object(finding)).collect();
        let mut parts = amounts;
        match destinations.len() {
            0 => {}
            1 => parts.push(format!("to {}", cut(&destinations.concat(), SHOWN))),
            n => parts.push(format!("to {n} destinations: {}", cut(&destinations.join(", "), SHOWN))),
        }
        if !objects.is_empty() {
            parts.push(format!("about {}", cut(&objects.join(", "), SHOWN)));
        }
        let colon = if parts.is_empty() { "" } else { ": " };
        format!("{} with the tool {}{colon}{}", verb(self.verdict.effect), escaped(&self.call.name), parts.join(", "))
    }

    fn currency(&self) -> String {
        let found =
            self.call.arguments.values().filter_map(serde_json::Value::as_str).find_map(super::context::currency);
        found.map(|code| format!(" {code}")).unwrap_or_default()
    }

    /// A record by its title, with its id.
    fn object(&self, finding: &Finding) -> String {
        let shown = escaped(&finding.value);
        match self.context.title(&normalize(&finding.value)) {
            Some(title) => format!("\"{}\" (id {shown})", cut(&escaped(title), 80)),
            None => shown,
        }
    }

    fn detail(&self, finding: &Finding) -> String {
        let value = self.shown(&finding.value, finding);
        let len = finding.value.chars().count();
        let value = match len > SHOWN && finding.role != Role::Destination {
            true => format!("{} [cut: {len} characters in all]", cut(&value, SHOWN)),
            false => value,
        };
        let mark = if matches!(finding.origin, Origin::ThirdParty(_)) { " (!)" } else { "" };
        format!("{}: {value} - {}{mark}", escaped(&finding.argument), origin_text(&finding.origin))
    }

    /// A value as it may be seen: passwords are not, and look-alike letters are told.
    fn shown(&self, value: &str, finding: &Finding) -> String {
        const HIDDEN: [&str; 6] = ["password", "passphrase", "secret", "token", "pin", "key"];
        let name = finding.argument.to_lowercase();
        let named = finding.role != Role::Destination
            && HIDDEN.iter().any(|hidden| name.split('_').any(|part| part == *hidden));
        if named || (self.verdict.effect == Effect::Credential && finding.role == Role::Key) {
            return format!("[hidden, {} characters]", value.chars().count());
        }
        let ascii = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\u{{{:x}}}", u32::from(c)) };
        let shown = escaped(&self.policy.secrets.hide(value));
        match finding.role == Role::Destination && super::text::is_confusable(&normalize(value)) {
            true => format!("{shown} [look-alike letters: {}]", value.chars().map(ascii).collect::<String>()),
            false => shown,
        }
    }

    fn grants(&self) -> Vec<Grant> {
        let effect = self.verdict.effect;
        let offered =
            matches!(effect, Effect::ExternalMessage | Effect::Write | Effect::OpenRead) && !is_never_silent(effect);
        let Ok(until) = self.context.now.date().checked_add(GRANT_DAYS.days()) else { return Vec::new() };
        if !offered || self.policy.profile == Profile::Strict || self.policy.demonstration_model {
            return Vec::new();
        }
        let destinations = self.verdict.origins.iter().filter(|finding| finding.role == Role::Destination);
        let grant = |finding: &Finding| Grant {
            tool: self.call.name.clone(),
            destination: normalize(&true_address(&finding.value)),
            profile: self.policy.profile,
            until,
        };
        destinations.map(grant).collect()
    }
}

/// A number without an exponent, which would hide how large it is.
fn plain_number(text: &str) -> String {
    let number = text.parse::<f64>().ok().filter(|_| text.contains(['e', 'E']));
    number.map_or_else(|| escaped(text), |number| number.to_string())
}

fn verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "Read",
        Effect::OpenRead => "Read from outside",
        Effect::Write => "Change your data",
        Effect::MemoryWrite => "Remember for later sessions",
        Effect::ExternalMessage => "Send a message",
        Effect::GrantAccess => "Let others at your data",
        Effect::Identity => "Change who you are to others",
        Effect::Credential => "Change a password or key",
        Effect::Destructive => "Remove",
        Effect::Money => "Pay, order or reserve",
        Effect::HealthRecord => "Change a health record",
        Effect::Physical => "Act outside the computer",
        Effect::CodeExecution => "Run code",
    }
}

/// Where a value comes from, for people.
pub(crate) fn origin_text(origin: &Origin) -> String {
    match origin {
        Origin::User => "from your words".to_owned(),
        Origin::AddressBook(name) => format!("from your address book: {}", escaped(name)),
        Origin::OwnAccount => "from your account".to_owned(),
        Origin::ThirdParty(source) => format!("from {}, which others may have written", escaped(source)),
        Origin::Model => "made by the model".to_owned(),
    }
}

/// The beginning of an escaped text.
fn cut(text: &str, n: usize) -> String {
    match text.char_indices().nth(n) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
