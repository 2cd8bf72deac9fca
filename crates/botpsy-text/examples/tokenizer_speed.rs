//! Times the tokenizer: `tokenizer_speed TOKENIZER.json TEXT [IDS.json]`.
//!
//! Prints the first and the best of five runs in one thread as JSON, and writes the ids for comparison.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use botpsy_text::tokenizer::{MergeList, Splitter, TokenKind, Tokenizer, TokenizerSpec};
use serde_json::Value;

const N_RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tokenizer, text, rest @ ..] = &arguments[..] else {
        return Err("usage: tokenizer_speed TOKENIZER.json TEXT [IDS.json]".into());
    };
    let file: Value = serde_json::from_str(&std::fs::read_to_string(tokenizer)?)?;
    let text = std::fs::read_to_string(text)?;
    let spec = spec(&file).ok_or("not a tokenizer.json of a byte-level BPE")?;
    let start = Instant::now();
    let tokenizer = Tokenizer::new(spec)?;
    let build_s = start.elapsed().as_secs_f64();
    let mut ids = Vec::new();
    let runs_s = [(); N_RUNS].map(|()| {
        let start = Instant::now();
        ids = tokenizer.encode(&text);
        start.elapsed().as_secs_f64()
    });
    let (first_s, best_s) = (runs_s[0], runs_s.iter().copied().fold(f64::INFINITY, f64::min));
    println!("{{\"build_s\": {build_s:.4}, \"first_s\": {first_s:.4}, \"best_s\": {best_s:.4}}}");
    if let [path] = rest {
        let ids: Vec<u32> = ids.into_iter().map(|id| id.0).collect();
        std::fs::write(path, serde_json::to_string(&ids)?)?;
    }
    Ok(())
}

fn spec(file: &Value) -> Option<TokenizerSpec> {
    let vocab = file["model"]["vocab"].as_object()?;
    let added = file["added_tokens"].as_array()?;
    let mut tokens = vec![String::new(); vocab.len() + added.len()];
    let mut kinds = vec![TokenKind::Normal; tokens.len()];
    for (token, id) in vocab {
        *tokens.get_mut(id.as_u64()? as usize)? = token.clone();
    }
    for token in added {
        let id = token["id"].as_u64()? as usize;
        *tokens.get_mut(id)? = token["content"].as_str()?.to_owned();
        kinds[id] = TokenKind::Control;
    }
    let merges = file["model"]["merges"].as_array()?.iter().map(|pair| {
        let part = |i: usize| pair[i].as_str().map(str::to_owned);
        Some((part(0)?, part(1)?))
    });
    Some(TokenizerSpec {
        tokens,
        kinds,
        merges: MergeList::Pairs(merges.collect::<Option<_>>()?),
        splitter: Splitter::Qwen35,
    })
}
