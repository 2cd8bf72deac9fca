//! `tokenizer.json` as plain lists.

use std::fs;

use botpsy_format::TokenizerEntry::{Added, Normal, Special, Unused};
use botpsy_format::{TokenizerEntry, TokenizerFile};
use serde_json::{Value, json};

use crate::fixture;

fn open(name: &str) -> TokenizerFile {
    TokenizerFile::open(&fixture(name)).unwrap()
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn merges_as_pairs_and_a_hole() {
    let expected = TokenizerFile {
        tokens: strings(&["a", "b", "Ġ", "ab", "Ġab", "[PAD5]", "[PAD6]", "<|end|>", "<tool_call>"]),
        kinds: vec![Normal, Normal, Normal, Normal, Normal, Unused, Unused, Special, Added],
        merges: strings(&["a b", "Ġ ab"]),
        pattern: Some("\\s+|\\S+".to_owned()),
        normalizer: Some("NFC".to_owned()),
    };
    assert_eq!(open("corpus/hf/tokenizer-pairs.json"), expected);
}

#[test]
fn merges_as_strings_and_a_repeated_token() {
    let expected = TokenizerFile {
        tokens: strings(&["a", "b", "<end>", "ab"]),
        kinds: vec![Normal, Normal, Special, Normal],
        merges: strings(&["a b"]),
        pattern: Some("\\S+".to_owned()),
        normalizer: None,
    };
    assert_eq!(open("corpus/hf/tokenizer-lines.json"), expected);
}

#[test]
fn the_reference_vocabularies_are_read() {
    for name in ["reference/tiny-grouped/tokenizer.json", "tokenizer/nano-tokenizer.json"] {
        let file = open(name);
        let json: Value = serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap();
        for (token, id) in json["model"]["vocab"].as_object().unwrap() {
            assert_eq!(file.tokens[id.as_u64().unwrap() as usize], *token);
        }
        for added in json["added_tokens"].as_array().unwrap() {
            let id = added["id"].as_u64().unwrap() as usize;
            assert_eq!(file.tokens[id], added["content"].as_str().unwrap());
            assert_eq!(file.kinds[id] == Special, added["special"] == true);
        }
        assert_eq!(file.merges.len(), json["model"]["merges"].as_array().unwrap().len());
        assert_eq!(file.kinds.len(), file.tokens.len());
        assert!(file.pattern.unwrap().contains("\\p{L}"));
    }
}

#[test]
fn a_vocabulary_of_the_real_size_is_read_in_little_memory() {
    let vocab: serde_json::Map<_, _> = (0..250_000).map(|i| (format!("Ġtoken{i}"), json!(i))).collect();
    let merges: Vec<_> = (1..250_000).map(|i| json!([format!("Ġtoken{}", i - 1), i.to_string()])).collect();
    let text = json!({"model": {"type": "BPE", "vocab": vocab, "merges": merges}}).to_string();
    let start = std::time::Instant::now();
    let file = TokenizerFile::from_bytes(text.as_bytes(), "it").unwrap();
    println!("{} MB in {:?}", text.len() >> 20, start.elapsed());
    assert_eq!((file.tokens.len(), file.merges.len()), (250_000, 249_999));
    assert_eq!(file.merges[249_998], "Ġtoken249998 249999");
}

fn check(json: &Value, expected: &str) {
    let error = TokenizerFile::from_bytes(json.to_string().as_bytes(), "it").unwrap_err().to_string();
    // Where in the line it is depends on how the value was printed.
    assert_eq!(error.split(" at line").next().unwrap(), expected);
}

#[test]
fn other_models_are_refused_by_name() {
    let only = "is not read, only BPE";
    check(&json!({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}}), &format!("it: model.type: `Unigram` {only}"));
    check(&json!({"model": {"vocab": {"a": 0}, "type": "WordPiece"}}), &format!("it: model.type: `WordPiece` {only}"));
    let long = "\u{1b}".repeat(1000);
    let error = format!("it: model.type: `{}...` {only}", "\\u{1b}".repeat(120));
    check(&json!({"model": {"type": long, "vocab": {}}}), &error);
}

#[test]
fn errors_name_the_field() {
    let model = |vocab: Value, merges: Value| json!({"model": {"type": "BPE", "vocab": vocab, "merges": merges}});
    check(&json!({}), "it: missing field `model`");
    check(&json!([]), "it: invalid type: sequence, expected an object");
    check(&json!({"model": ["BPE", {}]}), "it: model: invalid type: sequence, expected an object");
    check(&json!({"model": {}}), "it: model: missing field `vocab`");
    check(&json!({"model": {"type": 1, "vocab": {}}}), "it: model: type: invalid type: integer `1`, expected a string");
    check(&model(json!({"a": "x"}), Value::Null), "it: model: vocab: a: invalid type: string \"x\", expected u64");
    check(&model(json!({"a": -1}), Value::Null), "it: model: vocab: a: invalid value: integer `-1`, expected u64");
    check(&model(json!({"a": 0, "b": 0}), Value::Null), "it: token id 0: stands for both `a` and `b`");
    let limit = "it: token ids of 1 tokens: at most 4100 accepted, found 5001";
    check(&model(json!({"a": 5000}), Value::Null), limit);
    check(
        &model(json!({"a": u64::MAX}), Value::Null),
        "it: token ids: at most 2097152 accepted, found 18446744073709551615",
    );
    let merge = |merge: Value| model(json!({"a": 0}), json!(["a b", merge]));
    check(&merge(json!(["a"])), "it: model: merges: 1: invalid length 1, expected a string or a pair of strings");
    check(&merge(json!([])), "it: model: merges: 1: invalid length 0, expected a string or a pair of strings");
    check(
        &merge(json!(["a", "b", "c"])),
        "it: model: merges: 1: invalid length 3, expected a string or a pair of strings",
    );
    check(&merge(json!(["a b", "c"])), "it: model: merges: 1: a part with a space");
    check(
        &merge(json!(true)),
        "it: model: merges: 1: invalid type: boolean `true`, expected a string or a pair of strings",
    );
    let added = |added: Value| json!({"model": {"vocab": {"a": 0}}, "added_tokens": [added]});
    check(&added(json!({"id": 1})), "it: added_tokens: 0: missing field `content`");
    check(&added(json!({"id": "1", "content": ""})), "it: added_tokens: 0: invalid type: string \"1\", expected u64");
    check(&added(json!({"id": 0, "content": "b"})), "it: token id 0: stands for both `a` and `b`");
    check(&added(json!(1)), "it: added_tokens: 0: invalid type: integer `1`, expected an object");
    let twice = r#"{"model":{"vocab":{"a":0,"a":1}}}"#;
    let error = TokenizerFile::from_bytes(twice.as_bytes(), "it").unwrap_err().to_string();
    assert_eq!(error, "it: model: vocab: a: stands twice at line 1 column 31");
}

#[test]
fn kinds_are_of_four_sorts() {
    let added = json!([{"id": 2, "content": "s", "special": true}, {"id": 3, "content": "t"}]);
    let file = json!({"model": {"vocab": {"a": 0}}, "added_tokens": added}).to_string();
    let kinds: Vec<TokenizerEntry> = TokenizerFile::from_bytes(file.as_bytes(), "it").unwrap().kinds;
    assert_eq!(kinds, [Normal, Unused, Special, Added]);
}
