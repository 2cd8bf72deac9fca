//! The stated results.

use serde_json::{Value, json};

use crate::support::{chunks, fault_names, further, reference_messages, reference_parameters, stated, toolcalls};

#[test]
fn tool_calls_of_the_reference_are_typed_as_stated() {
    let cases = reference_parameters();
    assert_eq!(cases.len(), 30);
    for (case, record) in cases {
        let message = case.parse();
        assert_eq!(json!(message.tool_calls[0].arguments), record["expected"], "{}", case.name);
        assert_eq!(message.tool_calls.len(), 1, "{}", case.name);
        assert_eq!(message.content, None, "{}", case.name);
    }
}

#[test]
fn messages_of_the_reference_are_read_as_stated() {
    let cases = reference_messages();
    assert_eq!(cases.len(), 20);
    for (case, record) in cases {
        let message = case.parse();
        let found = stated(&message);
        let found = json!({
            "reasoning": found["reasoning_content"],
            "content": found["content"],
            "tool_calls": found["tool_calls"],
            "faults": fault_names(&message),
        });
        assert_eq!(found, record["expected"], "{}", case.name);
    }
}

#[test]
fn outputs_of_the_case_file_are_read_as_stated() {
    let cases = toolcalls();
    assert_eq!(cases.len(), 28);
    for (case, record) in cases {
        let expected = if record["kind"] == "parse" { &record["expected"] } else { &record["expected"]["final"] };
        assert_eq!(stated(&case.parse()), *expected, "{}", case.name);
    }
}

#[test]
fn streams_of_the_case_file_keep_their_invariants() {
    for (case, record) in toolcalls().iter().filter(|(_, record)| record["kind"] == "stream") {
        // What holds for every stream is checked where the deltas are added up.
        let pieces = chunks(&record["input"]);
        let (_, message) = case.stream_pieces(pieces.iter().map(Vec::as_slice));
        assert_eq!(stated(&message), record["expected"]["final"], "{}", case.name);
        for text in [&message.reasoning_content, &message.content].into_iter().flatten() {
            let markup = ["<tool_call", "<function", "<parameter", "</", "<think", "\u{FFFD}"];
            assert!(!markup.iter().any(|tag| text.contains(tag)), "{}: {text}", case.name);
        }
    }
}

#[test]
fn further_cases_are_read_as_stated() {
    let cases = further();
    assert!(cases.len() > 80);
    let mut wrong = String::new();
    for (case, record) in cases {
        let message = case.parse();
        let Value::Object(mut found) = stated(&message) else { unreachable!() };
        found.insert("faults".to_owned(), json!(fault_names(&message)));
        let (found, expected) = (Value::Object(found), &record["expected"]);
        if found != *expected {
            wrong += &format!("{}: {:?}\n  found    {found}\n  expected {expected}\n", case.name, case.text);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
