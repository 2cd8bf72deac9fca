//! Untrusted text on its way through a chat template.
//!
//! A template joins trusted markers and text from outside into one string, so the border between them is lost.
//! [`guard`] marks the untrusted side before rendering: it puts a *break*, one [`SENTINEL`], into every place
//! where an added token would take in a character of that text, and doubles a sentinel that the text holds
//! itself. `encode_template` drops the breaks and does not recognize a token that one falls into (or directly
//! behind). Breaks have no other effect, so too many of them do no harm. Trusted text that is to show a sentinel
//! has to double it as well.
//!
//! A break stands after the first character that the token would take from the text. It covers tokens within the
//! text, tokens that the end of the text begins (`<|im_`, and the next field or the template goes on with
//! `end|>`), and tokens that its start completes, also when the template trims white space from the text. What
//! it cannot cover: a template that writes the borders of a token around an untrusted field, as in
//! `<{{ name }}>`, makes the token out of its own text. No break is put into a text that is merely the middle of
//! a token, such as `think` or `name`, since templates compare such words.

use std::borrow::Cow;

use super::added::AddedTokens;

/// Marks a break in untrusted text: the first private-use character.
pub const SENTINEL: char = '\u{E000}';

/// Breaks every added token that could form within or across the borders of `text`.
#[must_use]
pub fn guard(text: &str, added: &AddedTokens) -> String {
    let trimmed_start = text.len() - text.trim_start_matches(is_trimmed).len();
    let trimmed_end = text.trim_end_matches(is_trimmed).len();
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for (at, ch) in text.char_indices() {
        out.push(ch);
        if ch == SENTINEL {
            out.push(SENTINEL);
        }
        let is_start = at == 0 || at == trimmed_start;
        if added.may_start(&text[at..])
            || (at < trimmed_end && added.may_start(&text[at..trimmed_end]))
            || (is_start && added.may_end(&text[at..]))
        {
            out.push(SENTINEL);
        }
    }
    out
}

/// The text without breaks, its own sentinels single again.
#[must_use]
pub fn unguard(text: &str) -> String {
    split_breaks(text).0.into_owned()
}

/// The text of a rendering and, in ascending order, the positions of the breaks in it.
///
/// In a run of sentinels each pair is one of the text's own; an odd one out is a break, and it comes first.
pub(super) fn split_breaks(rendered: &str) -> (Cow<'_, str>, Vec<usize>) {
    let mut breaks = Vec::new();
    let mut rest = match rendered.find(SENTINEL) {
        None => return (Cow::Borrowed(rendered), breaks),
        Some(first) => first,
    };
    let mut text = String::with_capacity(rendered.len());
    text.push_str(&rendered[..rest]);
    while rest < rendered.len() {
        let after = rendered[rest..].trim_start_matches(SENTINEL);
        let run = rendered.len() - rest - after.len();
        let n_sentinels = run / SENTINEL.len_utf8();
        if n_sentinels % 2 == 1 {
            breaks.push(text.len());
        }
        text.extend(std::iter::repeat_n(SENTINEL, n_sentinels / 2));
        let plain = after.find(SENTINEL).unwrap_or(after.len());
        text.push_str(&after[..plain]);
        rest += run + plain;
    }
    (Cow::Owned(text), breaks)
}

/// What templates trim: Python's `str.strip` takes the four separators too.
fn is_trimmed(ch: char) -> bool {
    ch.is_whitespace() || matches!(ch, '\u{1c}'..='\u{1f}')
}
