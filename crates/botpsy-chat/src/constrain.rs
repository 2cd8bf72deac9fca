//! What an answer is held to while it is written.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use botpsy_engine::{Job, MaskSource, TokenMask};
use botpsy_text::tool_call::constrain::{Allowed, CallRules, Constraint, GrammarError, Grammars};
use botpsy_text::tool_call::{CALL_OPEN, THINK_CLOSE, Thinking, ToolChoice};

use crate::{ChatError, ChatModel, Notice, Request};

impl ChatModel {
    /// The grammars of this vocabulary, made when they are first needed.
    ///
    /// # Errors
    /// If the vocabulary has no tokens for the borders of calls.
    pub fn grammars(&self) -> Result<&Arc<Grammars>, ChatError> {
        let make = || Grammars::new(self.tokenizer(), self.engine().vocab_size(), self.eos()).map(Arc::new);
        let problem = || "the model's vocabulary has no tokens for the borders of calls".to_owned();
        let missing = || GrammarError { field: "tools".to_owned(), problem: problem() };
        Ok(self.made_grammars().get_or_init(make).as_ref().ok_or_else(missing)?)
    }

    /// Holds the job's answer to what the request asks for, and tells what that cannot be.
    pub(crate) fn constrain(&self, job: &mut Job, request: &Request, thinking: Thinking) -> Result<Held, ChatError> {
        let calls = !request.conversation.tools.is_empty() && request.tool_choice != ToolChoice::None;
        if (!calls || request.free_calls) && request.format.is_none() {
            return Ok(Held::default());
        }
        let grammars = self.grammars()?;
        if let Some(format) = &request.format {
            format.check(grammars)?;
        }
        let tools = if calls { &request.conversation.tools[..] } else { &[] };
        let rules = CallRules::new(grammars, tools)?;
        let (format, choice) = (request.format.clone(), &request.tool_choice);
        let constraint = Constraint::new(grammars, &rules, format, choice, request.one_call, thinking);
        let broken = constraint.broken();
        job.mask = Some(mask(constraint));
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
        Ok(Held { notices: rules.dropped().iter().cloned().map(Notice::NotEnforced).collect(), broken })
    }
}

/// What an answer is held to.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// What it is not held to.
    pub(crate) notices: Vec<Notice>,
    /// Raised when a grammar became too large on the way and the answer was broken off.
    pub(crate) broken: Arc<AtomicBool>,
}

fn mask(mut constraint: Constraint) -> MaskSource {
    Box::new(move |answer: &[u32], mask: &mut TokenMask| match constraint.allowed(answer) {
        Allowed::All => {}
        Allowed::NotEnd(end) => end.iter().for_each(|id| mask.deny(*id)),
        Allowed::Bits(bits) => mask.set_bits(bits),
        Allowed::End(end) => {
            mask.clear();
            end.iter().for_each(|id| mask.allow(*id));
        }
    })
}
