//! From a blocking answer to an asynchronous one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use botpsy_chat::{ChatError, ChatEvent, Completion};
use tokio::sync::{mpsc, watch};

use crate::app::Shared;
use crate::queue::Place;

/// Whoever goes on at once, as a program does with the result of a tool, should not wait for what was read ahead.
const BEFORE_READING_AHEAD: Duration = Duration::from_millis(100);

/// What a running answer tells.
pub(crate) enum Told {
    Event(ChatEvent),
    /// One of the answers is complete; the next one follows or the channel ends.
    Done(Box<Result<Completion, ChatError>>),
    /// The server has stopped, and the time that answers had is over.
    Stopped,
}

/// Answers in the making, one after the other. Dropping it breaks them off within one token.
pub(crate) struct Running {
    told: mpsc::UnboundedReceiver<Told>,
    /// Dropped with it.
    _cancel: CancelOnDrop,
    ended: watch::Receiver<bool>,
}

/// Makes answer `i`.
pub(crate) trait Answer: Send + 'static {
    fn answer(&self, i: u32, cancel: &AtomicBool, on: &mut dyn FnMut(ChatEvent)) -> Result<Completion, ChatError>;

    /// What is worth doing after the only answer, until `go_on` says no; the tokens that were read.
    fn afterwards(&self, _answer: &Completion, _go_on: &dyn Fn() -> bool) -> usize {
        0
    }
}

impl Running {
    /// Makes `n` answers on a thread of its own.
    pub(crate) fn start(app: &Shared, answers: impl Answer, n: u32, place: Place) -> Running {
        // Unbounded: a client that reads slowly must not hold up the others; `max_tokens` bounds what waits.
        let (tell, told) = mpsc::unbounded_channel();
        let (app, cancel) = (Arc::clone(app), CancelOnDrop::default());
        let (cancelled, ended) = (cancel.flag(), app.ended.subscribe());
        tokio::task::spawn_blocking(move || {
            let (mut last, mut place) = (None, Some(place));
            for i in 0..n {
                let on = &mut |event| drop(tell.send(Told::Event(event)));
                let answer = answers.answer(i, &cancelled, on);
                if let Ok(answer) = &answer {
                    app.counts.add(answer);
                    last = Some(answer.clone());
                }
                let failed = answer.is_err();
                if failed || i + 1 == n {
                    // Whoever has the whole answer finds the place free.
                    place.take();
                }
                if tell.send(Told::Done(Box::new(answer))).is_err() || failed {
                    return;
                }
            }
            drop(tell);
            let came = app.counts.requests.load(Ordering::Relaxed);
            let is_idle =
                || app.counts.requests.load(Ordering::Relaxed) == came && app.queue.free() == app.queue.total();
            let Some(answer) = last.filter(|answer| n == 1 && !answer.cancelled) else { return };
            std::thread::sleep(BEFORE_READING_AHEAD);
            if is_idle() {
                let n_read = answers.afterwards(&answer, &is_idle);
                app.counts.read_ahead.fetch_add(n_read as u64, Ordering::Relaxed);
            }
        });
        Running { told, _cancel: cancel, ended }
    }

    /// What comes next; `None` after the last answer.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        tokio::select! {
            told = self.told.recv() => told,
            _ = self.ended.wait_for(|ended| *ended) => Some(Told::Stopped),
        }
    }
}

/// Raises a flag when whoever waits is gone.
#[derive(Debug, Default)]
pub(crate) struct CancelOnDrop(Arc<AtomicBool>);

impl CancelOnDrop {
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
