//! What holds whatever a model writes: with the embedded one, and with the same file of random weights.

use botpsy_chat::{ChatModel, LoadOptions, ModelSource};
use botpsy_server::Options;
use botpsy_text::template::Template;
use serde_json::{Value, json};

use crate::chat::{add_up, parts};
use crate::random_model::with_random_weights;
use crate::support::{Served, model, options, serve, user};

fn load_options() -> LoadOptions {
    let template = Some(Template::Qwen35);
    LoadOptions { threads: Some(1), template, parallel: 4, cache_bytes: Some(64 << 20), ..LoadOptions::default() }
}

/// A server of its own for the embedded model, or for random weights.
fn server(seed: Option<u64>) -> Served {
    let load = move || match seed {
        None => model(load_options()),
        Some(seed) => {
            let source = ModelSource::Embedded(with_random_weights(seed).leak(), "random");
            ChatModel::load(&source, &load_options()).unwrap()
        }
    };
    let served = serve(Options { parallel: 4, max_waiting: 64, ..options() }, move || load().into());
    served.wait();
    served
}

const MODELS: [Option<u64>; 3] = [None, Some(1), Some(2)];

/// Requests of every kind, with a fixed seed each.
fn requests() -> Vec<Value> {
    let tool = |name: &str, properties: Value, required: Value| {
        json!({ "type": "function", "function": { "name": name, "description": "Does it.", "parameters":
            { "type": "object", "properties": properties, "required": required } } })
    };
    let tools = json!([
        tool("set_alarm", json!({ "time": { "type": "string" }, "loud": { "type": "boolean" } }), json!(["time"])),
        tool(
            "add_items",
            json!({ "items": { "type": "array", "items": { "type": "string" }, "maxItems": 3 },
                "list": { "enum": ["shop", "work"] }, "n": { "type": "integer", "minimum": 1, "maximum": 9 } }),
            json!(["items", "n"])
        ),
    ]);
    let schema = json!({ "type": "object", "properties": { "city": { "enum": ["Oslo", "Rome"] } }, "required": ["city"],
        "additionalProperties": false });
    let schema = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
    let kinds = [
        json!({}),
        json!({ "chat_template_kwargs": { "enable_thinking": false }, "logprobs": true, "top_logprobs": 2 }),
        json!({ "stop": ["e", "qu"], "presence_penalty": 1.5 }),
        json!({ "tools": tools }),
        json!({ "tools": tools, "tool_choice": "required" }),
        json!({ "tools": tools, "tool_choice": { "type": "function", "function": { "name": "add_items" } } }),
        json!({ "response_format": { "type": "json_object" } }),
        json!({ "response_format": schema }),
    ];
    let request = |(i, kind): (usize, &Value)| {
        let mut body = json!({ "messages": user(&format!("Number {i}: wake me at seven and buy milk.")), "seed": i,
            "temperature": 1.0, "max_tokens": 70, "thinking_budget": 9 });
        body.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        body
    };
    kinds.iter().chain(&kinds).enumerate().map(request).collect()
}

#[test]
fn deltas_add_up_and_what_is_cached_or_made_beside_others_is_the_same() {
    for model in MODELS {
        let served = server(model);
        let first: Vec<Value> = requests().iter().map(|body| parts(&served.chat(body).ok())).collect();
        for (mut body, first) in requests().into_iter().zip(&first) {
            let again = served.chat(&body).ok();
            assert!(again["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap() > 0, "{body}");
            assert_eq!(parts(&again), *first, "{model:?}, cached: {body}");
            body["stream"] = true.into();
            assert_eq!(add_up(&served.chat(&body).chunks()), *first, "{model:?}, streamed: {body}");
        }
        let together: Vec<Value> = std::thread::scope(|scope| {
            let ask = |body| scope.spawn(|| parts(&served.chat(&{ body }).ok()));
            let asked: Vec<_> = requests().into_iter().map(ask).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        assert_eq!(together, first, "{model:?}, together");
    }
}

#[test]
fn turns_that_go_on_from_what_is_known_equal_those_that_are_read_from_the_beginning() {
    for model in MODELS {
        let served = server(model);
        let mut bodies = Vec::new();
        let mut messages = user("Hello, who are you?").as_array().unwrap().clone();
        for turn in 0..4 {
            let body = json!({ "messages": messages, "seed": turn, "temperature": 1.0, "max_tokens": 40, "thinking_budget": 9,
                "logprobs": true });
            let reply = served.chat(&body).ok();
            let cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
            assert!(cached > 0 || turn == 0, "{model:?}, turn {turn}");
            messages.push(reply["choices"][0]["message"].clone());
            messages.push(json!({ "role": "user", "content": format!("And then, at turn {turn}?") }));
            bodies.push((body, reply["choices"].clone()));
        }
        for (body, known) in bodies {
            let fresh = server(model).chat(&body).ok();
            assert_eq!(fresh["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
            assert_eq!(fresh["choices"], known, "{model:?}: {body}");
        }
    }
}
