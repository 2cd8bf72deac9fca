//! Texts that call for care, and texts that only look so.

use std::collections::BTreeSet;

use botpsy_agent::policy::{Topic, topics_of_answer, topics_of_request};
use serde::Deserialize;

const SENTENCES: &str = include_str!("../../../../fixtures/agent/topics.jsonl");

/// A sentence of an owner, or of a model, and what it is about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentence {
    text: Option<String>,
    answer: Option<String>,
    topics: BTreeSet<Topic>,
}

#[test]
fn care_is_taken_where_it_is_due_and_nowhere_else() {
    let (mut due, mut plain, mut wrong) = (0, 0, Vec::new());
    for line in SENTENCES.lines() {
        let sentence: Sentence = serde_json::from_str(line).unwrap();
        let found = match (&sentence.text, &sentence.answer) {
            (Some(text), None) => topics_of_request(text),
            (None, Some(text)) => topics_of_answer(text),
            _ => panic!("either text or answer: {line}"),
        };
        *(if sentence.topics.is_empty() { &mut plain } else { &mut due }) += 1;
        if found != sentence.topics {
            wrong.push(format!("{line}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), due + plain, wrong.join("\n"));
    assert!(due >= 230 && plain >= 200, "{due} and {plain}");
}
