//! Grammars over the tokens of one vocabulary.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};
use llguidance::{Matcher, ParserFactory};

use super::guard::Marked;
use crate::tokenizer::{self, TokenKind, Tokenizer};
use crate::tool_call::{CALL_CLOSE, CALL_OPEN, THINK_CLOSE};

/// Compiled grammars that are kept for the next request with the same tools.
const MAX_KEPT: usize = 2048;

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
    /// By text; a failure is kept too.
    kept: Mutex<HashMap<String, Result<Matcher, String>>>,
    pub(super) ids: Ids,
    /// Tokens of nothing but white space.
    pub(super) blanks: Vec<TokenId>,
    /// Tokens that may have to be taken out of a mask.
    pub(super) marked: Marked,
}

/// Tokens that the machine looks for.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    pub(super) think_close: Option<TokenId>,
    pub(super) call_open: TokenId,
    pub(super) call_close: TokenId,
    pub(super) eos: Vec<TokenId>,
}

impl std::fmt::Debug for Grammars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grammars").field("ids", &self.ids).finish_non_exhaustive()
    }
}

impl Grammars {
    /// Grammars for the first `vocab_size` tokens; `eos` are those that end an answer. `None` if the vocabulary has no
    /// tokens for the borders of a call, or none that ends an answer: nothing can be held to a grammar then.
    pub fn new(tokenizer: &Tokenizer, vocab_size: usize, eos: &[u32]) -> Option<Grammars> {
        let id = |text: &str| tokenizer.id_of(text).map(|id| id.0);
        let ids = Ids {
            think_close: id(THINK_CLOSE),
            call_open: id(CALL_OPEN)?,
            call_close: id(CALL_CLOSE)?,
            eos: eos.to_vec(),
        };
        let blank = |word: &Vec<u8>| !word.is_empty() && word.iter().all(u8::is_ascii_whitespace);
        let info = TokRxInfo::new(u32::try_from(vocab_size).ok()?, *eos.first()?);
        let words: Vec<Vec<u8>> = (0..vocab_size).map(|id| word(tokenizer, id)).collect();
        let blanks = words.iter().zip(0..).filter(|(word, _)| blank(word)).map(|(_, id)| id).collect();
        let marked = Marked::of(&words);
        let env: TokEnv = Arc::new(Env { trie: TokTrie::from(&info, &words).with_eos_tokens(eos) });
        let mut factory = ParserFactory::new_simple(&env).ok()?;
        factory.quiet();
        Some(Grammars { factory, kept: Mutex::default(), ids, blanks, marked })
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
        self.made(text, || TopLevelGrammar::from_lark(text.to_owned()), |_| ())
    }

    /// Whether a JSON Schema can be compiled.
    pub(super) fn check_json(&self, schema: &serde_json::Value) -> Result<(), String> {
        self.made(&schema.to_string(), || TopLevelGrammar::from_json_schema(schema.clone()), |_| ())
    }

    /// Whether a JSON Schema can be compiled and allows this value.
    pub(super) fn allows(&self, schema: &serde_json::Value, value: &serde_json::Value) -> bool {
        let Ok(mut matcher) = self.json(schema) else { return false };
        let ids = self.factory.tok_env().tokenize_bytes(value.to_string().as_bytes());
        ids.iter().all(|id| matcher.consume_token(*id).is_ok()) && matcher.is_accepting().unwrap_or(false)
    }

    fn matcher(&self, text: &str, grammar: impl FnOnce() -> TopLevelGrammar) -> Result<Matcher, String> {
        self.made(text, grammar, Matcher::deep_clone)
    }

    fn made<T>(
        &self,
        text: &str,
        grammar: impl FnOnce() -> TopLevelGrammar,
        use_it: impl FnOnce(&Matcher) -> T,
    ) -> Result<T, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT && !kept.contains_key(text) {
            kept.clear();
        }
        let made = kept.entry(text.to_owned()).or_insert_with(|| {
            let parser = self.factory.create_parser(grammar()).map_err(|error| error.to_string())?;
            let mut matcher = Matcher::new(Ok(parser));
            // Some faults show only when the first mask is asked for.
            matcher.compute_mask().map_err(|error| {
                // The rest is the state of the parser.
                error.to_string().lines().next().unwrap_or_default().trim_end_matches("<state>").to_owned()
            })?;
            Ok(matcher)
        });
        made.as_ref().map(use_it).map_err(Clone::clone)
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
