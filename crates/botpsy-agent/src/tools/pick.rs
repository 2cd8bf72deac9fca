//! Which of several things a model means.

use crate::ToolError;
use crate::store::{has_words, normalize};

/// No list of candidates is longer.
const MAX_LISTED: usize = 8;

/// Something that may be meant.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) title: String,
    /// What tells it from others of the same title.
    pub(super) hint: String,
}

/// The places of those that fit best: the one with this id, else those with this title, else those whose titles have all the words,
/// or words that begin so, else those all of whose words were said.
pub(super) fn best(said: &str, candidates: &[Candidate]) -> Vec<usize> {
    let said = said.trim();
    let normal = normalize(said);
    let words: Vec<&str> = normal.split(' ').filter(|word| !["the", "my", "a", "an", "our"].contains(word)).collect();
    let core = words.join(" ");
    let has_all = |title: &str| title.split(' ').all(|word| words.contains(&word));
    let has_whole = |title: &str| words.iter().all(|word| title.split(' ').any(|other| other == *word));
    let tiers: [&dyn Fn(&Candidate) -> bool; 5] = [
        &|candidate| candidate.id == said,
        &|candidate| [&normal, &core].contains(&&normalize(&candidate.title)),
        &|candidate| !core.is_empty() && has_whole(&normalize(&candidate.title)),
        &|candidate| !core.is_empty() && has_words(&candidate.title, &core),
        &|candidate| {
            let title = normalize(&candidate.title);
            !title.is_empty() && has_all(&title)
        },
    ];
    let fitting = tiers.iter().map(|fits| (0..candidates.len()).filter(|i| fits(&candidates[*i])).collect::<Vec<_>>());
    fitting.into_iter().find(|places| !places.is_empty()).unwrap_or_default()
}

/// The place of the one that is meant.
///
/// # Errors
/// If it is none, or several; they are named.
pub(super) fn one(kind: &str, said: &str, candidates: &[Candidate]) -> Result<usize, ToolError> {
    match best(said, candidates)[..] {
        [place] => Ok(place),
        [] => Err(missing(kind, said, candidates)),
        ref places => Err(which(kind, said, places.iter().map(|place| &candidates[*place]))),
    }
}

pub(super) fn missing(kind: &str, said: &str, candidates: &[Candidate]) -> ToolError {
    let there = if candidates.is_empty() { "there is none".to_owned() } else { named(candidates.iter()) };
    ToolError::Missing(format!("no {kind} is called `{said}`; {there}"))
}

pub(super) fn which<'a>(kind: &str, said: &str, candidates: impl Iterator<Item = &'a Candidate>) -> ToolError {
    ToolError::Ask { question: format!("Which {kind} is meant by `{said}`? {}", named(candidates)) }
}

fn named<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> String {
    let all: Vec<&Candidate> = candidates.collect();
    let name = |candidate: &&Candidate| match candidate.hint.as_str() {
        "" => format!("`{}` (id `{}`)", candidate.title, candidate.id),
        hint => format!("`{}` ({hint}, id `{}`)", candidate.title, candidate.id),
    };
    let listed: Vec<String> = all.iter().take(MAX_LISTED).map(name).collect();
    let more = all.len().saturating_sub(MAX_LISTED);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    format!("There are: {}{more}.", listed.join(", "))
}
