//! A server that answers whatever a test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use botpsy_chat::{BaseUrl, EndpointOptions};
use serde_json::Value;

pub(crate) struct OddServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl OddServer {
    /// `reply` is told which connection this is and what was asked on it; what it returns, the connection ends.
    pub(crate) fn new(reply: impl Fn(usize, &mut TcpStream) + Send + Sync + 'static) -> OddServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (heard, reply) = (Arc::clone(&requests), Arc::new(reply));
        std::thread::spawn(move || {
            for (n, stream) in listener.incoming().enumerate() {
                let (mut stream, heard, reply) = (stream.unwrap(), Arc::clone(&heard), Arc::clone(&reply));
                std::thread::spawn(move || {
                    while let Some(request) = read_request(&mut stream) {
                        let closes = !request.contains("keep: this one");
                        heard.lock().unwrap().push(request);
                        reply(n, &mut stream);
                        if closes {
                            break;
                        }
                    }
                });
            }
        });
        OddServer { address, requests }
    }

    /// One that sends these bytes, and ends the connection.
    pub(crate) fn sending(bytes: impl Into<Vec<u8>>) -> OddServer {
        let bytes = bytes.into();
        OddServer::new(move |_, stream| drop(stream.write_all(&bytes)))
    }

    pub(crate) fn options(&self) -> EndpointOptions {
        let base = BaseUrl::parse(&format!("http://{}", self.address)).unwrap();
        EndpointOptions { model: Some("m".to_owned()), ..EndpointOptions::new(base) }
    }

    /// What was asked so far: heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// A text without where this server is.
    pub(crate) fn tidy(&self, text: &str) -> String {
        text.replace(&self.address.to_string(), "HOST")
    }
}

/// A request with its body; `None` at the end of the connection.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // A client that wants TLS first.
        if bytes.first() == Some(&0x16) {
            return Some(text);
        }
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend(&buffer[..n]),
        }
    }
}

/// A reply whose end is the end of the connection.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n{body}")
}

/// A stream of these chunks.
pub(crate) fn stream(chunks: &[Value], end: &str) -> String {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    reply("200 OK", "Content-Type: text/event-stream\r\n", &(events + end))
}
