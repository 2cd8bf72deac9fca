use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{json_fixture, jsonl_fixture, run, scratch_file, str};

/// One output to be read, and how.
struct Case {
    name: String,
    args: Vec<String>,
    /// Strings or arrays of byte values.
    pieces: Vec<Value>,
    expected: Value,
}

impl Case {
    fn new(name: &str, input: &Value, pieces: Vec<Value>, expected: Value) -> Case {
        let mut args = vec!["parse".to_owned()];
        if input["tools"].is_array() {
            let tools = scratch_file("tools.json", input["tools"].to_string());
            args.extend(["--tools".to_owned(), str(&tools).to_owned()]);
        }
        args.extend((input["thinking"] == true).then(|| "--thinking".to_owned()));
        for (flag, key) in [("--stop", "stop"), ("--tool-choice", "tool_choice")] {
            args.extend(input[key].as_str().into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
        }
        Case { name: name.to_owned(), args, pieces, expected }
    }

    fn bytes(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(piece_bytes).collect()
    }

    /// The message by `parse`, which must have the expected fields.
    fn whole(&self) -> Value {
        let message = run(&self.args, self.bytes()).json();
        for (key, expected) in self.expected.as_object().unwrap() {
            assert_eq!(message[key], *expected, "{}: {key}", self.name);
        }
        message
    }

    /// The message by `parse --stream` in these pieces.
    fn streamed(&self, pieces: &[Value]) -> Value {
        let lines: String = pieces.iter().map(|piece| format!("{piece}\n")).collect();
        let mut args = self.args.clone();
        args.push("--stream".to_owned());
        let deltas = run(&args, lines).ok();
        let deltas: Vec<Value> = deltas.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        add_up(&self.name, &deltas)
    }
}

fn piece_bytes(piece: &Value) -> Vec<u8> {
    match piece {
        Value::String(text) => text.as_bytes().to_vec(),
        bytes => serde_json::from_value(bytes.clone()).unwrap(),
    }
}

/// Adds deltas up to a message, and checks what holds for every stream.
fn add_up(name: &str, deltas: &[Value]) -> Value {
    let mut message = json!({ "reasoning_content": null, "content": null });
    let (mut calls, mut ids): (Vec<(String, String)>, HashSet<String>) = (Vec::new(), HashSet::new());
    assert_eq!(deltas[0], json!({ "role": "assistant" }), "{name}");
    for (at, delta) in deltas.iter().enumerate() {
        let (last, delta) = (at + 1 == deltas.len(), delta.as_object().unwrap());
        assert_eq!(delta.contains_key("finish_reason"), last, "{name}");
        assert_eq!(delta.contains_key("role"), at == 0, "{name}");
        for key in ["reasoning_content", "content"] {
            if let Some(text) = delta.get(key).and_then(Value::as_str) {
                let so_far = message[key].as_str().unwrap_or_default();
                message[key] = format!("{so_far}{text}").into();
            }
        }
        for part in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let index = part["index"].as_u64().unwrap() as usize;
            let arguments = part["function"]["arguments"].as_str().unwrap();
            match part["function"]["name"].as_str() {
                Some(tool) => {
                    assert_eq!((index, &part["type"]), (calls.len(), &json!("function")), "{name}");
                    assert!(ids.insert(part["id"].as_str().unwrap().to_owned()), "{name}");
                    calls.push((tool.to_owned(), arguments.to_owned()));
                }
                None => {
                    assert!(part.get("id").is_none() && part.get("type").is_none(), "{name}");
                    calls[index].1.push_str(arguments);
                }
            }
        }
        if last {
            message["finish_reason"] = delta["finish_reason"].clone();
            message["faults"] = delta["faults"].clone();
        }
    }
    let call = |(tool, json): &(String, String)| -> Value {
        let arguments: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{name}: {error}: {json}"));
        json!({ "name": tool, "arguments": arguments })
    };
    message["tool_calls"] = calls.iter().map(call).collect();
    message
}

/// The cases of `toolcalls.jsonl` that have an output to read.
fn toolcalls(kind: &str) -> Vec<Case> {
    let cases = jsonl_fixture("cases/toolcalls.jsonl");
    let cases = cases.iter().filter(|case| case["kind"] == kind && case["input"]["tools"].is_array());
    let case = |case: &Value| {
        let (name, input, expected) = (case["id"].as_str().unwrap(), &case["input"], &case["expected"]);
        match input["chunks"].as_array() {
            Some(chunks) => Case::new(name, input, chunks.clone(), expected["final"].clone()),
            None => Case::new(name, input, vec![input["text"].clone()], expected.clone()),
        }
    };
    cases.map(case).collect()
}

fn tool(name: &str, properties: &Value, required: &Value) -> Value {
    let parameters = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
}

fn reference() -> Vec<Case> {
    let reference = json_fixture("reference/tool-call-cases.json");
    let tools = reference["tools"].as_object().unwrap();
    let tools: Value = tools.iter().map(|(name, props)| tool(name, props, &reference["required"][name])).collect();
    let message = |case: &Value| {
        let input = json!({ "tools": tools, "thinking": case["prompt_opens_thinking"] });
        let mut expected = case["expected"].clone();
        let reasoning = expected.as_object_mut().unwrap().remove("reasoning").unwrap();
        expected["reasoning_content"] = reasoning;
        Case::new(case["name"].as_str().unwrap(), &input, vec![case["text"].clone()], expected)
    };
    let parameters = |case: &Value| {
        let body = case["body"].as_str().unwrap();
        let text = format!("<tool_call>\n<function=f>\n{body}</function>\n</tool_call>");
        let input = json!({ "tools": [tool("f", &case["properties"], &json!([]))] });
        let expected = json!({ "tool_calls": [{ "name": "f", "arguments": case["expected"] }], "content": null });
        Case::new(case["name"].as_str().unwrap(), &input, vec![text.into()], expected)
    };
    let messages = reference["messages"].as_array().unwrap().iter().map(message);
    messages.chain(reference["parameters"].as_array().unwrap().iter().map(parameters)).collect()
}

#[test]
fn outputs_are_read_as_stated() {
    let cases: Vec<Case> = toolcalls("parse").into_iter().chain(reference()).collect();
    assert_eq!(cases.len(), 73);
    for case in cases {
        case.whole();
    }
}

#[test]
fn streams_add_up_to_the_stated_messages() {
    let cases = toolcalls("stream");
    assert_eq!(cases.len(), 5);
    for case in cases {
        assert_eq!(case.streamed(&case.pieces), case.whole(), "{}", case.name);
    }
}

#[test]
fn single_bytes_add_up_to_the_same_message() {
    for case in toolcalls("parse").into_iter().chain(toolcalls("stream")) {
        let bytes: Vec<Value> = case.bytes().into_iter().map(|byte| json!([byte])).collect();
        assert_eq!(case.streamed(&bytes), case.whole(), "{}", case.name);
    }
}

#[test]
fn bytes_that_are_no_text_are_dropped_both_ways() {
    let case = Case::new("half", &json!({}), vec![json!("caf"), json!([0xC3]), json!([0xFF]), json!("e")], json!({}));
    assert_eq!(case.whole()["content"], "cafe");
    assert_eq!(case.streamed(&case.pieces), case.whole());
}
