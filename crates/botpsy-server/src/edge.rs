//! Who may come in: keys, hosts, origins.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::app::Shared;
use crate::error::ApiError;

/// What is checked of each request.
#[derive(Debug)]
pub(crate) struct Edge {
    /// Digests of the keys; empty where none is needed.
    keys: Vec<[u8; 32]>,
    /// Whether only this machine can connect: then a `Host` of another name is a trick of a web page.
    loopback: bool,
    /// Origins that may use the inference paths beside those of this machine.
    origins: Vec<String>,
}

/// Paths that tell nothing and cost nothing.
const OPEN_PATHS: [&str; 2] = ["/health", "/ready"];

impl Edge {
    pub(crate) fn new(keys: &[String], address: IpAddr, origins: Vec<String>) -> Edge {
        Edge { keys: keys.iter().map(|key| digest(key)).collect(), loopback: address.is_loopback(), origins }
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        let path = uri.path();
        let mut hosts = headers.get_all(header::HOST).iter();
        let n_hosts = headers.get_all(header::HOST).iter().count();
        if n_hosts > 1 || (n_hosts == 0 && request.version() == Version::HTTP_11) {
            return Err(ApiError::invalid(format!("there are {n_hosts} Host headers: HTTP/1.1 wants one")));
        }
        if self.loopback
            && !(hosts.all(|host| host.to_str().is_ok_and(is_local_host)) && uri.host().is_none_or(is_local_host))
        {
            return Err(ApiError::forbidden(
                "the Host header names another machine: connect by 127.0.0.1 or localhost",
            ));
        }
        if let Some(origin) = headers.get(header::ORIGIN)
            && !self.allows_origin(origin, path)
        {
            return Err(ApiError::forbidden("this Origin is not allowed: list it with --cors-origin"));
        }
        let open = OPEN_PATHS.contains(&path) || method == Method::OPTIONS;
        if open || !self.needs_key() || keys_of(headers).any(|key| self.knows(key)) {
            return Ok(());
        }
        Err(ApiError::no_key())
    }

    /// Whether a key is needed at all.
    pub(crate) fn needs_key(&self) -> bool {
        !self.keys.is_empty()
    }

    /// In a time that does not depend on how much of the key is right.
    fn knows(&self, key: &str) -> bool {
        let given = digest(key);
        let mut found = false;
        for known in &self.keys {
            let difference = known.iter().zip(&given).fold(0, |difference, (a, b)| difference | (a ^ b));
            found |= std::hint::black_box(difference) == 0;
        }
        found
    }

    fn allows_origin(&self, origin: &HeaderValue, path: &str) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let listed = self.origins.iter().any(|listed| listed == "*" || listed == origin);
        listed || (path.starts_with("/v1/") && host.is_some_and(is_local_host))
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// What a client gives as a key, in either way that clients do.
fn keys_of(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|value| value.split_once(' '));
    let bearer = bearer.filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer")).map(|(_, key)| key.trim());
    bearer.into_iter().chain(text("x-api-key"))
}

/// Whether `host`, with or without a port, is a name of this machine that no other can have.
fn is_local_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, rest)) => (name, Some(rest.strip_prefix(':').unwrap_or(rest))),
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return false;
    }
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses who may not come in, and tells browsers what an allowed origin may do.
pub(crate) async fn guard(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let asked = request.headers();
    let origin =
        asked.get(header::ORIGIN).filter(|origin| app.edge.allows_origin(origin, request.uri().path())).cloned();
    let preflight = request.method() == Method::OPTIONS && asked.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    // Clients send headers of their own, such as what they run on; none of them opens anything here.
    let headers_asked = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let checked = app.edge.check(&request);
    let mut response = match checked {
        Err(error) => error.into_response(),
        Ok(()) if preflight => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        if preflight {
            let usual = HeaderValue::from_static("authorization, content-type, x-api-key");
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, headers_asked.unwrap_or(usual));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }
    response
}
