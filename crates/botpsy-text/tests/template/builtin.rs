use botpsy_text::template::{Template, TemplateError, render_request};
use serde_json::Value;

use crate::{fixture, json_fixture};

#[test]
fn the_reference_renderings_are_equal() {
    let fixture = json_fixture("reference/chat-renderings.json");
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 36);
    for case in cases {
        assert_eq!(render_request(case, &Template::Qwen35), reference_result(case), "{}", case["name"]);
    }
}

#[test]
fn the_template_cases_hold() {
    check_template_cases(&Template::Qwen35);
}

/// What a case says that a template prints, or refuses with.
pub(crate) fn reference_result(case: &Value) -> Result<String, TemplateError> {
    match &case["error"] {
        Value::String(error) => Err(TemplateError::Refused(error.clone())),
        _ => Ok(case["expected"].as_str().expect("a text or an error").to_owned()),
    }
}

pub(crate) fn check_template_cases(template: &Template) {
    let cases = fixture("cases/toolcalls.jsonl");
    let cases = cases.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case in JSON"));
    let mut n_cases = 0;
    for case in cases.filter(|case| case["kind"] == "template") {
        check_case(&case, render_request(&case["input"], template));
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
        list.iter().map(|item| item.as_str().expect("a string").to_owned()).collect()
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
        let at = rest.find(&part).unwrap_or_else(|| panic!("{id}: {part:?} not in order in {text:?}"));
        rest = &rest[at + part.len()..];
    }
}
