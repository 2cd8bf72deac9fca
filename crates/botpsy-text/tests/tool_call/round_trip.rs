//! What is rendered can be read.

use botpsy_text::conversation::ToolCall;
use botpsy_text::template::{Template, render_request};
use botpsy_text::tool_call::{
    CALL_CLOSE, CALL_OPEN, FUNCTION_CLOSE, FUNCTION_OPEN, FinishReason, PARAMETER_CLOSE, PARAMETER_OPEN, Stop,
    THINK_CLOSE, Thinking, render,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use crate::support::{Case, tool_of};

/// Names as schemas have them: no brackets, no line ends, and no white space or quotes around them.
fn name() -> impl Strategy<Value = String> {
    "[a-zA-Zé_]([a-zA-Z0-9_.é -]{0,12}[a-zA-Z0-9_])?"
}

/// Texts with anything in them but a closer that the rules would take for the value's own, or an opener of a known
/// parameter or of a call with parameters.
fn text() -> impl Strategy<Value = String> {
    let tag = prop_oneof![
        Just(CALL_OPEN.to_owned()),
        Just(CALL_CLOSE.to_owned()),
        Just(FUNCTION_OPEN.to_owned()),
        Just(FUNCTION_CLOSE.to_owned()),
        Just(format!("{PARAMETER_CLOSE} and")),
        Just(format!("a {PARAMETER_OPEN}x>")),
        Just(THINK_CLOSE.to_owned()),
        Just("</".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just(" ".to_owned()),
    ];
    let part = prop_oneof![4 => "\\PC{0,12}", 3 => tag];
    vec(part, 0..6).prop_map(|parts| parts.concat()).prop_filter("reads as the value's end", |text| {
        let white = |text: &str| text.trim_start().is_empty();
        let unfit = |at: usize| {
            let rest = &text[at + PARAMETER_CLOSE.len()..];
            white(rest) || [CALL_OPEN, "</"].iter().any(|tag| rest.trim_start().starts_with(tag))
        };
        // A value that starts or ends in a lone CR may not be told from a line end of CRLF.
        let line_ends = !text.starts_with("\r\n");
        line_ends && !text.match_indices(PARAMETER_CLOSE).any(|(at, _)| unfit(at))
    })
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_filter_map("finite", |number| Number::from_f64(number).map(Value::Number)),
        "\\PC{0,10}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            btree_map("\\PC{0,6}", inner, 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A schema and a value that it allows.
fn typed() -> impl Strategy<Value = (Value, Value)> {
    let digits = "-?[1-9][0-9]{0,30}".prop_map(|digits| serde_json::from_str::<Value>(&digits).unwrap());
    prop_oneof![
        text().prop_map(|text| (json!({"type": "string"}), json!(text))),
        text().prop_map(|text| (json!({}), json!(text))),
        digits.prop_map(|number| (json!({"type": "integer"}), number)),
        any::<f64>()
            .prop_filter("has a fraction", |number| number.fract() != 0.0 && number.is_finite())
            .prop_map(|number| (json!({"type": "number"}), json!(number))),
        any::<bool>().prop_map(|flag| (json!({"type": ["boolean", "null"]}), json!(flag))),
        Just((json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!(null))),
        vec(json_value(), 0..4).prop_map(|items| (json!({"type": "array"}), json!(items))),
        btree_map("\\PC{0,6}", json_value(), 0..4)
            .prop_map(|members| (json!({"type": ["object", "string"]}), json!(members))),
    ]
}

fn call() -> impl Strategy<Value = (Value, ToolCall)> {
    (name(), btree_map(name(), typed(), 0..5)).prop_map(|(name, parameters)| {
        let mut properties = Map::new();
        let mut arguments = Map::new();
        for (name, (schema, value)) in parameters {
            properties.insert(name.clone(), schema);
            arguments.insert(name, value);
        }
        (Value::Object(properties), ToolCall { name, arguments })
    })
}

/// Numbers in lists and objects are written the Python way, so their texts may differ.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn rendered_calls_are_read_back(calls in vec(call(), 1..4), content in "[a-z]{0,8}") {
        // One tool per name: of two with the same name the last counts.
        let mut calls = calls;
        calls.dedup_by(|a, b| a.1.name == b.1.name);
        calls.sort_by(|a, b| a.1.name.cmp(&b.1.name));
        calls.dedup_by(|a, b| a.1.name == b.1.name);
        let tools = calls.iter().map(|(properties, call)| tool_of(&call.name, properties, &json!([]))).collect();
        let rendered: Vec<String> = calls.iter().map(|(_, call)| render(call)).collect();
        let text = format!("{content}\n\n{}", rendered.join("\n"));
        let case = Case::new("rendered", tools, Thinking::Off, Stop::Eos, &text);
        let message = case.parse();
        prop_assert_eq!(&message.faults, &[], "{}", text);
        prop_assert_eq!(message.finish_reason, FinishReason::ToolCalls);
        prop_assert_eq!(message.content.unwrap_or_default(), content);
        prop_assert_eq!(message.tool_calls.len(), calls.len());
        for (read, (_, written)) in message.tool_calls.iter().zip(&calls) {
            prop_assert_eq!(&read.name, &written.name);
            let (read, written) = (json!(read.arguments), json!(written.arguments));
            prop_assert!(same(&read, &written), "read {}, written {}, in {}", read, written, text);
        }
        prop_assert_eq!(&case.with_stop(Stop::Length).parse().tool_calls.len(), &calls.len());
    }
}

#[test]
fn the_template_prints_calls_as_they_are_rendered() {
    let arguments = json!({
        "text": " a\n</parameter> <b> ", "flag": true, "none": null, "small": 1e-7, "whole": 2.0,
        "list": [1, 2.5, "é", {"k": null}], "object": {}, "number": 12345678901234567890_u64,
    });
    let function = json!({"name": "tool", "arguments": arguments});
    let request = json!({"messages": [
        {"role": "user", "content": "do"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]},
    ]});
    let Value::Object(arguments) = arguments else { unreachable!() };
    let rendered = render(&ToolCall { name: "tool".to_owned(), arguments });
    let prompt = render_request(&request, &Template::Qwen35).unwrap();
    assert!(prompt.contains(&format!("\n\n{rendered}<|im_end|>")), "{prompt}");
}
