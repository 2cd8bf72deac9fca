//! What may be written can be read: random walks through the grammars, and the handed schemas.

use botpsy_text::conversation::Conversation;
use botpsy_text::tool_call::constrain::{Allowed, AnswerFormat, CallRules, Constraint};
use botpsy_text::tool_call::{ParseOptions, Stop, Thinking, ToolChoice, parse};
use serde_json::{Value, json};

use crate::walker::{Habits, grammars, tokenizer, walk};

/// The handed cases about schemas.
fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/cases/toolcalls.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.filter(|case| case["kind"] == "schema").collect()
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, parameters: Value| json!({ "type": "function", "function": { "name": name, "parameters": parameters } });
    let optional: serde_json::Map<String, Value> =
        (0..40).map(|i| (format!("p{i}"), json!({ "type": "integer", "minimum": 0, "maximum": 99 }))).collect();
    vec![
        tool(
            "set.alarm",
            json!({ "type": "object", "properties": {
            "time": { "type": "string" }, "days": { "type": "array", "items": { "enum": ["mon", "tue"] }, "maxItems": 3 },
            "loud": { "type": "boolean" }, "snooze": { "type": ["integer", "null"] }, "tone": { "enum": ["a", "b b", 3, null] },
        }, "required": ["time", "tone"] }),
        ),
        tool(
            "set.alarms",
            json!({ "type": "object", "properties": {
            "where": { "$ref": "#/$defs/Place" }, "level": { "type": "number" },
        }, "required": ["where"], "$defs": { "Place": { "type": "object", "properties": {
            "name": { "type": "string", "maxLength": 8 }, "inside": { "$ref": "#/$defs/Place" },
        }, "required": ["name"], "additionalProperties": false } } }),
        ),
        tool("nothing", json!({ "type": "object", "properties": {} })),
        tool("forty", json!({ "type": "object", "properties": optional })),
    ]
}

/// Whether the arguments are what the schema allows, by hand.
fn check(name: &str, arguments: &serde_json::Map<String, Value>) {
    let is = |key: &str, fits: &dyn Fn(&Value) -> bool| {
        assert!(arguments.get(key).is_none_or(fits), "{name}: {key} in {arguments:?}");
    };
    match name {
        "set.alarm" => {
            assert!(arguments.contains_key("time") && arguments.contains_key("tone"), "{arguments:?}");
            is("time", &Value::is_string);
            is("days", &|days| {
                days.as_array()
                    .is_some_and(|days| days.len() <= 3 && days.iter().all(|day| day == "mon" || day == "tue"))
            });
            is("loud", &Value::is_boolean);
            is("snooze", &|snooze| snooze.is_null() || snooze.is_i64() || snooze.to_string().parse::<f64>().is_ok());
            is("tone", &|tone| [json!("a"), json!("b b"), json!(3), Value::Null].contains(tone));
        }
        "set.alarms" => {
            fn place(value: &Value) -> bool {
                let node = value.as_object();
                node.is_some_and(|node| {
                    let name = node.get("name").and_then(Value::as_str);
                    name.is_some_and(|name| name.chars().count() <= 8)
                        && node.get("inside").is_none_or(place)
                        && node.keys().all(|key| key == "name" || key == "inside")
                })
            }
            assert!(arguments.contains_key("where"));
            is("where", &place);
            is("level", &Value::is_number);
        }
        "nothing" => assert!(arguments.is_empty()),
        "forty" => {
            for (key, value) in arguments {
                assert!(key.starts_with('p') && value.as_u64().is_some_and(|n| n <= 99), "{key}: {value}");
            }
        }
        other => panic!("a call of {other}"),
    }
}

#[test]
fn every_call_that_may_be_written_is_read_as_one_whose_arguments_fit() {
    let tokenizer = tokenizer();
    let grammars = grammars(&tokenizer);
    let conversation = Conversation::from_json(&[], &tools()).unwrap();
    let rules = CallRules::new(&grammars, &conversation.tools).unwrap();
    assert_eq!(rules.dropped(), []);
    let habits = Habits::new(&tokenizer, "set.alarm", &["time".to_owned(), "where".to_owned(), "p1".to_owned()]);
    let (mut n_done, mut names) = (0, Vec::new());
    for seed in 0..250 {
        let choice = if seed % 4 == 0 { ToolChoice::Named("forty".to_owned()) } else { ToolChoice::Auto };
        let mut constraint = Constraint::new(&grammars, &rules, None, &choice, false, Thinking::Off);
        let walked = walk(&tokenizer, &mut constraint, "<tool_call>", &habits, seed).unwrap();
        let Some(text) = walked else { continue };
        let (tools, tool_choice) = (&conversation.tools[..], ToolChoice::Auto);
        let options = ParseOptions { tools, thinking: Thinking::Off, stop: Stop::Eos, tool_choice };
        let message = parse(&text, &options);
        assert_eq!(message.tool_calls.len(), 1, "{text:?}: {message:?}");
        assert_eq!(message.faults, [], "{text:?}");
        let call = &message.tool_calls[0];
        check(&call.name, &call.arguments);
        assert!(seed % 4 != 0 || call.name == "forty");
        names.push(call.name.clone());
        n_done += 1;
    }
    assert!(n_done > 200, "{n_done} walks came to an end");
    for name in ["set.alarm", "set.alarms", "nothing", "forty"] {
        assert!(names.iter().any(|other| other == name), "{name} was never called");
    }
}

#[test]
fn thought_is_free_and_what_must_come_after_it_does() {
    let tokenizer = tokenizer();
    let grammars = grammars(&tokenizer);
    let conversation = Conversation::from_json(&[], &tools()).unwrap();
    let rules = CallRules::new(&grammars, &conversation.tools).unwrap();
    let thought: Vec<u32> = tokenizer.encode("I <tool_call>\n<function=x").into_iter().map(|id| id.0).collect();
    for (choice, free) in [(ToolChoice::Auto, true), (ToolChoice::Required, false)] {
        let mut constraint = Constraint::new(&grammars, &rules, None, &choice, false, Thinking::On);
        for end in 0..thought.len() {
            match constraint.allowed(&thought[..end]) {
                Allowed::All => assert!(free),
                Allowed::NotEnd(_) => assert!(!free),
                other => panic!("{other:?} inside a thought"),
            }
        }
    }
}

#[test]
fn schemas_of_the_cases_compile_and_decide_as_they_say() {
    let tokenizer = tokenizer();
    let grammars = grammars(&tokenizer);
    let cases = cases();
    assert!(cases.len() >= 8);
    for case in cases {
        let (format, expected) = (AnswerFormat::JsonSchema(case["input"]["schema"].clone()), &case["expected"]);
        match (format.check(&grammars), expected["compile"].as_str().unwrap()) {
            (Ok(()), "ok" | "ok_or_error") => {
                let texts = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
                for text in texts("accept") {
                    assert!(format.accepts(&grammars, &tokenizer, text.as_str().unwrap()), "{}: {text}", case["id"]);
                }
                for text in texts("reject") {
                    assert!(!format.accepts(&grammars, &tokenizer, text.as_str().unwrap()), "{}: {text}", case["id"]);
                }
            }
            (Err(error), "error" | "ok_or_error") => {
                let message = error.to_string();
                let any = expected["error_contains_any"].as_array().cloned().unwrap_or_default();
                assert!(any.iter().any(|part| message.contains(part.as_str().unwrap())), "{}: {message}", case["id"]);
            }
            (found, wanted) => panic!("{}: {found:?}, not {wanted}", case["id"]),
        }
    }
}

#[test]
fn what_a_strict_tool_cannot_be_held_to_is_refused_by_its_path() {
    let tokenizer = tokenizer();
    let grammars = grammars(&tokenizer);
    let tool = |strict: bool| {
        let parameters = json!({ "type": "object", "properties": {
            "code": { "type": "string", "pattern": "^[a-z]+$" },
            "list": { "type": "array", "items": { "type": "string", "pattern": "(?<!x)y" } },
        } });
        let function = json!({ "name": "f", "parameters": parameters, "strict": strict });
        Conversation::from_json(&[], &[json!({ "type": "function", "function": function })]).unwrap().tools
    };
    let error = CallRules::new(&grammars, &tool(true)).unwrap_err();
    assert_eq!(error.field, "tools[0].function.parameters.properties.code.pattern");
    let rules = CallRules::new(&grammars, &tool(false)).unwrap();
    let paths: Vec<&str> = rules.dropped().iter().map(|dropped| dropped.path.as_str()).collect();
    assert_eq!(paths, ["properties.code.pattern", "properties.list.items.pattern"]);
}

/// What is not enforced of a parameter with this schema, by path.
fn dropped(schema: Value) -> Vec<String> {
    let grammars = grammars(&tokenizer());
    let parameters = json!({ "type": "object", "properties": { "p": schema }, "$defs": { "a/b": { "maxLength": 3 } } });
    let tool = json!({ "type": "function", "function": { "name": "f", "parameters": parameters } });
    let rules = CallRules::new(&grammars, &Conversation::from_json(&[], &[tool]).unwrap().tools).unwrap();
    rules.dropped().iter().map(|dropped| dropped.path.clone()).collect()
}

#[test]
fn what_is_not_enforced_is_told_by_its_own_path() {
    let list = json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true });
    for (schema, paths) in [
        (list, vec!["properties.p.uniqueItems"]),
        (
            json!({ "anyOf": [{ "type": "string", "maxLength": 5 }, { "type": "null" }] }),
            vec!["properties.p.anyOf.0.maxLength"],
        ),
        (json!({ "type": ["string", "integer"], "minimum": 5, "minItems": 2 }), vec!["properties.p.minimum"]),
        (json!({ "$ref": "#/$defs/a~1b" }), vec!["$defs.a/b.maxLength"]),
        (json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] }), vec!["properties.p.oneOf"]),
        (json!({ "oneOf": [{ "const": 1 }, { "type": "array" }] }), vec![]),
        (json!({ "type": "string", "enum": ["", " a", "two\nlines", "</function>", "1"] }), vec![]),
        (json!({ "type": "string", "enum": [1] }), vec!["properties.p"]),
        (json!({ "const": "x</parameter>\n<parameter=p>" }), vec!["properties.p.const"]),
        (json!({ "type": "object", "minProperties": 3 }), vec!["properties.p.minProperties"]),
        (json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 0.5 }), vec![]),
    ] {
        assert_eq!(dropped(schema.clone()), paths, "{schema}");
    }
}
