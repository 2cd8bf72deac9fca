//! What a caller asks of a session.

use std::fmt;

use crate::{Engine, Error, Sampling, ThinkingSetup, TokenId, TokenMask};

/// What an answer is held to. A function that fills the mask is one that forces nothing.
pub trait Mask: Send {
    /// Fills the mask for the next token, given the answer so far (thought and forced tokens included).
    ///
    /// The mask comes with every token allowed. It is asked before each free choice and not for forced tokens.
    fn fill(&mut self, answer: &[TokenId], mask: &mut TokenMask);

    /// The tokens that must come next, as far as they are known: they are read in one pass. Asked before `fill`.
    fn forced(&mut self, _answer: &[TokenId]) -> Vec<TokenId> {
        Vec::new()
    }
}

impl<F: FnMut(&[TokenId], &mut TokenMask) + Send> Mask for F {
    fn fill(&mut self, answer: &[TokenId], mask: &mut TokenMask) {
        self(answer, mask);
    }
}

/// One prompt and how to answer it.
pub struct Job {
    /// The whole prompt, generation prompt included.
    pub prompt: Vec<TokenId>,
    /// Lengths of prefixes of the prompt that later prompts are likely to share, in any order.
    pub stable_marks: Vec<usize>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Which of several answers to the same prompt this is; part of the key of each draw.
    pub choice: u32,
    /// The most tokens to append, forced ones included. The context may end the answer earlier.
    pub max_tokens: u32,
    /// Tokens that end the answer when the model chooses them.
    pub stop: Vec<TokenId>,
    /// How thinking is watched, if the prompt ends inside a thought.
    pub thinking: Option<ThinkingSetup>,
    /// Tokens with which the answer begins, written when the thought is over.
    pub forced: Vec<TokenId>,
    /// What may come next, if that is constrained.
    pub mask: Option<Box<dyn Mask>>,
}

impl Job {
    /// A job with nothing but a prompt, the default sampling and a limit.
    pub fn new(prompt: Vec<TokenId>, max_tokens: u32) -> Self {
        Job {
            prompt,
            stable_marks: Vec::new(),
            sampling: Sampling::default(),
            choice: 0,
            max_tokens,
            stop: Vec::new(),
            thinking: None,
            forced: Vec::new(),
            mask: None,
        }
    }

    /// Refuses what cannot run on `engine`, and gives the number of tokens that the answer may have.
    pub(crate) fn check(&self, engine: &Engine) -> Result<usize, Error> {
        engine.check_tokens("forced", &self.forced)?;
        if let Some(thinking) = &self.thinking {
            engine.check_tokens("thinking.closer", &thinking.closer)?;
        }
        let context_tokens = engine.options().context_tokens;
        let room = context_tokens.saturating_sub(self.prompt.len());
        if room == 0 {
            return Err(Error::ContextFull { tokens: self.prompt.len() + 1, context_tokens });
        }
        Ok(room.min(self.max_tokens as usize))
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("prompt", &self.prompt)
            .field("stable_marks", &self.stable_marks)
            .field("sampling", &self.sampling)
            .field("choice", &self.choice)
            .field("max_tokens", &self.max_tokens)
            .field("stop", &self.stop)
            .field("thinking", &self.thinking)
            .field("forced", &self.forced)
            .field("masked", &self.mask.is_some())
            .finish()
    }
}
