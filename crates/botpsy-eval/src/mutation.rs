//! Whether every rule is needed: without it some case must come out differently.

use botpsy_agent::policy::{Policy, Rule};

use crate::cases::{Cases, Session, faults};
use crate::sequences;

/// Cases that come with the program, so that every rule has one.
const OWN: &str = include_str!("../data/cases.json");

/// The cases that come with the program.
///
/// # Errors
/// Never, unless the program was built with a broken file.
pub(crate) fn own_cases() -> anyhow::Result<Cases> {
    Ok(serde_json::from_str(OWN)?)
}

/// The rules that no case notices when they are left out.
pub(crate) fn unnoticed(all: &[&Cases]) -> Vec<String> {
    let noticed = |rule: Rule| {
        let without = Policy::default().without(rule);
        all.iter().any(|cases| {
            cases.cases.iter().any(|case| {
                let own =
                    (!case.policy.is_empty()).then(|| Session::of(case, &cases.tools, &without)).and_then(Result::ok);
                match own {
                    // The case has its own policy, which needs the rule left out too.
                    Some(session) => fails(case, session, rule),
                    None => {
                        let words = sequences::faults(case, &cases.tools, &without);
                        words.unwrap_or_else(|| faults(case, &cases.tools, &without)).iter().any(|_| true)
                    }
                }
            })
        })
    };
    Rule::ALL.iter().filter(|rule| !noticed(**rule)).map(|rule| rule.id().to_owned()).collect()
}

fn fails(case: &crate::Case, mut session: Session, rule: Rule) -> bool {
    session.policy = session.policy.without(rule);
    let found = session.decide().decision.word();
    !case.expect.is_empty() && !case.expect.iter().any(|word| word == found)
}
