//! A long conversation reads only what is new.

use std::time::{Duration, Instant};

use botpsy_chat::LoadOptions;
use serde_json::{Value, json};

use crate::support::{Served, model, options, serve, user, with_template};

/// Tools whose descriptions take some 2,600 tokens.
fn tools() -> Value {
    let tool = |i: usize| {
        json!({ "type": "function", "function": { "name": format!("tool_{i}"),
            "description": format!("Number {i}: does what tools of this kind do, when the user asks for it and not before. ").repeat(3),
            "parameters": { "type": "object", "properties": { "text": { "type": "string" }, "n": { "type": "integer" } },
                "required": ["text"] } } })
    };
    (0..14).map(tool).collect()
}

fn ahead(served: &Served) -> u64 {
    let metrics = served.get("/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("botpsy_prompt_tokens_ahead_total "));
    line.unwrap().parse().unwrap()
}

#[test]
fn twenty_turns_with_tool_steps_read_at_most_what_came_after_the_last_user_message() {
    let load = LoadOptions { context: Some(8192), cache_bytes: Some(256 << 20), ..with_template() };
    let served = serve(options(), || model(load).into());
    served.wait();
    let tools = tools();
    let count = |messages: &[Value]| {
        let reply = served.post("/apply-template", &json!({ "messages": messages, "tools": tools })).ok();
        reply["count"].as_u64().unwrap()
    };
    let mut messages: Vec<Value> = Vec::new();
    // Tokens up to the end of the last user message that was answered.
    let mut answered = 0;
    let mut n_requests = 0;
    for turn in 0..20 {
        let text = format!("Turn {turn}: go on, please.");
        let new_message = count(user(&text).as_array().unwrap()) - count(user("").as_array().unwrap());
        messages.push(json!({ "role": "user", "content": text }));
        let steps = if turn % 4 == 1 { 3 } else { 0 };
        for step in 0..=steps {
            let idle = turn % 2 == 0 && turn > 0 && step == 0;
            if idle {
                let (asked, mut before) = (Instant::now(), u64::MAX);
                // Until nothing more is read.
                while before != ahead(&served) && asked.elapsed() < Duration::from_secs(60) {
                    before = ahead(&served);
                    std::thread::sleep(Duration::from_millis(400));
                }
            }
            let choice = if step < steps { "required" } else { "none" };
            let body = json!({ "messages": messages, "tools": tools, "tool_choice": choice, "max_tokens": if step < steps { 120 } else { 24 }, "thinking_budget": 6,
                "parallel_tool_calls": false });
            let reply = served.chat(&body).ok();
            n_requests += 1;
            let usage = &reply["usage"];
            let prompt = usage["prompt_tokens"].as_u64().unwrap();
            let read = prompt - usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
            assert_eq!(prompt, count(&messages), "turn {turn}: the prompt is the template's");
            if answered > 0 {
                assert!(
                    read <= prompt - answered + 64,
                    "turn {turn}, step {step}: {read} of {prompt}, {answered} were answered"
                );
            }
            if idle {
                assert!(read <= new_message + 64, "turn {turn} after a pause: {read}, the message has {new_message}");
            }
            if step == 0 {
                answered = prompt;
            }
            let message = reply["choices"][0]["message"].clone();
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            messages.push(message);
            for call in &calls {
                messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "done" }));
            }
            if calls.is_empty() {
                break;
            }
        }
        if messages.last().unwrap()["role"] == "tool" {
            messages.push(json!({ "role": "assistant", "content": "done" }));
        }
    }
    let n_results = messages.iter().filter(|message| message["role"] == "tool").count();
    assert!(n_requests >= 25 && n_results >= 5, "{n_requests} requests, {n_results} results of tools");
}
