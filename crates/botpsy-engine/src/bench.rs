//! How fast the engine is: prefill in its own chunks, decode with the greedy pick included.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use botpsy_model::{Logits, Profile, Segment, State};

use crate::{DrawKey, Engine, Error, SamplerScratch, Sampling, SamplingSettings, TokenHistory, TokenId, sample};

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchWork {
    /// Reading a prompt.
    Prefill,
    /// Making tokens one by one: the pass, the output matrix and the choice of the best token.
    Decode,
}

/// One thing to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchCase {
    /// What is timed.
    pub work: BenchWork,
    /// Tokens per sequence that are read or made.
    pub tokens: usize,
    /// Tokens that each sequence holds before; reading them is not timed.
    pub depth: usize,
    /// Sequences. They decode together, one row each in one pass, and their tokens are chosen on all threads; their prompts
    /// are read one after the other.
    pub batch: usize,
}

impl BenchCase {
    /// Tokens that are timed each time, of all sequences.
    pub fn timed_tokens(&self) -> usize {
        self.batch * self.tokens
    }
}

/// What a measurement tells while nothing is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchEvent {
    /// More of the context that comes before was read.
    Read {
        /// Tokens so far, of all sequences.
        tokens: usize,
    },
    /// A repetition is over.
    Timed(Duration),
}

/// Why a measurement has no result.
enum Halt {
    Cancelled,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Failed(error.into())
    }
}

impl Engine {
    /// Bytes that one pass of a decode case must move: the weights once, and of each sequence the recurrent state read and
    /// written and the keys and values read, at the middle of what is timed.
    pub fn step_bytes(&self, case: &BenchCase) -> usize {
        let config = self.model().config();
        let kv = config.kv_bytes_per_token(self.options().kv_type) * (case.depth + case.tokens / 2);
        self.model().pass_bytes() + case.batch * (2 * config.recurrent_bytes() + kv)
    }

    /// Times a case `reps` times, each from the same states. The token ids are arbitrary, the same ones each time.
    ///
    /// `cancel` is looked at before each pass; `None` if it was raised.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is nothing to time, [`Error::ContextFull`] if the context has no room for the case.
    pub fn bench(
        &self,
        case: &BenchCase,
        reps: usize,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(BenchEvent),
    ) -> Result<Option<Vec<Duration>>, Error> {
        if reps == 0 {
            return Err(Error::Setting { field: "reps".to_owned(), value: "0".to_owned(), range: "at least 1" });
        }
        unless_cancelled(Bench::new(self, *case, cancel)?.run(reps, on))
    }

    /// Runs a case once and records where the time goes: all of it, and that of the model's steps. The rest is the choice of
    /// tokens.
    ///
    /// # Errors
    /// As [`bench`](Self::bench).
    pub fn profile(
        &self,
        case: &BenchCase,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(BenchEvent),
    ) -> Result<Option<(Duration, Profile)>, Error> {
        unless_cancelled(Bench::new(self, *case, cancel)?.profile(on))
    }
}

fn unless_cancelled<T>(result: Result<T, Halt>) -> Result<Option<T>, Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Halt::Cancelled) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// A measurement in progress.
struct Bench<'a> {
    engine: &'a Engine,
    case: BenchCase,
    cancel: &'a AtomicBool,
    greedy: Sampling,
    history: TokenHistory,
    samplers: Vec<SamplerScratch>,
    logits: Vec<f32>,
    read_tokens: usize,
}

impl<'a> Bench<'a> {
    /// Checks the case.
    fn new(engine: &'a Engine, case: BenchCase, cancel: &'a AtomicBool) -> Result<Bench<'a>, Error> {
        for (field, value) in [("tokens", case.tokens), ("batch", case.batch)] {
            if value == 0 {
                return Err(Error::Setting { field: field.to_owned(), value: value.to_string(), range: "at least 1" });
            }
        }
        let (tokens, context_tokens) = (case.depth.saturating_add(case.tokens), engine.options().context_tokens);
        if tokens > context_tokens {
            return Err(Error::ContextFull { tokens, context_tokens });
        }
        let greedy = SamplingSettings::greedy().validate()?;
        let history = TokenHistory::new(greedy.settings().penalty_scope, &[]);
        let samplers = std::iter::repeat_with(SamplerScratch::default).take(case.batch).collect();
        Ok(Bench { engine, case, cancel, greedy, history, samplers, logits: Vec::new(), read_tokens: 0 })
    }

    /// Warms up; the states of the sequences after the context that comes before.
    fn prepare(&mut self, on: &mut dyn FnMut(BenchEvent)) -> Result<Vec<State>, Halt> {
        let BenchCase { depth, batch, tokens, .. } = self.case;
        let warm_up = match self.case.work {
            BenchWork::Prefill => tokens.min(self.engine.options().prefill_chunk),
            BenchWork::Decode => 1,
        };
        // Threads awake, buffers there.
        self.work(&mut self.fresh(batch), warm_up)?;
        let mut filled = self.fresh(batch);
        for (sequence, state) in filled.iter_mut().enumerate() {
            self.read(state, sequence, depth, Some(on))?;
        }
        Ok(filled)
    }

    fn run(&mut self, reps: usize, on: &mut dyn FnMut(BenchEvent)) -> Result<Vec<Duration>, Halt> {
        let mut filled = self.prepare(on)?;
        let mut times = Vec::with_capacity(reps);
        for rep in 1..=reps {
            // The last one needs no copy: a large context is in memory once.
            let mut states = if rep == reps { std::mem::take(&mut filled) } else { filled.clone() };
            let time = self.timed(&mut states)?;
            on(BenchEvent::Timed(time));
            times.push(time);
        }
        Ok(times)
    }

    fn profile(&mut self, on: &mut dyn FnMut(BenchEvent)) -> Result<(Duration, Profile), Halt> {
        let mut states = self.prepare(on)?;
        self.engine.scratch().start_profile();
        let time = self.timed(&mut states);
        let profile = self.engine.scratch().take_profile().expect("it was started, and passes end none");
        Ok((time?, profile))
    }

    fn timed(&mut self, states: &mut [State]) -> Result<Duration, Halt> {
        let started = Instant::now();
        self.work(states, self.case.tokens)?;
        Ok(started.elapsed())
    }

    fn fresh(&self, batch: usize) -> Vec<State> {
        let state = || State::new(self.engine.model(), self.engine.options().kv_type);
        std::iter::repeat_with(state).take(batch).collect()
    }

    /// What is timed, for `tokens` tokens per sequence.
    fn work(&mut self, states: &mut [State], tokens: usize) -> Result<(), Halt> {
        match self.case.work {
            BenchWork::Prefill => {
                let mut states = states.iter_mut().enumerate();
                states.try_for_each(|(sequence, state)| self.read(state, sequence, tokens, None))
            }
            BenchWork::Decode => self.decode(states, tokens),
        }
    }

    /// Reads the next `tokens` tokens of a sequence as a session reads its prompt.
    fn read(
        &mut self,
        state: &mut State,
        sequence: usize,
        tokens: usize,
        mut on: Option<&mut dyn FnMut(BenchEvent)>,
    ) -> Result<(), Halt> {
        let prompt: Vec<TokenId> = (state.pos()..state.pos() + tokens).map(|pos| self.token(sequence, pos)).collect();
        let chunks = prompt.chunks(self.engine.options().prefill_chunk);
        let last = chunks.len();
        for (i, tokens) in (1..).zip(chunks) {
            let logits = if i == last { Logits::Last } else { Logits::None };
            self.pass(&mut [Segment { state: &mut *state, tokens, logits, keep: None }])?;
            if let Some(on) = &mut on {
                self.read_tokens += tokens.len();
                on(BenchEvent::Read { tokens: self.read_tokens });
            }
        }
        Ok(())
    }

    /// `steps` passes over one token of each sequence, each time the best one after the pass before.
    fn decode(&mut self, states: &mut [State], steps: usize) -> Result<(), Halt> {
        let vocab = self.engine.vocab_size();
        let mut ids: Vec<TokenId> = (0..states.len()).map(|sequence| self.token(sequence, self.case.depth)).collect();
        let mut choices: Vec<_> = ids.iter().map(|id| Ok(*id)).collect();
        for _ in 0..steps {
            let rows = states.iter_mut().zip(ids.chunks(1));
            let mut segments: Vec<_> =
                rows.map(|(state, tokens)| Segment { state, tokens, logits: Logits::Last, keep: None }).collect();
            self.pass(&mut segments)?;
            let samplers = (&mut self.samplers[..], 1);
            self.engine.context().pool.for_each_chunk2((&mut choices[..], 1), samplers, |sequence, choice, sampler| {
                let logits = &self.logits[sequence * vocab..][..vocab];
                let key = DrawKey { seed: 0, choice: 0, position: 0 };
                choice[0] = sample(logits, &self.greedy, &self.history, None, key, &mut sampler[0]);
            });
            for (id, choice) in ids.iter_mut().zip(&mut choices) {
                *id = std::mem::replace(choice, Ok(*id))?;
            }
        }
        Ok(())
    }

    fn pass(&mut self, segments: &mut [Segment<'_>]) -> Result<(), Halt> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Halt::Cancelled);
        }
        Ok(self.engine.pass(segments, &mut self.logits)?)
    }

    /// An arbitrary token of the vocabulary, always the same at the same place.
    fn token(&self, sequence: usize, pos: usize) -> TokenId {
        let place = (sequence as u64) << 32 | pos as u64;
        // The finalizer of splitmix64.
        let mixed = (place ^ place >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % self.engine.vocab_size() as u64) as TokenId
    }
}
