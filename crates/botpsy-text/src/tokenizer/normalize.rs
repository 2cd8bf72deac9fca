//! NFC, with the tables that the reference tokenizer normalizes by.
//!
//! Only the neighborhood of *unstable* characters is looked at; all other text is copied as it stands. The
//! canonical mappings come from `unicode-normalization`, but only for characters that the generated table knows:
//! later versions of Unicode add compositions, and the ids of a text must not depend on the version of a crate.

use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};

use super::unicode::{COMPOSITE, CodePoints, UNSTABLE};

/// Whether NFC leaves `text` as it is for certain.
pub(super) fn is_stable(text: &str) -> bool {
    first_unstable(text, 0).is_none()
}

/// Appends the NFC form of `text`.
pub(super) fn nfc_into(text: &str, out: &mut String) {
    let mut copied = 0;
    let mut run = Vec::new();
    while let Some(unstable) = first_unstable(text, copied) {
        // The character before is stable: it may take up marks, and nothing reaches beyond it.
        let before = text[copied..unstable].chars().next_back();
        let start = unstable - before.map_or(0, char::len_utf8);
        let end = stable_from(text, unstable);
        out.push_str(&text[copied..start]);
        compose_run(&text[start..end], &mut run, out);
        copied = end;
    }
    out.push_str(&text[copied..]);
}

fn first_unstable(text: &str, from: usize) -> Option<usize> {
    // Every character below U+0300 is stable; its bytes, and all tail bytes, are below 0xCC.
    const FIRST_LEAD: u8 = 0xCC;
    let code_points = CodePoints::get();
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += bytes[at..].iter().position(|&byte| byte >= FIRST_LEAD)?;
        let (flags, len) = code_points.at(bytes, at);
        if flags & UNSTABLE != 0 {
            return Some(at);
        }
        at += len;
    }
}

fn stable_from(text: &str, from: usize) -> usize {
    let code_points = CodePoints::get();
    let mut at = from;
    while at < text.len() {
        let (flags, len) = code_points.at(text.as_bytes(), at);
        if flags & UNSTABLE == 0 {
            break;
        }
        at += len;
    }
    at
}

/// Decomposes, orders and composes one run; `run` is a buffer.
fn compose_run(text: &str, run: &mut Vec<(u8, char)>, out: &mut String) {
    let code_points = CodePoints::get();
    run.clear();
    for ch in text.chars() {
        if code_points.of(ch as u32) & (UNSTABLE | COMPOSITE) == 0 {
            run.push((0, ch));
        } else {
            decompose_canonical(ch, |part| run.push((combining_class(part), part)));
        }
    }
    for marks in run.chunk_by_mut(|a, b| a.0 != 0 && b.0 != 0) {
        marks.sort_by_key(|&(class, _)| class);
    }
    compose_ordered(run);
    out.extend(run.iter().map(|&(_, ch)| ch));
}

/// Joins each character to the last starter unless something in between blocks it.
fn compose_ordered(run: &mut Vec<(u8, char)>) {
    let mut starter: Option<usize> = None;
    let mut kept = 0;
    for i in 0..run.len() {
        let (class, ch) = run[i];
        if let Some(at) = starter {
            let last: (u8, char) = run[kept - 1];
            let open = kept - 1 == at || (last.0 < class);
            if let Some(joined) = open.then(|| compose_known(run[at].1, ch)).flatten() {
                run[at].1 = joined;
                continue;
            }
        }
        if class == 0 {
            starter = Some(kept);
        }
        run[kept] = (class, ch);
        kept += 1;
    }
    run.truncate(kept);
}

fn combining_class(ch: char) -> u8 {
    if CodePoints::get().of(ch as u32) & UNSTABLE == 0 { 0 } else { canonical_combining_class(ch) }
}

fn compose_known(first: char, second: char) -> Option<char> {
    compose(first, second).filter(|&joined| CodePoints::get().of(joined as u32) & COMPOSITE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nfc(text: &str) -> String {
        let mut out = String::new();
        nfc_into(text, &mut out);
        out
    }

    #[test]
    fn marks_are_ordered_and_composed() {
        assert_eq!(nfc("cafe\u{301}!"), "café!");
        assert_eq!(nfc("e\u{301}\u{323}"), "ẹ\u{301}");
        assert_eq!(nfc("é\u{323}x"), "ẹ\u{301}x");
        assert_eq!(nfc("\u{301}a"), "\u{301}a");
        assert_eq!(nfc("\u{212b}\u{958}"), "Å\u{915}\u{93c}");
        assert_eq!(nfc("\u{1100}\u{1161}\u{11a8}\u{ac00}\u{11a8}"), "각각");
    }

    #[test]
    fn compositions_newer_than_the_reference_stay_apart() {
        assert_eq!(nfc("\u{105d2}\u{307}"), "\u{105d2}\u{307}");
        assert_eq!(nfc("\u{11935}\u{11930}"), "\u{11935}\u{11930}");
    }
}
