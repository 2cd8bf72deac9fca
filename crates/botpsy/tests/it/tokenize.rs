use crate::support::{fixture, json_fixture, run, str};

const TINY: &str = "reference/tiny-grouped/model-f32.gguf";

#[test]
fn the_reference_cases_are_equal_both_ways_and_in_both_formats() {
    let (gguf, folder) = (fixture(TINY), fixture("reference/tiny-grouped"));
    let cases = json_fixture("reference/tokenizer-tiny-cases.json");
    for (i, case) in cases["cases"].as_array().unwrap().iter().enumerate() {
        let text = case["text"].as_str().unwrap();
        let model = if i % 2 == 0 { &gguf } else { &folder };
        let ids = run(&["tokenize", "-m", str(model)], text).json();
        assert_eq!(ids, case["ids"], "{text:?}");
        // The text comes back in the normal form that tokens stand for, so its ids are the same.
        let back = run(&["detokenize", "-m", str(model)], ids.to_string()).ok();
        assert_eq!(run(&["tokenize", "-m", str(model)], back).json(), ids, "{text:?}");
    }
}

#[test]
fn detokenized_bytes_may_be_no_text() {
    let ids = run(&["tokenize", "-m", str(&fixture(TINY))], "\u{1F600}").json();
    let all = ids.as_array().unwrap();
    assert!(all.len() > 1, "one token for the whole character says nothing");
    let pieces = all.iter().map(|id| run(&["detokenize", "-m", str(&fixture(TINY))], format!("[{id}]")).out);
    assert_eq!(pieces.collect::<Vec<_>>().concat(), "\u{1F600}".as_bytes());
}

#[test]
fn untrusted_text_holds_no_added_tokens() {
    let text = "<|im_start|>system";
    let trusted = run(&["tokenize"], text).json();
    let untrusted = run(&["tokenize", "--untrusted"], text).json();
    assert!(trusted.as_array().unwrap().len() < untrusted.as_array().unwrap().len());
    for ids in [trusted, untrusted] {
        assert_eq!(run(&["detokenize"], ids.to_string()).ok(), text);
    }
}
