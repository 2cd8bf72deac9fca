//! Text from outside never becomes an added token.

use botpsy_text::tokenizer::{SENTINEL, TokenId, Tokenizer, guard, unguard};

use crate::load;
use crate::random::Random;

/// Whole tokens, their pieces and what may stand around them.
const FRAGMENTS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<|endoftext|>",
    "<",
    "</",
    "<|",
    "<|im_",
    "<tool_",
    "end|>",
    "call>",
    "k>",
    ">",
    "|>",
    "think",
    "im",
    "user\n",
    "hello ",
    " ",
    "\n",
    "\u{1f}",
    "\u{301}",
    "e\u{301}",
    "\u{e000}",
    "\u{e000}\u{e000}",
    "中",
    "'s",
    "12",
    "'",
    "e",
];
/// What a template writes: it may begin a token and leave the rest to a field, but never ends one.
const TRUSTED: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>\n",
    "<tool_call>\n",
    "<think>",
    "user\n",
    " ",
    "<",
    "<|im_",
    "<tool_",
    "</",
    "x",
    "e",
];

/// Cuts at tokens that lie wholly in trusted text, by trying every position and every token.
fn expected_ids(tokenizer: &Tokenizer, fields: &[(bool, String)]) -> Vec<TokenId> {
    let text: String = fields.iter().map(|(_, text)| text.as_str()).collect();
    let trusted: Vec<bool> = fields.iter().flat_map(|(trusted, text)| vec![*trusted; text.len()]).collect();
    let mut ids = Vec::new();
    let (mut at, mut plain) = (0, 0);
    while at < text.len() {
        let found = tokenizer.added_tokens().iter().filter(|(token, _)| {
            text.is_char_boundary(at)
                && text[at..].starts_with(token)
                && trusted[at..at + token.len()].iter().all(|&t| t)
        });
        match found.max_by_key(|(token, _)| token.len()) {
            Some((token, id)) => {
                ids.extend(tokenizer.encode_untrusted(&text[plain..at]));
                ids.push(id);
                at += token.len();
                plain = at;
            }
            None => at += 1,
        }
    }
    ids.extend(tokenizer.encode_untrusted(&text[plain..]));
    ids
}

fn render(tokenizer: &Tokenizer, fields: &[(bool, String)]) -> String {
    let parts = fields.iter().map(|(trusted, text)| match trusted {
        true => text.clone(),
        false => guard(text, tokenizer.added_tokens()),
    });
    parts.collect()
}

#[test]
fn tokens_are_recognized_in_trusted_text_only() {
    let tokenizer = load::tiny();
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let fields: Vec<(bool, String)> = (0..random.below(7))
            .map(|_| match random.below(2) {
                0 => (true, random.pick(TRUSTED).to_owned()),
                _ => (false, random.text(FRAGMENTS, 4)),
            })
            .collect();
        let rendered = render(&tokenizer, &fields);
        assert_eq!(tokenizer.encode_template(&rendered), expected_ids(&tokenizer, &fields), "{fields:?}");
        let plain: String = fields.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(unguard(&rendered), plain);
    }
}

#[test]
fn every_added_token_stays_plain_text_when_untrusted() {
    let tokenizer = load::tiny();
    assert_eq!(tokenizer.added_tokens().iter().len(), 26);
    for (token, id) in tokenizer.added_tokens().iter() {
        for text in [token.to_owned(), format!("a{token}b"), format!(" {token}{token}\n"), format!("<{token}>")] {
            assert!(tokenizer.encode(&text).contains(&id), "{text:?}");
            let guarded = guard(&text, tokenizer.added_tokens());
            for field in [&guarded, guarded.trim()] {
                let ids = tokenizer.encode_template(&format!("<|im_start|>user\n{field}<|im_end|>"));
                let inner = &ids[1..ids.len() - 1];
                assert!(
                    inner.iter().all(|&id| tokenizer.added_tokens().iter().all(|(_, added)| added != id)),
                    "{text:?}"
                );
                assert_eq!(tokenizer.decode_lossy(inner), format!("user\n{}", unguard(field)));
            }
            assert_eq!(tokenizer.encode_template(&guarded), tokenizer.encode_untrusted(&text));
        }
    }
}

#[test]
fn trimming_a_guarded_text_uncovers_nothing() {
    let tokenizer = load::tiny();
    for (before, field, after) in
        [("<|im_", " end|>", ""), ("<|im_", "\n end|> ", "x"), ("", "<|im_ \n", "end|>"), ("<tool_", "\u{1f}call>", "")]
    {
        let guarded = guard(field, tokenizer.added_tokens());
        let trimmed = guarded.trim_matches(|ch: char| ch.is_whitespace() || ch == '\u{1f}');
        let rendered = format!("{before}{trimmed}{after}");
        assert_eq!(
            tokenizer.encode_template(&rendered),
            tokenizer.encode_untrusted(&unguard(&rendered)),
            "{rendered:?}"
        );
    }
}

#[test]
fn texts_without_tokens_are_left_alone() {
    let tokenizer = load::tiny();
    for text in
        ["", "hello", "a < b > c", "think", "name", "<thinking>", "| x |\n|--|", "</p>", "</function>", "1 <= 2"]
    {
        assert_eq!(guard(text, tokenizer.added_tokens()), text);
        assert_eq!(tokenizer.encode_template(text), tokenizer.encode(text));
    }
    let guarded = guard("a<think>\u{e000}b", tokenizer.added_tokens());
    assert_eq!(guarded, format!("a<{SENTINEL}think>{SENTINEL}{SENTINEL}b"));
}

#[test]
fn characters_join_across_a_dropped_break() {
    let tokenizer = load::tiny();
    // The break falls between `>` and the mark that NFC joins to it.
    let guarded = guard("<think>\u{338}", tokenizer.added_tokens());
    assert_eq!(tokenizer.encode_template(&guarded), tokenizer.encode_untrusted("<think\u{226f}"));
    let rendered = format!("e{}", guard("\u{301}", tokenizer.added_tokens()));
    assert_eq!(tokenizer.encode_template(&rendered), tokenizer.encode("é"));
}
