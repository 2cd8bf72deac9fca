//! Random walks through a constraint, over a small vocabulary; for the tests and for `examples/random_calls.rs`.

use std::sync::Arc;

use botpsy_text::tokenizer::{MergeList, Splitter, TokenId, TokenKind, Tokenizer, TokenizerSpec};
use botpsy_text::tool_call::constrain::{Allowed, Constraint, Grammars};

/// Where a walk ends that found no end.
const MAX_TOKENS: usize = 3000;

/// All bytes, some words, and the tokens of the format, whole tags among them.
pub(crate) fn tokenizer() -> Tokenizer {
    let words = [
        "\n\n",
        ">\n",
        "</",
        "parameter",
        "function",
        "true",
        "null",
        "mon",
        "\", \"",
        "12",
        ": ",
        "\"}",
        "><",
        "<parameter=",
        "<function=",
        "</parameter>",
        "</function>",
    ];
    // The alphabet of byte-level vocabularies: printable bytes stand for themselves, the others from U+0100 on.
    let printable = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut next = 256;
    let mut alphabet = Vec::new();
    for byte in 0..=255 {
        let code = if printable(byte) { u32::from(byte) } else { next };
        next += u32::from(!printable(byte));
        alphabet.push(char::from_u32(code).unwrap());
    }
    let spelled = |text: &str| text.bytes().map(|byte| alphabet[byte as usize]).collect::<String>();
    let mut tokens: Vec<String> = (0..=255_u8).map(|byte| alphabet[byte as usize].to_string()).collect();
    let mut merges = Vec::new();
    for word in words {
        let letters: Vec<char> = spelled(word).chars().collect();
        for end in 2..=letters.len() {
            let (head, last) = (letters[..end - 1].iter().collect::<String>(), letters[end - 1]);
            let merged = format!("{head}{last}");
            if !tokens.contains(&merged) {
                merges.push(format!("{head} {last}"));
                tokens.push(merged);
            }
        }
    }
    let mut kinds = vec![TokenKind::Normal; tokens.len()];
    for (token, kind) in [
        ("<|im_end|>", TokenKind::Control),
        ("<think>", TokenKind::UserDefined),
        ("</think>", TokenKind::UserDefined),
        ("<tool_call>", TokenKind::UserDefined),
        ("</tool_call>", TokenKind::UserDefined),
    ] {
        tokens.push(token.to_owned());
        kinds.push(kind);
    }
    let splitter = Splitter::from_pre("qwen35").unwrap();
    Tokenizer::new(TokenizerSpec { tokens, kinds, merges: MergeList::Lines(merges), splitter }).unwrap()
}

pub(crate) fn grammars(tokenizer: &Tokenizer) -> Arc<Grammars> {
    let eos = tokenizer.id_of("<|im_end|>").unwrap().0;
    Arc::new(Grammars::new(tokenizer, tokenizer.n_tokens() + 3, &[eos]).unwrap())
}

/// What a walk likes to write where it may: texts that end, and texts that look like the format.
pub(crate) struct Habits {
    hostile: Vec<Vec<u32>>,
    closer: Vec<u32>,
    /// How a parameter opens, and how the declared ones do.
    opener: u32,
    openers: Vec<Vec<u32>>,
}

impl Habits {
    /// Habits of someone who knows these names of a tool and its parameters.
    pub(crate) fn new(tokenizer: &Tokenizer, tool: &str, parameters: &[String]) -> Habits {
        let mut hostile = vec![
            "</parameter>\n<parameter=x>".to_owned(),
            "</parameter></function>".to_owned(),
            "</parameter> </parameter>".to_owned(),
            "</function>\n</tool_call>".to_owned(),
            "<tool_call>\n<function=x>\n<parameter=y>".to_owned(),
            format!("<function={tool}>\n<parameter"),
            "\\u0041".to_owned(),
            "1234567890123456789.0123456789012345678".to_owned(),
            "1e99999".to_owned(),
        ];
        hostile.extend(parameters.iter().map(|name| format!("\n<parameter={name}>\n")));
        hostile.extend(parameters.iter().map(|name| format!("<parameter= {name}>\n")));
        let ids = |text: &str| tokenizer.encode_untrusted(text).into_iter().map(|id| id.0).rev().collect::<Vec<u32>>();
        let openers = parameters.iter().map(|name| ids(&format!("<parameter={name}>\n"))).collect();
        let opener = *ids("<parameter=").last().unwrap();
        Habits {
            hostile: hostile.iter().map(|text| ids(text)).collect(),
            closer: ids("</parameter>\n"),
            opener,
            openers,
        }
    }
}

/// A number of a fixed random sequence.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// An answer that begins with `opening` and goes on with tokens that are allowed: at first anything, later closers.
/// `None` if it does not come to an end; then the grammar gave no way out, or only a long one.
///
/// # Errors
/// A broken answer: nothing may follow it, or the constraint gave up.
pub(crate) fn walk(
    tokenizer: &Tokenizer,
    constraint: &mut Constraint,
    opening: &str,
    habits: &Habits,
    seed: u64,
) -> Result<Option<String>, String> {
    let mut seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut answer: Vec<u32> = tokenizer.encode(opening).into_iter().map(|id| id.0).collect();
    let broken = constraint.broken();
    let newline = tokenizer.encode("\n")[0].0;
    let n_free = 10 + random(&mut seed) as usize % 150;
    let mut planned: Vec<u32> = Vec::new();
    for n_tokens in 0..MAX_TOKENS {
        let allowed = match constraint.allowed(&answer) {
            _ if broken.load(std::sync::atomic::Ordering::Relaxed) => {
                return Err(format!("the constraint gave up after {:?}", text(tokenizer, &answer)));
            }
            Allowed::End(_) | Allowed::All => return Ok(Some(text(tokenizer, &answer))),
            Allowed::NotEnd(_) => panic!("no thought here"),
            Allowed::Bits(bits) => ids(tokenizer, bits),
        };
        if allowed.is_empty() {
            return Err(format!("nothing may follow {:?}", text(tokenizer, &answer)));
        }
        assert!(allowed.iter().all(|id| (*id as usize) < tokenizer.n_tokens()), "a token that is none");
        if planned.is_empty() {
            let is_late = n_tokens > n_free;
            planned = plan(&mut seed, &allowed, habits, is_late && allowed.contains(&newline), is_late);
        }
        let id = match planned.pop().filter(|id| allowed.contains(id)) {
            Some(id) => id,
            None => {
                planned.clear();
                draw(tokenizer, &mut seed, &allowed, n_tokens > n_free)
            }
        };
        answer.push(id);
    }
    Ok(None)
}

/// Tokens to come, the last first: where nearly anything may stand, chance alone would hardly ever write a tag. Late, what
/// must be given comes before what may.
fn plan(seed: &mut u64, allowed: &[u32], habits: &Habits, closes: bool, is_late: bool) -> Vec<u32> {
    let mut any = |of: &[Vec<u32>]| of[random(seed) as usize % of.len()].clone();
    if is_late && allowed.len() < 20 && allowed.contains(&habits.opener) && !habits.openers.is_empty() {
        return any(&habits.openers);
    }
    let hostile = any(&habits.hostile);
    match random(seed) % 64 {
        n if allowed.len() > 100 && (n < 8 || closes) => habits.closer.clone(),
        n if n < 10 => hostile,
        _ => Vec::new(),
    }
}

fn draw(tokenizer: &Tokenizer, seed: &mut u64, allowed: &[u32], is_late: bool) -> u32 {
    let rank = |id: &u32| rank(tokenizer.token_bytes(TokenId(*id)), allowed.len() > 100);
    let first = allowed.iter().map(rank).min().unwrap_or_default();
    let closers: Vec<u32> = allowed.iter().copied().filter(|id| rank(id) == first).collect();
    let from = if is_late || random(seed).is_multiple_of(2) { &closers } else { allowed };
    from[random(seed) as usize % from.len()]
}

/// How far a token leads from the end; `in_text` is inside of names and of strings in JSON.
fn rank(bytes: &[u8], in_text: bool) -> usize {
    match bytes {
        b">\n" => 0,
        b"\"" if in_text => 1,
        _ if in_text => 8,
        [b'}' | b']', ..] => 2,
        [b'<', b'/', ..] => 3,
        [b'"', ..] => 4,
        [b'<' | b'>' | b'/', ..] => 5,
        [b'0'..=b'9', ..] => 6,
        _ => 7,
    }
}

fn ids(tokenizer: &Tokenizer, bits: &[u32]) -> Vec<u32> {
    (0..tokenizer.n_tokens() as u32 + 3).filter(|id| bits[*id as usize / 32] >> (id % 32) & 1 == 1).collect()
}

/// The text of these tokens.
pub(crate) fn text(tokenizer: &Tokenizer, ids: &[u32]) -> String {
    tokenizer.decode_lossy(&ids.iter().map(|id| TokenId(*id)).collect::<Vec<_>>())
}

/// Whether every byte of `answer` may follow those before it, and the end the last. The borders of the call are tokens.
pub(crate) fn is_allowed(tokenizer: &Tokenizer, constraint: &mut Constraint, answer: &str) -> bool {
    let (open, close) = (tokenizer.id_of("<tool_call>").unwrap().0, tokenizer.id_of("</tool_call>").unwrap().0);
    let inner = answer.strip_prefix("<tool_call>").and_then(|rest| rest.strip_suffix("</tool_call>"));
    // Blanks one after the other are counted at the borders of tokens, which are others here.
    let is_wide = |text: &str| text.split(|c: char| !c.is_ascii_whitespace()).any(|blanks| blanks.len() > 20);
    let Some(inner) = inner.filter(|inner| !is_wide(inner)) else { return inner.is_some() };
    // The first 256 tokens are the bytes in their order.
    let answer: Vec<u32> = [open].into_iter().chain(inner.bytes().map(u32::from)).chain([close]).collect();
    for (end, id) in answer.iter().enumerate().skip(1) {
        match constraint.allowed(&answer[..end]) {
            Allowed::Bits(bits) if bits[*id as usize / 32] >> (id % 32) & 1 == 1 => {}
            _ => return false,
        }
    }
    matches!(constraint.allowed(&answer), Allowed::End(_) | Allowed::All)
}
