/// White space as Python's `str.strip` sees it: Unicode's, and the four separators of ASCII.
pub(super) fn is_space(ch: char) -> bool {
    ch.is_whitespace() || matches!(ch, '\u{1c}'..='\u{1f}')
}

/// Python's `str.strip`, which is what Jinja's `trim` does.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}
