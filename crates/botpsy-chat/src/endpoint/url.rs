//! Where an endpoint is.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

use super::EndpointError;

/// The address under which `chat/completions` and `models` are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// Without a slash at its end.
    text: String,
    host: String,
    encrypted: bool,
}

impl BaseUrl {
    /// Reads an address as people write it: with or without `/v1`, with or without `/chat/completions`.
    ///
    /// ```
    /// # use botpsy_chat::BaseUrl;
    /// assert_eq!(BaseUrl::parse("http://127.0.0.1:8080")?.to_string(), "http://127.0.0.1:8080/v1");
    /// assert_eq!(BaseUrl::parse("https://example.org/api/v1/")?.to_string(), "https://example.org/api/v1");
    /// # Ok::<(), botpsy_chat::EndpointError>(())
    /// ```
    ///
    /// # Errors
    /// If it is no `http` or `https` address, or has more than scheme, host, port and path: a password would be shown in messages.
    pub fn parse(text: &str) -> Result<BaseUrl, EndpointError> {
        let bad = |problem| EndpointError::Url { problem };
        let text = text.trim();
        if !text.contains("://") {
            return Err(bad("it must begin with http:// or https://"));
        }
        let uri: Uri = text.parse().map_err(|_| bad("it is no address"))?;
        let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(bad("it must begin with http:// or https://"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("a name and password do not belong into it"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(bad("it must end with its path"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() {
            return Err(bad("it names no host"));
        }
        let path = uri.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path).trim_end_matches('/');
        let version = if path.split('/').any(is_version) { "" } else { "/v1" };
        let text = format!("{scheme}://{authority}{path}{version}");
        Ok(BaseUrl { text, host, encrypted: scheme == "https" })
    }

    /// Whether what is sent there stays on this machine.
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => address.is_loopback(),
            Ok(IpAddr::V6(address)) => {
                address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
            }
            Err(_) => self.host == "localhost" || self.host.ends_with(".localhost"),
        }
    }

    /// Whether nobody on the way can read what is sent there.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    pub(super) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.text)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `v1`, `v3`, `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_added_where_there_is_none() {
        for (text, base) in [
            ("http://localhost:8080", "http://localhost:8080/v1"),
            ("http://localhost:8080/", "http://localhost:8080/v1"),
            ("HTTP://localhost:8080/v1", "http://localhost:8080/v1"),
            ("https://example.org/v1/", "https://example.org/v1"),
            ("https://example.org/api", "https://example.org/api/v1"),
            ("https://example.org/v1/chat/completions", "https://example.org/v1"),
            ("https://example.org/v1beta/openai", "https://example.org/v1beta/openai"),
            (" http://[::1]:80/v1 ", "http://[::1]:80/v1"),
        ] {
            assert_eq!(BaseUrl::parse(text).unwrap().to_string(), base, "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for text in [
            "",
            "localhost:8080",
            "example.org",
            "ftp://example.org",
            "file:///etc/passwd",
            "http://",
            "http:///v1",
            "http://me:secret@example.org",
            "http://example.org/?key=secret",
            "http://example.org/#v1",
            "http://a b/",
        ] {
            let error = BaseUrl::parse(text).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (text, is_loopback) in [
            ("http://localhost", true),
            ("http://127.0.0.2:1", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://model.localhost", true),
            ("http://localhost.example.org", false),
            ("http://127.0.0.1.example.org", false),
            ("http://192.168.0.2", false),
            ("http://0.0.0.0", false),
        ] {
            assert_eq!(BaseUrl::parse(text).unwrap().is_loopback(), is_loopback, "{text}");
        }
    }
}
