//! The tags of the format and their lexer. Everything that writes or reads the format takes the tags from here.

/// Opens the reasoning; the prompt writes it when the model is to think.
pub const THINK_OPEN: &str = "<think>";
/// Closes the reasoning.
pub const THINK_CLOSE: &str = "</think>";
/// Opens a tool call.
pub const CALL_OPEN: &str = "<tool_call>";
/// Closes a tool call.
pub const CALL_CLOSE: &str = "</tool_call>";
/// Opens the function of a call; the name and `>` follow.
pub const FUNCTION_OPEN: &str = "<function=";
/// Closes the function of a call.
pub const FUNCTION_CLOSE: &str = "</function>";
/// Opens a parameter; the name and `>` follow.
pub const PARAMETER_OPEN: &str = "<parameter=";
/// Closes a parameter.
pub const PARAMETER_CLOSE: &str = "</parameter>";

/// What a parameter's opener looks like when it is spoilt before its `=`.
const PARAMETER_WORD: &str = "<parameter";
/// Longest name of a function or a parameter, in bytes. It bounds what the lexer waits for.
pub(super) const MAX_NAME_BYTES: usize = 1024;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything that is no tag.
    Text,
    ThinkOpen,
    ThinkClose,
    CallOpen,
    CallClose,
    /// `<function=NAME>`.
    FunctionOpen,
    /// `<function=` without a name on the same line.
    BrokenFunction,
    FunctionClose,
    /// `<parameter=NAME>`.
    ParameterOpen,
    /// `<parameter` or `<parameter=` without a name on the same line.
    BrokenParameter,
    ParameterClose,
    /// The beginning of a tag, cut off by the end of the output.
    Partial,
}

/// A piece of the text, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    /// The token's own text.
    pub(super) fn text(self, all: &str) -> &str {
        &all[self.start..self.end]
    }

    /// The name that an opener of a function or parameter carries.
    pub(super) fn name(self, all: &str) -> &str {
        let text = self.text(all);
        let name = text.strip_prefix(FUNCTION_OPEN).or_else(|| text.strip_prefix(PARAMETER_OPEN));
        name.and_then(|name| name.strip_suffix('>')).expect("only openers that carry a name are asked for it")
    }
}

/// Whether more text may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Open,
    Ended,
}

const WHOLE_TAGS: [(&str, Kind); 6] = [
    (THINK_OPEN, Kind::ThinkOpen),
    (THINK_CLOSE, Kind::ThinkClose),
    (CALL_OPEN, Kind::CallOpen),
    (CALL_CLOSE, Kind::CallClose),
    (FUNCTION_CLOSE, Kind::FunctionClose),
    (PARAMETER_CLOSE, Kind::ParameterClose),
];

/// The token at `at`. `None` at the end of the text, and where more text is needed to tell what stands there.
///
/// How the text was cut into pieces shows only in where text tokens end.
pub(super) fn next_token(all: &str, at: usize, input: Input) -> Option<Token> {
    let rest = &all[at..];
    let token = |kind, len| Some(Token { kind, start: at, end: at + len });
    if rest.is_empty() {
        return None;
    }
    if !rest.starts_with('<') {
        return token(Kind::Text, rest.find('<').unwrap_or(rest.len()));
    }
    if let Some((tag, kind)) = WHOLE_TAGS.iter().find(|(tag, _)| rest.starts_with(tag)) {
        return token(*kind, tag.len());
    }
    let opened = if let Some(name) = rest.strip_prefix(FUNCTION_OPEN) {
        named(name, FUNCTION_OPEN.len(), Kind::FunctionOpen, Kind::BrokenFunction)
    } else if let Some(name) = rest.strip_prefix(PARAMETER_OPEN) {
        named(name, PARAMETER_OPEN.len(), Kind::ParameterOpen, Kind::BrokenParameter)
    } else if rest.starts_with(PARAMETER_WORD) && rest != PARAMETER_WORD {
        Some((Kind::BrokenParameter, PARAMETER_WORD.len()))
    } else {
        let openers = [FUNCTION_OPEN, PARAMETER_OPEN].into_iter();
        let mut tags = openers.chain(WHOLE_TAGS.iter().map(|(tag, _)| *tag));
        if tags.any(|tag| tag.starts_with(rest)) {
            None
        } else {
            let len = rest[1..].find('<').map_or(rest.len(), |next| next + 1);
            Some((Kind::Text, len))
        }
    };
    match (opened, input) {
        (Some((kind, len)), _) => token(kind, len),
        (None, Input::Open) => None,
        (None, Input::Ended) => token(Kind::Partial, rest.len()),
    }
}

/// Reads the name that follows an opener of `opener_len` bytes: the kind and length of the tag, or `None` when it is cut.
fn named(name: &str, opener_len: usize, whole: Kind, broken: Kind) -> Option<(Kind, usize)> {
    let end = name.bytes().take(MAX_NAME_BYTES).position(|byte| matches!(byte, b'>' | b'<' | b'\n' | b'\r'));
    match end {
        Some(end) if name.as_bytes()[end] == b'>' && !name[..end].trim().is_empty() => {
            Some((whole, opener_len + end + 1))
        }
        Some(_) => Some((broken, opener_len)),
        None if name.len() >= MAX_NAME_BYTES => Some((broken, opener_len)),
        None => None,
    }
}
