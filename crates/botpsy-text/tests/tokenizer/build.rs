//! Lists that contradict each other are refused, and the message names the entry.

use botpsy_text::tokenizer::{MergeList, QWEN35_PATTERN, Splitter, TokenId, TokenKind, Tokenizer, TokenizerSpec};

use crate::load;

/// The 256 bytes, two merges, a control token, a marker and padding.
fn small() -> TokenizerSpec {
    let mut tokens = load::alphabet().into_iter().map(String::from).collect::<Vec<_>>();
    tokens.extend(["th", "the", "<|end|>", "<think>", "[PAD]", "[PAD]"].map(String::from));
    let mut kinds = vec![TokenKind::Normal; 258];
    kinds.extend([TokenKind::Control, TokenKind::UserDefined, TokenKind::Unused, TokenKind::Unused]);
    let merges = MergeList::Lines(["t h", "th e"].map(String::from).into());
    TokenizerSpec { tokens, kinds, merges, splitter: Splitter::Qwen35 }
}

fn check(change: impl FnOnce(&mut TokenizerSpec), expected: &str) {
    let mut spec = small();
    change(&mut spec);
    assert_eq!(Tokenizer::new(spec).unwrap_err().to_string(), expected);
}

fn merges(lines: &[&str]) -> MergeList {
    MergeList::Lines(lines.iter().map(ToString::to_string).collect())
}

#[test]
fn entries_at_fault_are_named() {
    check(|spec| spec.kinds.push(TokenKind::Normal), "token kinds: expected one for each of 262 tokens, found 263");
    check(|spec| spec.kinds.truncate(1), "token kinds: expected one for each of 262 tokens, found 1");
    check(|spec| spec.tokens[7].clear(), "token 7: empty");
    check(|spec| spec.tokens[258].clear(), "token 258: empty");
    check(|spec| spec.tokens[257] = "th".into(), "token 257: \"th\" is also token 256");
    check(|spec| spec.tokens[259] = "<|end|>".into(), "token 259: \"<|end|>\" is also token 258");
    check(|spec| spec.tokens[258] = "the".into(), "token 258: \"the\" is also token 257");
    check(|spec| spec.tokens[257] = "t h".into(), "token 257: \"t h\" is not spelled in the byte alphabet");
    check(|spec| spec.tokens[258] = "x".repeat(600), "token 258: 600 bytes, at most 512 are allowed");
    check(
        |spec| spec.tokens[258] = "<\u{e000}>".into(),
        "token 258: \"<\\u{e000}>\" holds U+E000, which marks untrusted text",
    );
    check(|spec| spec.tokens[65] = "xx".into(), "vocabulary: no token for byte 0x41");
    check(|spec| spec.kinds[65] = TokenKind::Unused, "vocabulary: no token for byte 0x41");
    check(|spec| spec.tokens.clear(), "token kinds: expected one for each of 0 tokens, found 262");
}

#[test]
fn merges_at_fault_are_named() {
    check(|spec| spec.merges = merges(&["t h", "the"]), "merge 1: \"the\" has no space");
    check(|spec| spec.merges = merges(&["t h", ""]), "merge 1: \"\" has no space");
    check(|spec| spec.merges = merges(&["t hh"]), "merge 0: part \"hh\" is not a normal token of the vocabulary");
    check(|spec| spec.merges = merges(&["t h e"]), "merge 0: part \"h e\" is not a normal token of the vocabulary");
    check(|spec| spec.merges = merges(&[" th"]), "merge 0: part \"\" is not a normal token of the vocabulary");
    check(|spec| spec.merges = merges(&["h e"]), "merge 0: result \"he\" is not a normal token of the vocabulary");
    check(
        |spec| spec.merges = merges(&["< |end|>"]),
        "merge 0: part \"|end|>\" is not a normal token of the vocabulary",
    );
    check(|spec| spec.merges = merges(&["t h", "th e", "t h"]), "merge 2: repeats merge 0");
    let long = format!("merge 0: part \"{}...\" is not a normal token of the vocabulary", "q".repeat(80));
    check(|spec| spec.merges = merges(&[&format!("t {}", "q".repeat(5000))]), &long);
}

#[test]
fn vocabulary_can_be_looked_up() {
    let tokenizer = Tokenizer::new(small()).unwrap();
    assert_eq!(tokenizer.n_tokens(), 262);
    assert_eq!(tokenizer.id_of("the"), Some(TokenId(257)));
    assert_eq!(tokenizer.id_of("<think>"), Some(TokenId(259)));
    assert_eq!(tokenizer.id_of("\u{120}"), Some(TokenId(32)));
    for unknown in ["[PAD]", " ", "he", ""] {
        assert_eq!(tokenizer.id_of(unknown), None, "{unknown:?}");
    }
    assert_eq!(tokenizer.token_bytes(TokenId(32)), b" ");
    assert_eq!(tokenizer.token_bytes(TokenId(258)), b"<|end|>");
    assert_eq!(tokenizer.token_bytes(TokenId(262)), b"");
    assert_eq!([258, 259, 260, 262].map(|id| tokenizer.is_special(TokenId(id))), [true, false, false, false]);
    assert_eq!(tokenizer.kind(TokenId(262)), None);
    assert_eq!([1, 2, 3, 4, 5, 6].map(|n| TokenKind::from_gguf(n).unwrap() as u32), [1, 2, 3, 4, 5, 6]);
    assert_eq!([0, 7].map(TokenKind::from_gguf), [None, None]);
}

#[test]
fn the_longest_token_wins_and_padding_is_never_made() {
    let mut spec = small();
    spec.tokens.extend(["<think>\n".into(), "k>x".into()]);
    spec.kinds.extend([TokenKind::UserDefined; 2]);
    let tokenizer = Tokenizer::new(spec).unwrap();
    let ids = |text: &str| tokenizer.encode(text).into_iter().map(|id| id.0).collect::<Vec<_>>();
    assert_eq!(ids("<think>\n<think>x"), [262, 259, 120]);
    assert_eq!(ids("<<think>"), [60, 259]);
    assert_eq!(ids("k>x[PAD]"), [263, 91, 80, 65, 68, 93]);
    assert_eq!(ids("the<|end|>th"), [257, 258, 256]);
}

#[test]
fn lines_pairs_and_ranks_give_the_same_ids() {
    let text = "the theatre, then <think> other\n";
    let pairs = MergeList::Pairs([("t", "h"), ("th", "e")].map(|(l, r)| (l.to_owned(), r.to_owned())).into());
    let expected = Tokenizer::new(small()).unwrap().encode(text);
    for merges in [pairs, MergeList::RanksOnly] {
        assert_eq!(Tokenizer::new(TokenizerSpec { merges, ..small() }).unwrap().encode(text), expected);
    }
}

#[test]
fn other_splitters_are_refused_by_name() {
    assert_eq!(Splitter::from_pre("qwen35"), Ok(Splitter::Qwen35));
    assert_eq!(Splitter::from_pattern(QWEN35_PATTERN), Ok(Splitter::Qwen35));
    let message = Splitter::from_pre("qwen2").unwrap_err().to_string();
    assert_eq!(message, "tokenizer.ggml.pre: expected \"qwen35\", found \"qwen2\"");
    assert!(Splitter::from_pattern("\\s+").unwrap_err().to_string().starts_with("pre_tokenizer pattern: expected"));
}
