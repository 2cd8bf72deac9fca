//! How long a model may think, and how a thought is closed for it.
//!
//! A thought that reaches its budget or repeats itself is ended by forcing the tokens of a *closer*, which the caller wrote
//! (`\n</think>\n\n`, or a sentence before it). The model then answers from what it has.

use crate::repetition::{Repetition, RepetitionDetector};
use crate::{Error, TokenId};

/// Tokens of an answer that thinking must leave: the closer comes out of these too.
pub const ANSWER_RESERVE: u32 = 1024;

/// The thinking budget that goes with a token limit: the limit less [`ANSWER_RESERVE`]; half of a limit that is under
/// twice the reserve, so that a short answer may still begin with a short thought.
pub fn thinking_budget(max_tokens: u32) -> u32 {
    max_tokens.saturating_sub(ANSWER_RESERVE).max(max_tokens / 2)
}

/// How thinking is watched in one job whose prompt ends inside an open thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkingSetup {
    /// The token that ends a thought (`</think>`).
    pub end: TokenId,
    /// What is forced to close a thought; holds `end`.
    pub closer: Vec<TokenId>,
    /// Tokens of thought after which it is closed.
    pub budget: u32,
}

/// Why a thought ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The model ended it.
    Model,
    /// It reached its budget.
    Budget,
    /// It went round in circles.
    Repetition(Repetition),
}

/// The thought of one answer, driven by the tokens that are appended.
///
/// Before each token ask [`Thinking::forced`]; after it, chosen or forced, call [`Thinking::observe`].
#[derive(Clone, Debug)]
pub struct Thinking {
    setup: ThinkingSetup,
    phase: Phase,
    thought_tokens: u32,
    detector: RepetitionDetector,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// `next` is the index of the closer's token to force.
    Closing {
        next: usize,
        reason: CloseReason,
    },
    Closed,
}

impl Thinking {
    /// A thought that has just begun.
    ///
    /// # Errors
    /// [`Error::Setting`] if the closer does not hold the token that ends a thought.
    pub fn new(setup: ThinkingSetup) -> Result<Self, Error> {
        if !setup.closer.contains(&setup.end) {
            let range = "a list that holds the token that ends a thought";
            return Err(Error::Setting {
                field: "thinking.closer".to_owned(),
                value: format!("{:?}", setup.closer),
                range,
            });
        }
        let phase = match setup.budget {
            0 => Phase::Closing { next: 0, reason: CloseReason::Budget },
            _ => Phase::Open,
        };
        Ok(Thinking { setup, phase, thought_tokens: 0, detector: RepetitionDetector::default() })
    }

    /// The token that must come next, if the closer is being written.
    pub fn forced(&self) -> Option<TokenId> {
        match self.phase {
            Phase::Closing { next, .. } => self.setup.closer.get(next).copied(),
            Phase::Open | Phase::Closed => None,
        }
    }

    /// Takes the token that was appended; the answer is the reason if the thought ended with it.
    pub fn observe(&mut self, id: TokenId) -> Option<CloseReason> {
        match self.phase {
            Phase::Closed => None,
            Phase::Open if id == self.setup.end => {
                self.phase = Phase::Closed;
                Some(CloseReason::Model)
            }
            Phase::Open => {
                self.thought_tokens += 1;
                let repetition = self.detector.push(id).map(CloseReason::Repetition);
                let exhausted = (self.thought_tokens >= self.setup.budget).then_some(CloseReason::Budget);
                if let Some(reason) = repetition.or(exhausted) {
                    self.phase = Phase::Closing { next: 0, reason };
                }
                None
            }
            Phase::Closing { next, reason } => {
                let written = next + 1;
                self.phase = match written < self.setup.closer.len() {
                    true => Phase::Closing { next: written, reason },
                    false => Phase::Closed,
                };
                (id == self.setup.end && !self.setup.closer[..next].contains(&id)).then_some(reason)
            }
        }
    }

    /// Whether the thought has not ended, or its closer is not fully written.
    pub fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Closed)
    }

    /// Tokens of the thought, without its closer.
    pub fn thought_tokens(&self) -> u32 {
        self.thought_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: TokenId = 9;

    fn thinking(budget: u32) -> Thinking {
        Thinking::new(ThinkingSetup { end: END, closer: vec![1, END, 2], budget }).unwrap()
    }

    /// Appends `tokens` as far as nothing is forced; gives what was appended and where the thought ended.
    fn run(
        mut thinking: Thinking,
        tokens: impl IntoIterator<Item = TokenId>,
        len: usize,
    ) -> (Vec<TokenId>, Vec<(usize, CloseReason)>) {
        let (mut tokens, mut appended, mut closed) = (tokens.into_iter(), Vec::new(), Vec::new());
        while appended.len() < len {
            let id = thinking.forced().or_else(|| tokens.next()).unwrap();
            appended.push(id);
            closed.extend(thinking.observe(id).map(|reason| (appended.len() - 1, reason)));
        }
        (appended, closed)
    }

    #[test]
    fn the_budget_leaves_a_reserve() {
        assert_eq!([8192, 2048, 1025, 1024, 100, 0].map(thinking_budget), [7168, 1024, 512, 512, 50, 0]);
    }

    #[test]
    fn a_model_that_ends_its_thought_is_left_alone() {
        let (appended, closed) = run(thinking(4), [5, 6, END, 5, 6, 7, 8, END], 8);
        assert_eq!(appended, [5, 6, END, 5, 6, 7, 8, END]);
        assert_eq!(closed, [(2, CloseReason::Model)]);
    }

    #[test]
    fn a_spent_budget_writes_the_closer_once() {
        let (appended, closed) = run(thinking(3), 20.., 9);
        assert_eq!(appended, [20, 21, 22, 1, END, 2, 23, 24, 25]);
        assert_eq!(closed, [(4, CloseReason::Budget)]);
    }

    #[test]
    fn without_a_budget_the_closer_comes_first() {
        let (appended, closed) = run(thinking(0), 20.., 5);
        assert_eq!(appended, [1, END, 2, 20, 21]);
        assert_eq!(closed, [(1, CloseReason::Budget)]);
    }

    #[test]
    fn a_looping_thought_is_closed_and_an_answer_may_loop() {
        let (appended, closed) = run(thinking(10_000), std::iter::repeat_n(5, 1000), 600);
        assert_eq!(appended[160..163], [1, END, 2]);
        assert_eq!(closed, [(161, CloseReason::Repetition(Repetition::Period { period: 1, covered: 160 }))]);
    }

    #[test]
    fn thought_tokens_count_the_thought_alone() {
        let mut thinking = thinking(2);
        assert!(thinking.is_open());
        for id in [5, 6, 1, END] {
            thinking.observe(id);
        }
        assert!(thinking.is_open(), "the last token of the closer is still to come");
        thinking.observe(2);
        assert_eq!((thinking.is_open(), thinking.thought_tokens()), (false, 2));
    }

    #[test]
    fn a_closer_that_closes_nothing_is_refused() {
        let error = Thinking::new(ThinkingSetup { end: END, closer: vec![1], budget: 1 }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "thinking.closer is [1]: it must be a list that holds the token that ends a thought"
        );
    }
}
