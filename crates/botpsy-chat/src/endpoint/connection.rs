//! One request over HTTP, which can be broken off at any time.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, Request};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy, SendBody, Timeout};

use super::key::told;
use super::{EndpointError, EndpointOptions};

/// The most bytes of an answer, all of its pieces together: a hundred times what models write.
pub(super) const MAX_BYTES: usize = 16 << 20;
/// How much of an error is read.
const MAX_ERROR_BYTES: usize = 64 << 10;
const MAX_HEADER_BYTES: usize = 64 << 10;
const CONNECT: Duration = Duration::from_secs(10);
/// How long a raised flag may go unseen.
const LOOK: Duration = Duration::from_millis(20);
/// How long the end of an answer that is known to be complete is waited for.
const LINGER: Duration = Duration::from_millis(200);

/// What comes from a server.
enum Piece {
    Head { status: u16, headers: HeaderMap },
    Bytes(Vec<u8>),
    End,
    Failed(ureq::Error),
}

/// What a connection gives next.
pub(super) enum Next {
    Bytes(Vec<u8>),
    End,
    /// The flag was raised, or nothing came in time.
    Nothing,
}

/// A request that is being answered.
pub(super) struct Connection<'a> {
    options: &'a EndpointOptions,
    url: String,
    agent: Agent,
    pieces: Receiver<Piece>,
    n_bytes: usize,
    ended: bool,
}

/// A client for one request after another.
pub(super) fn agent(options: &EndpointOptions) -> Result<Agent, EndpointError> {
    let mut tls = TlsConfig::builder();
    if let Some(pem) = &options.certificates {
        let certificates = parse_pem(pem).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        let certificates: Vec<_> = certificates.collect();
        if certificates.is_empty() {
            let problem = "the file of certificates has none".to_owned();
            return Err(EndpointError::Tls { url: options.base.to_string(), problem });
        }
        tls = tls.root_certs(RootCerts::from(certificates));
    }
    // What stays on this machine is no business of a proxy.
    let proxy = if options.base.is_loopback() { None } else { Proxy::try_from_env() };
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // A redirect would take the conversation, and the key, where nobody agreed to.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(MAX_HEADER_BYTES)
        .proxy(proxy)
        .tls_config(tls.build())
        .user_agent(concat!("botpsy/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_per_read(Some(options.silence))
        .timeout_per_write(Some(options.silence));
    Ok(config.build().new_agent())
}

impl<'a> Connection<'a> {
    /// Asks. `None` if the flag was raised before there was an answer.
    ///
    /// # Errors
    /// If there is no answer, or it is an error or points elsewhere.
    pub(super) fn open(
        options: &'a EndpointOptions,
        agent: Agent,
        path: &str,
        body: Option<String>,
        cancel: &AtomicBool,
    ) -> Result<Option<Connection<'a>>, EndpointError> {
        let url = options.base.at(path);
        let mut request = Request::builder().uri(&url).method(if body.is_some() { "POST" } else { "GET" });
        if let Some(key) = &options.key {
            request = request.header("authorization", key.header());
        }
        request =
            request.header("content-type", "application/json").header("accept", "text/event-stream, application/json");
        let request = request.body(body.unwrap_or_default());
        let request = request.map_err(|_| EndpointError::Url { problem: "it is no address" })?;
        let (sender, pieces) = mpsc::sync_channel(16);
        let asked = agent.clone();
        // The thread ends with the connection, which `Drop` shuts down.
        let spawned = std::thread::Builder::new().name("endpoint".into()).spawn(move || ask(&asked, request, &sender));
        if let Err(error) = spawned {
            return Err(EndpointError::Unreachable { url, problem: error.to_string() });
        }
        let connection = Connection { options, url, agent, pieces, n_bytes: 0, ended: false };
        match connection.piece(cancel, None)? {
            None => Ok(None),
            Some(Piece::Head { status, headers }) => connection.opened(status, &headers, cancel),
            Some(_) => Err(connection.unreadable("it does not begin with a status")),
        }
    }

    fn opened(mut self, status: u16, headers: &HeaderMap, cancel: &AtomicBool) -> Result<Option<Self>, EndpointError> {
        let header = |name: &str| {
            let value = headers.get(name)?;
            Some(self.told(&String::from_utf8_lossy(value.as_bytes())))
        };
        let (url, location) = (self.url.clone(), header("location"));
        let retry_after = header("retry-after").and_then(|seconds| seconds.parse().ok());
        match status {
            200..300 => Ok(Some(self)),
            300..400 => {
                let location = location.unwrap_or_else(|| "nowhere".to_owned());
                Err(EndpointError::Redirect { url, status, location })
            }
            _ => {
                let body = self.read(cancel, MAX_ERROR_BYTES)?;
                let message = self.told(&message(&String::from_utf8_lossy(&body)));
                Err(EndpointError::Status { url, status, message, retry_after })
            }
        }
    }

    /// What comes until the end, or until there are so many bytes; what there is, once the flag is raised.
    pub(super) fn read(&mut self, cancel: &AtomicBool, limit: usize) -> Result<Vec<u8>, EndpointError> {
        let mut body = Vec::new();
        while body.len() < limit {
            match self.next(cancel, None)? {
                Next::Bytes(bytes) => body.extend(bytes),
                Next::End | Next::Nothing => break,
            }
        }
        Ok(body)
    }

    /// What comes next, not later than `until`.
    pub(super) fn next(&mut self, cancel: &AtomicBool, until: Option<Instant>) -> Result<Next, EndpointError> {
        match self.piece(cancel, until)? {
            None => Ok(Next::Nothing),
            Some(Piece::Bytes(bytes)) => {
                self.n_bytes += bytes.len();
                if self.n_bytes > MAX_BYTES {
                    return Err(EndpointError::TooLong { url: self.url.clone(), limit: MAX_BYTES });
                }
                Ok(Next::Bytes(bytes))
            }
            Some(_) => {
                self.ended = true;
                Ok(Next::End)
            }
        }
    }

    /// The client, if it can be used again: the answer was read to its end.
    pub(super) fn close(mut self) -> Option<Agent> {
        let until = Instant::now() + LINGER;
        while !self.ended {
            match self.next(&AtomicBool::new(false), Some(until)) {
                Ok(Next::Bytes(_) | Next::End) => {}
                Ok(Next::Nothing) | Err(_) => break,
            }
        }
        self.ended.then(|| self.agent.clone())
    }

    fn piece(&self, cancel: &AtomicBool, until: Option<Instant>) -> Result<Option<Piece>, EndpointError> {
        loop {
            match self.pieces.recv_timeout(LOOK) {
                Ok(Piece::Failed(error)) => return Err(self.failed(error)),
                Ok(piece) => return Ok(Some(piece)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.unreadable("the connection was given up")),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if cancel.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
        }
    }

    fn failed(&self, error: ureq::Error) -> EndpointError {
        use std::io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionReset, InvalidData, TimedOut, UnexpectedEof,
        };
        let url = self.url.clone();
        let problem = self.told(error.to_string().trim_start_matches("io: "));
        match error {
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                let problem = format!("no connection within {} s", CONNECT.as_secs());
                EndpointError::Unreachable { url, problem }
            }
            ureq::Error::Timeout(_) => EndpointError::Timeout { url, seconds: self.options.silence.as_secs() },
            ureq::Error::HostNotFound => {
                EndpointError::Unreachable { url, problem: "there is no host of this name".to_owned() }
            }
            ureq::Error::Io(error) => match error.kind() {
                TimedOut => EndpointError::Timeout { url, seconds: self.options.silence.as_secs() },
                InvalidData if self.options.base.is_encrypted() => EndpointError::Tls { url, problem },
                UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => EndpointError::Cut { url, problem },
                _ => EndpointError::Unreachable { url, problem },
            },
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => EndpointError::Tls { url, problem },
            ureq::Error::ConnectionFailed | ureq::Error::ConnectProxyFailed(_) | ureq::Error::InvalidProxyUrl => {
                EndpointError::Unreachable { url, problem }
            }
            _ => EndpointError::Unreadable { url, problem },
        }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// A text by the server, for a message.
    pub(super) fn told(&self, text: &str) -> String {
        told(text, self.options.key.as_ref())
    }

    pub(super) fn unreadable(&self, problem: &str) -> EndpointError {
        EndpointError::Unreadable { url: self.url.clone(), problem: problem.to_owned() }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // The server notices that nobody listens any more, and the thread that reads comes back.
            self.agent.clone().shutdown();
        }
    }
}

/// Sends a request and hands on what comes, until that is all or nobody takes it.
fn ask(agent: &Agent, request: Request<String>, to: &SyncSender<Piece>) {
    let (parts, body) = request.into_parts();
    let has_body = !body.is_empty();
    let answered = match has_body {
        true => agent.run(Request::from_parts(parts, body)),
        false => agent.run(Request::from_parts(parts, SendBody::none())),
    };
    let response = match answered {
        Ok(response) => response,
        Err(error) => return drop(to.send(Piece::Failed(error))),
    };
    let (parts, body) = response.into_parts();
    let head = Piece::Head { status: parts.status.as_u16(), headers: parts.headers };
    if to.send(head).is_err() {
        return;
    }
    let mut reader = body.into_reader();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let piece = match reader.read(&mut buffer) {
            Ok(0) => Piece::End,
            Ok(n) => Piece::Bytes(buffer[..n].to_vec()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Piece::Failed(ureq::Error::from(error)),
        };
        let is_last = !matches!(piece, Piece::Bytes(_));
        if to.send(piece).is_err() || is_last {
            return;
        }
    }
}

/// What a server says in an error's body, in whatever shape; else the body.
pub(super) fn message(body: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let said = value.as_ref().and_then(super::answer::error_message);
    match said {
        Some(said) => said,
        None if body.trim().is_empty() => "no message".to_owned(),
        None => without_tags(body),
    }
}

/// The text of a page.
fn without_tags(page: &str) -> String {
    let mut depth = 0_u32;
    let keep = |c: char| match c {
        '<' => {
            depth += 1;
            ' '
        }
        '>' if depth > 0 => {
            depth -= 1;
            ' '
        }
        c if depth > 0 && c != ' ' => '\0',
        c => c,
    };
    page.chars().map(keep).filter(|c| *c != '\0').collect()
}
