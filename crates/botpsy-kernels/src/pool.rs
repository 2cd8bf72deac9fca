//! Threads that wait for work by spinning a little and then sleeping.
//!
//! A decode step hands out some hundred short pieces of work, so waking a sleeping thread for each would cost more than
//! the work. Workers therefore spin for some tens of microseconds before they park. The caller's thread takes part 0.

use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How often a waiting thread looks before it parks: about 50 microseconds.
const SPINS: u32 = 20_000;
/// The same where there are more threads than processors: the one that is waited for needs the processor.
const SPINS_CROWDED: u32 = 100;

type Job<'a> = &'a (dyn Fn(usize) + Sync);

/// A fixed set of threads that share each operation.
pub struct ThreadPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One operation at a time: held from handing out to the last part's end.
    running: Mutex<()>,
}

struct Shared {
    /// Points to the caller's `Job` while an operation runs. Written before `epoch` moves on.
    job: AtomicPtr<Job<'static>>,
    /// Counts operations; a worker runs one each time it changes.
    epoch: AtomicUsize,
    /// Workers that still run the current operation.
    pending: AtomicUsize,
    panicked: AtomicBool,
    stopping: AtomicBool,
    /// [`SPINS`] or [`SPINS_CROWDED`].
    spins: u32,
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("n_threads", &self.n_threads()).finish()
    }
}

impl ThreadPool {
    /// A pool in which `n_threads` threads work, the calling one included.
    ///
    /// # Panics
    /// If `n_threads` is 0, or if the system refuses a thread.
    pub fn new(n_threads: usize) -> ThreadPool {
        assert!(n_threads > 0, "a pool needs at least one thread");
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shared = Arc::new(Shared {
            job: AtomicPtr::new(std::ptr::null_mut()),
            epoch: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            spins: if n_threads > processors { SPINS_CROWDED } else { SPINS },
        });
        let workers = (1..n_threads)
            .map(|part| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("botpsy-{part}"))
                    .spawn(move || work(&shared, part))
                    .expect("the system refused to start a thread")
            })
            .collect();
        ThreadPool { shared, workers, running: Mutex::new(()) }
    }

    /// How many threads share the work, the calling one included.
    pub fn n_threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `f(part)` for each part in `0..n_threads`, each on a thread of its own, and returns when all are done.
    ///
    /// # Panics
    /// If `f` panicked in any part.
    pub fn run(&self, f: impl Fn(usize) + Sync) {
        if self.workers.is_empty() {
            return f(0);
        }
        let _one_at_a_time = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let job: Job<'_> = &f;
        let shared = &self.shared;
        shared.job.store((&raw const job).cast_mut().cast(), Ordering::Relaxed);
        shared.pending.store(self.workers.len(), Ordering::Relaxed);
        shared.epoch.fetch_add(1, Ordering::Release);
        for worker in &self.workers {
            worker.thread().unpark();
        }
        let mine = catch_unwind(AssertUnwindSafe(|| f(0)));
        // `f` and what it borrows must outlive every worker's use, also when part 0 panicked.
        let mut spins = 0;
        while shared.pending.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins < shared.spins {
                std::hint::spin_loop();
            } else {
                // More threads than free processors: the worker needs this one.
                std::thread::yield_now();
            }
        }
        if let Err(panic) = mine {
            std::panic::resume_unwind(panic);
        }
        assert!(!shared.panicked.swap(false, Ordering::Relaxed), "a kernel panicked on a worker thread");
    }

    /// Runs `f(i)` for each `i < n`; each thread takes one contiguous range. One piece runs here and wakes nobody.
    pub fn for_each(&self, n: usize, f: impl Fn(usize) + Sync) {
        if n <= 1 {
            return (0..n).for_each(f);
        }
        let n_threads = self.n_threads();
        self.run(|part| part_of(n, part, n_threads).for_each(&f));
    }

    /// Runs `f(i, chunk)` for each chunk of `len` values of `data`.
    ///
    /// # Panics
    /// If `len` is 0 or does not divide the length of `data`.
    pub fn for_each_chunk<T: Send>(&self, data: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Sync) {
        assert!(len > 0 && data.len().is_multiple_of(len), "chunks of {len} in {} values", data.len());
        let all = Disjoint(data.as_mut_ptr());
        // SAFETY: chunk `i` is `len` values from `i * len` on, inside `data`; `for_each` hands out each `i` once.
        self.for_each(data.len() / len, |i| f(i, unsafe { all.slice(i * len, len) }));
    }

    /// As [`for_each_chunk`](Self::for_each_chunk), with chunk `i` of both `a` and `b`.
    ///
    /// # Panics
    /// If the lengths do not give the same number of whole chunks.
    pub fn for_each_chunk2<A: Send, B: Send>(
        &self,
        (a, len_a): (&mut [A], usize),
        (b, len_b): (&mut [B], usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        assert!(len_a > 0 && len_b > 0, "empty chunks");
        let n = a.len() / len_a;
        assert!(n * len_a == a.len() && n * len_b == b.len(), "unequal numbers of chunks");
        let (all_a, all_b) = (Disjoint(a.as_mut_ptr()), Disjoint(b.as_mut_ptr()));
        self.for_each(n, |i| {
            // SAFETY: as in `for_each_chunk`, for each of the two slices.
            let (chunk_a, chunk_b) = unsafe { (all_a.slice(i * len_a, len_a), all_b.slice(i * len_b, len_b)) };
            f(i, chunk_a, chunk_b);
        });
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.shared.epoch.fetch_add(1, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker ends by itself once it sees `stopping`; it has nothing to return.
            let _ = worker.join();
        }
    }
}

/// The part of `0..n` that thread `part` of `n_threads` takes.
pub(crate) fn part_of(n: usize, part: usize, n_threads: usize) -> Range<usize> {
    n * part / n_threads..n * (part + 1) / n_threads
}

/// A pointer that several threads use for disjoint parts of one slice.
pub(crate) struct Disjoint<T>(pub(crate) *mut T);

// SAFETY: it gives access to `T` values by `slice` only, whose caller guarantees that no two uses overlap.
unsafe impl<T: Send> Sync for Disjoint<T> {}

impl<T> Disjoint<T> {
    /// # Safety
    /// `start..start + len` is inside the slice the pointer came from, which outlives `'a` and is touched by nobody else
    /// in that range meanwhile.
    #[allow(clippy::mut_from_ref, reason = "the caller guarantees disjointness")]
    #[inline(always)]
    pub(crate) unsafe fn slice<'a>(&self, start: usize, len: usize) -> &'a mut [T] {
        // SAFETY: the caller's guarantee.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(start), len) }
    }
}

fn work(shared: &Shared, part: usize) {
    let mut seen = 0;
    loop {
        seen = wait_for_change(shared, seen);
        if shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: `run` stored a pointer to its own `job` before it moved `epoch` on, and does not return before
        // `pending` says that this worker is done with it.
        let job = unsafe { *shared.job.load(Ordering::Relaxed) };
        if catch_unwind(AssertUnwindSafe(|| job(part))).is_err() {
            shared.panicked.store(true, Ordering::Relaxed);
        }
        shared.pending.fetch_sub(1, Ordering::Release);
    }
}

/// Returns the epoch once it is not `seen` any more.
fn wait_for_change(shared: &Shared, seen: usize) -> usize {
    let mut spins = 0;
    loop {
        let now = shared.epoch.load(Ordering::Acquire);
        if now != seen {
            return now;
        }
        spins += 1;
        if spins < shared.spins {
            std::hint::spin_loop();
        } else {
            std::thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_is_visited_once() {
        for n_threads in [1, 2, 3] {
            let pool = ThreadPool::new(n_threads);
            for n in [0, 1, 2, 7, 100] {
                let mut counts = vec![0u32; n];
                for _ in 0..3 {
                    pool.for_each_chunk(&mut counts, 1, |_, x| x[0] += 1);
                }
                assert_eq!(counts, vec![3; n]);
            }
        }
    }

    #[test]
    fn two_slices_go_hand_in_hand() {
        let pool = ThreadPool::new(2);
        let (mut a, mut b) = (vec![0; 6], vec![0; 9]);
        pool.for_each_chunk2((&mut a, 2), (&mut b, 3), |i, a, b| {
            a.fill(i);
            b.fill(10 * i);
        });
        assert_eq!((a, b), (vec![0, 0, 1, 1, 2, 2], vec![0, 0, 0, 10, 10, 10, 20, 20, 20]));
    }

    #[test]
    fn a_panic_in_a_part_reaches_the_caller_and_the_pool_goes_on() {
        let pool = ThreadPool::new(2);
        for part in 0..2 {
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.run(|p| assert_ne!(p, part))));
            assert!(outcome.is_err());
        }
        let mut x = [0, 0];
        pool.for_each_chunk(&mut x, 1, |i, x| x[0] = i);
        assert_eq!(x, [0, 1]);
    }

    #[test]
    fn a_sleeping_pool_wakes() {
        let pool = ThreadPool::new(2);
        pool.run(|_| ());
        std::thread::sleep(std::time::Duration::from_millis(5));
        let mut x = [0, 0];
        pool.for_each_chunk(&mut x, 1, |i, x| x[0] = i + 1);
        assert_eq!(x, [1, 2]);
    }
}
