use serde_json::{Value, json};

use crate::support::{Ran, json_fixture, jsonl_fixture, run, scratch_file, str};

#[test]
fn the_reference_renderings_are_equal() {
    let fixture = json_fixture("reference/chat-renderings.json");
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 36);
    for case in cases {
        let ran = run(&["render"], case.to_string());
        match case["error"].as_str() {
            Some(error) => assert!(ran.refused().contains(error), "{}", case["name"]),
            None => assert_eq!(ran.ok(), case["expected"].as_str().unwrap(), "{}", case["name"]),
        }
    }
}

#[test]
fn the_template_cases_hold() {
    let cases = jsonl_fixture("cases/toolcalls.jsonl");
    let cases: Vec<&Value> = cases.iter().filter(|case| case["kind"] == "template").collect();
    assert_eq!(cases.len(), 8);
    for case in cases {
        check(case, run(&["render"], case["input"].to_string()));
    }
}

fn check(case: &Value, ran: Ran) {
    let (id, expected) = (&case["id"], &case["expected"]);
    let text = ran.ok();
    let strings = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
    for part in strings("contains") {
        assert!(text.contains(part.as_str().unwrap()), "{id}: {part} not in {text:?}");
    }
    for part in strings("not_contains") {
        assert!(!text.contains(part.as_str().unwrap()), "{id}: {part} in {text:?}");
    }
    if let Some(end) = expected["ends_with"].as_str() {
        assert!(text.ends_with(end), "{id}: {text:?}");
    }
    let mut rest = text.as_str();
    for part in strings("order") {
        let part = part.as_str().unwrap();
        let at = rest.find(part).unwrap_or_else(|| panic!("{id}: {part:?} not in order in {text:?}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn a_template_comes_from_a_file_or_a_model() {
    let request = json!({ "messages": [{ "role": "user", "content": "hi" }], "add_generation_prompt": false });
    let template = scratch_file("t.jinja", "{{ messages[0].content }}|{{ add_generation_prompt }}");
    assert_eq!(run(&["render", "--template", str(&template)], request.to_string()).ok(), "hi|False");
    let embedded = run(&["render", "-m", "embedded"], request.to_string()).ok();
    assert_eq!(embedded, "<|im_start|>user\nhi<|im_end|>\n");
}
