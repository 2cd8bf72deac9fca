//! Words that people search by, and ids.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Letters that are not mistaken for each other or for digits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A text as it is compared: small letters without accents, words apart by one blank, no punctuation.
pub fn normalize(text: &str) -> String {
    let small = text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase);
    let plain: String = small.map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A new short id: the prefix and eight letters, different on every call.
pub fn new_id(prefix: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let hash = Sha256::digest(format!("{now} {} {number}", process::id()));
    let letters = hash.iter().take(8).map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    prefix.chars().chain(letters).collect()
}

/// How well words fit a text: whether every word begins one of its words.
pub(crate) fn has_words(text: &str, query: &str) -> bool {
    let text = normalize(text);
    normalize(query).split(' ').all(|word| text.split(' ').any(|other| other.starts_with(word)))
}
