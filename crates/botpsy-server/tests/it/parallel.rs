//! Several requests at once.

use std::io::Read;
use std::sync::mpsc;

use botpsy_chat::{LoadOptions, Script};
use botpsy_server::Options;
use serde_json::{Value, json};

use crate::support::{Served, model, options, serve, user};

fn four() -> Served {
    let load = LoadOptions { parallel: 4, cache_bytes: Some(64 << 20), ..LoadOptions::default() };
    let served = serve(Options { parallel: 4, ..options() }, || model(load).into());
    served.wait();
    served
}

fn request(seed: usize) -> Value {
    let text = format!("Tell me about number {seed}. ").repeat(1 + 7 * (seed % 3));
    json!({ "messages": user(&text), "seed": seed, "temperature": 1.0, "max_tokens": 20 + 10 * (seed % 4), "logprobs": true })
}

/// What of an answer must not depend on what else was going on.
fn essence(reply: &Value) -> Value {
    json!([reply["choices"], reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"]])
}

#[test]
fn answers_made_together_equal_those_made_alone() {
    let served = four();
    let alone: Vec<Value> = (0..12).map(|seed| essence(&served.chat(&request(seed)).ok())).collect();
    let served = four();
    let together: Vec<Value> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..12)
            .map(|seed| {
                let served = &served;
                scope.spawn(move || {
                    loop {
                        // Twelve at once are more than may wait.
                        let reply = served.chat(&request(seed));
                        if reply.status != 429 {
                            return essence(&reply.ok());
                        }
                        assert_eq!(reply.error(429)["code"], "queue_full");
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                })
            })
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert_eq!(together, alone);
}

#[test]
fn conversations_side_by_side_each_read_only_what_is_new() {
    let served = four();
    let mut conversations: Vec<Vec<Value>> =
        (0..3).map(|i| vec![json!({ "role": "user", "content": format!("{i} ").repeat(60 + i) })]).collect();
    let cached = |reply: &Value| reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    for turn in 0..3 {
        for messages in &mut conversations {
            let reply = served.chat(&json!({ "messages": messages, "max_tokens": 6 })).ok();
            let prompt = reply["usage"]["prompt_tokens"].as_u64().unwrap();
            if turn > 0 {
                // The last turn, its answer and the opening of the next are new.
                assert!(cached(&reply) + 40 >= prompt, "{} of {prompt} in turn {turn}", cached(&reply));
            }
            messages.push(reply["choices"][0]["message"].clone());
            messages.push(json!({ "role": "user", "content": "Go on" }));
        }
    }
}

#[test]
fn those_who_come_too_many_are_told_to_come_back() {
    let (served, told) = crate::support::told_server(Options { max_waiting: 1, ..options() });
    // An answer that does not end before it is asked to: it waits for its pieces to be read.
    told.tell(Script { pieces: vec!["x ".to_owned(); 400_000], stop: botpsy_text::tool_call::Stop::Eos });
    let body = json!({ "messages": user("hi"), "stream": true });
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            let (served, body, send) = (&served, &body, send.clone());
            scope.spawn(move || {
                let request = crate::support::agent().post(served.url("/v1/chat/completions"));
                let request = request.header("content-type", "application/json");
                let mut response = request.send(body.to_string()).unwrap();
                let mut some = [0; 64];
                let _ = response.body_mut().as_reader().read(&mut some);
                let after = response.headers().get("retry-after").map(|after| after.to_str().unwrap().to_owned());
                send.send((response.status().as_u16(), after)).unwrap();
            });
        }
    });
    drop(send);
    let replies: Vec<(u16, Option<String>)> = receive.iter().collect();
    assert!(replies.iter().all(|(status, _)| [200, 429].contains(status)), "{replies:?}");
    assert!(replies.iter().any(|(status, _)| *status == 200));
    assert!(replies.iter().filter(|(status, _)| *status == 429).all(|(_, after)| after.as_deref() == Some("2")));
}
