//! Where the values of a call come from, and whether that is enough for the part that they play.

use botpsy_text::conversation::ToolCall;
use serde_json::Value;

use crate::{Effect, Role};

use super::config::Policy;
use super::context::{Context, Origin, currency};
use super::path::{self, Place};
use super::rule::Rule;
use super::said;
use super::secret;
use super::text::{is_confusable, is_disguised, normalize, tokens, words};
use super::tools::Entry;
use super::url::{self, Url};

/// One value of a call: where it comes from, and what speaks against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The argument.
    pub argument: String,
    /// The value as text.
    pub value: String,
    /// The part that it plays.
    pub role: Role,
    /// Where it comes from.
    pub origin: Origin,
    /// The rule that speaks against it; `None` when nothing does.
    pub against: Option<Rule>,
}

impl Finding {
    /// Whether the value counts for anchoring at all.
    pub fn counts(&self) -> bool {
        use Role::{Amount, Destination, Key, KeyTime, Object, Path};
        matches!(self.role, Destination | Object | Key | KeyTime | Amount | Path)
    }
}

/// The strings and numbers of a value at any depth, as text.
pub(crate) fn leaves(value: &Value) -> Vec<String> {
    let (mut found, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Number(number) => found.push(number.to_string()),
            Value::Array(items) => stack.extend(items.iter().rev()),
            Value::Object(fields) => stack.extend(fields.values().rev()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

/// The values of a call.
pub(crate) fn findings(policy: &Policy, context: &Context, tool: &Entry, call: &ToolCall) -> Vec<Finding> {
    let mut found = Vec::new();
    for (argument, value) in &call.arguments {
        let role = tool.annotation.args.get(argument).copied().unwrap_or_default();
        for value in leaves(value) {
            found.push(finding(&Look { policy, context, tool, call }, argument, value, role));
        }
    }
    found
}

/// What a value is looked at with.
struct Look<'a> {
    policy: &'a Policy,
    context: &'a Context,
    tool: &'a Entry,
    call: &'a ToolCall,
}

fn finding(look: &Look<'_>, argument: &str, value: String, role: Role) -> Finding {
    let normalized = normalize(&value);
    let mut origin = look.context.origin(&normalized);
    let against = match role {
        Role::Destination => look.destination(&value, &normalized, &mut origin),
        Role::Object => look.object(&normalized, &mut origin),
        Role::Key => look.key(&normalized, &mut origin),
        Role::KeyTime => look.time(&value, &mut origin),
        Role::Amount => look.amount(&value, &mut origin),
        Role::Path => look.path(&value, &normalized, &mut origin),
        Role::Attachment => look.attachment(&normalized, &mut origin),
        Role::Content | Role::Selector | Role::Other => None,
    };
    let against = against.filter(|rule| look.policy.has(*rule));
    Finding { argument: argument.to_owned(), value, role, origin, against }
}

impl Look<'_> {
    fn effect(&self) -> Effect {
        self.tool.annotation.effect
    }

    fn destination(&self, value: &str, normalized: &str, origin: &mut Origin) -> Option<Rule> {
        let written = true_address(value);
        let address = normalize(&written);
        if address != normalized {
            *origin = self.context.origin(&address);
        }
        if is_confusable(&address) || is_disguised(&written) {
            return Some(Rule::LookAlike);
        }
        if let Some(url) = as_url(value, self.effect()) {
            return self.url(&url, origin);
        }
        if matches!(origin, Origin::User | Origin::OwnAccount) {
            return None;
        }
        if let Some(name) = self.context.named_contact(&address) {
            *origin = Origin::AddressBook(name.to_owned());
            return None;
        }
        Some(Rule::Destination)
    }

    fn url(&self, url: &Url, origin: &mut Origin) -> Option<Rule> {
        if self.context.user_urls.contains(&url.key) {
            *origin = Origin::User;
            return None;
        }
        if *origin == Origin::User {
            *origin = Origin::Model;
        }
        let by_use = self.policy.profile == super::Profile::Relaxed && self.context.user_hosts.contains(&url.host);
        let is_allowed = self.effect() == Effect::OpenRead && (self.policy.hosts.contains(&url.host) || by_use);
        (!is_allowed || self.context.carries_private(url)).then_some(Rule::ForeignUrl)
    }

    fn object(&self, normalized: &str, origin: &mut Origin) -> Option<Rule> {
        if self.context.is_named_record(normalized) {
            *origin = Origin::User;
            return None;
        }
        let user = &self.context.user;
        let told = ["id", "number", "no", "nr", "ids", "#"];
        let is_short = normalized.len() < 4;
        if user.has(normalized) && (!is_short || user.before(normalized).any(|word| told.contains(&word))) {
            return None;
        }
        if is_short && *origin == Origin::User {
            *origin = Origin::Model;
        }
        Some(Rule::Object)
    }

    fn key(&self, normalized: &str, origin: &mut Origin) -> Option<Rule> {
        if *origin == Origin::User {
            return None;
        }
        if self.effect() == Effect::Credential {
            return Some(Rule::Words);
        }
        if half_named(self.context, normalized) {
            *origin = Origin::User;
            return None;
        }
        Some(Rule::Words)
    }

    fn time(&self, value: &str, origin: &mut Origin) -> Option<Rule> {
        let same = said::same_time(value, &self.context.said, &self.context.now)
            && (self.context.said.repeats() || !said::is_repeated(value))
            && !(self.says_time_once() && said::lost_its_day(value, &self.context.said, &self.context.now));
        if same {
            *origin = Origin::User;
        }
        (!same).then_some(Rule::Time)
    }

    /// Whether one argument alone says when.
    fn says_time_once(&self) -> bool {
        let is_time = |name: &&String| self.tool.annotation.args.get(*name) == Some(&Role::KeyTime);
        self.call.arguments.keys().filter(is_time).count() == 1
    }

    fn amount(&self, value: &str, origin: &mut Origin) -> Option<Rule> {
        let number = value.parse::<f64>().ok().filter(|number| *number > 0.0);
        let of_call = self.call.arguments.values().filter_map(Value::as_str).find_map(currency);
        let same = |(said, unit): &(f64, Option<&str>)| {
            let same_unit = unit.is_none() || of_call.is_none() || *unit == of_call;
            number.is_some_and(|number| (number - said).abs() < 0.005) && same_unit
        };
        if self.context.amounts.iter().any(same) {
            *origin = Origin::User;
            return None;
        }
        if *origin == Origin::User {
            *origin = Origin::Model;
        }
        Some(Rule::Amount)
    }

    fn path(&self, value: &str, normalized: &str, origin: &mut Origin) -> Option<Rule> {
        let typed = self.context.user.has(normalized);
        match path::place(value, &self.policy.folders) {
            Place::Inside if self.effect() == Effect::Read => None,
            Place::Inside => {
                let name = normalized.rsplit('/').next().unwrap_or(normalized);
                let named = typed || half_named(self.context, name.split('.').next().unwrap_or(name));
                if named {
                    *origin = Origin::User;
                }
                (!named).then_some(Rule::Path)
            }
            Place::Outside if typed && self.effect() == Effect::Read => None,
            _ => Some(Rule::Path),
        }
    }

    fn attachment(&self, normalized: &str, origin: &mut Origin) -> Option<Rule> {
        let name = normalized.rsplit('/').next().unwrap_or(normalized);
        if self.context.is_named_record(normalized) || self.context.user.has(name) && name.len() >= 4 {
            *origin = Origin::User;
            return None;
        }
        Some(Rule::Attachment)
    }
}

/// The address in `Bob <bob@example.org>`: what a message would really go to. Anything after the bracket makes it no address.
pub(crate) fn true_address(value: &str) -> String {
    let inside = value.trim().strip_suffix('>').and_then(|rest| rest.rsplit_once('<')).map(|(_, inside)| inside);
    let inside = inside.unwrap_or(value).trim();
    inside.strip_prefix("mailto:").unwrap_or(inside).to_owned()
}

/// A destination as a web address: whatever a tool opens, and whatever names a scheme or a host with a path.
pub(crate) fn as_url(value: &str, effect: Effect) -> Option<Url> {
    let has_scheme = value.contains("://") || value.trim_start().to_lowercase().starts_with("file:");
    let looks_like = has_scheme || value.trim_start().to_lowercase().starts_with("www.");
    (effect == Effect::OpenRead || looks_like).then(|| url::parse(value)).flatten()
}

/// Whether at least half of the longer words of a value are the owner's; of its short words when it has no longer ones.
pub(crate) fn half_named(context: &Context, normalized: &str) -> bool {
    let all: Vec<&str> = words(normalized).collect();
    let longer: Vec<&str> = all.iter().copied().filter(|word| word.chars().count() >= 4).collect();
    let counted = if longer.is_empty() { all } else { longer };
    let named = counted.iter().filter(|word| context.user.has_word(word)).count();
    named > 0 && 2 * named >= counted.len()
}

/// Whether all words of a value are the owner's, but for those that only say whose it is.
pub(crate) fn all_named(context: &Context, normalized: &str) -> bool {
    const ABOUT: [&str; 24] = [
        "a", "an", "the", "is", "are", "was", "were", "has", "have", "s", "user", "users", "owner", "owners", "their",
        "they", "his", "he", "her", "she", "my", "me", "i", "that",
    ];
    words(normalized).all(|word| ABOUT.contains(&word) || context.user.has_word(word))
}

impl Context {
    /// Whether a web address that no result holds whole carries something that was read from the owner's data: as it is, reversed, or
    /// in base64, hex or percent signs.
    pub(crate) fn carries_private(&self, url: &Url) -> bool {
        if self.read_urls.contains(&url.key) || self.user_urls.contains(&url.key) {
            return false;
        }
        let forms = secret::unwrapped(&url.key);
        forms.iter().chain([&url.key]).any(|form| self.has_private(form))
    }

    /// Whether a text holds a piece of the owner's data that tells something, whole or inside of a longer word.
    pub(crate) fn has_private(&self, text: &str) -> bool {
        let text = normalize(text);
        let whole = tokens(&text).any(|token| self.is_private(token)) || words(&text).any(|word| self.is_private(word));
        whole || words(&text).filter(|word| word.is_ascii()).take(200).any(|word| self.has_private_inside(word))
    }

    /// Whether a word of ASCII letters and digits holds one.
    fn has_private_inside(&self, word: &str) -> bool {
        let lens = self.private_lens.iter().copied().filter(|len| (6..=20).contains(len));
        lens.into_iter().any(|len| {
            let last = (word.len() + 1).saturating_sub(len).min(2_000);
            (0..last).filter_map(|from| word.get(from..from + len)).any(|part| self.is_private(part))
        })
    }
}
