//! The handed cases, through HTTP. Those about schemas belong to constrained decoding.

use std::collections::HashSet;

use botpsy_chat::Script;
use botpsy_text::tokenizer::Utf8Stream;
use botpsy_text::tool_call::Stop;
use serde_json::{Value, json};

use crate::support::{Reply, Served, Told, agent, cases, options, reply, told_server, user};

/// What a case has a model write.
fn script(input: &Value) -> Script {
    let mut utf8 = Utf8Stream::new();
    let mut piece = |piece: &Value| match piece {
        Value::String(text) => utf8.push(text.as_bytes()),
        bytes => utf8.push(&serde_json::from_value::<Vec<u8>>(bytes.clone()).unwrap()),
    };
    let mut pieces: Vec<String> = match &input["text"] {
        Value::String(text) => text.split_inclusive([' ', '\n']).map(str::to_owned).collect(),
        _ => input["chunks"].as_array().unwrap().iter().map(&mut piece).collect(),
    };
    pieces.push(utf8.finish());
    Script { pieces, stop: if input["stop"] == "length" { Stop::Length } else { Stop::Eos } }
}

/// A request that reads what is written as the case has it.
fn request(input: &Value) -> Value {
    let mut body = json!({
        "messages": user("hi"),
        "tools": input["tools"],
        "chat_template_kwargs": { "enable_thinking": input["thinking"] == true },
    });
    if let Some(choice) = input.get("tool_choice") {
        body["tool_choice"] = choice.clone();
    }
    body
}

/// The reply's message as the cases write it.
fn message(reply: &Reply) -> Value {
    let reply = reply.ok();
    let choice = &reply["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls = calls.iter().map(|call| {
        assert!(call["id"].as_str().unwrap().starts_with("call_") && call["type"] == "function", "{call}");
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        json!({ "name": call["function"]["name"], "arguments": arguments })
    });
    json!({
        "reasoning_content": choice["message"]["reasoning_content"],
        "content": choice["message"]["content"],
        "tool_calls": calls.collect::<Vec<_>>(),
        "finish_reason": choice["finish_reason"],
    })
}

/// What the chunks of a stream add up to, with the laws of streams checked.
fn add_up(chunks: &[Value]) -> Value {
    let (mut texts, mut calls) = ([None, None], Vec::<(String, String)>::new());
    let (mut finish, mut ids) = (Value::Null, HashSet::new());
    for (i, chunk) in chunks.iter().enumerate() {
        assert_eq!((&chunk["id"], &chunk["object"]), (&chunks[0]["id"], &json!("chat.completion.chunk")));
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        assert_eq!(delta.get("role").is_some(), i == 0, "the role comes first and once: {chunk}");
        assert!(finish.is_null(), "a chunk after the finish reason: {chunk}");
        finish = choice["finish_reason"].clone();
        for (text, key) in texts.iter_mut().zip(["reasoning_content", "content"]) {
            if let Some(more) = delta[key].as_str().filter(|more| !more.is_empty()) {
                assert!(!more.contains('\u{fffd}'), "half a character: {more:?}");
                text.get_or_insert_with(String::new).push_str(more);
            }
        }
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = part["index"].as_u64().unwrap() as usize;
            let arguments = part["function"]["arguments"].as_str().unwrap();
            if let Some(name) = part["function"]["name"].as_str() {
                assert_eq!((index, &part["type"]), (calls.len(), &json!("function")), "calls in order");
                assert!(ids.insert(part["id"].as_str().unwrap().to_owned()), "an id of its own");
                calls.push((name.to_owned(), arguments.to_owned()));
            } else {
                assert!(index + 1 == calls.len() && part.get("id").is_none() && part.get("type").is_none(), "{part}");
                calls[index].1.push_str(arguments);
            }
        }
    }
    assert!(finish.is_string(), "the last chunk has the finish reason");
    let call = |(name, arguments): &(String, String)| json!({ "name": name, "arguments": serde_json::from_str::<Value>(arguments).unwrap() });
    let [reasoning, content] = texts;
    json!({
        "reasoning_content": reasoning,
        "content": content,
        "tool_calls": calls.iter().map(call).collect::<Vec<_>>(),
        "finish_reason": finish,
    })
}

/// The message of an answer, whole and in pieces, which must be equal.
fn answer(served: &Served, told: &Told, script: Script, mut body: Value) -> Value {
    told.tell(script);
    let whole = message(&served.chat(&body));
    body["stream"] = true.into();
    assert_eq!(add_up(&served.chat(&body).chunks()), whole);
    whole
}

#[test]
fn outputs_are_read_as_the_cases_have_it_whole_and_in_pieces() {
    let (served, told) = told_server(options());
    let (parse, stream) = (cases("parse"), cases("stream"));
    assert!(parse.len() >= 23 && stream.len() >= 7);
    for case in parse.iter().chain(stream.iter().filter(|case| case["expected"]["final"].is_object())) {
        let input = &case["input"];
        let found = answer(&served, &told, script(input), request(input));
        let expected = if case["kind"] == "parse" { &case["expected"] } else { &case["expected"]["final"] };
        for (key, expected) in expected.as_object().unwrap() {
            assert_eq!(&found[key], expected, "{}: {key}", case["id"]);
        }
    }
}

#[test]
fn event_streams_have_the_shape_of_the_cases() {
    let (served, told) = told_server(options());
    for case in cases("stream").iter().filter(|case| case["expected"]["sse"].is_object()) {
        let expected = &case["expected"]["sse"];
        let mut body = case["input"]["request"].clone();
        body["chat_template_kwargs"] = json!({ "enable_thinking": false });
        told.tell(script(&case["input"]));
        let chunks = served.chat(&body).chunks();
        let with_usage: Vec<usize> = (0..chunks.len()).filter(|i| chunks[*i]["usage"].is_object()).collect();
        assert_eq!(with_usage.len() as u64, expected["usage_chunks"].as_u64().unwrap(), "{}", case["id"]);
        assert!(chunks.iter().all(|chunk| chunk["created"] == chunks[0]["created"]));
        let of_answer = match with_usage.first() {
            Some(i) => {
                assert_eq!((*i, &chunks[*i]["choices"]), (chunks.len() - 1, &json!([])));
                for field in expected["usage_fields"].as_array().unwrap() {
                    assert!(chunks[*i]["usage"][field.as_str().unwrap()].is_u64());
                }
                &chunks[..*i]
            }
            None => &chunks[..],
        };
        assert_eq!(add_up(of_answer)["content"], "Hi!", "{}", case["id"]);
    }
}

#[test]
fn prompts_are_rendered_as_the_cases_have_it() {
    let (served, _) = told_server(options());
    let cases = cases("template");
    assert!(cases.len() >= 8);
    for case in cases {
        let (input, expected) = (&case["input"], &case["expected"]);
        let mut body = input.clone();
        // The template's own default, which the cases have in mind; the server's is to think.
        let kwargs = body["chat_template_kwargs"].as_object_mut().unwrap();
        kwargs.entry("enable_thinking").or_insert(false.into());
        let adds = body.as_object_mut().unwrap().shift_remove("add_generation_prompt");
        assert_ne!(adds, Some(Value::Bool(false)), "{}", case["id"]);
        let reply = served.post("/apply-template", &body).ok();
        let prompt = reply["prompt"].as_str().unwrap();
        let list = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
        for part in list("contains") {
            assert!(prompt.contains(part.as_str().unwrap()), "{}: {part} in {prompt}", case["id"]);
        }
        for part in list("not_contains") {
            assert!(!prompt.contains(part.as_str().unwrap()), "{}: {part} in {prompt}", case["id"]);
        }
        if let Some(end) = expected["ends_with"].as_str() {
            assert!(prompt.ends_with(end), "{}: {prompt}", case["id"]);
        }
        let mut rest = prompt;
        for part in list("order") {
            let at = rest.find(part.as_str().unwrap()).unwrap_or_else(|| panic!("{}: {part}", case["id"]));
            rest = &rest[at..];
        }
    }
}

#[test]
fn requests_are_taken_or_refused_as_the_cases_have_it() {
    let (served, _) = told_server(options());
    let cases = cases("request");
    assert!(cases.len() >= 13);
    for case in cases {
        let (input, expected) = (&case["input"], &case["expected"]);
        let id = case["id"].as_str().unwrap();
        // The one case about a small context stands in `chat`, with a model behind it.
        if input["server"].is_object() || case["server"].is_object() {
            assert_eq!(expected["error"]["code"], "context_length_exceeded", "{id}");
            continue;
        }
        let url = served.url(input["path"].as_str().unwrap());
        let reply = match input["method"].as_str().unwrap() {
            "OPTIONS" => {
                let mut request = agent().options(url);
                for (name, value) in input["headers"].as_object().unwrap() {
                    request = request.header(name, value.as_str().unwrap());
                }
                reply(request.call())
            }
            _ => served.post(input["path"].as_str().unwrap(), &input["body"]),
        };
        let allowed = match &expected["status_any"] {
            Value::Array(any) => any.clone(),
            _ => vec![expected["status"].clone()],
        };
        assert!(allowed.contains(&reply.status.into()), "{id}: {} {}", reply.status, reply.body);
        for name in expected["headers"].as_array().into_iter().flatten() {
            assert!(reply.header(name.as_str().unwrap()).is_some(), "{id}: {name}");
        }
        if let Some(fields) = expected["error"].as_object() {
            let error = reply.error(reply.status);
            for (key, value) in fields.iter().filter(|(key, _)| *key != "message_contains_any") {
                assert_eq!(error[key], *value, "{id}: {key}");
            }
            let message = error["message"].as_str().unwrap();
            let any = fields.get("message_contains_any").and_then(Value::as_array);
            let has = |part: &Value| message.contains(part.as_str().unwrap());
            assert!(any.is_none_or(|any| any.iter().any(has)), "{id}: {message}");
        }
    }
}
