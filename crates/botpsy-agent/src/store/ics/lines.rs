//! Content lines: a name, parameters, a value, and the very bytes that they stood in.

use std::fmt::Write;

/// Lines are folded so that none is longer, their end left out.
const MAX_OCTETS: usize = 75;

/// A file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Document {
    pub(super) lines: Vec<Line>,
}

/// One content line, unfolded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// As it stands in the file, with folds and its end.
    raw: String,
    /// In capitals; empty when it is no content line.
    pub(super) name: String,
    /// Names in capitals; values without quotes.
    pub(super) params: Vec<(String, String)>,
    /// As it stands, with escapes.
    pub(super) value: String,
}

impl Document {
    /// Reads any text; what is no content line is kept as it is.
    pub(super) fn parse(text: &str) -> Document {
        let mut raws: Vec<String> = Vec::new();
        for physical in text.split_inclusive('\n') {
            match raws.last_mut() {
                Some(last) if physical.starts_with([' ', '\t']) => last.push_str(physical),
                _ => raws.push(physical.to_owned()),
            }
        }
        Document { lines: raws.into_iter().map(Line::parse).collect() }
    }

    /// The file again.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| line.raw.as_str()).collect()
    }

    /// How its lines end.
    pub(super) fn line_end(&self) -> &'static str {
        let is_unix = self.lines.first().is_some_and(|line| !line.raw.ends_with("\r\n"));
        if is_unix { "\n" } else { "\r\n" }
    }
}

impl Line {
    /// A line that is to be written; `value` has its escapes.
    pub(super) fn new(head: &str, value: &str, end: &str) -> Line {
        Line::parse(fold(&format!("{head}:{value}"), end))
    }

    fn parse(raw: String) -> Line {
        let text = unfold(&raw);
        let (head, value) = split_head(&text);
        let mut parts = split_outside_quotes(head, ';').into_iter();
        let name = parts.next().unwrap_or_default().trim().to_ascii_uppercase();
        let param = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.trim().to_ascii_uppercase(), value.trim_matches('"').to_owned())
        };
        let params = parts.map(param).collect();
        Line { params, value: value.to_owned(), name, raw }
    }

    /// A parameter's value.
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Whether it is `name:value`, in whatever case.
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.name == name && self.value.trim().eq_ignore_ascii_case(value)
    }
}

/// The text of a file. Some writers fold in the middle of a letter, which only unfolding mends; then it cannot be edited.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, bool)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").map_or((bytes, true), |rest| (rest, false));
    if let Ok(text) = std::str::from_utf8(bytes.0) {
        return Some((text.to_owned(), bytes.1));
    }
    let mut unfolded = Vec::with_capacity(bytes.0.len());
    let mut rest = bytes.0;
    while let Some((&first, tail)) = rest.split_first() {
        let fold = [&b"\r\n "[..], b"\r\n\t", b"\n ", b"\n\t"].into_iter().find(|fold| rest.starts_with(fold));
        match fold {
            Some(fold) => rest = &rest[fold.len()..],
            None => {
                unfolded.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(unfolded).ok().map(|text| (text, false))
}

/// A text as the value of a content line. Control characters other than line ends and tabs are left out.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => escaped.extend(['\\', c]),
            '\n' | '\r' => escaped.push_str("\\n"),
            '\t' => escaped.push(c),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// What a value says.
pub(super) fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n' | 'N') => text.push('\n'),
            Some(other @ ('\\' | ';' | ',' | ':' | '"')) => text.push(other),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

fn fold(line: &str, end: &str) -> String {
    let (mut folded, mut octets) = (String::with_capacity(line.len() + 8), 0);
    for c in line.chars() {
        if octets + c.len_utf8() > MAX_OCTETS {
            let _ = write!(folded, "{end} ");
            octets = 1;
        }
        folded.push(c);
        octets += c.len_utf8();
    }
    folded + end
}

fn unfold(raw: &str) -> String {
    let mut lines = raw.split_inclusive('\n').map(|line| line.trim_end_matches(['\r', '\n']));
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.get(1..).unwrap_or_default())
}

/// Up to the first colon outside of quotes, and what follows it.
fn split_head(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            ':' if !is_quoted => return (&text[..i], &text[i + 1..]),
            _ => {}
        }
    }
    ("", text)
}

fn split_outside_quotes(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c == at && !is_quoted => {
                parts.push(&text[start..i]);
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
