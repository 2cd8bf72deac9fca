//! Passes of several sessions, computed together.
//!
//! Each session runs on a thread of its own and asks for one pass at a time. Whoever finds no pass being computed takes what
//! all have asked for and computes it as one: a token costs the same memory traffic whether one session wants one or eight do.
//! The arithmetic law makes that invisible: a session's bits do not depend on who was in the pass with it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use botpsy_model::{Keep, Logits, Segment, State};

use crate::{Engine, Error, TokenId};

/// Prompt tokens in a pass in which others make new ones: each of them waits for the whole pass.
const BESIDE_DECODING: usize = 64;

/// The most tokens of a session that makes new ones: one that it chose, and those that had to follow.
const DECODING: usize = 16;

/// How long a pass waits for sessions that are between two tokens.
const GATHER: Duration = Duration::from_millis(10);

/// Sessions that share passes.
#[derive(Debug, Default)]
pub(crate) struct Batcher {
    shared: Mutex<Shared>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Shared {
    /// In the order in which they came; those that are being computed are not here.
    waiting: Vec<Request>,
    done: Vec<Request>,
    /// Whether a pass is being computed.
    busy: bool,
    /// Sessions that are answering.
    active: usize,
    next_ticket: u64,
}

/// Some tokens of one session.
#[derive(Debug)]
struct Request {
    ticket: u64,
    state: State,
    tokens: Vec<TokenId>,
    /// How many of them were read.
    read: usize,
    logits: Logits,
    out: Vec<f32>,
    /// After how many tokens the state is wanted too, and what it was there.
    keep: Option<usize>,
    kept: Option<State>,
    failed: Option<Error>,
}

impl Request {
    /// Notes that the next `n` tokens were read.
    fn moved(&mut self, n: usize, kept: Kept) {
        self.read += n;
        match kept {
            Kept::Inside(_, state) => self.kept = Some(state),
            Kept::None if self.keep == Some(self.read) => self.kept = Some(self.state.clone()),
            Kept::None => {}
        }
    }
}

/// The state that is kept on the way through some tokens.
enum Kept {
    None,
    /// After some of them, but not all.
    Inside(usize, State),
}

impl Kept {
    /// What `keep` asks for in the `n` tokens after `read`.
    fn of(engine: &Engine, keep: Option<usize>, read: usize, n: usize) -> Kept {
        match keep.and_then(|keep| keep.checked_sub(read)) {
            Some(after) if 0 < after && after < n => {
                Kept::Inside(after, State::new(engine.model(), engine.options().kv_type))
            }
            _ => Kept::None,
        }
    }

    fn place(&mut self) -> Option<Keep<'_>> {
        match self {
            Kept::Inside(after, state) => Some(Keep { after: *after, state }),
            Kept::None => None,
        }
    }
}

/// Counts a session as answering while it lives.
#[derive(Debug)]
pub(crate) struct Active<'a>(&'a Batcher);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.lock().active -= 1;
        self.0.changed.notify_all();
    }
}

impl Batcher {
    /// Says that a session begins to answer.
    pub(crate) fn enter(&self) -> Active<'_> {
        self.lock().active += 1;
        Active(self)
    }

    /// Moves `state` on by `tokens`, in passes with others. `out` is filled as [`botpsy_model::Model::forward`] does. With `keep`,
    /// gives the state after so many of the tokens.
    pub(crate) fn run(
        &self,
        engine: &Engine,
        state: &mut State,
        tokens: &[TokenId],
        logits: Logits,
        out: &mut Vec<f32>,
        keep: Option<usize>,
    ) -> Result<Option<State>, Error> {
        out.clear();
        if tokens.is_empty() {
            return Ok(None);
        }
        let mut shared = self.lock();
        let ticket = shared.next_ticket;
        shared.next_ticket += 1;
        shared.waiting.push(Request {
            ticket,
            state: state.take(),
            tokens: tokens.to_vec(),
            read: 0,
            logits,
            out: std::mem::take(out),
            keep,
            kept: None,
            failed: None,
        });
        self.changed.notify_all();
        loop {
            if let Some(at) = shared.done.iter().position(|request| request.ticket == ticket) {
                let request = shared.done.swap_remove(at);
                (*state, *out) = (request.state, request.out);
                return request.failed.map_or(Ok(request.kept), Err);
            }
            shared = if shared.busy { self.wait(shared) } else { self.lead(shared, engine, ticket) };
        }
    }

    /// Computes one pass of what waits; `ticket` is the caller's own.
    fn lead<'a>(&'a self, mut shared: MutexGuard<'a, Shared>, engine: &Engine, ticket: u64) -> MutexGuard<'a, Shared> {
        shared.busy = true;
        let deadline = Instant::now() + GATHER;
        while shared.waiting.len() < shared.active
            && let Some(left) = deadline.checked_duration_since(Instant::now())
        {
            let waited = self.changed.wait_timeout(shared, left);
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut batch = take_batch(&mut shared.waiting, engine.options().prefill_chunk);
        drop(shared);
        let panic = catch_unwind(AssertUnwindSafe(|| compute(engine, &mut batch))).err();
        let mut shared = self.lock();
        shared.busy = false;
        for (mut request, _) in batch {
            if panic.is_some() {
                // The others must not wait for a pass that nobody computes; the caller goes on with its panic.
                request.failed = Some(Error::PassFailed);
                if request.ticket == ticket {
                    continue;
                }
            }
            if request.failed.is_some() || request.read == request.tokens.len() {
                shared.done.push(request);
            } else {
                // Those that are in the middle of a prompt take turns.
                shared.waiting.push(request);
            }
        }
        self.changed.notify_all();
        if let Some(panic) = panic {
            drop(shared);
            resume_unwind(panic);
        }
        shared
    }

    fn wait<'a>(&self, shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
        self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What goes into the next pass, with the number of tokens of each: all that make new ones, and pieces of prompts.
fn take_batch(waiting: &mut Vec<Request>, chunk: usize) -> Vec<(Request, usize)> {
    let is_decoding = |request: &Request| request.tokens.len() <= DECODING;
    let mut room = if waiting.iter().any(is_decoding) { BESIDE_DECODING.min(chunk) } else { chunk };
    let (mut batch, mut left) = (Vec::new(), Vec::new());
    for request in waiting.drain(..) {
        let n =
            if is_decoding(&request) { request.tokens.len() } else { room.min(request.tokens.len() - request.read) };
        room -= if is_decoding(&request) { 0 } else { n };
        if n > 0 { batch.push((request, n)) } else { left.push(request) }
    }
    *waiting = left;
    batch
}

fn compute(engine: &Engine, batch: &mut [(Request, usize)]) {
    if let [(request, n)] = batch {
        let mut out = Vec::new();
        let first = request.out.is_empty();
        // The only one, at its beginning: its rows go where it wants them.
        let into = if first { &mut request.out } else { &mut out };
        let mut kept = Kept::of(engine, request.keep, request.read, *n);
        let (tokens, logits) = piece(&request.tokens, request.read, *n, request.logits);
        let keep = kept.place();
        let passed = engine.pass(&mut [Segment { state: &mut request.state, tokens, logits, keep }], into);
        request.out.append(&mut out);
        request.failed = passed.err();
        request.moved(*n, kept);
        return;
    }
    let mut segments: Vec<Segment<'_>> = Vec::with_capacity(batch.len());
    let kept = |(request, n): &(Request, usize)| Kept::of(engine, request.keep, request.read, *n);
    let mut kept: Vec<Kept> = batch.iter().map(kept).collect();
    for ((request, n), kept) in batch.iter_mut().zip(&mut kept) {
        let (tokens, logits) = piece(&request.tokens, request.read, *n, request.logits);
        segments.push(Segment { state: &mut request.state, tokens, logits, keep: kept.place() });
    }
    let mut out = Vec::new();
    if engine.pass(&mut segments, &mut out).is_err() {
        // No state has changed: each finds out for itself whether it was to blame.
        batch.chunks_mut(1).for_each(|alone| compute(engine, alone));
        return;
    }
    let vocab = engine.vocab_size();
    let mut rows = out.chunks_exact(vocab);
    for ((request, n), kept) in batch.iter_mut().zip(kept) {
        let (_, logits) = piece(&request.tokens, request.read, *n, request.logits);
        let wanted = match logits {
            Logits::None => 0,
            Logits::Last => 1,
            Logits::All => *n,
        };
        rows.by_ref().take(wanted).for_each(|row| request.out.extend_from_slice(row));
        request.moved(*n, kept);
    }
}

/// The next `n` tokens, and which of their logits are wanted.
fn piece(tokens: &[TokenId], read: usize, n: usize, logits: Logits) -> (&[TokenId], Logits) {
    let is_end = read + n == tokens.len();
    let logits = if matches!(logits, Logits::Last) && !is_end { Logits::None } else { logits };
    (&tokens[read..read + n], logits)
}
