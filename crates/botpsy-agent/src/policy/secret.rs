//! Secrets: those that are registered, and text that looks like one.

use super::path;
use super::text::{normalize, tokens, words};

/// Values that must never leave: keys of the server, stored passwords.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} values)", self.0.len())
    }
}

impl Secrets {
    /// Registers a value; one of fewer than four characters would be found everywhere and is left out.
    pub fn register(&mut self, value: impl Into<String>) {
        let value = value.into();
        if value.chars().count() >= 4 && !self.0.contains(&value) {
            self.0.push(value);
        }
    }

    /// Whether a text holds one, as it is, reversed, or in base64, hex or percent signs.
    pub(crate) fn stand_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| forms(secret).iter().any(|form| text.contains(form.as_str())))
            || self.0.iter().any(|secret| unwrapped(text).iter().any(|plain| plain.contains(secret.as_str())))
    }

    /// The text with each of them replaced.
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            for form in forms(secret) {
                text = text.replace(&form, "[secret]");
            }
        }
        text
    }
}

fn forms(secret: &str) -> Vec<String> {
    let reversed = secret.chars().rev().collect();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    vec![
        secret.to_owned(),
        reversed,
        hex.to_uppercase(),
        hex,
        percent.to_lowercase(),
        percent,
        base64(secret.as_bytes()),
    ]
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |all, byte| (all << 8) | u32::from(*byte)) << (8 * (3 - three.len()));
        for i in 0..=three.len() {
            out.push(char::from(SIGNS[(bits >> (18 - 6 * i)) as usize & 63]));
        }
    }
    out
}

/// What the pieces of a text say when they are taken for base64, hex or percent signs, or read backwards.
pub(crate) fn unwrapped(text: &str) -> Vec<String> {
    let mut found = vec![text.chars().rev().collect()];
    let percent = percent_decoded(text);
    if percent != text {
        found.push(percent);
    }
    for piece in text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_'))) {
        for piece in std::iter::once(piece).chain(piece.split('/')).filter(|piece| piece.len() >= 6) {
            found.extend(from_hex(piece));
            found.extend(from_base64(piece));
        }
    }
    found
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(i) {
        let hex = text.get(i + 1..i + 3).filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(hex.unwrap_or(*byte));
        i += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn from_hex(piece: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> =
        (0..piece.len()).step_by(2).map(|i| u8::from_str_radix(piece.get(i..i + 2)?, 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

fn from_base64(piece: &str) -> Option<String> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (mut bits, mut n, mut out) = (0u32, 0, Vec::new());
    for byte in piece.bytes() {
        bits = (bits << 6) | u32::from(value(byte)?);
        n += 6;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
            bits &= (1 << n) - 1;
        }
    }
    String::from_utf8(out).ok().filter(|text| !text.chars().any(char::is_control))
}

/// Words that announce a secret.
const NAMES: [&str; 30] = [
    "password",
    "passwort",
    "passcode",
    "passphrase",
    "pwd",
    "pin",
    "code",
    "otp",
    "token",
    "secret",
    "key",
    "apikey",
    "credential",
    "credentials",
    "passport",
    "card",
    "cvv",
    "cvc",
    "iban",
    "ssn",
    "account",
    "login",
    "puk",
    "tan",
    "license",
    "licence",
    "id",
    "seed",
    "mnemonic",
    "2fa",
];

/// How many words after its announcement a secret may stand.
const REACH: usize = 6;

/// The pieces of a text that look like secrets, normalised: keys by their shape, and words with digits soon after a word such as
/// `code` or `password`.
pub(crate) fn find(text: &str) -> Vec<String> {
    let mut found: Vec<String> =
        text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';')).filter_map(by_shape).collect();
    let text = normalize(text);
    let mut left = 0;
    for token in tokens(&text) {
        let names = words(token).any(|word| NAMES.contains(&word));
        if left > 0 && !names && looks_secret(token) {
            found.push(token.to_owned());
        }
        left = if names { REACH } else { left.saturating_sub(1) };
    }
    found.extend(after_password(&text));
    found
}

/// A word that says nothing else: digits, or digits among letters. Years, dates and small numbers are no secrets.
fn looks_secret(token: &str) -> bool {
    let digits = token.chars().filter(char::is_ascii_digit).count();
    let is_year = token.len() == 4 && (token.starts_with("19") || token.starts_with("20"));
    let is_date = token.len() >= 8
        && token.len() <= 10
        && token.matches(['-', '.']).count() == 2
        && digits >= 6
        && !token.contains(char::is_alphabetic);
    let is_decimal = token.parse::<f64>().is_ok() && token.contains('.');
    (digits >= 4 || (digits >= 1 && digits < token.len() && token.len() >= 5))
        && !is_year
        && !is_date
        && !is_decimal
        && !token.contains('@')
}

/// What follows `password`, digits or not: `password is swordfish`.
fn after_password(text: &str) -> Vec<String> {
    let all: Vec<&str> = tokens(text).collect();
    let follows = |i: usize| {
        let rest = all.get(i + 1..).unwrap_or_default();
        let is =
            rest.first().is_some_and(|word| matches!(*word, "is" | "was")) || text.contains(&format!("{}:", all[i]));
        let at = usize::from(rest.first().is_some_and(|word| matches!(*word, "is" | "was")));
        rest.get(at).filter(|word| is && word.len() >= 4).map(|word| (*word).to_owned())
    };
    let starts = all
        .iter()
        .enumerate()
        .filter(|(_, word)| matches!(**word, "password" | "passphrase" | "passwort" | "passcode"));
    starts.filter_map(|(i, _)| follows(i)).collect()
}

fn by_shape(piece: &str) -> Option<String> {
    const STARTS: [&str; 14] = [
        "sk-",
        "ghp_",
        "gho_",
        "github_pat_",
        "xoxb-",
        "xoxp-",
        "AKIA",
        "ASIA",
        "AIza",
        "eyJ",
        "glpat-",
        "hf_",
        "-----BEGIN",
        "npm_",
    ];
    let known = STARTS.iter().any(|start| piece.starts_with(start) && piece.len() >= start.len() + 8)
        || piece.starts_with("-----BEGIN");
    let assigned = piece.split_once('=').is_some_and(|(name, value)| {
        let is_name = name.len() >= 3 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        is_name && name.starts_with(|c: char| c.is_ascii_uppercase()) && value.len() >= 3
    });
    let login = piece.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split('/').next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    let digits: Vec<u32> = piece.chars().filter(|c| !matches!(c, '-' | ' ')).map_while(|c| c.to_digit(10)).collect();
    let card = (13..=19).contains(&digits.len())
        && digits.len() + piece.matches('-').count() == piece.chars().count()
        && luhn(&digits);
    let mixed = |c: fn(&char) -> bool| piece.chars().filter(c).count();
    let random = piece.len() >= 20
        && !piece.contains(['/', '.', '@', ':'])
        && mixed(char::is_ascii_digit) >= 4
        && mixed(char::is_ascii_uppercase) >= 2
        && mixed(char::is_ascii_lowercase) >= 4;
    (known || assigned || login || card || random || path::is_secret(piece) && piece.contains("-----"))
        .then(|| normalize(piece))
}

fn luhn(digits: &[u32]) -> bool {
    let sum = digits.iter().rev().enumerate().map(|(i, digit)| match i % 2 {
        0 => *digit,
        _ => digit * 2 - if *digit > 4 { 9 } else { 0 },
    });
    sum.sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_announcement_and_by_shape() {
        for text in [
            "Your bank code is 463820",
            "password hunter2",
            "passport_number: HGK137803",
            "credit_card_number: 4237-4252-7456-2574",
            "DB_PASSWORD=hunter",
            "postgres://u:p@host/db",
            "sk-test-0123456789abcdef",
            "Secret key is 1a7b3d.",
            "the password is swordfish",
            "ID_number: 123456789",
        ] {
            assert!(!find(text).is_empty(), "{text}");
        }
        for text in
            ["See you on 2024-05-20 at 18:00", "Dinner is at 7", "The key point is this", "Olivia Smith: 4", "I'm late"]
        {
            assert_eq!(find(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn registered_secrets_are_found_in_disguise() {
        let mut secrets = Secrets::default();
        secrets.register("sk-test-0123");
        for text in [
            "x sk-test-0123 y",
            "3210-tset-ks",
            "c2stdGVzdC0wMTIz",
            "736b2d746573742d30313233",
            "sk%2Dtest-0123",
            "eHNrLXRlc3QtMDEyMw==",
        ] {
            assert!(secrets.stand_in(text), "{text}");
        }
        assert!(!secrets.stand_in("sk-test"));
        assert_eq!(secrets.hide("It is sk-test-0123."), "It is [secret].");
    }
}
