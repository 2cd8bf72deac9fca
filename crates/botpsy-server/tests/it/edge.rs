//! Who may come in, and what is where.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

use botpsy_chat::LoadOptions;
use botpsy_server::Options;
use serde_json::json;

use crate::support::{Served, agent, model, options, reply, serve, serve_telling, told_server, user};

/// A good request with these headers.
fn with(served: &Served, headers: &[(&str, &str)]) -> crate::support::Reply {
    let mut request = agent().post(served.url("/v1/chat/completions")).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    reply(request.send(json!({ "messages": user("hi") }).to_string()))
}

#[test]
fn a_key_opens_and_nothing_else_does() {
    let (served, _) = told_server(Options { keys: vec!["one".into(), "two".into()], ..options() });
    for (headers, status) in [
        (&[][..], 401),
        (&[("authorization", "Bearer three")], 401),
        (&[("authorization", "Bearer ")], 401),
        (&[("authorization", "one")], 401),
        (&[("authorization", "Bearer one")], 200),
        (&[("authorization", "bearer two")], 200),
        (&[("x-api-key", "two")], 200),
        (&[("x-api-key", "")], 401),
        (&[("authorization", "Bearer three"), ("x-api-key", "two")], 200),
        (&[("authorization", "Bearer three"), ("x-api-key", "four")], 401),
    ] {
        assert_eq!(with(&served, headers).status, status, "{headers:?}");
    }
    let refused = with(&served, &[]);
    assert_eq!(refused.error(401)["code"], "invalid_api_key");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    // These tell nothing.
    assert_eq!(served.get("/health").status, 200);
    assert_eq!(served.get("/props").status, 401);
}

#[test]
fn pages_of_other_sites_are_kept_out() {
    let (served, _) = told_server(Options { origins: vec!["https://listed.example".into()], ..options() });
    for (origin, status) in [
        ("https://evil.example", 403),
        ("null", 403),
        ("http://localhost.evil.example", 403),
        ("http://127.0.0.1.evil.example", 403),
        ("file://", 403),
        ("http://localhost:3000", 200),
        ("http://app.localhost", 200),
        ("http://127.0.0.1:1234", 200),
        ("http://[::1]:1234", 200),
        ("https://listed.example", 200),
    ] {
        let reply = with(&served, &[("origin", origin)]);
        assert_eq!(reply.status, status, "{origin}");
        let allowed = (status == 200).then_some(origin);
        assert_eq!(reply.header("access-control-allow-origin"), allowed);
    }
    for (host, status) in [
        ("evil.example", 403),
        ("127.0.0.1.evil.example:80", 403),
        ("127.0.0.1:evil.example", 403),
        ("[::1]evil.example", 403),
        ("localhost", 200),
        ("[::1]:9", 200),
    ] {
        assert_eq!(with(&served, &[("host", host)]).status, status, "{host}");
    }
    let page = reply(agent().get(served.url("/props")).header("origin", "http://localhost:3000").call());
    assert_eq!(page.status, 403, "only the paths of inference are for pages");
}

#[test]
fn pages_may_send_the_headers_of_their_clients_and_are_told_of_refusals() {
    let (served, _) = told_server(Options { keys: vec!["one".into()], ..options() });
    let origin = "http://localhost:3000";
    let asked = "authorization,content-type,x-stainless-os";
    let preflight = agent().options(served.url("/v1/chat/completions")).header("origin", origin);
    let preflight = preflight.header("access-control-request-method", "POST");
    let preflight = reply(preflight.header("access-control-request-headers", asked).call());
    assert_eq!((preflight.status, preflight.header("access-control-allow-headers")), (204, Some(asked)));
    let refused = with(&served, &[("origin", origin)]);
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some(origin)));
}

#[test]
fn what_is_not_there_is_told_in_the_same_shape() {
    let (served, _) = told_server(options());
    for path in ["/", "/v1", "/v1/chat/completion", "/v2/models", "/v1/chat/completions/"] {
        assert_eq!(served.get(path).error(404)["type"], "invalid_request_error", "{path}");
    }
    assert_eq!(served.get("/v1/chat/completions").error(405)["code"], serde_json::Value::Null);
    assert_eq!(served.post("/v1/embeddings", &json!({ "input": "a" })).error(400)["code"], "unsupported_model");
    let marked = format!("\u{feff}{}", json!({ "messages": user("hi") }));
    let post = agent().post(served.url("/v1/chat/completions")).header("content-type", "application/json");
    assert_eq!(reply(post.send(marked)).status, 200, "a byte order mark");
    let kind = reply(agent().post(served.url("/v1/chat/completions")).header("content-type", "text/plain").send("{}"));
    assert_eq!(kind.status, 415);
    let large = "x".repeat(17 << 20);
    assert_eq!(served.chat(&json!({ "messages": user(&large) })).error(413)["type"], "invalid_request_error");
}

#[test]
fn one_host_is_wanted_and_no_encoding() {
    let (served, _) = told_server(options());
    let body = json!({ "messages": user("hi") }).to_string();
    let line = "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n";
    for (line, headers, status) in [
        (line, "", 400),
        (line, "Host: localhost\r\n", 200),
        (line, "Host: localhost\r\nHost: localhost\r\n", 400),
        (line, "Host: localhost\r\nContent-Encoding: identity\r\n", 200),
        (line, "Host: localhost\r\nContent-Encoding: gzip\r\n", 415),
        (line, "Host: localhost\r\nContent-Encoding: br, gzip\r\n", 415),
    ] {
        let request = format!("{line}{headers}Content-Length: {}\r\n\r\n{body}", body.len());
        let reply = exchange(&served, &request);
        assert!(reply.contains(&format!(" {status} ")), "{headers}: {reply}");
        let shaped = reply.contains(r#""type":"invalid_request_error""#);
        assert_eq!(shaped, status >= 400, "{reply}");
    }
}

/// All that comes back for these bytes, after which the client sends nothing more but still reads.
fn exchange(served: &Served, request: &str) -> String {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn a_client_that_sends_no_more_gets_its_answer() {
    let served = serve(options(), || model(LoadOptions::default()).into());
    served.wait();
    for stream in [false, true] {
        let body = json!({ "messages": user("Hello"), "max_tokens": 200, "thinking_budget": -1, "stream": stream });
        let body = body.to_string();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let reply = exchange(&served, &request);
        let (interim, answer) = reply.split_once("HTTP/1.1 200 OK").expect(&reply);
        assert_eq!(interim.replace("HTTP/1.1 100 Continue\r\n\r\n", ""), "");
        // Once at first, then four times a second: not once for each of the 200 tokens.
        let asked = interim.matches("100 Continue").count();
        assert!(asked < 150, "asked {asked} times");
        assert!(answer.contains("finish_reason"), "{reply}");
        assert!(!stream || answer.contains("data: [DONE]"), "{reply}");
    }
    // Half a body is no request to wait for.
    let began = std::time::Instant::now();
    let reply = exchange(
        &served,
        "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    );
    assert!(reply.is_empty() || reply.contains(" 400 "), "{reply}");
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn a_client_that_closes_while_it_waits_is_gone() {
    let served = serve(options(), || model(LoadOptions::default()).into());
    served.wait();
    let ends = served.post("/tokenize", &json!({ "content": "<|im_end|><|endoftext|></think>" })).ok();
    let bias = ends["tokens"].as_array().unwrap().iter().map(|id| (id.to_string(), json!(-100)));
    let bias: serde_json::Map<String, serde_json::Value> = bias.collect();
    let body =
        json!({ "messages": user("hi"), "logit_bias": bias, "thinking_budget": -1, "n": 16, "max_tokens": 30_000 });
    let body = body.to_string();
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    while served.get("/slots").ok()[0]["is_processing"] != true {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    drop(stream);
    let began = std::time::Instant::now();
    while served.get("/slots").ok()[0]["is_processing"] == true {
        assert!(began.elapsed().as_secs() < 60, "the place was not freed");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(served.get("/metrics").body.contains("botpsy_answers_cancelled_total 1"));
}

#[test]
fn a_name_that_is_no_text_is_refused_in_the_same_shape() {
    let (served, _) = told_server(options());
    assert_eq!(served.get("/v1/models/%ff%fe").error(400)["param"], "model");
}

#[test]
fn a_refusal_quotes_only_the_beginning() {
    let (served, _) = told_server(options());
    let reply = served.chat(&json!({ "messages": user("hi"), "tool_choice": "x".repeat(1 << 20) }));
    let message = reply.error(400)["message"].as_str().unwrap().len();
    assert!((900..1100).contains(&message), "{message} bytes");
}

#[test]
fn until_the_model_is_there_clients_are_told_to_wait() {
    let (go, wait) = mpsc::channel::<()>();
    let (told, tell) = mpsc::channel();
    let served = serve_telling(options(), move |progress| {
        let loaded = model(LoadOptions { progress: Arc::clone(&progress), ..LoadOptions::default() });
        assert_eq!(progress.swap(40, Ordering::Relaxed), 100);
        told.send(()).unwrap();
        wait.recv().unwrap();
        loaded.into()
    });
    tell.recv().unwrap();
    for reply in [served.get("/health"), served.get("/v1/models"), served.chat(&json!({ "messages": user("hi") }))] {
        let error = reply.error(503);
        assert_eq!(error["code"], "model_loading");
        assert!(error["message"].as_str().unwrap().contains("40 %"), "{error}");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    go.send(()).unwrap();
    served.wait();
    assert_eq!(served.get("/v1/models").ok()["data"][0]["id"], "nano");
}

#[test]
fn a_server_that_stops_tells_those_whose_answer_is_not_complete() {
    let options = Options { parallel: 2, grace: std::time::Duration::from_millis(50), ..options() };
    let served = serve(options, || model(LoadOptions { parallel: 2, ..LoadOptions::default() }).into());
    served.wait();
    let ends = served.post("/tokenize", &json!({ "content": "<|im_end|><|endoftext|></think>" })).ok();
    let bias = ends["tokens"].as_array().unwrap().iter().map(|id| (id.to_string(), json!(-100)));
    let bias: serde_json::Map<String, serde_json::Value> = bias.collect();
    let body = |stream: bool| json!({ "messages": user("hi"), "logit_bias": bias, "thinking_budget": -1, "max_tokens": 8000, "stream": stream });
    std::thread::scope(|scope| {
        let streamed = scope.spawn(|| served.chat(&body(true)));
        let whole = scope.spawn(|| served.chat(&body(false)));
        while served.get("/slots").ok()[1]["is_processing"] != true {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        served.stop();
        let streamed = streamed.join().unwrap();
        let last: serde_json::Value = serde_json::from_str(streamed.events().last().unwrap()).unwrap();
        assert_eq!(last["error"]["code"], "server_stopped", "{last}");
        assert_eq!(whole.join().unwrap().error(503)["code"], "server_stopped");
    });
}
