//! The life of a token: prefill, then decode, mask, sample, until something says stop.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{
    DrawKey, Error, Event, Finish, Job, Mask, Prefill, SamplerScratch, Session, Stats, Thinking, TokenHistory, TokenId,
    TokenMask, raw_logprobs, sample,
};

/// Receives events; `Break` ends the job with [`Finish::Stop`].
pub type Emit<'a> = &'a mut dyn FnMut(Event) -> ControlFlow<()>;

impl Session {
    /// Runs a job to its end on this session's timeline.
    ///
    /// `cancel` is looked at before each chunk of the prompt and before each token. The last event is [`Event::Done`], whatever
    /// `emit` returned; it carries the result. The session then holds the prompt and the tokens that were needed to go on, and
    /// serves the next prompt from there.
    ///
    /// # Errors
    /// Those of [`Session::prefill`] and [`sample`], and [`Error::ContextFull`] if the prompt leaves no room for a token.
    pub fn generate(&mut self, mut job: Job, cancel: &AtomicBool, emit: Emit<'_>) -> Result<Finish, Error> {
        let limit = job.check(self.engine())?;
        let engine = Arc::clone(self.engine());
        let _active = engine.enter();
        let thinking = job.thinking.take().map(Thinking::new).transpose()?;
        let started = Instant::now();
        let cached_tokens = self.sync(&job.prompt)?.kept;
        let mut stats = Stats { prompt_tokens: job.prompt.len(), cached_tokens, ..Stats::default() };

        let prefilled = self.prefill_job(&job, cancel, emit)?;
        stats.prefill_ms = ms(started.elapsed());
        let decoding = Instant::now();
        let finish = match prefilled {
            Prefill::Complete => {
                let mut answer = Answer { tokens: Vec::new(), thinking, first: None };
                let finish = self.decode_job(&mut job, limit, &mut answer, cancel, emit)?;
                stats.generated_tokens = answer.tokens.len() + usize::from(finish == Finish::Eos);
                stats.ttft_ms = answer.first.map_or(0.0, |first| ms(first - started));
                finish
            }
            Prefill::Stopped => Finish::Stop,
            Prefill::Cancelled => Finish::Cancelled,
        };
        stats.decode_ms = ms(decoding.elapsed());
        let _ = emit(Event::Done { finish, stats });
        Ok(finish)
    }

    fn prefill_job(&mut self, job: &Job, cancel: &AtomicBool, emit: Emit<'_>) -> Result<Prefill, Error> {
        let (cached_tokens, total) = (self.tokens().len(), job.prompt.len());
        let mut progress = |done| emit(Event::Prefilling { done, total });
        let outcome = self.prefill(&job.prompt, &job.stable_marks, cancel, &mut progress)?;
        if outcome == Prefill::Complete && emit(Event::Prefilled { prompt_tokens: total, cached_tokens }).is_break() {
            return Ok(Prefill::Stopped);
        }
        Ok(outcome)
    }

    /// The loop: decode, mask, sample, stop?
    fn decode_job(
        &mut self,
        job: &mut Job,
        limit: usize,
        answer: &mut Answer,
        cancel: &AtomicBool,
        emit: Emit<'_>,
    ) -> Result<Finish, Error> {
        let mut history = TokenHistory::new(job.sampling.settings().penalty_scope, &job.prompt);
        let mut mask = TokenMask::all(self.engine().vocab_size());
        let mut scratch = SamplerScratch::default();
        let mut forced = VecDeque::from(std::mem::take(&mut job.forced));
        let wants_logprobs = job.sampling.settings().top_logprobs.is_some();
        // Tokens of the answer that were not read yet: those that are known are read together.
        let mut unread = Vec::new();
        let mut written = answer.next(&mut forced, &mut job.mask);
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Ok(Finish::Cancelled);
            }
            if answer.tokens.len() >= limit {
                return Ok(Finish::Length);
            }
            let id = match written {
                Some(id) => id,
                None => {
                    let seed = job.sampling.settings().seed;
                    let key = DrawKey { seed, choice: job.choice, position: answer.tokens.len() as u64 };
                    let allowed = job.mask.as_mut().map(|held| {
                        mask.allow_all();
                        held.fill(&answer.tokens, &mut mask);
                        &mask
                    });
                    sample(self.logits(), &job.sampling, &history, allowed, key, &mut scratch)?
                }
            };
            answer.first.get_or_insert_with(Instant::now);
            if written.is_none() && job.stop.contains(&id) {
                return Ok(Finish::Eos);
            }
            history.push(id);
            let logprobs = raw_logprobs(self.logits(), &job.sampling, id, &mut scratch);
            let closed = answer.push(id);
            if emit(Event::Token { id, forced: written.is_some(), logprobs }).is_break()
                || closed.is_some_and(|closed| emit(closed).is_break())
            {
                return Ok(Finish::Stop);
            }
            unread.push(id);
            if answer.tokens.len() < limit {
                written = answer.next(&mut forced, &mut job.mask);
                if written.is_none() || wants_logprobs {
                    self.decode(&unread)?;
                    unread.clear();
                }
            }
        }
    }
}

/// The answer so far.
struct Answer {
    tokens: Vec<TokenId>,
    thinking: Option<Thinking>,
    /// When the first token was there.
    first: Option<Instant>,
}

impl Answer {
    /// The token that must come next: of the closer, of what the answer begins with, or of what it is held to.
    fn next(&self, forced: &mut VecDeque<TokenId>, mask: &mut Option<Box<dyn Mask>>) -> Option<TokenId> {
        if let Some(id) = self.thinking.as_ref().and_then(Thinking::forced) {
            return Some(id);
        }
        if self.is_thought() {
            return None;
        }
        if let (true, Some(mask)) = (forced.is_empty(), mask) {
            forced.extend(mask.forced(&self.tokens));
        }
        forced.pop_front()
    }

    fn is_thought(&self) -> bool {
        self.thinking.as_ref().is_some_and(Thinking::is_open)
    }

    /// Appends a token; gives the event if the thought ended with it.
    fn push(&mut self, id: TokenId) -> Option<Event> {
        self.tokens.push(id);
        let thinking = self.thinking.as_mut()?;
        let reason = thinking.observe(id)?;
        Some(Event::ThinkingClosed { reason, thought_tokens: thinking.thought_tokens() })
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
