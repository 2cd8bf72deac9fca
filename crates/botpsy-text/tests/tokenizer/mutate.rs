//! Mutated lists and texts: an error or a working tokenizer, never a panic.

use botpsy_text::tokenizer::{MergeList, Splitter, TokenId, TokenKind, Tokenizer, TokenizerSpec, guard, unguard};

use crate::load;
use crate::random::{Random, n_inputs};

const FRAGMENTS: &[&str] =
    &["the", " then", "<|end|>", "<think>", "<", "|>", "e\u{301}", "\u{e000}", "\n", "中", "'s", "a", "aaaa"];

fn base() -> (Vec<String>, Vec<TokenKind>, Vec<String>) {
    let mut tokens: Vec<String> = load::alphabet().into_iter().map(String::from).collect();
    let mut merges = Vec::new();
    for pair in ["t h", "th e", "a a", "aa aa", "Ġ the", "Ġthe n"] {
        tokens.push(pair.replace(' ', ""));
        merges.push(pair.to_owned());
    }
    let mut kinds = vec![TokenKind::Normal; tokens.len()];
    tokens.extend(["<|end|>", "<think>", "[PAD]"].map(String::from));
    kinds.extend([TokenKind::Control, TokenKind::UserDefined, TokenKind::Unused]);
    (tokens, kinds, merges)
}

fn mutate_strings(list: &mut Vec<String>, random: &mut Random) {
    if list.is_empty() {
        return;
    }
    let at = random.below(list.len());
    let other = random.below(list.len());
    match random.below(6) {
        0 => list[at] = random.text(FRAGMENTS, 3),
        1 => list[at] = list[other].clone(),
        2 => list.swap(at, other),
        3 => list.push(list[at].clone() + &list[other].clone()),
        4 => _ = list.remove(at),
        _ => {
            let cut = list[at].char_indices().nth(1).map_or(0, |(cut, _)| cut);
            list[at].truncate(cut);
        }
    }
}

fn mutated(random: &mut Random) -> TokenizerSpec {
    let (mut tokens, mut kinds, mut merges) = base();
    for _ in 0..random.below(4) {
        match random.below(3) {
            // Most changes to the bytes are fatal, so the tail gets more of them.
            0 if random.below(4) > 0 => {
                let mut tail = tokens.split_off(256);
                mutate_strings(&mut tail, random);
                tokens.append(&mut tail);
            }
            0 => mutate_strings(&mut tokens, random),
            1 => {
                let at = random.below(kinds.len());
                kinds[at] = TokenKind::from_gguf(1 + random.below(6) as u32).unwrap();
            }
            _ => mutate_strings(&mut merges, random),
        }
        if random.below(8) > 0 {
            kinds.resize(tokens.len(), TokenKind::UserDefined);
        }
    }
    let merges = match random.below(4) {
        0 => MergeList::RanksOnly,
        _ => MergeList::Lines(merges),
    };
    TokenizerSpec { tokens, kinds, merges, splitter: Splitter::Qwen35 }
}

fn check_laws(tokenizer: &Tokenizer, text: &str) {
    let ids = tokenizer.encode_untrusted(text);
    let normal = tokenizer.decode(&ids);
    let is_plain = |id: &TokenId| matches!(tokenizer.kind(*id), Some(TokenKind::Normal | TokenKind::Byte));
    assert!(ids.iter().all(is_plain), "{text:?}");
    assert!(text.chars().any(|ch| ch >= '\u{300}') || normal == text.as_bytes(), "{text:?}");
    let guarded = guard(text, tokenizer.added_tokens());
    assert_eq!(unguard(&guarded), text);
    assert_eq!(tokenizer.encode_template(&guarded), ids, "{text:?}");
    // Any text, also with stray sentinels in it.
    let (trusted, template) = (tokenizer.encode(text), tokenizer.encode_template(text));
    assert!(tokenizer.decode(&trusted).len() + tokenizer.decode(&template).len() <= 6 * text.len());
}

#[test]
fn mutated_lists_and_texts_keep_the_laws() {
    let mut random = Random::new(6);
    let n_inputs = n_inputs(20_000);
    let mut n_built = 0;
    for _ in 0..n_inputs {
        let spec = mutated(&mut random);
        if let Ok(tokenizer) = Tokenizer::new(spec) {
            n_built += 1;
            for _ in 0..2 {
                check_laws(&tokenizer, &random.text(FRAGMENTS, 8));
            }
        }
    }
    assert!(n_built > n_inputs / 10 && n_built < n_inputs, "{n_built} of {n_inputs} were built");
}
