//! Several requests at once.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, mpsc};

use botpsy_chat::{ChatError, ChatEvent, Completion, LoadOptions, Provider, Request, Scripted};
use botpsy_server::{Backend, Options};
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

/// Answers once it is let.
struct Gate(Mutex<mpsc::Receiver<()>>);

impl Provider for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        self.0.lock().unwrap().recv().unwrap();
        Scripted::new(["</think>\n\nHi!"]).chat(request, cancel, on)
    }
}

#[test]
fn those_who_come_too_many_are_told_to_come_back() {
    let (open, gate) = mpsc::channel();
    let options = Options { max_waiting: 1, ..options() };
    let served = serve(options, || {
        let model = Arc::new(model(LoadOptions::default()));
        Backend { model, provider: Arc::new(Gate(Mutex::new(gate))) }
    });
    served.wait();
    let body = json!({ "messages": user("hi") });
    let waits = |line: &str| {
        while !served.get("/metrics").body.contains(line) {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| served.chat(&body));
        waits("botpsy_requests_processing 1");
        let second = scope.spawn(|| served.chat(&body));
        waits("botpsy_requests_deferred 1");
        let third = served.chat(&body);
        assert_eq!(third.error(429)["code"], "queue_full");
        assert_eq!(third.header("retry-after"), Some("2"));
        for _ in 0..3 {
            open.send(()).unwrap();
        }
        for reply in [first.join().unwrap(), second.join().unwrap(), served.chat(&body)] {
            assert_eq!(reply.ok()["choices"][0]["message"]["content"], "Hi!");
        }
    });
}

#[test]
fn who_has_an_answer_finds_the_place_free() {
    let served = serve(Options { max_waiting: 0, ..options() }, || model(LoadOptions::default()).into());
    served.wait();
    for body in [json!({ "prompt": "a", "max_tokens": 1 }), json!({ "prompt": "a", "max_tokens": 1, "n": 2 })] {
        for i in 0..100 {
            let reply = served.post("/v1/completions", &body);
            assert_eq!(reply.status, 200, "{i}: {}", reply.body);
        }
    }
}
