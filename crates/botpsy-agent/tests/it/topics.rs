//! Texts that call for care, and texts that only look so: the lists of words err in neither way on these sentences.

use botpsy_agent::policy::topic;
use serde_json::Value;

const SENTENCES: &str = include_str!("../../../../fixtures/agent/topics.jsonl");

#[test]
fn care_is_taken_where_it_is_due_and_nowhere_else() {
    let (mut due, mut plain, mut wrong) = (0, 0, Vec::new());
    for line in SENTENCES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (text, expected) = (case["text"].as_str().unwrap(), case["topic"].as_str());
        *(if expected.is_some() { &mut due } else { &mut plain }) += 1;
        let found = topic(text).map(|topic| topic.word());
        if found != expected {
            wrong.push(format!("{text}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), due + plain, wrong.join("\n"));
    assert!(due >= 80 && plain >= 160, "{due} and {plain}");
}
