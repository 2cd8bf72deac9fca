//! Who may come in, and what is where.

use std::sync::mpsc;

use botpsy_chat::LoadOptions;
use botpsy_server::Options;
use serde_json::json;

use crate::support::{Served, agent, model, options, reply, serve, told_server, user};

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
    for (host, status) in
        [("evil.example", 403), ("127.0.0.1.evil.example:80", 403), ("localhost", 200), ("[::1]:9", 200)]
    {
        assert_eq!(with(&served, &[("host", host)]).status, status, "{host}");
    }
    let page = reply(agent().get(served.url("/props")).header("origin", "http://localhost:3000").call());
    assert_eq!(page.status, 403, "only the paths of inference are for pages");
}

#[test]
fn what_is_not_there_is_told_in_the_same_shape() {
    let (served, _) = told_server(options());
    for path in ["/", "/v1", "/v1/chat/completion", "/v2/models", "/v1/chat/completions/"] {
        assert_eq!(served.get(path).error(404)["type"], "invalid_request_error", "{path}");
    }
    assert_eq!(served.get("/v1/chat/completions").error(405)["code"], serde_json::Value::Null);
    assert_eq!(served.post("/v1/embeddings", &json!({ "input": "a" })).error(400)["code"], "unsupported_model");
    let kind = reply(agent().post(served.url("/v1/chat/completions")).header("content-type", "text/plain").send("{}"));
    assert_eq!(kind.status, 415);
    let large = "x".repeat(17 << 20);
    assert_eq!(served.chat(&json!({ "messages": user(&large) })).error(413)["type"], "invalid_request_error");
}

#[test]
fn until_the_model_is_there_clients_are_told_to_wait() {
    let (go, wait) = mpsc::channel::<()>();
    let served = serve(options(), move || {
        wait.recv().unwrap();
        model(LoadOptions::default()).into()
    });
    for reply in [served.get("/health"), served.get("/v1/models"), served.chat(&json!({ "messages": user("hi") }))] {
        assert_eq!(reply.error(503)["code"], "model_loading");
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
