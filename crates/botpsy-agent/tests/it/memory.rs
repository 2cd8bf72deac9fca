//! What is remembered.

use botpsy_agent::tools::label_memories;
use serde_json::json;

use crate::desk::{Desk, fields};

#[test]
fn facts_are_remembered_recalled_and_forgotten() {
    let desk = Desk::new();
    desk.run("remember", json!({"fact": "Ann is allergic to nuts."}));
    desk.run("remember", json!({"fact": "The café closes at 6."}));
    let recall = |query: &str| fields(&desk.answer("recall", json!({"query": query}))["facts"], &["title"]);
    assert_eq!(recall("what is Ann allergic to?"), "Ann is allergic to nuts.");
    assert_eq!(recall("CAFE"), "The café closes at 6.");
    assert_eq!(recall("zebra"), "");
    for odd in ["\"", "a OR", "text:x", "NEAR(", "*", "' --", "^a"] {
        recall(odd);
    }
    let same = desk.answer("remember", json!({"fact": "ann is allergic to nuts"}));
    assert_eq!(same["known"], true);
    let change = desk.run("forget", json!({"fact": "ann nuts"}));
    assert_eq!(change.summary, "Forget: Ann is allergic to nuts.");
    assert_eq!(recall("nuts"), "");
    assert_eq!(recall("closes"), "The café closes at 6.");
    assert!(
        desk.error("forget", json!({"fact": "nuts"})).starts_with("no memory is called `nuts`; There are: `The café")
    );
}

#[test]
fn whoever_knows_says_where_a_fact_came_from() {
    let desk = Desk::new();
    let mut change = desk.change("remember", json!({"fact": "x y z"}));
    assert_eq!(change.ops.len(), 1);
    label_memories(&mut change, "user");
    desk.store.apply(&change).unwrap();
    assert_eq!(desk.store.memories("x", 1).unwrap()[0].origin, "user");
}
