//! How many may wait, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// A bounded queue: some answers at once, some requests waiting in the order in which they came.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    max_waiting: usize,
    total: usize,
}

/// The right to compute an answer; given back when dropped.
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Queue {
    pub(crate) fn new(parallel: usize, max_waiting: usize) -> Queue {
        Queue { places: Arc::new(Semaphore::new(parallel)), waiting: Arc::default(), max_waiting, total: parallel }
    }

    /// Waits for a place; refused at once when too many wait already.
    pub(crate) async fn enter(&self) -> Result<Place, ApiError> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(Place { _permit: permit });
        }
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        // Also when the client goes away while it waits.
        let _left = Left(&self.waiting);
        if waiting >= self.max_waiting {
            return Err(ApiError::busy(waiting));
        }
        let permit = Arc::clone(&self.places).acquire_owned().await.expect("the semaphore is never closed");
        Ok(Place { _permit: permit })
    }

    /// How many wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many places there are.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// How many places are free now.
    pub(crate) fn free(&self) -> usize {
        self.places.available_permits()
    }
}

struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
