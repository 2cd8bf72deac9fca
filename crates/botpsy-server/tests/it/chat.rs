//! Conversations with the small model behind them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use botpsy_chat::LoadOptions;
use serde_json::{Value, json};

use crate::support::{Served, model, model_server, options, serve, user, with_template};

fn tools() -> Value {
    json!([{ "type": "function", "function": {
        "name": "create_event",
        "description": "Creates a calendar event",
        "parameters": {
            "type": "object",
            "properties": { "title": { "type": "string" }, "day": { "type": "string" }, "time": { "type": "string" } },
            "required": ["title", "day", "time"],
        },
    } }])
}

/// A request with tools whose answer is drawn.
fn request(seed: u64) -> Value {
    json!({ "messages": user("Put lunch with Ana on Friday at noon"), "tools": tools(), "seed": seed, "temperature": 1.0,
        "max_tokens": 160 })
}

/// Reasoning, content, calls and finish reason of a stream, calls without their ids.
pub(crate) fn add_up(chunks: &[Value]) -> Value {
    let (mut reasoning, mut content, mut calls) = (String::new(), String::new(), Vec::<(String, String)>::new());
    let mut finish = Value::Null;
    for choice in chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap()) {
        let delta = &choice["delta"];
        reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        content.push_str(delta["content"].as_str().unwrap_or_default());
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            if let Some(name) = part["function"]["name"].as_str() {
                calls.push((name.to_owned(), String::new()));
            }
            calls.last_mut().unwrap().1.push_str(part["function"]["arguments"].as_str().unwrap());
        }
        finish = choice["finish_reason"].clone();
    }
    json!([reasoning, content, calls, finish])
}

/// The same of a whole answer.
pub(crate) fn parts(reply: &Value) -> Value {
    let choice = &reply["choices"][0];
    let text = |key: &str| choice["message"][key].as_str().unwrap_or_default().to_owned();
    let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls = calls.iter().map(|call| json!([call["function"]["name"], call["function"]["arguments"]]));
    json!([text("reasoning_content"), text("content"), calls.collect::<Vec<_>>(), choice["finish_reason"]])
}

#[test]
fn streamed_equals_unstreamed_and_equal_seeds_give_equal_answers() {
    let served = model_server();
    for seed in 0..6 {
        let mut body = request(seed);
        let whole = parts(&served.chat(&body).ok());
        assert_eq!(parts(&served.chat(&body).ok()), whole, "seed {seed}");
        body["stream"] = true.into();
        assert_eq!(add_up(&served.chat(&body).chunks()), whole, "seed {seed}");
    }
}

#[test]
fn a_call_comes_as_openai_has_it() {
    let served = model_server();
    let reply = served.chat(&json!({ "model": "qvac/BotPsy-0.8B", "messages": user("Wake me up at 7 am"),
        "tools": [{ "type": "function", "function": { "name": "set_alarm", "description": "Sets an alarm",
            "parameters": { "type": "object", "properties": { "time": { "type": "string" } }, "required": ["time"] } } }] }));
    let reply = reply.ok();
    assert_eq!((&reply["object"], &reply["model"]), (&json!("chat.completion"), &json!("qvac/BotPsy-0.8B")));
    let choice = &reply["choices"][0];
    assert_eq!((&choice["finish_reason"], &choice["logprobs"]), (&json!("tool_calls"), &Value::Null));
    let message = &choice["message"];
    assert_eq!((&message["role"], &message["content"]), (&json!("assistant"), &Value::Null));
    assert!(message["reasoning_content"].is_string());
    let call = &message["tool_calls"][0];
    assert_eq!((&call["type"], &call["function"]["name"]), (&json!("function"), &json!("set_alarm")));
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments["time"].is_string());
    let usage = &reply["usage"];
    let count = |key: &str| usage[key].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    let reasoning = usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
    assert!(0 < reasoning && reasoning < count("completion_tokens"));
    let timings = &reply["timings"];
    assert_eq!(timings["predicted_n"], usage["completion_tokens"]);
    assert_eq!(timings["prompt_n"].as_u64().unwrap() + timings["cache_n"].as_u64().unwrap(), count("prompt_tokens"));
}

#[test]
fn the_next_turn_reads_only_what_is_new() {
    let served = model_server();
    let cached = |reply: &Value| reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    let first = json!({ "messages": user("Hello"), "tools": tools(), "max_tokens": 40 });
    let reply = served.chat(&first).ok();
    assert_eq!(cached(&reply), 0);
    let prompt = served.post("/apply-template", &first).ok()["count"].as_u64().unwrap();
    assert_eq!(reply["usage"]["prompt_tokens"], prompt);
    let mut messages = user("Hello").as_array().unwrap().clone();
    messages.push(reply["choices"][0]["message"].clone());
    messages.push(json!({ "role": "user", "content": "And now?" }));
    let second = served.chat(&json!({ "messages": messages, "tools": tools(), "max_tokens": 8 })).ok();
    // All but the opening of the answer, which stands differently once it has been given.
    assert!(cached(&second) >= prompt - 8, "{} of {prompt}", cached(&second));
}

#[test]
fn while_nobody_asks_the_next_turn_is_read() {
    let served = serve(options(), || model(with_template()).into());
    served.wait();
    let ahead = || {
        let metrics = served.get("/metrics").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix("botpsy_prompt_tokens_ahead_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let (mut messages, mut seen) = (user("Hello there").as_array().unwrap().clone(), 0);
    for turn in 0..3 {
        let body = json!({ "messages": messages, "tools": tools(), "max_tokens": 60 });
        let reply = served.chat(&body).ok();
        let usage = &reply["usage"];
        let (prompt, cached) = (&usage["prompt_tokens"], &usage["prompt_tokens_details"]["cached_tokens"]);
        let message = &reply["choices"][0]["message"];
        if turn > 0 {
            // New are the next message and the opening of the answer.
            let new = prompt.as_u64().unwrap() - cached.as_u64().unwrap();
            assert!(new < 25, "{new} tokens of turn {turn}");
        }
        messages.push(message.clone());
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        match calls.first() {
            Some(call) => messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "done" })),
            None => messages.push(json!({ "role": "user", "content": "And now?" })),
        }
        let asked = Instant::now();
        while ahead() == seen {
            assert!(asked.elapsed() < Duration::from_secs(60), "nothing was read ahead");
            std::thread::sleep(Duration::from_millis(5));
        }
        seen = ahead();
    }
}

#[test]
fn several_answers_differ_as_their_numbers_do() {
    let served = model_server();
    let mut body = request(3);
    body["n"] = 3.into();
    body["temperature"] = json!(1.5);
    let reply = served.chat(&body).ok();
    let choices = reply["choices"].as_array().unwrap();
    assert_eq!(choices.iter().map(|choice| choice["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(choices[0]["message"] != choices[1]["message"] || choices[1]["message"] != choices[2]["message"]);
    body["n"] = 1.into();
    let alone = served.chat(&body).ok();
    assert_eq!(alone["choices"][0]["message"]["reasoning_content"], choices[0]["message"]["reasoning_content"]);
    body["n"] = 2.into();
    body["stream"] = true.into();
    let chunks = served.chat(&body).chunks();
    let of =
        |index: u64| chunks.iter().filter(|chunk| chunk["choices"][0]["index"] == index).cloned().collect::<Vec<_>>();
    assert_eq!(add_up(&of(0)), parts(&alone));
    assert_eq!(of(0).len() + of(1).len(), chunks.len());
}

#[test]
fn log_probabilities_are_of_each_token_and_best_first() {
    let served = model_server();
    let mut body = json!({ "messages": user("Hello"), "max_tokens": 24, "logprobs": true, "top_logprobs": 3,
        "return_token_ids": true, "temperature": 0, "presence_penalty": 0 });
    let reply = served.chat(&body).ok();
    let choice = &reply["choices"][0];
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    assert_eq!(tokens.len(), choice["token_ids"].as_array().unwrap().len());
    assert_eq!(
        reply["prompt_token_ids"].as_array().unwrap().len() as u64,
        reply["usage"]["prompt_tokens"].as_u64().unwrap()
    );
    for token in tokens {
        let top = token["top_logprobs"].as_array().unwrap();
        let at = |i: usize| top[i]["logprob"].as_f64().unwrap();
        assert!(top.len() == 3 && at(0) >= at(1) && at(1) >= at(2) && at(0) <= 0.0);
        assert_eq!(token["logprob"], top[0]["logprob"], "the best is taken at temperature 0");
    }
    body["stream"] = true.into();
    let chunks = served.chat(&body).chunks();
    let streamed = chunks.iter().flat_map(|chunk| chunk["choices"][0]["logprobs"]["content"].as_array().cloned());
    assert_eq!(streamed.flatten().collect::<Vec<_>>(), *tokens);
}

#[test]
fn stop_strings_limits_and_budgets_hold() {
    let served = model_server();
    let cut = served.chat(&json!({ "messages": user("Hello"), "max_completion_tokens": 5 })).ok();
    assert_eq!(
        (&cut["choices"][0]["finish_reason"], &cut["usage"]["completion_tokens"]),
        (&json!("length"), &json!(5))
    );
    assert!(cut["notices"].as_array().unwrap().iter().any(|notice| notice.as_str().unwrap().contains("cut after 5")));
    let budget = served.chat(&json!({ "messages": user("Hello"), "thinking_budget": 4, "max_tokens": 100 })).ok();
    let reasoning = budget["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
    assert!(reasoning <= 4 + 4, "{reasoning} with the closer");
    for off in [
        json!({ "thinking_budget": 0 }),
        json!({ "reasoning_effort": "none" }),
        json!({ "reasoning_effort": "none", "chat_template_kwargs": { "enable_thinking": true } }),
        json!({ "chat_template_kwargs": { "enable_thinking": false } }),
    ] {
        let mut body = json!({ "messages": user("Hello"), "max_tokens": 12 });
        body.as_object_mut().unwrap().extend(off.as_object().unwrap().clone());
        let reply = served.chat(&body).ok();
        assert!(reply["choices"][0]["message"].get("reasoning_content").is_none(), "{off}: {reply}");
    }
}

#[test]
fn an_answer_that_was_begun_is_gone_on_with() {
    let served = serve(options(), || model(with_template()).into());
    served.wait();
    let mut messages = user("Count to four").as_array().unwrap().clone();
    messages.push(json!({ "role": "assistant", "content": "one, two," }));
    let body = json!({ "messages": messages, "max_tokens": 6, "temperature": 0 });
    let prompt = served.post("/apply-template", &body).ok();
    assert!(prompt["prompt"].as_str().unwrap().ends_with("</think>\n\none, two,"), "{prompt}");
    let reply = served.chat(&body).ok();
    assert!(reply["choices"][0]["message"].get("reasoning_content").is_none());
    let mut opened = body.clone();
    opened["continue_final_message"] = false.into();
    let prompt = served.post("/apply-template", &opened).ok();
    assert!(prompt["prompt"].as_str().unwrap().ends_with("one, two,<|im_end|>\n<|im_start|>assistant\n<think>\n"));
    opened["continue_final_message"] = true.into();
    opened["messages"] = user("hi");
    assert_eq!(served.chat(&opened).error(400)["param"], "messages[0]");
    let mut thought = body;
    thought["messages"][1]["reasoning_content"] = "They want numbers.".into();
    assert_eq!(served.chat(&thought).error(400)["param"], "messages[1]");
}

#[test]
fn what_an_answer_began_with_is_neither_repeated_nor_read_again() {
    let served = model_server();
    let ask = |begun: &str, more: Value| {
        let mut body = json!({ "messages": [user("Wake me at 7")[0], { "role": "assistant", "content": begun }],
            "max_tokens": 6, "temperature": 0, "return_token_ids": true });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        served.chat(&body)
    };
    let text = |ids: &Value| served.post("/detokenize", &json!({ "tokens": ids })).ok()["content"].clone();
    for begun in ["a <", "I see it", "Sure. </thi", "Hello  "] {
        let reply = ask(begun, json!({ "tool_choice": "none" })).ok();
        let choice = &reply["choices"][0];
        let content = choice["message"]["content"].as_str().unwrap_or_default();
        assert!(text(&choice["token_ids"]).as_str().unwrap().trim_end().starts_with(content.trim_end()), "{reply}");
    }
    // A stop string that stands in what was begun ends nothing.
    let reply = ask("Sure", json!({ "stop": "ur" })).ok();
    assert_eq!(reply["usage"]["completion_tokens"], 6, "{reply}");
    for begun in ["<tool_call>\n<function=a>", "<think>\nhm"] {
        assert_eq!(ask(begun, json!({})).error(400)["param"], "messages[1]");
    }
    assert_eq!(
        ask("{\"a\":", json!({ "response_format": { "type": "json_object" } })).error(400)["param"],
        "messages[1]"
    );
    // Nothing was begun: the thought is as if the message was not there.
    let reply = ask(" ", json!({ "chat_template_kwargs": { "enable_thinking": false } })).ok();
    assert!(reply["choices"][0]["message"].get("reasoning_content").is_none(), "{reply}");
}

#[test]
fn the_last_piece_of_a_stream_has_the_ids_that_the_whole_answer_has() {
    let served = model_server();
    let mut body = json!({ "messages": user("Wake me at 7"), "n": 2, "max_tokens": 12, "return_token_ids": true });
    let whole = served.chat(&body).ok();
    body["stream"] = true.into();
    let chunks = served.chat(&body).chunks();
    let last: Vec<&Value> = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).collect();
    assert_eq!(last.len(), 2);
    for (chunk, choice) in last.iter().zip(whole["choices"].as_array().unwrap()) {
        assert_eq!(chunk["choices"][0]["token_ids"], choice["token_ids"]);
        assert_eq!(chunk["prompt_token_ids"], whole["prompt_token_ids"]);
    }
}

#[test]
fn a_prompt_that_fills_the_context_is_refused_with_both_numbers() {
    let served = serve(options(), || model(LoadOptions { context: Some(256), ..LoadOptions::default() }).into());
    served.wait();
    for stream in [false, true] {
        let text = "one two three ".repeat(600);
        let error = served.chat(&json!({ "messages": user(&text), "stream": stream })).error(400);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("invalid_request_error"), &json!("context_length_exceeded"))
        );
        let message = error["message"].as_str().unwrap();
        let numbers = message.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
        assert!(numbers.clone().any(|n| n == 256) && numbers.clone().any(|n| n > 600), "{message}");
    }
    assert_eq!(served.chat(&json!({ "messages": user("hi"), "max_tokens": 4 })).status, 200);
}

/// What a client sees that goes away in the middle of a stream.
fn leave_early(served: &Served, body: &Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        served.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut some = [0; 512];
    assert!(stream.read(&mut some).unwrap() > 0);
}

#[test]
fn a_client_that_goes_away_frees_its_place() {
    let served = model_server();
    // Bans every end: without the client it would fill the context.
    let eos = served.post("/tokenize", &json!({ "content": "<|im_end|><|endoftext|></think>" })).ok();
    let bias: serde_json::Map<String, Value> =
        eos["tokens"].as_array().unwrap().iter().map(|id| (id.to_string(), json!(-100.0))).collect();
    let body = json!({ "messages": user("Hello"), "stream": true, "logit_bias": bias, "thinking_budget": -1,
        "max_tokens": 30_000 });
    for _ in 0..3 {
        leave_early(&served, &body);
    }
    let asked = Instant::now();
    while served.get("/slots").ok()[0]["is_processing"] == true {
        assert!(asked.elapsed() < Duration::from_secs(60), "the place was not freed");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(served.get("/metrics").body.contains("botpsy_answers_cancelled_total"));
    assert_eq!(served.chat(&json!({ "messages": user("hi"), "max_tokens": 2 })).status, 200);
}
