//! The decision about one call.

use std::borrow::Cow;

use botpsy_text::conversation::ToolCall;

use crate::{Annotation, Effect, Role, Undo};

use super::anchor::{self, Finding};
use super::config::{Choice, Policy, Profile, is_never_silent};
use super::context::{Context, Origin, Presence};
use super::hard;
use super::rule::Rule;
use super::tools::{Entry, Tools};

/// Seconds for which a message waits so that it can be taken back.
pub const OUTBOX_SECONDS: u32 = 10;

/// What happens with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is carried out.
    Allow {
        /// It must be possible to take it back afterwards.
        undo: bool,
        /// It waits for so many seconds before.
        delay_seconds: u32,
    },
    /// The owner is asked.
    Ask,
    /// It does not happen.
    Deny {
        /// It is kept as a draft, for when the owner is back.
        draft: bool,
    },
}

impl Decision {
    /// `allow`, `ask` or `deny`.
    pub fn word(self) -> &'static str {
        match self {
            Decision::Allow { .. } => "allow",
            Decision::Ask => "ask",
            Decision::Deny { .. } => "deny",
        }
    }
}

/// A decision, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What happens.
    pub decision: Decision,
    /// The rule that decided: the name of a built-in one, `own:` and the name of one of the owner's, or `allow`.
    pub rule: Cow<'static, str>,
    /// One sentence for the owner.
    pub reason: String,
    /// Where each value comes from.
    pub origins: Vec<Finding>,
    /// What the call does; [`Effect::CodeExecution`] for a tool that is not known.
    pub effect: Effect,
}

/// Decides about a call. Nothing is looked up, opened or asked: the same input gives the same verdict.
///
/// The order: what is denied whatever anybody says, the budgets, the scope of the turn, the table by effect, the owner's rules (deny over
/// ask over allow), standing grants, and last whether somebody is there.
pub fn decide(policy: &Policy, context: &Context, tools: &Tools, call: &ToolCall) -> Verdict {
    let unknown = Entry::unknown();
    let known = tools.get(&call.name);
    let tool = known.unwrap_or(&unknown);
    let mut gate = Gate { policy, context, tool, call, findings: Vec::new() };
    if let Some((rule, reason)) = hard::before(&gate, known.is_some()) {
        return gate.verdict(Decision::Deny { draft: false }, rule.id(), reason);
    }
    gate.findings = anchor::findings(policy, context, tool, call);
    if let Some((rule, reason)) = hard::deny(&gate) {
        return gate.verdict(Decision::Deny { draft: false }, rule.id(), reason);
    }
    let (decision, rule, reason) = gate.own(gate.table());
    let (decision, rule, reason) = gate.asked((decision, rule, reason));
    gate.verdict(decision, rule, reason)
}

/// What a step of the decision says.
pub(crate) type Step = (Decision, Cow<'static, str>, String);

const ALLOW: Decision = Decision::Allow { undo: false, delay_seconds: 0 };
const UNDO: Decision = Decision::Allow { undo: true, delay_seconds: 0 };
const DELAY: Decision = Decision::Allow { undo: true, delay_seconds: OUTBOX_SECONDS };
const DENY: Decision = Decision::Deny { draft: false };

/// A call with all that is known of it.
pub(crate) struct Gate<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) context: &'a Context,
    pub(crate) tool: &'a Entry,
    pub(crate) call: &'a ToolCall,
    pub(crate) findings: Vec<Finding>,
}

impl Gate<'_> {
    pub(crate) fn effect(&self) -> Effect {
        self.tool.annotation.effect
    }

    pub(crate) fn values(&self, role: Role) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.role == role)
    }

    fn has(&self, rule: Rule) -> bool {
        self.policy.has(rule)
    }

    fn verdict(self, decision: Decision, rule: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Verdict {
        let effect = self.effect();
        Verdict { decision, rule: rule.into(), reason: reason.into(), origins: self.findings, effect }
    }

    /// What speaks against anchoring: the first value that is not the owner's, or that nothing is.
    fn against(&self) -> Option<(Rule, String)> {
        let counting = || self.findings.iter().filter(|finding| finding.counts());
        if let Some((finding, rule)) = counting().find_map(|finding| Some((finding, finding.against?))) {
            return Some((
                rule,
                format!("`{}` {}", super::text::escaped(&finding.argument), complaint(rule, &finding.origin)),
            ));
        }
        if counting().next().is_none() && self.has(Rule::NothingNamed) && self.effect() != Effect::MemoryWrite {
            return Some((Rule::NothingNamed, "nothing in the call comes from your words".to_owned()));
        }
        None
    }

    /// Whether the owner's own words name everything that counts.
    fn is_named_by_user(&self) -> bool {
        let mut counting = self.findings.iter().filter(|finding| finding.counts()).peekable();
        counting.peek().is_some() && counting.all(|finding| finding.against.is_none() && finding.origin == Origin::User)
    }

    fn table(&self) -> Step {
        let tainted = self.context.is_tainted();
        if tainted && self.has(Rule::Scope) && !self.context.scope.holds(&self.call.name, self.effect()) {
            let reason = "it is not what you asked for in this turn, and text by others came in since".to_owned();
            let named = self.is_named_by_user() && self.effect() != Effect::Credential;
            return (if named { Decision::Ask } else { DENY }, Rule::Scope.id().into(), reason);
        }
        let step = match self.effect() {
            Effect::Read => self.read(),
            Effect::OpenRead => self.open_read(),
            Effect::Write | Effect::MemoryWrite => self.write(),
            Effect::ExternalMessage => self.message(),
            Effect::GrantAccess | Effect::Identity => self.asks(Rule::Access, "it changes who may see or be what"),
            Effect::Destructive => self.removal(),
            effect => self.never_silent(effect),
        };
        self.stricter(step)
    }

    /// A question with the given reason, unless its rule is left out.
    fn asks(&self, rule: Rule, reason: &str) -> Step {
        if !self.has(rule) {
            return allow(UNDO);
        }
        match self.against() {
            Some((against, why)) => {
                (Decision::Ask, rule.id().into(), format!("{reason}, and {why} ({})", against.id()))
            }
            None => (Decision::Ask, rule.id().into(), reason.to_owned()),
        }
    }

    fn read(&self) -> Step {
        match self.values(Role::Path).find_map(|finding| Some((finding, finding.against?))) {
            Some((finding, rule)) => (
                Decision::Ask,
                rule.id().into(),
                format!("the path {} lies outside the allowed folders", finding.value),
            ),
            None => allow(ALLOW),
        }
    }

    fn open_read(&self) -> Step {
        let foreign = self.values(Role::Destination).find_map(|finding| finding.against);
        if let Some(rule) = foreign {
            if self.has(Rule::Strict) && self.policy.profile == Profile::Strict {
                return (
                    DENY,
                    Rule::Strict.id().into(),
                    "the profile `strict` reads only addresses that you wrote".to_owned(),
                );
            }
            return (Decision::Ask, rule.id().into(), "the address is not one that you wrote".to_owned());
        }
        let query = |finding: &&Finding| {
            matches!(finding.role, Role::Content | Role::Selector | Role::Key | Role::Other)
                && finding.value.chars().any(char::is_alphanumeric)
        };
        let foreign = |finding: &&Finding| {
            let value = super::text::normalize(&finding.value);
            self.context.is_tainted()
                && (!anchor::half_named(self.context, &value) || self.context.has_private(&finding.value))
        };
        match self.findings.iter().filter(query).find(foreign) {
            Some(_) if self.has(Rule::Query) => (
                Decision::Ask,
                Rule::Query.id().into(),
                "what is searched for would tell others words that are not yours".to_owned(),
            ),
            _ => allow(ALLOW),
        }
    }

    fn write(&self) -> Step {
        if self.tool.annotation.undo == Undo::None && self.has(Rule::NoUndo) {
            return self.asks(Rule::NoUndo, "it cannot be taken back");
        }
        if let Some((rule, reason)) = self.against().or_else(|| self.memory()) {
            return (Decision::Ask, rule.id().into(), reason);
        }
        match hard::secret_text(self).filter(|_| self.context.is_tainted()) {
            Some(reason) => (Decision::Ask, Rule::SecretText.id().into(), reason),
            None => allow(UNDO),
        }
    }

    /// What is remembered must be in the owner's words: it counts as theirs from then on.
    fn memory(&self) -> Option<(Rule, String)> {
        let mut texts = self.values(Role::Content);
        let foreign = |finding: &Finding| !anchor::all_named(self.context, &super::text::normalize(&finding.value));
        let is_foreign = hard::foreign_link(self).is_some() || texts.any(foreign);
        (self.effect() == Effect::MemoryWrite && is_foreign && self.has(Rule::Words))
            .then(|| (Rule::Words, "what would be remembered is not in your words".to_owned()))
    }

    fn message(&self) -> Step {
        if let Some((rule, reason)) = self.against() {
            return (Decision::Ask, rule.id().into(), reason);
        }
        if let Some(reason) = hard::secret_text(self) {
            return (Decision::Ask, Rule::SecretText.id().into(), reason);
        }
        let relaxed = self.policy.profile == Profile::Relaxed;
        if let Some(finding) = self
            .values(Role::Attachment)
            .find(|finding| finding.against.is_some() || (self.context.is_tainted() && !relaxed))
            && self.has(Rule::Attachment)
        {
            return (
                Decision::Ask,
                Rule::Attachment.id().into(),
                format!("the file {} would leave with it", finding.value),
            );
        }
        match hard::foreign_link(self).filter(|_| self.context.is_tainted() && !relaxed) {
            Some(link) => {
                (Decision::Ask, Rule::ForeignLink.id().into(), format!("it holds {link}, which you did not write"))
            }
            None => allow(DELAY),
        }
    }

    fn removal(&self) -> Step {
        if self.tool.annotation.undo == Undo::None {
            return self.asks(Rule::Removal, "what is removed cannot be brought back");
        }
        if self.context.is_tainted() {
            return self.asks(Rule::Removal, "it removes something, and text by others came in before");
        }
        match self.against() {
            Some((rule, reason)) => (Decision::Ask, rule.id().into(), reason),
            None => allow(UNDO),
        }
    }

    fn never_silent(&self, effect: Effect) -> Step {
        if effect == Effect::Credential
            && self.has(Rule::ForeignCredential)
            && let Some((_, reason)) = self.against()
        {
            return (DENY, Rule::ForeignCredential.id().into(), reason);
        }
        self.asks(
            Rule::NeverSilent,
            match effect {
                Effect::Money => "money is moved only when you agree",
                Effect::Credential => "passwords and keys change only when you agree",
                Effect::HealthRecord => "health records change only when you agree",
                Effect::Physical => "things outside the computer move only when you agree",
                _ => "code runs only when you agree",
            },
        )
    }

    /// What the profile and a demonstration model add.
    fn stricter(&self, step: Step) -> Step {
        let silent = matches!(step.0, Decision::Allow { .. }) && self.effect() != Effect::Read;
        if silent && self.context.turn.is_no_order && self.has(Rule::NoOrder) {
            let reason = "you asked about it or said what is not to happen".to_owned();
            return (Decision::Ask, Rule::NoOrder.id().into(), reason);
        }
        if silent && self.policy.demonstration_model && self.has(Rule::Demonstration) {
            return (
                Decision::Ask,
                Rule::Demonstration.id().into(),
                "the model is a demonstration and often wrong".to_owned(),
            );
        }
        if silent && self.policy.profile == Profile::Strict && self.has(Rule::Strict) {
            return (
                Decision::Ask,
                Rule::Strict.id().into(),
                "the profile `strict` asks about all but reading".to_owned(),
            );
        }
        step
    }

    /// The owner's rules and grants: deny over ask over allow; an allow lifts a question, never a denial.
    fn own(&self, step: Step) -> Step {
        let matching = |choice: Choice| {
            self.policy.rules.iter().enumerate().find(|(_, rule)| rule.decision == choice && self.matches(rule))
        };
        let name = |(i, rule): (usize, &super::OwnRule)| {
            Cow::Owned(format!("own:{}", rule.id.clone().unwrap_or_else(|| (i + 1).to_string())))
        };
        if let Some(found) = matching(Choice::Deny) {
            return (DENY, name(found), "a rule of yours forbids it".to_owned());
        }
        if matches!(step.0, Decision::Allow { .. })
            && let Some(found) = matching(Choice::Ask)
        {
            return (Decision::Ask, name(found), "a rule of yours asks about it".to_owned());
        }
        let liftable = step.0 == Decision::Ask && !is_never_silent(self.effect()) && matching(Choice::Ask).is_none();
        let kept =
            [Rule::Demonstration, Rule::SecretText, Rule::Scope, Rule::NoOrder].iter().any(|rule| step.1 == rule.id());
        if !liftable || kept {
            return step;
        }
        match matching(Choice::Allow) {
            Some(found) => (self.lifted(), name(found), "a rule of yours allows it".to_owned()),
            None if self.is_granted() => {
                (self.lifted(), "grant".into(), "you agreed to it until a later day".to_owned())
            }
            None => step,
        }
    }

    fn lifted(&self) -> Decision {
        match self.effect() {
            Effect::ExternalMessage => DELAY,
            Effect::OpenRead => ALLOW,
            _ => UNDO,
        }
    }

    fn matches(&self, rule: &super::OwnRule) -> bool {
        let allowed = |globs: &Vec<String>| {
            let mut all = self.values(Role::Destination).peekable();
            all.peek().is_some() && all.all(|finding| globs.iter().any(|glob| is_like(&finding.value, glob)))
        };
        rule.tool.as_ref().is_none_or(|tool| *tool == self.call.name)
            && rule.effect.is_none_or(|effect| effect == self.effect())
            && rule.anchored.is_none_or(|anchored| anchored == self.against().is_none())
            && rule.tainted.is_none_or(|tainted| tainted == self.context.is_tainted())
            && rule.destination.as_ref().is_none_or(allowed)
    }

    fn is_granted(&self) -> bool {
        let grantable = matches!(self.effect(), Effect::ExternalMessage | Effect::Write | Effect::OpenRead);
        let today = self.context.now.date();
        let granted = |finding: &Finding| {
            self.policy.grants.iter().any(|grant| {
                let destination = super::text::normalize(&anchor::true_address(&finding.value));
                let same = grant.tool == self.call.name && super::text::normalize(&grant.destination) == destination;
                same && grant.profile == self.policy.profile && grant.until >= today
            })
        };
        let mut all = self.values(Role::Destination).peekable();
        let clean = hard::foreign_link(self).is_none()
            && hard::secret_text(self).is_none()
            && self.values(Role::Attachment).next().is_none();
        grantable && clean && all.peek().is_some() && all.all(granted)
    }

    /// A question needs somebody to ask, and is asked only so often.
    fn asked(&self, step: Step) -> Step {
        let (turn, limits) = (&self.context.turn, &self.policy.limits);
        let is_read = self.effect() == Effect::Read;
        if self.context.presence == Presence::Nobody && self.has(Rule::NobodyThere) && !(is_read && step.0 == ALLOW) {
            return self.alone(step);
        }
        if step.0 != Decision::Ask {
            return step;
        }
        if turn.refused >= limits.refused_prompts && self.has(Rule::Refusals) {
            return (DENY, Rule::Refusals.id().into(), format!("you refused {} questions in this turn", turn.refused));
        }
        if turn.prompts >= limits.prompts_per_turn && self.has(Rule::PromptBudget) {
            return (
                DENY,
                Rule::PromptBudget.id().into(),
                format!("{} questions were asked in this turn", turn.prompts),
            );
        }
        step
    }

    fn alone(&self, step: Step) -> Step {
        let draft = matches!(self.effect(), Effect::Write | Effect::MemoryWrite | Effect::ExternalMessage)
            && !matches!(step.0, Decision::Deny { .. });
        let listed = |finding: &Finding| {
            anchor::as_url(&finding.value, Effect::OpenRead).is_some_and(|url| self.policy.hosts.contains(&url.host))
                && finding.origin == Origin::User
        };
        let mut all = self.values(Role::Destination).peekable();
        let may_read = self.effect() == Effect::OpenRead && step.0 == ALLOW && all.peek().is_some() && all.all(listed);
        if may_read || matches!(step.0, Decision::Deny { .. }) {
            return step;
        }
        (Decision::Deny { draft }, Rule::NobodyThere.id().into(), "nobody is there to agree".to_owned())
    }
}

fn allow(decision: Decision) -> Step {
    (decision, "allow".into(), "nothing speaks against it".to_owned())
}

/// What is wrong with a value, after its name.
fn complaint(rule: Rule, origin: &Origin) -> String {
    match (rule, origin) {
        (Rule::LookAlike, _) => "has letters that look like others".to_owned(),
        (Rule::Path, _) => "is not a file that you named in an allowed folder".to_owned(),
        (_, Origin::ThirdParty(source)) => {
            format!("comes from {}, which others may have written", super::text::escaped(source))
        }
        (_, Origin::Model) => "does not come from you: the model made it up".to_owned(),
        _ => "does not come from your words".to_owned(),
    }
}

/// Whether a text is like a pattern in which `*` stands for anything.
fn is_like(text: &str, glob: &str) -> bool {
    let text = super::text::normalize(&anchor::true_address(text));
    let glob = super::text::normalize(glob);
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Entry {
    fn unknown() -> Entry {
        Entry::of_nobody(Annotation::unknown())
    }
}
