//! Whether a text of the owner orders anything.

use super::text::{normalize, words};

/// How a question about what is or was begins.
const QUESTIONS: [&str; 16] = [
    "did i", "did you", "did we", "did the", "have i", "have you", "has the", "was the", "were the", "is the", "is my",
    "are the", "are my", "am i", "why did", "why is",
];

/// What begins a sentence, or a part of one, that forbids.
const FORBIDS: [&str; 6] = ["dont", "do not", "never", "i never said", "i said not", "please dont"];

/// Whether the whole text is one question about what is or was, or a part of it says what is not to happen. `Don't forget to` is an order.
pub(super) fn is_no_order(text: &str) -> bool {
    let text = normalize(text).replace(['\'', '\u{2019}'], "");
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | ';' | ',' | ':' | '\n');
    let parts: Vec<String> = text
        .split(is_end)
        .map(|part| words(part).collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect();
    let begins =
        |part: &str, with: &str| part.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let forbids = |part: &str| {
        let with = FORBIDS.iter().find(|with| begins(part, with));
        with.is_some_and(|with| {
            !["forget", "let me forget"].iter().any(|but| part[with.len()..].trim_start().starts_with(but))
        })
    };
    let clauses = |part: &String| {
        let joined = part.replace(" and ", "\n").replace(" but ", "\n");
        joined.split('\n').any(forbids)
    };
    let is_question = |part: &String| QUESTIONS.iter().any(|with| begins(part, with));
    parts.iter().any(clauses) || matches!(&parts[..], [one] if is_question(one))
}

#[cfg(test)]
mod tests {
    use super::is_no_order;

    #[test]
    fn questions_and_what_is_forbidden_order_nothing() {
        for text in [
            "did you set an alarm for 7 am?",
            "Is the dentist on Friday at 3 pm?",
            "don't delete the dentist, I need it",
            "read the file and don't set an alarm at 3 am",
            "I never said to set a timer for 10 minutes",
            "Please don\u{2019}t call Bob",
        ] {
            assert!(is_no_order(text), "{text}");
        }
        for text in [
            "set an alarm for 7 am",
            "Don't forget to add milk",
            "don't let me forget the milk at 6",
            "is the dentist on Friday? If so, move it to 4",
            "what's on Friday",
            "remind me not to be late at 8",
            "add \"never again\" to the reading list",
        ] {
            assert!(!is_no_order(text), "{text}");
        }
    }
}
