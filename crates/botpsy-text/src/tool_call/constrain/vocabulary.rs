//! Grammars over the tokens of one vocabulary.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};
use llguidance::{Matcher, ParserFactory};

use super::guard::Marked;
use crate::tokenizer::{self, TokenKind, Tokenizer};
use crate::tool_call::{CALL_CLOSE, CALL_OPEN, THINK_CLOSE};

/// Compiled grammars that are kept for the next call of the same tools; some 50 KB each.
const MAX_KEPT: usize = 256;
/// Bytes of the texts of grammars of which is known whether they can be compiled, for the next request with the same tools.
const MAX_KNOWN_BYTES: usize = 4 << 20;
/// The longest text of a grammar that is kept: what it takes grows with its text, and clients write those.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Tokens that are in order anywhere in a text, in JSON too, and are looked at together: nearly all of a vocabulary.
const PLAIN_TEXT: &str = r#"[^<"\\\x00-\x1F\x7F]{1,16}"#;

/// Why a grammar could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct GrammarError {
    /// Path of the schema.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Makes grammars for one vocabulary.
pub struct Grammars {
    factory: ParserFactory,
    kept: Mutex<Kept>,
    pub(super) borders: Borders,
    /// Tokens of nothing but white space.
    pub(super) blanks: Vec<TokenId>,
    /// Tokens that may have to be taken out of a mask.
    pub(super) marked: Marked,
}

/// What was compiled.
#[derive(Default)]
struct Kept {
    /// By text.
    grammars: HashMap<String, Matcher>,
    /// By text: what is wrong with it, if anything is.
    known: HashMap<String, Result<(), String>>,
    /// Of the texts of those.
    n_bytes: usize,
}

/// Tokens at which an answer goes over into another part.
#[derive(Clone, Debug)]
pub struct Borders {
    pub(super) think_close: Option<TokenId>,
    pub(super) call_open: TokenId,
    pub(super) call_close: TokenId,
    pub(super) eos: Vec<TokenId>,
}

impl Borders {
    /// Those of a vocabulary; `eos` are those that end an answer. `None` if it has no tokens for the borders of a call, or none
    /// that ends an answer: nothing can be held to a grammar then.
    pub fn of(tokenizer: &Tokenizer, eos: &[u32]) -> Option<Borders> {
        let id = |text: &str| tokenizer.id_of(text).map(|id| id.0);
        let (call_open, call_close) = (id(CALL_OPEN)?, id(CALL_CLOSE)?);
        (!eos.is_empty()).then(|| Borders { think_close: id(THINK_CLOSE), call_open, call_close, eos: eos.to_vec() })
    }
}

impl std::fmt::Debug for Grammars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grammars").field("borders", &self.borders).finish_non_exhaustive()
    }
}

impl Grammars {
    /// Grammars for the first `vocab_size` tokens; `eos` are those that end an answer. `None` where [`Borders::of`] is.
    ///
    /// It takes half a second for 250,000 tokens.
    pub fn new(tokenizer: &Tokenizer, vocab_size: usize, eos: &[u32]) -> Option<Grammars> {
        let borders = Borders::of(tokenizer, eos)?;
        let blank = |word: &Vec<u8>| !word.is_empty() && word.iter().all(u8::is_ascii_whitespace);
        let info = TokRxInfo::new(u32::try_from(vocab_size).ok()?, *eos.first()?);
        let words: Vec<Vec<u8>> = (0..vocab_size).map(|id| word(tokenizer, id)).collect();
        let blanks = words.iter().zip(0..).filter(|(word, _)| blank(word)).map(|(_, id)| id).collect();
        let marked = Marked::of(&words);
        let env: TokEnv = Arc::new(Env { trie: TokTrie::from(&info, &words).with_eos_tokens(eos) });
        let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &[PLAIN_TEXT.to_owned()]).ok()?;
        factory.quiet();
        Some(Grammars { factory, kept: Mutex::default(), borders, blanks, marked })
    }

    /// A grammar in Lark's form, at its beginning.
    pub(super) fn lark(&self, text: &str) -> Result<Matcher, String> {
        self.matcher(text, || TopLevelGrammar::from_lark(text.to_owned()))
    }

    /// A JSON Schema, at its beginning.
    pub(super) fn json(&self, schema: &serde_json::Value) -> Result<Matcher, String> {
        self.matcher(&schema.to_string(), || TopLevelGrammar::from_json_schema(schema.clone()))
    }

    /// Whether a grammar in Lark's form can be compiled.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        self.checked(text, || TopLevelGrammar::from_lark(text.to_owned()))
    }

    /// Whether a JSON Schema can be compiled.
    pub(super) fn check_json(&self, schema: &serde_json::Value) -> Result<(), String> {
        self.checked(&schema.to_string(), || TopLevelGrammar::from_json_schema(schema.clone()))
    }

    /// Whether a JSON Schema can be compiled and allows this value.
    pub(super) fn allows(&self, schema: &serde_json::Value, value: &serde_json::Value) -> bool {
        let Ok(mut matcher) = self.json(schema) else { return false };
        let ids = self.factory.tok_env().tokenize_bytes(value.to_string().as_bytes());
        ids.iter().all(|id| matcher.consume_token(*id).is_ok()) && matcher.is_accepting().unwrap_or(false)
    }

    fn matcher(&self, text: &str, grammar: impl FnOnce() -> TopLevelGrammar) -> Result<Matcher, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matcher) = kept.grammars.get(text) {
            return Ok(matcher.deep_clone());
        }
        let matcher = self.compiled(grammar())?;
        if kept.grammars.len() >= MAX_KEPT {
            kept.grammars.clear();
        }
        if text.len() <= MAX_TEXT_BYTES {
            kept.grammars.insert(text.to_owned(), matcher.deep_clone());
        }
        Ok(matcher)
    }

    fn checked(&self, text: &str, grammar: impl FnOnce() -> TopLevelGrammar) -> Result<(), String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.known.get(text) {
            return known.clone();
        }
        let found = self.compiled(grammar()).map(drop);
        if kept.n_bytes + text.len() > MAX_KNOWN_BYTES {
            kept.known.clear();
            kept.n_bytes = 0;
        }
        kept.n_bytes += text.len();
        kept.known.insert(text.to_owned(), found.clone());
        found
    }

    fn compiled(&self, grammar: TopLevelGrammar) -> Result<Matcher, String> {
        let parser = self.factory.create_parser(grammar).map_err(|error| error.to_string())?;
        let mut matcher = Matcher::new(Ok(parser));
        // Some faults show only when the first mask is asked for.
        matcher.compute_mask().map_err(|error| {
            // The rest is the state of the parser.
            error.to_string().lines().next().unwrap_or_default().trim_end_matches("<state>").to_owned()
        })?;
        Ok(matcher)
    }

    /// The bytes of a token, as a grammar sees them.
    pub(super) fn bytes(&self, id: TokenId) -> &[u8] {
        self.factory.tok_env().tok_trie().token(id)
    }
}

/// A token as the trie holds it: those that are no text begin with a byte that no text has.
fn word(tokenizer: &Tokenizer, id: usize) -> Vec<u8> {
    let id = tokenizer::TokenId(id as u32);
    match tokenizer.kind(id) {
        None | Some(TokenKind::Unused) => Vec::new(),
        Some(TokenKind::Control | TokenKind::UserDefined) => {
            [&[TokTrie::SPECIAL_TOKEN_MARKER], tokenizer.token_bytes(id)].concat()
        }
        Some(_) => tokenizer.token_bytes(id).to_vec(),
    }
}

struct Env {
    trie: TokTrie,
}

impl TokenizerEnv for Env {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, text: &[u8]) -> Vec<TokenId> {
        self.trie.greedy_tokenize(text)
    }

    fn tokenize_is_canonical(&self) -> bool {
        false
    }
}
