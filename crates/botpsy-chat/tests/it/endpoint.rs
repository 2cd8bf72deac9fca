//! An endpoint, and servers that do not answer as they should.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use botpsy_chat::{
    ChatError, ChatEvent, Completion, Endpoint, EndpointError, EndpointOptions, Key, Overrides, Provider, Request,
};
use botpsy_text::tool_call::Delta;
use serde_json::{Value, json};

use crate::odd_server::{OddServer, reply, stream};

const DONE: &str = "data: [DONE]\n\n";

fn ask(options: EndpointOptions) -> Result<Completion, ChatError> {
    Endpoint::new(options)?.chat(&Request::user("hi"), &AtomicBool::new(false), &mut |_| ())
}

/// The answer in a line, or the error with its next step.
fn said(server: &OddServer) -> String {
    shown(server, ask(server.options()))
}

fn shown(server: &OddServer, asked: Result<Completion, ChatError>) -> String {
    let message = match asked {
        Ok(completion) => completion.message,
        Err(ChatError::Endpoint(error)) => return server.tidy(&format!("{error} | {}", error.help())),
        Err(error) => panic!("{error}"),
    };
    let mut parts = vec![message.finish_reason.as_str().to_owned()];
    parts.extend(message.reasoning_content.map(|text| format!("thinks {text:?}")));
    parts.extend(message.content.map(|text| format!("says {text:?}")));
    parts.extend(
        message.tool_calls.iter().map(|call| format!("{} {}", call.name, Value::Object(call.arguments.clone()))),
    );
    parts.extend(message.faults.iter().map(|fault| fault.to_string()));
    parts.join(" | ")
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn calls(calls: Value) -> Value {
    delta(json!({ "tool_calls": calls }))
}

#[track_caller]
fn check(bytes: impl Into<Vec<u8>>, expected: &str) {
    assert_eq!(said(&OddServer::sending(bytes)), expected);
}

#[test]
fn a_stream_becomes_a_message_and_its_counts() {
    let chunks = [
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "They " })),
        delta(json!({ "reasoning": "greet." })),
        delta(json!({ "content": "Hé" })),
        delta(json!({ "content": [{ "type": "text", "text": "llo" }] })),
        finish("stop"),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": { "cached_tokens": 5 } } }),
    ];
    let server = OddServer::sending(stream(&chunks, DONE));
    let key = Key::parse("sk-secret").unwrap();
    let overrides = Overrides { temperature: Some(0.3), ..Overrides::default() };
    let mut deltas = Vec::new();
    let endpoint = Endpoint::new(EndpointOptions { key: Some(key), overrides, ..server.options() }).unwrap();
    let mut on = |event| {
        if let ChatEvent::Delta(Delta::Reasoning(text) | Delta::Content(text)) = event {
            deltas.push(text);
        }
    };
    let completion = endpoint.chat(&Request::user("hi"), &AtomicBool::new(false), &mut on).unwrap();
    let stats = completion.stats;
    assert_eq!((stats.prompt_tokens, stats.cached_tokens, stats.generated_tokens), (9, 5, 4));
    assert_eq!(completion.text, "They greet.\n</think>\n\nHéllo");
    assert_eq!(shown(&server, Ok(completion)), r#"stop | thinks "They greet." | says "Héllo""#);
    assert_eq!(deltas, ["They ", "greet.", "Hé", "llo"]);
    let request = &server.requests()[0];
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer sk-secret\r\n"), "{request}");
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let expected = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }], "temperature": 0.3,
        "stream": true, "stream_options": { "include_usage": true } });
    assert_eq!(body, expected);
}

#[test]
fn calls_come_whole_or_in_pieces() {
    let pieces = [
        calls(json!([{ "index": 0, "id": "a", "type": "function", "function": { "name": "ping", "arguments": "" } }])),
        calls(json!([{ "index": 0, "function": { "arguments": "{\"n\":" } }])),
        calls(json!([{ "index": 1, "id": "b", "function": { "name": "pong", "arguments": "{}" } }])),
        calls(json!([{ "index": 0, "function": { "arguments": " 1}" } }])),
        finish("tool_calls"),
    ];
    let expected = r#"tool_calls | ping {"n":1} | pong {}"#;
    check(stream(&pieces, DONE), expected);
    // As one delta, with arguments as an object, without numbers, without a [DONE].
    let whole = calls(json!([{ "id": "a", "function": { "name": "ping", "arguments": { "n": 1 } } },
        { "id": "b", "function": { "name": "pong" } }]));
    check(stream(&[whole, finish("stop")], ""), expected);
    // All with the number 0, told apart by their ids.
    let same = ["a", "b"]
        .map(|id| calls(json!([{ "index": 0, "id": id, "function": { "name": "ping", "arguments": "{}" } }])));
    check(stream(&[&same[..], &[finish("tool_calls")]].concat(), DONE), "tool_calls | ping {} | ping {}");
    let one = r#"{"choices":[{"message":{"role":"assistant","content":null,"reasoning":"r","tool_calls":[{"id":"a","type":"function","function":{"name":"ping","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3}}"#;
    check(reply("200 OK", "Content-Type: application/json\r\n", one), r#"tool_calls | thinks "r" | ping {"n":1}"#);
    check(reply("200 OK", "", "{\"choices\":[{\"message\":{\"content\":\"Hi\"}}]}"), r#"stop | says "Hi""#);
}

#[test]
fn a_call_that_cannot_be_read_is_text_and_no_call() {
    for (function, text) in [
        (json!({ "name": "ping", "arguments": "{\"n\": 1" }), r#"says "ping {\"n\": 1""#),
        (json!({ "name": "ping", "arguments": "[1]" }), r#"says "ping [1]""#),
        (json!({ "name": "ping", "arguments": "{} {}" }), r#"says "ping {} {}""#),
        (json!({ "name": "ping", "arguments": 7 }), r#"says "ping 7""#),
        (json!({ "name": "", "arguments": "{}" }), r#"says " {}""#),
        (json!({ "name": 3, "arguments": "{}" }), r#"says " {}""#),
        (json!({ "arguments": "{}" }), r#"says " {}""#),
    ] {
        let chunk = calls(json!([{ "index": 0, "id": "a", "function": function }]));
        check(stream(&[chunk, finish("tool_calls")], DONE), &format!("stop | {text} | unreadable_call"));
    }
    // Beside one that can be read; and pieces that contradict each other.
    let good = calls(json!([{ "index": 0, "function": { "name": "ping", "arguments": "{}" } }]));
    let bad = calls(json!([{ "index": 1, "function": { "name": "pong", "arguments": "{" } }]));
    check(
        stream(&[good.clone(), bad, finish("tool_calls")], DONE),
        r#"tool_calls | says "pong {" | ping {} | unreadable_call"#,
    );
    let other = calls(json!([{ "index": 0, "function": { "name": "pong" } }]));
    check(stream(&[good.clone(), other, finish("tool_calls")], DONE), r#"stop | says "ping {}" | unreadable_call"#);
    // A limit that cuts a call takes it away; an empty one may have been cut before its first argument.
    let cut = calls(json!([{ "index": 1, "function": { "name": "pong", "arguments": "" } }]));
    check(stream(&[good.clone(), cut, finish("length")], DONE), "length | ping {} | cut_call");
}

#[test]
fn an_answer_is_whole_or_an_error_wherever_it_is_cut() {
    let chunks = [
        delta(json!({ "content": "Sí" })),
        calls(json!([{ "index": 0, "function": { "name": "ping", "arguments": "{}" } }])),
    ];
    let text = stream(&[&chunks[..], &[finish("tool_calls")]].concat(), DONE);
    let complete =
        text.find(r#""finish_reason":"tool_calls"}]}"#).unwrap() + r#""finish_reason":"tool_calls"}]}"#.len();
    let head = text.find("\r\n\r\n").unwrap() + 4;
    for end in head..text.len() {
        let told = said(&OddServer::sending(&text.as_bytes()[..end]));
        match end < complete {
            true => assert!(told.contains("answer broke off") || told.contains("there is no event"), "{end}: {told}"),
            false => assert_eq!(told, r#"tool_calls | says "Sí" | ping {}"#),
        }
    }
}

#[test]
fn errors_name_the_address_the_status_and_the_next_step() {
    let error = |status, headers, body| said(&OddServer::sending(reply(status, headers, body)));
    let page = "<html><head><title>Oops</title></head>\n<body>Internal   <b>error</b></body></html>";
    let url = "http://HOST/v1/chat/completions";
    for (told, expected) in [
        (
            error("401 Unauthorized", "", r#"{"error":{"message":"Incorrect\u001b[2J key","type":"x"}}"#),
            "status 401: Incorrect [2J key | check the key: BOTPSY_API_KEY, or the setting key_file",
        ),
        (
            error("404 Not Found", "", r#"{"object":"error","message":"no model m"}"#),
            "status 404: no model m | check the model's name (--model-name, or the setting model_name) and the address",
        ),
        (
            error("429 Too Many Requests", "Retry-After: 20\r\n", r#"{"error":"slow down"}"#),
            "status 429: slow down | ask again in 20 s",
        ),
        (
            error("500 Oh", "", page),
            "status 500: Oops Internal error | ask again later; if it goes on, look into the server's log",
        ),
        (
            error("502 Oh", "", ""),
            "status 502: no message | ask again later; if it goes on, look into the server's log",
        ),
        (
            error("307 Away", "Location: http://evil.example/v1\r\n", ""),
            "status 307, it points to http://evil.example/v1; a request with its key is not passed on | give the address that it points to, if you trust it",
        ),
        (
            said(&OddServer::sending(stream(
                &[delta(json!({ "content": "He" })), json!({ "error": { "message": "out of memory" } })],
                "",
            ))),
            "status 200: out of memory | ask again later; if it goes on, look into the server's log",
        ),
    ] {
        assert_eq!(told, format!("{url}: {expected}"));
    }
    // A server that repeats the key does not make it known.
    let server = OddServer::sending(reply("401 No", "", "your key sk-secret is wrong"));
    let key = Some(Key::parse("sk-secret").unwrap());
    let told = shown(&server, ask(EndpointOptions { key, ..server.options() }));
    assert!(told.contains("your key [key] is wrong"), "{told}");
}

#[test]
fn what_is_no_answer_is_told_as_such() {
    for (bytes, part) in [
        (reply("200 OK", "", "<html>Welcome</html>"), "there is no event in it"),
        (reply("200 OK", "", ""), "there is no event in it"),
        (reply("200 OK", "", "data: [DONE]\n\n"), "it is empty"),
        (reply("200 OK", "", "data: {\"choices\": oops}\n\n"), "no JSON"),
        (reply("200 OK", "", "{\"choices\": "), "no JSON"),
        (reply("200 OK", "", "{\"models\": 3}"), "no choices[0].message"),
        (reply("200 OK", "", &format!("data: {}\n\n", "[".repeat(100_000))), "no JSON"),
        (stream(&[json!([1])], DONE), "no JSON object"),
        (stream(&[json!({ "choices": 3 })], DONE), "choices is no array"),
        (stream(&[delta(json!({ "content": 3 }))], DONE), "content is no text"),
        (stream(&[delta(json!({ "tool_calls": 3 }))], DONE), "tool_calls is no array"),
        (stream(&[calls(json!([3]))], DONE), "a call is no object"),
        (stream(&[calls(vec![json!({ "function": { "name": "x" } }); 257].into())], DONE), "more than 256 calls"),
        (format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(200_000)), "cannot be read"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), "cannot be read"),
        ("SSH-2.0-OpenSSH_9.6\r\n\r\n".to_owned(), "cannot be read"),
        (String::new(), "broke off"),
    ] {
        let told = said(&OddServer::sending(bytes.clone()));
        assert!(told.contains(part), "{bytes:.80}: {told}");
    }
}

#[test]
fn an_answer_without_an_end_is_given_up() {
    for text in [": ping\n\n", "x"] {
        let server = OddServer::new(move |_, stream| {
            let _ = stream.write_all(reply("200 OK", "", "").as_bytes());
            while stream.write_all(text.repeat(4096).as_bytes()).is_ok() {}
        });
        assert!(said(&server).contains("the answer is longer than 16777216 bytes"));
    }
    let server = OddServer::new(|_, stream| {
        let _ = stream.write_all(reply("500 Oh", "", "").as_bytes());
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    assert!(said(&server).contains("status 500: xxx"));
    // The answer is complete, and the connection stays open.
    let server = OddServer::new(|_, open| {
        let _ = open.write_all(stream(&[delta(json!({ "content": "Hi" })), finish("stop")], "").as_bytes());
        let _ = open.read(&mut [0; 1]);
    });
    assert_eq!(said(&server), r#"stop | says "Hi""#);
}

#[test]
fn a_raised_flag_ends_it_though_the_server_says_nothing() {
    for begin in ["", "HTTP/1.1 200 OK\r\n\r\n", &stream(&[delta(json!({ "content": "Hel" }))], "data: {")] {
        let (begin, (left, noticed)) = (begin.to_owned(), mpsc::channel());
        let cancel = Arc::new(AtomicBool::new(false));
        let raise = Arc::clone(&cancel);
        let sender = Mutex::new(left);
        let n_bytes = begin.len();
        let server = OddServer::new(move |_, stream| {
            let _ = stream.write_all(begin.as_bytes());
            if n_bytes < 30 {
                raise.store(true, Ordering::Relaxed);
            }
            // The connection is closed, and not just left alone.
            let n = stream.read(&mut [0; 1]);
            sender.lock().unwrap().send(matches!(n, Ok(0) | Err(_))).unwrap();
        });
        let options = EndpointOptions { silence: Duration::from_secs(20), ..server.options() };
        let raise = Arc::clone(&cancel);
        let mut on = |event| {
            if matches!(event, ChatEvent::Delta(Delta::Content(_))) {
                raise.store(true, Ordering::Relaxed);
            }
        };
        let completion = Endpoint::new(options).unwrap().chat(&Request::user("hi"), &cancel, &mut on).unwrap();
        assert!(completion.cancelled);
        assert_eq!(completion.message.content.as_deref(), (n_bytes > 30).then_some("Hel"));
        assert!(noticed.recv_timeout(Duration::from_secs(10)).unwrap());
    }
}

#[test]
fn silence_is_told_after_its_time() {
    let server = OddServer::new(|_, stream| drop(stream.read(&mut [0; 1])));
    let options = EndpointOptions { silence: Duration::from_secs(1), ..server.options() };
    assert!(shown(&server, ask(options)).contains("nothing came for 1 s"));
}

#[test]
fn nobody_there_and_no_secure_connection() {
    let server = OddServer::sending(reply("200 OK", "", ""));
    let at = |url: &str| {
        let base = botpsy_chat::BaseUrl::parse(url).unwrap();
        shown(&server, ask(EndpointOptions { model: Some("m".to_owned()), ..EndpointOptions::new(base) }))
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let told = at(&format!("http://{taken}"));
    assert!(told.contains("refused") && told.contains("start the server"), "{told}");
    let secure = server.options().base.to_string().replace("http:", "https:");
    let told = at(&secure);
    assert!(told.contains("no secure connection") && told.contains("SSL_CERT_FILE"), "{told}");
    let certificates = Some(b"none".to_vec());
    let told = shown(&server, ask(EndpointOptions { certificates, ..server.options() }));
    assert!(told.contains("the file of certificates has none"), "{told}");
}

#[test]
fn the_only_model_is_taken_and_of_several_one_must_be_named() {
    let models = |body: &'static str, status: &'static str| {
        OddServer::new(move |n, open| {
            let answer = match n {
                0 => reply(status, "", body),
                _ => stream(&[finish("stop")], DONE),
            };
            let _ = open.write_all(answer.as_bytes());
        })
    };
    let asked = |server: &OddServer| shown(server, ask(EndpointOptions { model: None, ..server.options() }));
    for (server, model) in [
        (models(r#"{"data":[{"id":"only"}]}"#, "200 OK"), r#""model":"only""#),
        (models(r#"{"models":[{"name":"only"}]}"#, "200 OK"), r#""model":"only""#),
        (models("", "404 Not Found"), r#""model":"default""#),
    ] {
        assert_eq!(asked(&server), "stop");
        assert!(server.requests()[0].starts_with("GET /v1/models HTTP/1.1\r\n"));
        assert!(server.requests()[1].contains(model));
    }
    let told = asked(&models(r#"{"data":[{"id":"a"},{"id":"b"}]}"#, "200 OK"));
    assert!(told.contains("there are several models: a, b | name one with --model-name"), "{told}");
    for (body, status, part) in
        [("[]", "200 OK", "none"), ("oops", "200 OK", "no JSON"), ("", "401 No", "check the key")]
    {
        let told = asked(&models(body, status));
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_connection_is_used_again_once_an_answer_was_read_to_its_end() {
    let body = r#"{"choices":[{"message":{"content":"Hi"}}]}"#;
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let connections = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&connections);
    let server = OddServer::new(move |n, stream| {
        seen.lock().unwrap().push(n);
        let _ = stream.write_all(answer.as_bytes());
    });
    let endpoint = Endpoint::new(server.options()).unwrap();
    for _ in 0..3 {
        let request = Request::user("keep: this one");
        endpoint.chat(&request, &AtomicBool::new(false), &mut |_| ()).unwrap();
    }
    assert_eq!(*connections.lock().unwrap(), [0, 0, 0]);
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_sent() {
    let server = OddServer::sending("");
    let request = Request { continues: true, ..Request::user("hi") };
    let asked = Endpoint::new(server.options()).unwrap().chat(&request, &AtomicBool::new(false), &mut |_| ());
    assert!(matches!(asked, Err(ChatError::Endpoint(EndpointError::NotSupported { .. }))));
    assert!(server.requests().is_empty());
}
