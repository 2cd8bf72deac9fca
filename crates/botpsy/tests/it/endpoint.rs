//! `ask` and `chat` with a model behind a server.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::ask::TOOLS;
use crate::owner::Owner;
use crate::serve::serve;
use crate::support::{Ran, command, finish};

/// A server that gives these answers, one a connection, and keeps what it was asked.
struct Scripted {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn new(answers: Vec<String>) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut answers = answers.into_iter();
            while answers.len() > 0 {
                let mut stream = listener.accept().unwrap().0;
                let mut text = String::new();
                while !is_whole(&text) {
                    let mut buffer = [0; 4096];
                    let n = stream.read(&mut buffer).unwrap();
                    assert!(n > 0, "{text}");
                    text.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
                }
                // It has no list of models.
                let answer = match text.starts_with("GET ") {
                    true => status("404 Not Found", ""),
                    false => {
                        heard.lock().unwrap().push(text);
                        answers.next().unwrap()
                    }
                };
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Scripted { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn messages(&self, request: usize) -> Value {
        let asked = self.asked();
        let body: Value = serde_json::from_str(asked[request].split_once("\r\n\r\n").unwrap().1).unwrap();
        body["messages"].clone()
    }
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

fn status(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn answer(message: &Value) -> String {
    status("200 OK", &json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string())
}

fn calling(name: &str, arguments: &str) -> String {
    answer(
        &json!({ "tool_calls": [{ "id": "x", "type": "function", "function": { "name": name, "arguments": arguments } }] }),
    )
}

fn says(text: &str) -> String {
    answer(&json!({ "content": text }))
}

/// Asks this server, as this owner.
fn ask(owner: &Owner, server: &Scripted, flags: &[&str]) -> Ran {
    owner.run(&[&["ask", "--endpoint", server.url.as_str(), "--model-name", "m"], flags].concat())
}

#[test]
fn an_endpoint_answers_as_the_same_model_does_here() {
    let served = serve(&[]);
    let url = format!("http://127.0.0.1:{}", served.port);
    let owner = Owner::new();
    for request in ["text john i'm running late", "what's the weather in paris?", "hello there"] {
        let asked = |flags: &[&str]| owner.run(&[&["ask", "--tools", TOOLS, "--json", request], flags].concat());
        let mut here = asked(&[]).json();
        for url in [&url, &format!("{url}/v1/")] {
            let ran = asked(&["--endpoint", url]);
            assert!(!ran.err.contains("leaves this machine"), "{}", ran.err);
            let mut there = ran.json();
            for field in ["prompt_tokens", "generated_tokens"] {
                assert_eq!(there["timings"][field], here["timings"][field], "{request}");
            }
            (here["timings"], there["timings"]) = (Value::Null, Value::Null);
            assert_eq!(there, here, "{request}");
            here = asked(&[]).json();
        }
    }
    let lines = "text john i'm running late\nwhat's the weather in paris?\n/quit\n";
    let talked =
        |flags: &[&str]| finish(command(&[&["chat", "--tools", TOOLS, "--quiet"], flags].concat()), lines).ok();
    assert_eq!(talked(&["--endpoint", &url]), talked(&[]));
    // Settled, and looked at.
    owner.run(&["config", "set", "endpoint", &url]).ok();
    let settled = owner.run(&["ask", "--tools", TOOLS, "--json", "text john i'm running late"]).json();
    assert_eq!(settled["tool_calls"][0]["name"], "send_message");
    let healthy = owner.run(&["doctor"]).ok();
    assert!(healthy.contains("ok       endpoint") && healthy.contains("model embedded"), "{healthy}");
    owner.run(&["config", "set", "model_name", "other"]).ok();
    let ran = owner.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(String::from_utf8(ran.out).unwrap().contains("has no model other: it has embedded"));
    drop(served);
    let ran = owner.run(&["doctor"]);
    assert!(String::from_utf8(ran.out).unwrap().contains("problem  endpoint"));
    assert!(!owner.run(&["doctor", "-m", "embedded"]).ok().contains("endpoint"));
}

#[test]
fn what_an_endpoint_proposes_goes_through_the_gate() {
    let owner = Owner::new();
    let server = Scripted::new(vec![
        calling("add_to_list", r#"{"list":"shopping","items":["milk"]}"#),
        says("Added milk."),
        calling("add_to_list", r#"{"list":"shopping","items":["vodka"]}"#),
        says("Nothing was added."),
    ]);
    let done = ask(&owner, &server, &["--yes", "--json", "add milk to my shopping list"]).json();
    assert_eq!(done["content"], "Added milk.", "{done}");
    assert_eq!(done["effects"].as_array().unwrap().len(), 1, "{done}");
    let messages = server.messages(1);
    let (call, result) = (&messages[2], &messages[3]);
    assert_eq!((&call["content"], &result["role"]), (&Value::Null, &json!("tool")));
    assert_eq!(call["tool_calls"][0]["id"], result["tool_call_id"]);
    // Nobody is there to agree.
    let refused = ask(&owner, &server, &["--json", "add milk to my shopping list"]);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    owner.run(&["log", "verify"]).ok();
    owner.run(&["undo"]).ok();
}

#[test]
fn a_demonstration_behind_an_endpoint_is_guarded_as_one() {
    let owner = Owner::new();
    let served = serve(&[]);
    let url = format!("http://127.0.0.1:{}", served.port);
    let told = owner.run(&["ask", "--endpoint", &url, "--json", "--yes", "set a timer for 10 minutes"]).json();
    assert_eq!(told["demonstration"], true, "{told}");
    assert!(owner.run(&["ask", "--endpoint", &url, "hi"]).err.contains("demonstration"));
}

#[test]
fn a_call_that_cannot_be_read_is_no_call() {
    let owner = Owner::new();
    let server = Scripted::new(vec![calling("add_to_list", r#"{"list":"shopping","items":["milk"]"#)]);
    let told = ask(&owner, &server, &["--json", "add milk to my shopping list"]).json();
    for field in ["tool_calls", "decisions", "effects", "failed"] {
        assert_eq!(told[field], json!([]), "{told}");
    }
    assert_eq!(told["end"], "answered");
    assert!(told["content"].as_str().unwrap().contains("add_to_list {"), "{told}");
}

#[test]
fn a_key_is_sent_where_it_belongs_and_shown_nowhere() {
    let owner = Owner::new();
    let refusal = || status("401 Unauthorized", r#"{"error":{"message":"wrong key sk-secret"}}"#);
    let server = Scripted::new(vec![refusal(), refusal(), refusal()]);
    owner.write("key", "sk-secret\n");
    owner.run(&["config", "set", "endpoint", &server.url]).ok();
    owner.run(&["config", "set", "model_name", "m"]).ok();
    owner.run(&["config", "set", "key_file", owner.home.join("key").to_str().unwrap()]).ok();
    let ran = owner.run(&["ask", "--json", "hi"]);
    assert_eq!((ran.code, ran.out.len()), (Some(1), 0));
    assert!(ran.err.contains("status 401: wrong key [key]") && ran.err.contains("help: check the key"), "{}", ran.err);
    // The same address by flag is the same endpoint; another one gets no key of the settings.
    let ran = ask(&owner, &server, &["hi"]);
    assert!(!ran.err.contains("sk-secret"), "{}", ran.err);
    let other = Scripted::new(vec![says("Hi")]);
    ask(&owner, &other, &["hi"]).ok();
    assert!(server.asked().iter().all(|asked| asked.contains("authorization: Bearer sk-secret")));
    assert!(!other.asked()[0].contains("authorization"));
    let mut asking = command(&["ask", "hi"]);
    asking.env("BOTPSY_HOME", &owner.home).env("BOTPSY_API_KEY", "sk-other");
    let err = finish(asking, "").err;
    assert!(!err.contains("sk-other") && server.asked()[2].contains("authorization: Bearer sk-other"), "{err}");
    assert!(!owner.run(&["config"]).ok().contains("sk-"));
    assert!(!owner.run(&["log", "--json"]).ok().contains("sk-"));
    owner.write("key", "two words");
    assert!(owner.run(&["ask", "hi"]).refused().contains("key_file"));
}

#[test]
fn what_leaves_this_machine_is_told_once() {
    let owner = Owner::new();
    // A name that no server has: nothing is sent, for it is not found.
    let ran = owner.run(&["ask", "--endpoint", "http://nowhere.invalid", "--model-name", "m", "--json", "hi"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let told = "leaves this machine, to http://nowhere.invalid/v1, readable by anybody on the way";
    assert_eq!(ran.err.matches(told).count(), 1, "{}", ran.err);
    for (flags, part) in [
        (&["--endpoint", "localhost:8080"][..], "http://127.0.0.1:8080"),
        (&["--endpoint", "http://me:pw@localhost"], "password"),
        (&["--endpoint", "http://localhost", "-m", "embedded"], "cannot be used with"),
        (&["--model-name", "m"], "--endpoint"),
        (&["--endpoint", "http://localhost", "--model-name", "m", "--sampler-order", "llama.cpp"], "--sampler-order"),
    ] {
        let err = owner.run(&[&["ask", "hi"], flags].concat()).refused();
        assert!(err.contains(part) && !err.contains("me:pw"), "{flags:?}: {err}");
    }
    assert!(owner.run(&["config", "set", "endpoint", "ftp://x"]).refused().contains("http://"));
    assert!(owner.run(&["config", "set", "key_file", "/nowhere"]).refused().contains("/nowhere is no file"));
}
