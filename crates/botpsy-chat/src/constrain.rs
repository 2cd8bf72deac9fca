//! What an answer is held to while it is written.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use botpsy_engine::{Job, Mask, TokenMask};
use botpsy_text::conversation::ToolSpec;
use botpsy_text::tokenizer::Tokenizer;
use botpsy_text::tool_call::constrain::{Allowed, Borders, CallRules, Constraint, GrammarError, Grammars};
use botpsy_text::tool_call::{CALL_OPEN, THINK_CLOSE, Thinking, ToolChoice};

use crate::{ChatError, ChatModel, Notice, Request};

/// The grammars of a vocabulary, made when they are first needed.
#[derive(Debug)]
pub(crate) struct LateGrammars {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    eos: Vec<u32>,
    made: OnceLock<Option<Arc<Grammars>>>,
}

impl LateGrammars {
    pub(crate) fn new(tokenizer: &Arc<Tokenizer>, vocab_size: usize, eos: &[u32]) -> Arc<LateGrammars> {
        let (tokenizer, made) = (Arc::clone(tokenizer), OnceLock::new());
        Arc::new(LateGrammars { tokenizer, vocab_size, eos: eos.to_vec(), made })
    }

    fn get(&self) -> Result<&Arc<Grammars>, GrammarError> {
        let make = || Grammars::new(&self.tokenizer, self.vocab_size, &self.eos).map(Arc::new);
        self.made.get_or_init(make).as_ref().ok_or_else(no_borders)
    }

    fn borders(&self) -> Result<Borders, GrammarError> {
        Borders::of(&self.tokenizer, &self.eos).ok_or_else(no_borders)
    }
}

/// What the calls of a request are held to, made when it is first needed.
#[derive(Debug)]
struct LateRules {
    grammars: Arc<LateGrammars>,
    tools: Vec<ToolSpec>,
    made: OnceLock<Result<(Arc<Grammars>, CallRules), GrammarError>>,
}

impl LateRules {
    fn get(&self) -> Result<(Arc<Grammars>, CallRules), GrammarError> {
        let make = || {
            let grammars = self.grammars.get()?;
            Ok((Arc::clone(grammars), CallRules::new(grammars, &self.tools)?))
        };
        self.made.get_or_init(make).clone()
    }
}

fn no_borders() -> GrammarError {
    let problem = "the model's vocabulary has no tokens for the borders of calls".to_owned();
    GrammarError { field: "tools".to_owned(), problem }
}

impl ChatModel {
    /// The grammars of this vocabulary, made when they are first needed.
    ///
    /// # Errors
    /// If the vocabulary has no tokens for the borders of calls.
    pub fn grammars(&self) -> Result<&Arc<Grammars>, ChatError> {
        Ok(self.late_grammars().get()?)
    }

    /// Holds the job's answer to what the request asks for.
    pub(crate) fn constrain(&self, job: &mut Job, request: &Request, thinking: Thinking) -> Result<Held, ChatError> {
        let calls = !request.conversation.tools.is_empty() && request.tool_choice != ToolChoice::None;
        if (!calls || request.free_calls) && request.format.is_none() {
            return Ok(Held::default());
        }
        let borders = self.late_grammars().borders()?;
        let tools = if calls { request.conversation.tools.clone() } else { Vec::new() };
        let must_know = request.format.is_some() || tools.iter().any(ToolSpec::is_strict);
        let rules = Arc::new(LateRules { grammars: Arc::clone(self.late_grammars()), tools, made: OnceLock::new() });
        if must_know {
            // What cannot be enforced is refused before anything is written.
            let (grammars, _) = rules.get()?;
            if let Some(format) = &request.format {
                format.check(&grammars)?;
            }
        }
        let late = Arc::clone(&rules);
        let make = Box::new(move || late.get());
        let (format, choice) = (request.format.clone(), &request.tool_choice);
        let constraint = Constraint::later(borders, make, format, choice, request.one_call, thinking);
        let broken = constraint.broken();
        let tokenizer = Arc::clone(self.shared_tokenizer());
        job.mask = Some(Box::new(Holding(constraint.with_tokenizer(tokenizer))));
        let must_call = matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
        let opening = if must_call { CALL_OPEN } else { "" };
        let encode = |text: &str| self.tokenizer().encode(text).into_iter().map(|id| id.0).collect::<Vec<u32>>();
        match &mut job.thinking {
            Some(setup) if must_call || request.format.is_some() => {
                // The blank line behind a thought is written once, whoever closed it.
                setup.closer = encode(&format!("\n{THINK_CLOSE}"));
                job.forced = encode(&format!("\n\n{opening}"));
            }
            _ => job.forced = encode(opening),
        }
        Ok(Held { rules: Some(rules), broken })
    }
}

/// What an answer is held to.
#[derive(Debug, Default)]
pub(crate) struct Held {
    rules: Option<Arc<LateRules>>,
    /// Raised when a grammar became too large on the way and the answer was broken off.
    pub(crate) broken: Arc<AtomicBool>,
}

impl Held {
    /// What calls are not held to.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let made = self.rules.as_ref().and_then(|rules| rules.get().ok());
        made.iter().flat_map(|(_, rules)| rules.dropped()).cloned().map(Notice::NotEnforced).collect()
    }
}

struct Holding(Constraint);

impl Mask for Holding {
    fn fill(&mut self, answer: &[u32], mask: &mut TokenMask) {
        match self.0.allowed(answer) {
            Allowed::All => {}
            Allowed::NotEnd(end) => end.iter().for_each(|id| mask.deny(*id)),
            Allowed::Bits(bits) => mask.set_bits(bits),
            Allowed::End(end) => {
                mask.clear();
                end.iter().for_each(|id| mask.allow(*id));
            }
        }
    }

    fn forced(&mut self, answer: &[u32]) -> Vec<u32> {
        self.0.forced(answer)
    }
}
