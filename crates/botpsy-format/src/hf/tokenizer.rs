//! `tokenizer.json` as plain lists.

use std::fmt;
use std::path::Path;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, de};

use crate::json::{List, Object, Pairs, parse, read_bytes, shown, with_path};
use crate::{FormatError, Result};

/// No vocabulary has more tokens, nor more merges: a bound for hostile files.
const MAX_TOKENS: usize = 1 << 21;
const MAX_MERGES: usize = 1 << 21;

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
        let (file, bytes) = read_bytes(path)?;
        Self::from_bytes(&bytes, &file)
    }

    /// Reads the text of a `tokenizer.json`; `label` stands for the file's name in errors.
    ///
    /// # Errors
    /// As [`TokenizerFile::open`].
    pub fn from_bytes(bytes: &[u8], label: &str) -> Result<Self> {
        let raw = parse::<Object<RawFile>>(label, bytes);
        // The lists of other models have other forms, so their kind explains a failure better than its first symptom.
        let kind = match &raw {
            Ok(raw) => raw.0.model.0.kind.clone(),
            Err(_) => parse::<Object<KindOnly>>(label, bytes).ok().and_then(|raw| raw.0.model.0.kind),
        };
        if let Some(kind) = kind.filter(|kind| kind != "BPE") {
            let problem = format!("`{}` is not read, only BPE", shown(&kind));
            return Err(FormatError::malformed(label, "model.type", problem));
        }
        let RawFile { model: Object(model), added_tokens, normalizer, pre_tokenizer } = raw?.0;
        let normal = model.vocab.0.into_iter().map(|(token, id)| (id, token, TokenizerEntry::Normal));
        let added = added_tokens.map_or_else(Vec::new, |list| list.0).into_iter().map(|added| added.0.entry());
        let (tokens, kinds) = by_id(label, normal.chain(added).collect())?;
        Ok(Self {
            tokens,
            kinds,
            merges: model.merges.map_or_else(Vec::new, |list| list.0).into_iter().map(|merge| merge.0).collect(),
            pattern: pre_tokenizer.and_then(|pre_tokenizer| pre_tokenizer.0.pattern()),
            normalizer: normalizer.map(|normalizer| normalizer.0.kind),
        })
    }
}

/// Puts tokens at their ids. An added token may repeat an entry of the vocabulary.
fn by_id(file: &str, entries: Vec<(u64, String, TokenizerEntry)>) -> Result<(Vec<String>, Vec<TokenizerEntry>)> {
    let n = entries.iter().map(|(id, ..)| id.saturating_add(1)).max().unwrap_or(0);
    FormatError::check_limit(file, "token ids", MAX_TOKENS as u64, n)?;
    // Ids may have holes, but not so many that a small file asks for much memory.
    let limit = 4 * entries.len() as u64 + 4096;
    FormatError::check_limit(file, format_args!("token ids of {} tokens", entries.len()), limit, n)?;
    let mut tokens = vec![String::new(); n as usize];
    let mut kinds = vec![TokenizerEntry::Unused; n as usize];
    for (id, token, kind) in entries {
        let at = id as usize;
        let is_repeat = kinds[at] == TokenizerEntry::Normal && kind != TokenizerEntry::Normal && tokens[at] == token;
        if kinds[at] != TokenizerEntry::Unused && !is_repeat {
            let problem = format!("stands for both `{}` and `{}`", shown(&tokens[at]), shown(&token));
            return Err(FormatError::malformed(file, format_args!("token id {id}"), problem));
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

#[derive(Deserialize)]
struct RawFile {
    #[serde(deserialize_with = "model")]
    model: Object<RawModel>,
    #[serde(default, deserialize_with = "added_tokens")]
    added_tokens: Option<List<Object<RawAdded>, MAX_TOKENS>>,
    #[serde(default, deserialize_with = "normalizer")]
    normalizer: Option<Object<RawNormalizer>>,
    #[serde(default, deserialize_with = "pre_tokenizer")]
    pre_tokenizer: Option<Object<RawPreTokenizer>>,
}

#[derive(Deserialize)]
struct RawModel {
    #[serde(default, rename = "type", deserialize_with = "kind")]
    kind: Option<String>,
    #[serde(deserialize_with = "vocab")]
    vocab: Pairs<u64, MAX_TOKENS>,
    #[serde(default, deserialize_with = "merges")]
    merges: Option<List<RawMerge, MAX_MERGES>>,
}

#[derive(Deserialize)]
struct KindOnly {
    model: Object<ModelKind>,
}

#[derive(Deserialize)]
struct ModelKind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct RawAdded {
    id: u64,
    content: String,
    #[serde(default)]
    special: bool,
}

impl RawAdded {
    fn entry(self) -> (u64, String, TokenizerEntry) {
        (self.id, self.content, if self.special { TokenizerEntry::Special } else { TokenizerEntry::Added })
    }
}

#[derive(Deserialize)]
struct RawNormalizer {
    #[serde(rename = "type")]
    kind: String,
}

/// A `Split`, or a sequence that holds one.
#[derive(Deserialize)]
struct RawPreTokenizer {
    pattern: Option<Object<RawPattern>>,
    pretokenizers: Option<List<Object<RawSplit>, 64>>,
}

#[derive(Deserialize)]
struct RawSplit {
    pattern: Option<Object<RawPattern>>,
}

#[derive(Deserialize)]
struct RawPattern {
    #[serde(rename = "Regex")]
    regex: Option<String>,
}

impl RawPreTokenizer {
    fn pattern(self) -> Option<String> {
        let sequence = self.pretokenizers.into_iter().flat_map(|list| list.0).map(|split| split.0.pattern);
        std::iter::once(self.pattern).chain(sequence).flatten().find_map(|pattern| pattern.0.regex)
    }
}

/// `"left right"` or `["left", "right"]`, as the first.
struct RawMerge(String);

impl<'de> Deserialize<'de> for RawMerge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Merge;
        impl<'de> Visitor<'de> for Merge {
            type Value = RawMerge;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a pair of strings")
            }

            fn visit_str<E: Error>(self, line: &str) -> std::result::Result<RawMerge, E> {
                Ok(RawMerge(line.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<RawMerge, A::Error> {
                let wrong = |len| A::Error::invalid_length(len, &self);
                let mut line: String = seq.next_element()?.ok_or_else(|| wrong(0))?;
                let right: String = seq.next_element()?.ok_or_else(|| wrong(1))?;
                if seq.next_element::<de::IgnoredAny>()?.is_some() {
                    return Err(wrong(3));
                }
                // In the byte alphabet a space has another letter; one here would move the border between the parts.
                if line.contains(' ') || right.contains(' ') {
                    return Err(A::Error::custom("a part with a space"));
                }
                line.push(' ');
                line.push_str(&right);
                Ok(RawMerge(line))
            }
        }
        deserializer.deserialize_any(Merge)
    }
}

with_path! {
    model "model"
    kind "type"
    vocab "vocab"
    merges "merges"
    added_tokens "added_tokens"
    normalizer "normalizer"
    pre_tokenizer "pre_tokenizer"
}
