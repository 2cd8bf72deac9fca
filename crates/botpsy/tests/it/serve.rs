use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr};

use serde_json::{Value, json};

use crate::support::{command, run, scratch_file, str};

/// A running server, ended with the test.
pub(crate) struct Serving {
    child: Child,
    err: BufReader<ChildStderr>,
    pub(crate) port: u16,
    told: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `botpsy serve` with these flags and a free port, once it listens.
pub(crate) fn serve(flags: &[&str]) -> Serving {
    let mut args = vec!["serve"];
    args.extend(flags);
    args.extend(["--port", "0"]);
    let mut child = command(&args).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    loop {
        let mut line = String::new();
        assert!(err.read_line(&mut line).unwrap() > 0, "it ended: {told}");
        told.push_str(&line);
        if line.contains("curl ") {
            break;
        }
    }
    let after = told.split("listening at http://127.0.0.1:").nth(1).unwrap_or_else(|| panic!("{told}"));
    let port = after.split(' ').next().unwrap().parse().unwrap();
    Serving { child, err, port, told }
}

impl Serving {
    fn chat(&self, headers: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
    }
}

fn user(text: &str) -> Value {
    json!([{ "role": "user", "content": text }])
}

#[test]
fn the_flags_of_published_articles_work_word_for_word() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/nano.gguf");
    let mut flags = vec!["-m", model];
    flags.extend(
        "--jinja -c 32768 --temp 0.3 --top-p 0.95 --top-k 20 --presence-penalty 1.5 --chat-template-kwargs".split(' '),
    );
    flags.push(r#"{"enable_thinking": true}"#);
    let served = serve(&flags);
    assert!(served.told.contains("thinking on"), "{}", served.told);
    let tools = json!([{ "type": "function", "function": {
        "name": "create_event", "description": "Create a calendar event",
        "parameters": { "type": "object", "properties": {
            "title": { "type": "string" }, "day": { "type": "string" }, "time": { "type": "string" },
        }, "required": ["title", "day", "time"] },
    } }]);
    let body = json!({ "model": "qvac/BotPsy-0.8B", "messages": user("Lunch with Ana on Friday at noon"), "tools": tools,
        "max_tokens": 8192, "top_k": 20, "chat_template_kwargs": { "enable_thinking": true } });
    let (status, reply) = served.chat("", &body);
    assert_eq!(status, 200, "{reply}");
    let message = &reply["choices"][0]["message"];
    assert!(message["reasoning_content"].is_string(), "{reply}");
    assert_eq!(reply["model"], "qvac/BotPsy-0.8B");
}

#[test]
fn flags_say_who_may_ask_and_how_it_answers() {
    let keys = scratch_file("keys.txt", "from-file\n\n");
    let flags = ["--api-key", "a,b", "--api-key-file", str(&keys), "--alias", "small", "-np", "4"];
    let served = serve(&[&flags[..], &["--reasoning-budget", "0", "-n", "8"]].concat());
    assert!(served.told.contains("thinking off") && served.told.contains("Bearer KEY"), "{}", served.told);
    let body = json!({ "messages": user("Hello") });
    assert_eq!(served.chat("", &body).0, 401);
    for key in ["a", "b", "from-file"] {
        let (status, reply) = served.chat(&format!("Authorization: Bearer {key}\r\n"), &body);
        assert_eq!((status, &reply["model"]), (200, &json!("small")));
        assert!(reply["choices"][0]["message"].get("reasoning_content").is_none());
        assert!(reply["usage"]["completion_tokens"].as_u64().unwrap() <= 8);
    }
}

#[test]
fn an_interrupt_ends_it_well() {
    let mut served = serve(&[]);
    let pid = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let status = served.child.wait().unwrap();
    let mut rest = String::new();
    served.err.read_to_string(&mut rest).unwrap();
    assert_eq!(status.code(), Some(0), "{rest}");
    assert!(rest.contains("stopping"), "{rest}");
}

#[test]
fn what_cannot_be_served_is_refused_with_the_next_step() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let failed = run(&["serve", "--port", &port], "");
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(failed.err.contains(&port) && failed.err.contains("--port"), "{}", failed.err);
    for (flags, part) in [
        (&["--host", "0.0.0.0"][..], "--api-key"),
        (&["--host", "nowhere"], "127.0.0.1"),
        (&["--chat-template-kwargs", "{"], "--chat-template-kwargs"),
        (&["--chat-template-kwargs", "[1]"], "JSON object"),
        (&["--chat-template-kwargs", r#"{"enable_thinking": 1}"#], "true or false"),
        (&["--chat-template-file", "/nowhere.jinja"], "/nowhere.jinja"),
        (&["--reasoning-budget", "-2"], "-2"),
        (&["--api-key", ""], "empty"),
        (&["-m", "/nowhere.gguf"], "/nowhere.gguf"),
        (&["--temp", "-1"], "temperature"),
        (&["--temp", "nan"], "temperature"),
        (&["--top-p", "2"], "top_p"),
        (&["--repetition-penalty", "0"], "repetition_penalty"),
        (&["--max-tokens", "0"], "--max-tokens"),
        (&["--cors-origin", "evil"], "https://example.org"),
    ] {
        let err = run(&[&["serve", "--port", "0"], flags].concat(), "").refused();
        assert!(err.contains(part), "{flags:?}: {err}");
    }
}
