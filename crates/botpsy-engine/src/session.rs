//! One timeline of tokens, and the reuse of what was computed for it.

use std::collections::HashSet;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use botpsy_model::{Logits, PageId, State};

use crate::{Engine, Error, TokenId};

/// A sequence of tokens with the model's state after them.
///
/// Callers hand over the whole prompt each time; the session finds out what it can reuse: its own timeline when the prompt
/// extends it, else the longest snapshot that does, else nothing. Reused and recomputed states are equal bit for bit.
#[derive(Debug)]
pub struct Session {
    engine: Arc<Engine>,
    now: Timeline,
    /// Snapshots at stable marks, the one that was needed last at the end; at most `EngineOptions::max_snapshots`.
    marks: Arc<Mutex<Vec<Arc<Timeline>>>>,
}

/// Of the marks of one prompt, how many are worth a snapshot.
const MARKS_OF_A_PROMPT: usize = 4;

/// A point to which a session of the same engine can return, any number of times.
#[derive(Clone, Debug)]
pub struct Snapshot {
    engine: Arc<Engine>,
    timeline: Arc<Timeline>,
}

/// A snapshot that takes no memory once nobody else keeps it.
#[derive(Clone, Debug)]
pub struct WeakSnapshot {
    engine: Weak<Engine>,
    timeline: Weak<Timeline>,
}

/// Tokens and what the model makes of them.
#[derive(Clone, Debug)]
struct Timeline {
    tokens: Vec<TokenId>,
    state: State,
    /// Of the last token, `[vocab]`; empty where they were not computed.
    logits: Vec<f32>,
}

/// What [`Session::sync`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncPlan {
    /// Tokens of the prompt whose state was there.
    pub kept: usize,
    /// Tokens that remain to be computed.
    pub to_prefill: usize,
}

/// How a prefill ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefill {
    /// The session stands at the end of the prompt and has its logits.
    Complete,
    /// The receiver of the progress asked to stop; the session stands at a chunk's end.
    Stopped,
    /// The cancel flag was raised; the session stands at a chunk's end.
    Cancelled,
}

impl Session {
    /// An empty session.
    pub fn new(engine: &Arc<Engine>) -> Self {
        Session { engine: engine.clone(), now: Timeline::new(engine), marks: Arc::default() }
    }

    /// An empty session that shares the snapshots of this one: what either has read at a mark, both need not read again.
    pub fn sibling(&self) -> Session {
        Session { now: Timeline::new(&self.engine), marks: Arc::clone(&self.marks), engine: self.engine.clone() }
    }

    /// How many tokens of `prompt` this session's own timeline has already, all of it being a prefix of the prompt.
    pub fn shares(&self, prompt: &[TokenId]) -> usize {
        if self.now.serves(prompt) { self.now.tokens.len() } else { 0 }
    }

    /// How many tokens of `prompt` are known from this timeline or a snapshot.
    pub fn knows(&self, prompt: &[TokenId]) -> usize {
        let marks = self.marks();
        let serving = marks.iter().filter(|mark| mark.serves(prompt)).map(|mark| mark.tokens.len());
        serving.max().unwrap_or(0).max(self.shares(prompt))
    }

    /// The snapshot after exactly these tokens, if there is one.
    pub fn mark(&self, tokens: &[TokenId]) -> Option<Snapshot> {
        let mark = self.marks().iter().find(|mark| mark.tokens == tokens).cloned();
        mark.map(|timeline| Snapshot { engine: self.engine.clone(), timeline })
    }

    /// Takes a state that another run of this program computed for these tokens, with the same model on the same instruction
    /// set, as a snapshot; whether it could be one.
    pub fn adopt(&self, tokens: &[TokenId], bytes: &[u8]) -> bool {
        let (engine, kv_type) = (&self.engine, self.engine.options().kv_type);
        if tokens.is_empty() || self.check_room(tokens.len()).is_err() || engine.options().max_snapshots == 0 {
            return false;
        }
        let Some(state) = State::from_bytes(engine.model(), kv_type, tokens.len(), bytes) else { return false };
        self.keep(Timeline { tokens: tokens.to_vec(), state, logits: Vec::new() });
        true
    }

    /// The engine that runs this session.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The tokens of the timeline.
    pub fn tokens(&self) -> &[TokenId] {
        &self.now.tokens
    }

    /// The state after these tokens.
    pub fn state(&self) -> &State {
        &self.now.state
    }

    /// The logits of the last token, `[vocab]`; empty before the first and after a prefill that was cut short.
    pub fn logits(&self) -> &[f32] {
        &self.now.logits
    }

    /// Moves to the longest known prefix of `prompt`.
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`], [`Error::ContextFull`] if the prompt is longer than the context, [`Error::UnknownToken`]. The
    /// session is then as before.
    pub fn sync(&mut self, prompt: &[TokenId]) -> Result<SyncPlan, Error> {
        if prompt.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        self.check_room(prompt.len())?;
        self.engine.check_tokens("prompt", prompt)?;
        let kept = if self.now.serves(prompt) { self.now.tokens.len() } else { 0 };
        match self.mark_beyond(kept, prompt) {
            Some(mark) => self.now = Timeline::clone(&mark),
            None if !self.now.serves(prompt) => self.now = Timeline::new(&self.engine),
            None => {}
        }
        let kept = self.now.tokens.len();
        Ok(SyncPlan { kept, to_prefill: prompt.len() - kept })
    }

    /// Computes the rest of `prompt`, chunk by chunk.
    ///
    /// `stable_marks` are lengths of prefixes that later prompts are likely to share; at the first and at the last few of them
    /// a snapshot is kept. `progress` is told the number of prompt tokens whose state exists after each chunk.
    ///
    /// # Errors
    /// Those of [`Session::sync`], which is called first.
    pub fn prefill(
        &mut self,
        prompt: &[TokenId],
        stable_marks: &[usize],
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Prefill, Error> {
        let mut start = self.sync(prompt)?.kept;
        let marks = self.choose_marks(stable_marks, start + 1..=prompt.len());
        while start < prompt.len() {
            if cancel.load(Ordering::Relaxed) {
                return Ok(Prefill::Cancelled);
            }
            let end = prompt.len().min(start + self.engine.options().prefill_chunk);
            let mut inside = marks.iter().copied().filter(|mark| *mark > start && *mark <= end);
            // One snapshot costs a pass nothing, a second one would be a pass of its own.
            let mark = inside.next();
            let end = inside.next().unwrap_or(end);
            let logits = if end == prompt.len() { Logits::Last } else { Logits::None };
            self.advance(&prompt[start..end], logits, mark.filter(|mark| *mark < end))?;
            start = end;
            if marks.contains(&end) {
                self.keep(self.now.clone());
            }
            if progress(end).is_break() {
                return Ok(Prefill::Stopped);
            }
        }
        Ok(Prefill::Complete)
    }

    /// Appends tokens, in one pass, and gives the logits after the last, `[vocab]`.
    ///
    /// # Errors
    /// [`Error::ContextFull`] if the context has no room for them, [`Error::UnknownToken`]. The session is then as before.
    pub fn decode(&mut self, ids: &[TokenId]) -> Result<&[f32], Error> {
        self.check_room(self.now.tokens.len() + ids.len())?;
        self.engine.check_tokens("decode", ids)?;
        self.advance(ids, Logits::Last, None)?;
        Ok(&self.now.logits)
    }

    /// A second session that stands where this one stands; from here each goes its own way.
    pub fn fork(&self) -> Session {
        let marks = Arc::new(Mutex::new(self.marks().clone()));
        Session { engine: self.engine.clone(), now: self.now.clone(), marks }
    }

    /// The present point, to return to.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { engine: self.engine.clone(), timeline: Arc::new(self.now.clone()) }
    }

    /// Returns to `snapshot`.
    ///
    /// # Errors
    /// [`Error::ForeignSnapshot`] if it was taken from a session of another engine.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        if !Arc::ptr_eq(&self.engine, &snapshot.engine) {
            return Err(Error::ForeignSnapshot);
        }
        self.now = Timeline::clone(&snapshot.timeline);
        Ok(())
    }

    fn marks(&self) -> MutexGuard<'_, Vec<Arc<Timeline>>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The longest mark of more than `kept` tokens from which `prompt` goes on.
    fn mark_beyond(&self, kept: usize, prompt: &[TokenId]) -> Option<Arc<Timeline>> {
        let mut marks = self.marks();
        let serving = marks.iter().enumerate().filter(|(_, mark)| mark.serves(prompt) && mark.tokens.len() > kept);
        let (at, _) = serving.max_by_key(|(_, mark)| mark.tokens.len())?;
        let mark = marks.remove(at);
        marks.push(Arc::clone(&mark));
        Some(mark)
    }

    fn check_room(&self, tokens: usize) -> Result<(), Error> {
        let context_tokens = self.engine.options().context_tokens;
        if tokens > context_tokens { Err(Error::ContextFull { tokens, context_tokens }) } else { Ok(()) }
    }

    /// Reads `tokens`; where the timeline is `mark` tokens long on the way, a snapshot is kept.
    fn advance(&mut self, tokens: &[TokenId], logits: Logits, mark: Option<usize>) -> Result<(), Error> {
        let start = self.now.tokens.len();
        self.now.logits.clear();
        let Timeline { state, logits: out, .. } = &mut self.now;
        let kept = self.engine.forward(state, tokens, logits, out, mark.map(|mark| mark - start))?;
        self.now.tokens.extend_from_slice(tokens);
        if let (Some(state), Some(mark)) = (kept, mark) {
            self.keep(Timeline { tokens: self.now.tokens[..mark].to_vec(), state, logits: Vec::new() });
        }
        Ok(())
    }

    /// The marks in `range`, sorted: the first of all, which ends what prompts share, the last, where the next turn goes on, and
    /// those between that are far enough from what is known; of more than can be kept, the later ones.
    fn choose_marks(&self, marks: &[usize], range: RangeInclusive<usize>) -> Vec<usize> {
        let max = self.engine.options().max_snapshots.min(MARKS_OF_A_PROMPT);
        let ends = [marks.iter().min(), marks.iter().max()];
        let mut marks: Vec<usize> = marks.iter().copied().filter(|mark| range.contains(mark)).collect();
        marks.sort_unstable();
        let distance = self.engine.options().snapshot_distance;
        let (mut chosen, mut known) = (Vec::new(), *range.start() - 1);
        for mark in marks {
            if mark > known && (ends.contains(&Some(&mark)) || mark - known >= distance) {
                chosen.push(mark);
                known = mark;
            }
        }
        if chosen.len() > max {
            let spare = chosen.len() - max;
            let first = max.min(1);
            chosen.drain(first..first + spare);
        }
        chosen
    }

    /// Keeps a point of this timeline, or one that it may go through. For the room it takes, one that is off this timeline goes,
    /// the one not needed for longest, else one in the middle of it.
    fn keep(&self, point: Timeline) {
        let mark = Arc::new(point);
        let mut marks = self.marks();
        // The one before may not have known the logits.
        marks.retain(|kept| kept.tokens != mark.tokens);
        marks.push(Arc::clone(&mark));
        let options = self.engine.options();
        let too_many = |marks: &[Arc<Timeline>]| {
            let mut seen = HashSet::new();
            let bytes: usize = marks.iter().map(|mark| mark.own_bytes(&mut seen)).sum();
            marks.len() > options.max_snapshots || bytes > options.max_snapshot_bytes
        };
        while !marks.is_empty() && too_many(&marks) {
            let stray = marks.iter().position(|kept| !mark.tokens.starts_with(&kept.tokens));
            // The shortest ends what all prompts share, the last is where the next one goes on.
            let shortest = marks.iter().map(|mark| mark.tokens.len()).min();
            let middle = marks.iter().position(|mark| Some(mark.tokens.len()) != shortest);
            marks.remove(stray.or(middle).unwrap_or(0));
        }
    }
}

impl Snapshot {
    /// The state, as [`Session::adopt`] takes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.timeline.state.to_bytes()
    }

    /// The tokens up to this point.
    pub fn tokens(&self) -> &[TokenId] {
        &self.timeline.tokens
    }

    /// This snapshot for as long as a session or somebody else keeps it.
    pub fn downgrade(&self) -> WeakSnapshot {
        WeakSnapshot { engine: Arc::downgrade(&self.engine), timeline: Arc::downgrade(&self.timeline) }
    }
}

impl WeakSnapshot {
    /// The snapshot, if it is still kept.
    pub fn upgrade(&self) -> Option<Snapshot> {
        Some(Snapshot { engine: self.engine.upgrade()?, timeline: self.timeline.upgrade()? })
    }
}

impl Timeline {
    fn new(engine: &Engine) -> Self {
        let state = State::new(engine.model(), engine.options().kv_type);
        Timeline { tokens: Vec::new(), state, logits: Vec::new() }
    }

    fn own_bytes(&self, seen: &mut HashSet<PageId>) -> usize {
        self.state.own_bytes(seen) + size_of_val(&self.logits[..]) + size_of_val(&self.tokens[..])
    }

    /// Whether `prompt` can go on from here: it begins with these tokens, and if it ends with them the logits are known.
    fn serves(&self, prompt: &[TokenId]) -> bool {
        prompt.starts_with(&self.tokens) && (self.tokens.len() < prompt.len() || !self.logits.is_empty())
    }
}
