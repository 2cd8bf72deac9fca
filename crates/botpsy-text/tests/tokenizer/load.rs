//! Readers for the tokenizers that the tests use; the product reads files elsewhere.

use std::path::PathBuf;

use botpsy_text::tokenizer::{MergeList, Splitter, TokenKind, Tokenizer, TokenizerSpec};
use serde_json::Value;

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(name)
}

pub fn json(name: &str) -> Value {
    let path = fixture(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The lists in a `tokenizer.json`.
pub fn spec(name: &str) -> TokenizerSpec {
    let file = json(name);
    let added = file["added_tokens"].as_array().unwrap();
    let vocab = file["model"]["vocab"].as_object().unwrap();
    let pattern = file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"].as_str().unwrap();
    let mut tokens = vec![String::new(); vocab.len() + added.len()];
    let mut kinds = vec![TokenKind::Normal; tokens.len()];
    for (token, id) in vocab {
        tokens[id.as_u64().unwrap() as usize] = token.clone();
    }
    for token in added {
        let id = token["id"].as_u64().unwrap() as usize;
        tokens[id] = token["content"].as_str().unwrap().to_owned();
        let is_special = token["special"].as_bool().unwrap();
        kinds[id] = if is_special { TokenKind::Control } else { TokenKind::UserDefined };
    }
    let merges = file["model"]["merges"].as_array().unwrap().iter().map(|pair| {
        let part = |i: usize| pair[i].as_str().unwrap().to_owned();
        (part(0), part(1))
    });
    TokenizerSpec {
        tokens,
        kinds,
        merges: MergeList::Pairs(merges.collect()),
        splitter: Splitter::from_pattern(pattern).unwrap(),
    }
}

/// The 512 tokens of the random reference models.
pub fn tiny() -> Tokenizer {
    Tokenizer::new(spec("reference/tiny-grouped/tokenizer.json")).unwrap()
}

/// The texts and ids of a fixture.
pub fn cases(file: &Value) -> Vec<(String, Vec<u32>)> {
    let cases = file["cases"].as_array().unwrap().iter().map(|case| {
        let ids = case["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32);
        (case["text"].as_str().unwrap().to_owned(), ids.collect())
    });
    cases.collect()
}
