//! The built-in template against renderings of the official one, and the tidying of messages before it.

use botpsy_text::template::{Template, TemplateError, render_request};
use serde_json::Value;

fn fixture(name: &str) -> String {
    let path = format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_reference_renderings_are_equal() {
    let fixture: Value = serde_json::from_str(&fixture("reference/chat-renderings.json")).unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 36);
    for case in cases {
        let expected = match &case["error"] {
            Value::String(error) => Err(TemplateError::Refused(error.clone())),
            _ => Ok(case["expected"].as_str().unwrap().to_owned()),
        };
        assert_eq!(render_request(case, &Template::Qwen35), expected, "{}", case["name"]);
    }
}

#[test]
fn the_template_cases_hold() {
    let cases = fixture("cases/toolcalls.jsonl");
    let cases = cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut n_cases = 0;
    for case in cases.filter(|case| case["kind"] == "template") {
        check_case(&case, render_request(&case["input"], &Template::Qwen35));
        n_cases += 1;
    }
    assert!(n_cases >= 8, "{n_cases}");
}

fn check_case(case: &Value, rendered: Result<String, TemplateError>) {
    let id = &case["id"];
    let expected = &case["expected"];
    if expected.get("error").is_some() {
        assert!(rendered.is_err(), "{id}: {rendered:?}");
        return;
    }
    let text = rendered.unwrap_or_else(|error| panic!("{id}: {error}"));
    let strings = |key: &str| -> Vec<String> {
        let list = expected[key].as_array().cloned().unwrap_or_default();
        list.iter()
            .map(|item| item.as_str().expect("a string").to_owned())
            .collect()
    };
    for part in strings("contains") {
        assert!(text.contains(&part), "{id}: {part:?} not in {text:?}");
    }
    for part in strings("not_contains") {
        assert!(!text.contains(&part), "{id}: {part:?} in {text:?}");
    }
    if let Some(end) = expected["ends_with"].as_str() {
        assert!(text.ends_with(end), "{id}: {text:?}");
    }
    let mut rest = text.as_str();
    for part in strings("order") {
        let at = rest
            .find(&part)
            .unwrap_or_else(|| panic!("{id}: {part:?} not in order in {text:?}"));
        rest = &rest[at + part.len()..];
    }
}
