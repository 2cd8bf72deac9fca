//! Addresses of the web, as far as the gate must understand them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::normalize;

/// A web address taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// Lower case; empty when none was written.
    pub(crate) scheme: String,
    /// Lower case, without user, port and closing dot.
    pub(crate) host: String,
    /// Host with port, path, query and fragment, without scheme and without a closing slash: what is compared.
    pub(crate) key: String,
}

/// Reads a value as a web address; `None` when it is none. An address without a scheme needs a dot in its host.
pub(crate) fn parse(value: &str) -> Option<Url> {
    let text = value.trim();
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) && rest.starts_with("//") => (scheme, rest.trim_start_matches('/')),
        Some((scheme, rest))
            if is_scheme(scheme) && !rest.starts_with(|c: char| c.is_ascii_digit()) && !scheme.contains('.') =>
        {
            (scheme, rest)
        }
        _ => ("", text.trim_start_matches('/')),
    };
    // A backslash counts as a slash in browsers.
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host_port = authority.rsplit('@').next().unwrap_or_default();
    let host = host_of(host_port);
    if scheme.is_empty() && (!host.contains('.') || authority.contains('@') || rest.contains(char::is_whitespace)) {
        return None;
    }
    let key = format!("{}{}", normalize(host_port).trim_end_matches('.'), tail.trim_end_matches('/'));
    Some(Url { scheme: scheme.to_lowercase(), host, key })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn host_of(host_port: &str) -> String {
    let host = match host_port.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host_port.split(':').next().unwrap_or_default(),
    };
    normalize(host).trim_end_matches('.').to_owned()
}

/// Whether a host is this computer, a neighbour, or an address that no public service has.
///
/// Numbers are read as the C library does: `0x7f000001`, `2130706433`, `0177.1`.
pub(crate) fn is_private_host(host: &str) -> bool {
    const NAMES: [&str; 3] = ["localhost", "ip6-localhost", "metadata"];
    const ENDS: [&str; 7] = [".localhost", ".local", ".internal", ".lan", ".home", ".intranet", ".home.arpa"];
    // Names have no other signs; a percent sign hides what the host is.
    let is_odd = !host.contains(':') && host.chars().any(|c| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_')));
    let named = is_odd || NAMES.contains(&host) || host == "localtest.me" || ENDS.iter().any(|end| host.ends_with(end));
    let bare = host.split('%').next().unwrap_or_default();
    let number = bare.parse::<Ipv6Addr>().map(IpAddr::V6).ok().or_else(|| ipv4(bare).map(IpAddr::V4));
    host.is_empty() || named || number.is_some_and(is_private_ip) || embedded_ip(host).is_some_and(is_private_v4)
}

fn is_private_ip(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_private_v4(ip),
        IpAddr::V6(ip) => {
            let s = ip.segments();
            let v4 = Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7]));
            let mapped = s[..5] == [0; 5] && (s[5] == 0xffff || s[5] == 0);
            let nat64 = s[0] == 0x64 && s[1] == 0xff9b;
            let local = ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || (s[0] & 0xfe00) == 0xfc00;
            local || (s[0] & 0xff80) == 0xfe80 || ((mapped || nat64) && is_private_v4(v4))
        }
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let special = a == 0 || a >= 240 || (a == 198 && (b == 18 || b == 19)) || (a == 192 && b == 0);
    shared || special || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast()
}

fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 8 * (4 - first.len() as u32);
    let high = first.iter().fold(0u64, |all, part| (all << 8) | part);
    let value = (high << room) | last;
    (*last < 1 << room).then(|| u32::try_from(value).ok().map(Ipv4Addr::from))?
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None if text.chars().all(|c| c.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// The number inside names of services that resolve to what is written in them: `127.0.0.1.nip.io`.
fn embedded_ip(host: &str) -> Option<Ipv4Addr> {
    const SERVICES: [&str; 4] = [".nip.io", ".sslip.io", ".xip.io", ".localtest.me"];
    let service = SERVICES.iter().find(|service| host.ends_with(**service))?;
    let name = host.strip_suffix(service)?.replace('-', ".");
    let parts: Vec<&str> = name.split('.').collect();
    let four = parts.len().checked_sub(4).map(|at| parts[at..].join("."));
    four.and_then(|four| ipv4(&four)).or(Some(Ipv4Addr::LOCALHOST))
}

/// The web addresses in running text, as they would be compared, with what was written.
pub(crate) fn links(text: &str) -> Vec<(String, Url)> {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '<' | '>' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';')
    };
    let pieces = text.split(ends).filter(|piece| piece.len() > 3 && piece.contains('.'));
    let trimmed = pieces.map(|piece| piece.trim_matches(['.', ':', '!', '*', '_']).trim_end_matches('?'));
    trimmed.filter(|piece| looks_like_link(piece)).filter_map(|piece| Some((piece.to_owned(), parse(piece)?))).collect()
}

/// Whether a piece of text would be taken for a link by somebody who reads it.
fn looks_like_link(piece: &str) -> bool {
    const FILES: [&str; 32] = [
        "txt", "md", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "pdf", "csv", "json", "xml", "html", "png", "jpg",
        "jpeg", "gif", "mp3", "mp4", "zip", "tar", "gz", "py", "rs", "js", "ics", "eml", "odt", "ods", "log", "toml",
        "yaml",
    ];
    let lower = piece.to_lowercase();
    if lower.contains("://") || lower.starts_with("www.") {
        return true;
    }
    let host = lower.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let Some((name, end)) = host.rsplit_once('.') else { return false };
    let is_name =
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.')) && name.chars().any(char::is_alphabetic);
    let is_end = (2..=12).contains(&end.len()) && end.chars().all(char::is_alphabetic);
    is_name && is_end && name.len() >= 2 && !FILES.contains(&end) && !lower.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_inside_are_seen_however_they_are_written() {
        let inside = [
            "http://127.0.0.1/",
            "http://0x7f000001/",
            "http://2130706433",
            "http://[::1]/",
            "http://localhost.:80/",
            "http://user@news.example@10.0.0.1/",
            "http://0177.1/",
            "http://[::ffff:10.0.0.1]/",
            "http://127.0.0.1.nip.io/",
            "http://169.254.169.254/x",
            "http://100.64.0.1",
            "http://127%2e0%2e0%2e1/",
            "http://\u{2460}27.0.0.1",
            "http://printer.local",
            "http://[fe80::1%25eth0]/",
        ];
        for url in inside {
            assert!(is_private_host(&parse(url).unwrap().host), "{url}");
        }
        for url in ["https://news.example/a", "http://8.8.8.8/", "www.dora-website.com", "http://172.15.0.1"] {
            assert!(!is_private_host(&parse(url).unwrap().host), "{url}");
        }
    }

    #[test]
    fn links_are_found_in_text() {
        let found = links("See www.a.com/x, <https://b.example/y?z=1>. Not feedback.xlsx, 12.50 or e.g. a@b.org.");
        assert_eq!(
            found.iter().map(|(link, _)| link.as_str()).collect::<Vec<_>>(),
            ["www.a.com/x", "https://b.example/y?z=1"]
        );
        assert_eq!(
            parse("https://A.example./").map(|url| url.key),
            Some("a.example.".to_owned().trim_end_matches('.').to_owned())
        );
        assert_eq!(parse("12:30"), None);
    }
}
