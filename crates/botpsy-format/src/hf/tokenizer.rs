//! `tokenizer.json` and `tokenizer_config.json` as plain lists.

use std::path::Path;

use serde_json::{Map, Value};

use super::json::{Fields, read_object, text, wrong_type};
use crate::{FormatError, Result};

/// No vocabulary has more tokens: a bound for ids in hostile files.
const MAX_TOKENS: u64 = 1 << 21;

/// What an entry of the vocabulary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerEntry {
    /// An ordinary token, spelled in the byte alphabet.
    Normal,
    /// An added token that `special` marks as a control token.
    Special,
    /// An added token that is text.
    Added,
    /// An id that no token has.
    Unused,
}

/// A byte-pair vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenizerFile {
    /// Token texts by id; the ids in between that no token has get a placeholder.
    pub tokens: Vec<String>,
    /// One for each token.
    pub kinds: Vec<TokenizerEntry>,
    /// `left right`, the first pair merges first.
    pub merges: Vec<String>,
    /// The expression that splits text into words, if there is one.
    pub pattern: Option<String>,
    /// The normal form, such as `NFC`, if there is one.
    pub normalizer: Option<String>,
}

impl TokenizerFile {
    /// Reads `tokenizer.json`.
    ///
    /// # Errors
    /// If it cannot be read, is no byte-pair model, or a field has another type.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, object) = read_object(path)?;
        let fields = Fields { file: &file, prefix: "", object: &object };
        let model = Fields { prefix: "model.", object: required(fields, "model")?, ..fields };
        if let Some(kind) = model.text("type")?.filter(|kind| *kind != "BPE") {
            return Err(FormatError::malformed(
                &file,
                "model.type",
                format!("`{kind}` is not supported; this program reads BPE"),
            ));
        }
        let mut entries = Vec::new();
        for (token, id) in required(model, "vocab")? {
            let id = id.as_u64().ok_or_else(|| wrong_type(&file, &format!("model.vocab.{token}"), "a token id", id))?;
            entries.push((id, token.clone(), TokenizerEntry::Normal));
        }
        for (i, added) in fields.list("added_tokens")?.into_iter().flatten().enumerate() {
            entries.push(added_token(&file, i, added)?);
        }
        let (tokens, kinds) = by_id(&file, entries)?;
        let merges = model.list("merges")?.into_iter().flatten().enumerate();
        let merges = merges.map(|(i, pair)| merge(&file, i, pair)).collect::<Result<_>>()?;
        let normalizer = fields.object("normalizer")?.and_then(|object| Some(object.get("type")?.as_str()?.to_owned()));
        let pattern = fields.object("pre_tokenizer")?.and_then(pattern);
        Ok(Self { tokens, kinds, merges, pattern, normalizer })
    }
}

fn required<'a>(fields: Fields<'a>, name: &str) -> Result<&'a Map<String, Value>> {
    fields.object(name)?.ok_or_else(|| FormatError::MissingKey {
        file: fields.file.to_owned(),
        key: fields.path(name),
        expected: "an object",
    })
}

fn added_token(file: &str, i: usize, value: &Value) -> Result<(u64, String, TokenizerEntry)> {
    let prefix = format!("added_tokens.{i}.");
    let object = value.as_object().ok_or_else(|| wrong_type(file, prefix.trim_end_matches('.'), "an object", value))?;
    let fields = Fields { file, prefix: &prefix, object };
    let missing = |name, expected| FormatError::MissingKey { file: file.to_owned(), key: fields.path(name), expected };
    let id = fields.integer("id")?.ok_or_else(|| missing("id", "a whole number"))?;
    let content = fields.text("content")?.ok_or_else(|| missing("content", "a string"))?;
    let kind = if fields.boolean("special")? == Some(true) { TokenizerEntry::Special } else { TokenizerEntry::Added };
    Ok((id, content.to_owned(), kind))
}

/// Puts tokens at their ids. An added token may repeat an entry of the vocabulary.
fn by_id(file: &str, entries: Vec<(u64, String, TokenizerEntry)>) -> Result<(Vec<String>, Vec<TokenizerEntry>)> {
    let n = entries.iter().map(|(id, ..)| id.saturating_add(1)).max().unwrap_or(0);
    FormatError::check_limit(file, "token id", MAX_TOKENS, n)?;
    // Ids may have holes, but not so many that a small file asks for much memory.
    FormatError::check_limit(file, "token id, given the number of tokens", 4 * entries.len() as u64 + 4096, n)?;
    let mut tokens = vec![String::new(); n as usize];
    let mut kinds = vec![TokenizerEntry::Unused; n as usize];
    for (id, token, kind) in entries {
        let at = id as usize;
        let is_repeat = kinds[at] == TokenizerEntry::Normal && kind != TokenizerEntry::Normal && tokens[at] == token;
        if kinds[at] != TokenizerEntry::Unused && !is_repeat {
            return Err(FormatError::malformed(
                file,
                format!("token id {id}"),
                format!("has both `{}` and `{token}`", tokens[at]),
            ));
        }
        (tokens[at], kinds[at]) = (token, kind);
    }
    for (id, (token, kind)) in tokens.iter_mut().zip(&kinds).enumerate() {
        if *kind == TokenizerEntry::Unused {
            *token = format!("[PAD{id}]");
        }
    }
    Ok((tokens, kinds))
}

/// `"left right"` or `["left", "right"]`.
fn merge(file: &str, i: usize, value: &Value) -> Result<String> {
    let field = || format!("model.merges.{i}");
    match value {
        Value::String(line) => Ok(line.clone()),
        Value::Array(pair) if pair.len() == 2 => {
            Ok(format!("{} {}", text(file, &field(), &pair[0])?, text(file, &field(), &pair[1])?))
        }
        other => Err(wrong_type(file, &field(), "a string or a pair of strings", other)),
    }
}

/// The expression of the first `Split`, on its own or in a sequence.
fn pattern(pre_tokenizer: &Map<String, Value>) -> Option<String> {
    let of = |value: &Value| value.get("pattern")?.get("Regex")?.as_str().map(str::to_owned);
    match pre_tokenizer.get("pretokenizers").and_then(Value::as_array) {
        Some(sequence) => sequence.iter().find_map(of),
        None => of(&Value::Object(pre_tokenizer.clone())),
    }
}

/// What `tokenizer_config.json` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenizerConfig {
    /// The chat template; of several named ones the one called `default`.
    pub chat_template: Option<String>,
    /// The token that ends a text.
    pub eos_token: Option<String>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json`.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON object, or a field has another type.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, object) = read_object(path)?;
        let fields = Fields { file: &file, prefix: "", object: &object };
        let named = |list: &Vec<Value>| {
            let default = list.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some("default"))?;
            default.get("template")?.as_str().map(str::to_owned)
        };
        let chat_template = match fields.value("chat_template") {
            Some(Value::Array(list)) => named(list),
            _ => fields.text("chat_template")?.map(str::to_owned),
        };
        let eos_token = match fields.value("eos_token") {
            Some(Value::Object(token)) => token.get("content").and_then(Value::as_str).map(str::to_owned),
            _ => fields.text("eos_token")?.map(str::to_owned),
        };
        Ok(Self { chat_template, eos_token })
    }
}
