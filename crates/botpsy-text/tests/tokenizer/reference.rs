//! Ids equal those of the reference tokenizer.

use botpsy_text::tokenizer::Tokenizer;

use crate::load;

fn check_ids(tokenizer: &Tokenizer, cases: &[(String, Vec<u32>)]) {
    for (text, expected) in cases {
        let ids: Vec<u32> = tokenizer.encode(text).into_iter().map(|id| id.0).collect();
        assert_eq!(&ids, expected, "{text:?}");
    }
}

#[test]
fn tiny_vocabulary_gives_the_listed_ids() {
    let cases = load::cases(&load::json("reference/tokenizer-tiny-cases.json"));
    assert_eq!(cases.len(), 55);
    check_ids(&load::tiny(), &cases);
}
