//! Hostile requests, byte for byte, each followed by a good one.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Reply, Served, agent, fixture, model_server, options, reply, told_server, user};

const KEY: &str = "test-key";

/// The status of what comes back, and all of it.
fn send(what: &str, address: SocketAddr, bytes: &[u8]) -> (u64, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server may refuse before it has read all.
    let _ = stream.write_all(bytes);
    let (mut reply, mut piece) = (Vec::new(), [0; 4096]);
    while !is_complete(&reply) {
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => reply.extend(&piece[..n]),
            _ => break,
        }
    }
    let reply = String::from_utf8_lossy(&reply).into_owned();
    let status = reply.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{what}: no reply but {reply:?}")), reply)
}

/// Whether a reply has all the bytes that it announces.
fn is_complete(reply: &[u8]) -> bool {
    let Some(end) = reply.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&reply[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.is_some_and(|length| reply.len() >= end + 4 + length.trim().parse::<usize>().unwrap())
}

/// The cases of a kind that the manifest lists.
fn manifest(kind: &str) -> Vec<Value> {
    let manifest = std::fs::read_to_string(fixture("safety/malformed/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["cases"].as_array().unwrap().iter().filter(|case| case["kind"] == kind).cloned().collect()
}

#[test]
fn hostile_schemas_are_enforced_or_refused_and_the_server_goes_on() {
    let served = model_server();
    let cases = manifest("schema");
    assert!(cases.len() >= 16);
    for case in cases {
        let file = case["file"].as_str().unwrap();
        let schema = std::fs::read_to_string(fixture("safety/malformed").join(file)).unwrap();
        let allowed: &[u16] = match case["outcome"].as_str().unwrap() {
            "ok" => &[200],
            "error" => &[400],
            _ => &[200, 400],
        };
        let messages = user("hi");
        // As text: what is too deep for a JSON reader is so here too.
        let format = format!(
            r#"{{"messages":{messages},"max_tokens":3,"thinking_budget":0,"response_format":{{"type":"json_schema",
            "json_schema":{{"name":"x","schema":{schema}}}}}}}"#
        );
        let tool = format!(
            r#"{{"messages":{messages},"max_tokens":3,"thinking_budget":0,"tools":[{{"type":"function","function":{{
            "name":"f","strict":true,"parameters":{{"type":"object","properties":{{"a":{schema}}}}}}}}}]}}"#
        );
        let reply = post(&served, format);
        assert!(allowed.contains(&reply.status), "{file}: {} {:.300}", reply.status, reply.body);
        // As the parameter of a tool its references lead elsewhere; what matters is that it is decided.
        let reply = post(&served, tool);
        assert!([200, 400].contains(&reply.status), "{file}: {} {:.300}", reply.status, reply.body);
        assert_eq!(served.chat(&json!({ "messages": user("hi"), "max_tokens": 1 })).status, 200, "after {file}");
    }
}

fn post(served: &Served, body: String) -> Reply {
    let request = agent().post(served.url("/v1/chat/completions")).header("content-type", "application/json");
    reply(request.send(body))
}

#[test]
fn hostile_requests_get_their_status_and_the_server_goes_on() {
    let mut options = options();
    options.keys = vec!["another".to_owned(), KEY.to_owned()];
    let (served, _) = told_server(options);
    let mut n = 0;
    for case in manifest("http") {
        let file = case["file"].as_str().unwrap();
        let bytes = std::fs::read(fixture("safety/malformed").join(file)).unwrap();
        let end = bytes.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
        let port = served.address.port().to_string();
        let (line, rest) = bytes.split_at(end);
        let place = rest.windows(4).position(|four| four == b"PORT");
        let mut request = line.to_vec();
        if case["send_auth"] != false {
            request.extend(format!("Authorization: Bearer {KEY}\r\n").bytes());
        }
        match place.filter(|place| *place < 64) {
            Some(place) => {
                request.extend(&rest[..place]);
                request.extend(port.bytes());
                request.extend(&rest[place + 4..]);
            }
            None => request.extend(rest),
        }
        let (status, reply) = send(file, served.address, &request);
        let allowed = case["status"].as_array().unwrap();
        assert!(allowed.contains(&status.into()), "{file}: {status}, not {allowed:?}: {reply}");
        assert!(!reply.contains("panicked"), "{file}: {reply}");
        let good = json!({ "messages": user("hi"), "max_tokens": 1 }).to_string();
        let good = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{good}",
            good.len()
        );
        assert_eq!(send(file, served.address, good.as_bytes()).0, 200, "after {file}");
        n += 1;
    }
    assert!(n >= 34, "{n} cases");
}
