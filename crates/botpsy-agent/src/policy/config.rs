//! What the owner says may happen.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{Annotation, Effect};

use super::rule::Rule;
use super::secret::Secrets;
use super::tools::Hash;

/// How much is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// All but reading is asked about, and nothing is read from addresses that the owner did not write.
    Strict,
    /// What the owner named happens, the rest is asked about.
    #[default]
    Standard,
    /// As `standard`; messages to whom the owner named leave after a delay whatever they hold, secrets excepted, and hosts that the
    /// owner wrote may be read.
    Relaxed,
}

/// What a rule of the owner decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// It happens.
    Allow,
    /// The owner is asked.
    Ask,
    /// It does not happen.
    Deny,
}

/// A rule of the owner. What is left out matches everything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRule {
    /// Its name in logs.
    pub id: Option<String>,
    /// The name of a tool.
    pub tool: Option<String>,
    /// What the tool does.
    pub effect: Option<Effect>,
    /// Whether all that counts in the call comes from the owner.
    pub anchored: Option<bool>,
    /// Whether foreign text came in before.
    pub tainted: Option<bool>,
    /// Every one of its destinations is like one of these; `*` stands for anything.
    pub destination: Option<Vec<String>>,
    /// What then.
    pub decision: Choice,
}

/// A standing agreement: this tool, this destination, this profile, until this day.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The tool.
    pub tool: String,
    /// The whole destination.
    pub destination: String,
    /// The profile in which it was given.
    pub profile: Profile,
    /// The last day, as `"2026-12-31"`.
    #[serde(deserialize_with = "day")]
    pub until: Date,
}

fn day<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| serde::de::Error::custom(format!("expected a day such as \"2026-12-31\", found {text:?}")))
}

/// How much there may be in one turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls of tools.
    pub calls_per_turn: u32,
    /// Calls that do more than read.
    pub side_effects_per_turn: u32,
    /// Questions to the owner.
    pub prompts_per_turn: u32,
    /// Refused questions; then nothing is asked any more.
    pub refused_prompts: u32,
    /// The same call with the same result.
    pub identical_calls: u32,
    /// Seconds in tools.
    pub tool_seconds: u32,
    /// Bytes of results.
    pub result_bytes: usize,
    /// What a day may cost, as `20 EUR`; `0 EUR` sets no ceiling, and every payment is asked about anyway.
    pub money_per_day: String,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            calls_per_turn: 25,
            side_effects_per_turn: 8,
            prompts_per_turn: 5,
            refused_prompts: 3,
            identical_calls: 4,
            tool_seconds: 60,
            result_bytes: 1_000_000,
            money_per_day: "0 EUR".to_owned(),
        }
    }
}

impl Limits {
    pub(crate) fn money(&self) -> Option<f64> {
        let number = self.money_per_day.split_whitespace().next()?;
        number.parse().ok().filter(|money: &f64| money.is_finite() && *money >= 0.0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    profile: Profile,
    demonstration_model: bool,
    hosts: Vec<String>,
    folders: Vec<String>,
    tool: BTreeMap<String, Annotation>,
    rule: Vec<OwnRule>,
    grant: Vec<Grant>,
    limits: Limits,
}

/// What may happen: a profile, the owner's rules, lists of what is allowed, and limits.
#[derive(Clone, Debug)]
pub struct Policy {
    /// How much is asked.
    pub profile: Profile,
    /// The model is a demonstration: every effect but reading is asked about.
    pub demonstration_model: bool,
    /// Hosts that may be read, private ones too.
    pub hosts: Vec<String>,
    /// Folders that paths may lie in, beside the working folder.
    pub folders: Vec<String>,
    /// What the owner says of tools, by their names; this counts more than what a tool brings with it.
    pub annotations: BTreeMap<String, Annotation>,
    /// The owner's rules, in their order.
    pub rules: Vec<OwnRule>,
    /// Standing agreements.
    pub grants: Vec<Grant>,
    /// How much there may be.
    pub limits: Limits,
    /// What must never leave.
    pub secrets: Secrets,
    hash: Hash,
    left_out: BTreeSet<Rule>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::of(File::default(), "")
    }
}

/// Why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// It is no TOML, or has a key or a word that there is not; the message names line and key.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A rule allows too much.
    #[error("rule {rule}: {problem}")]
    Rule {
        /// Its name, or its place from 1.
        rule: String,
        /// What is wrong.
        problem: String,
    },
    /// A limit has no meaning.
    #[error("limits.money_per_day: expected a sum such as \"20 EUR\", found {found:?}")]
    Money {
        /// What stands there.
        found: String,
    },
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// [`PolicyError`]: unknown keys are errors, and so are rules that would allow what is never silent.
    pub fn from_toml(text: &str) -> Result<Policy, PolicyError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            PolicyError::Syntax { line, message: error.message().replace('\n', " ") }
        })?;
        if file.limits.money().is_none() {
            return Err(PolicyError::Money { found: file.limits.money_per_day });
        }
        for (i, rule) in file.rule.iter().enumerate() {
            let name = rule.id.clone().unwrap_or_else(|| (i + 1).to_string());
            check_rule(rule).map_err(|problem| PolicyError::Rule { rule: name, problem })?;
        }
        Ok(Policy::of(file, text))
    }

    fn of(file: File, text: &str) -> Policy {
        let hosts = file.hosts.iter().map(|host| host.to_lowercase()).collect();
        Policy {
            profile: file.profile,
            demonstration_model: file.demonstration_model,
            hosts,
            folders: file.folders,
            annotations: file.tool,
            rules: file.rule,
            grants: file.grant,
            limits: file.limits,
            secrets: Secrets::default(),
            hash: Sha256::digest(text).into(),
            left_out: BTreeSet::new(),
        }
    }

    /// The SHA-256 of the text that it was read from.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Leaves a built-in rule out, to show that some case notices.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Policy {
        self.left_out.insert(rule);
        self
    }

    pub(crate) fn has(&self, rule: Rule) -> bool {
        !self.left_out.contains(&rule)
    }
}

/// Whether an effect is asked about whatever anybody says.
pub(crate) fn is_never_silent(effect: Effect) -> bool {
    use Effect::{CodeExecution, Credential, HealthRecord, Money, Physical};
    matches!(effect, Money | Credential | Physical | HealthRecord | CodeExecution)
}

fn check_rule(rule: &OwnRule) -> Result<(), String> {
    if rule.decision != Choice::Allow {
        return Ok(());
    }
    if let Some(effect) = rule.effect.filter(|effect| is_never_silent(*effect)) {
        return Err(format!("{effect:?} is asked about in every case; use \"ask\" or \"deny\"").to_lowercase());
    }
    if rule.effect.is_none() && rule.tool.is_none() {
        return Err("what is allowed must be named by effect or tool".to_owned());
    }
    if rule.anchored != Some(true) && rule.destination.is_none() {
        return Err("what is allowed needs `anchored = true` or a list of destinations".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| Policy::from_toml(text).unwrap_err().to_string();
        assert!(error("profile = \"standard\"\nhots = []").starts_with("line 2: unknown field `hots`"));
        assert!(error("profile = \"lax\"").starts_with("line 1: unknown variant `lax`"));
        assert!(error("[[rule]]\neffect = \"money\"\nanchored = true\ndecision = \"allow\"").contains("asked about"));
        assert!(error("[[rule]]\neffect = \"write\"\ndecision = \"allow\"").contains("anchored = true"));
        assert!(error("[limits]\nmoney_per_day = \"much\"").contains("20 EUR"));
    }

    #[test]
    fn a_policy_has_a_hash() {
        assert_ne!(Policy::from_toml("").unwrap().hash(), Policy::from_toml(" ").unwrap().hash());
    }
}
