//! What a turn is about, where a program should not talk as if it knew: a crisis, doses, the law, investments.
//!
//! Decided by sequences of words, never by a model. Such lists err both ways: they miss what is said in other words, and they find what was
//! meant otherwise. `fixtures/agent/topics.jsonl` holds them to both.

mod lists;
mod pattern;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use lists::List;
use pattern::{Clause, Pattern, clauses};

/// A subject on which a program must not act as if it knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Somebody may want to hurt or kill themselves.
    Crisis,
    /// How much of a medicine, how often, with what.
    Medical,
    /// What the law allows, and what one could sue for.
    Legal,
    /// What to buy, sell or hold in the hope of a gain.
    Investment,
}

impl Topic {
    /// Every one.
    pub const ALL: [Topic; 4] = [Topic::Crisis, Topic::Medical, Topic::Legal, Topic::Investment];

    /// It in a word.
    pub fn word(self) -> &'static str {
        match self {
            Topic::Crisis => "crisis",
            Topic::Medical => "medical",
            Topic::Legal => "legal",
            Topic::Investment => "investment",
        }
    }

    /// What the owner is told: in a crisis instead of an answer, else beside it.
    pub fn note(self) -> &'static str {
        match self {
            Topic::Crisis => {
                "It sounds as if you may be in danger, and a program is not the one to help. Please talk to a person now: the emergency \
                 number where you are (112 in Europe, 911 in North America, 999 in the United Kingdom), or a line for people in crisis \
                 (988 in the United States and Canada, 116 123 in the United Kingdom and Ireland; https://findahelpline.com lists others). \
                 If you can, stay with somebody you trust until then."
            }
            Topic::Medical => {
                "This is a small model's text, no medical advice: a wrong dose can harm. Ask a doctor or a pharmacist, in an emergency the emergency number."
            }
            Topic::Legal => {
                "This is a small model's text, no legal advice: laws differ and it may be wrong. Ask a lawyer or an advice center."
            }
            Topic::Investment => {
                "This is a small model's text, no investment advice: money can be lost, and it knows no present prices."
            }
        }
    }
}

/// What the owner's own words are about.
pub fn topics_of_request(text: &str) -> BTreeSet<Topic> {
    find(text, |words| &words.asked)
}

/// What an answer of a model is about; [`Topic::Crisis`] if it talks somebody into hurting themselves.
pub fn topics_of_answer(text: &str) -> BTreeSet<Topic> {
    find(text, |words| &words.answered)
}

fn find(text: &str, which: impl Fn(&Words) -> &[Pattern]) -> BTreeSet<Topic> {
    let clauses = clauses(text);
    let has = |words: &&Words| {
        let found = |clause: &Clause| {
            // In a crisis it does not matter what the sentence asks for.
            let counts = words.topic == Topic::Crisis || !clause.is_errand;
            let stands = |pattern: &Pattern| pattern.stands_in(&clause.words);
            counts && which(words).iter().any(stands) && !words.never.iter().any(stands)
        };
        clauses.iter().any(found)
    };
    WORDS.iter().filter(has).map(|words| words.topic).collect()
}

/// The sequences of one topic.
struct Words {
    topic: Topic,
    asked: Vec<Pattern>,
    answered: Vec<Pattern>,
    never: Vec<Pattern>,
}

static WORDS: LazyLock<Vec<Words>> = LazyLock::new(|| {
    let patterns = |list: &[&str]| list.iter().map(|text| Pattern::parse(&lists::with_sets(text))).collect();
    let words = |topic: Topic| {
        let List { asked, answered, never } = lists::of(topic);
        Words { topic, asked: patterns(asked), answered: patterns(answered), never: patterns(never) }
    };
    Topic::ALL.into_iter().map(words).collect()
});
