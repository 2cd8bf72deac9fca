//! One loaded model serving requests: sessions, sampling, token masks, thinking budgets.
//!
//! It knows tokens only: no strings, no JSON, no tools, no network. Everything is plain blocking code; a caller that wants to
//! stop it raises a cancel flag or breaks from the receiver of events.
//!
//! The main types are [`Engine`] (weights, threads, context length), [`Session`] (one timeline, which reuses what it can of the
//! prompts handed to it) and [`Job`] (a prompt and how to answer it, run by [`Session::generate`]).
//!
//! ```
//! use std::{ops::ControlFlow, path::Path, sync::atomic::AtomicBool};
//! use botpsy_engine::{Engine, EngineOptions, Event, Job, Session};
//! use botpsy_kernels::{Context, Isa, ThreadPool};
//! use botpsy_model::{Activations, Checkpoint, Model};
//!
//! let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/reference/tiny-grouped"));
//! let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
//! let model = Model::load(&ctx, &Checkpoint::open(&folder.join("model-q8_0.gguf"))?, Activations::Int8)?;
//! let engine = Engine::new(ctx, model, EngineOptions::default())?;
//!
//! let mut session = Session::new(&engine);
//! let mut answer = Vec::new();
//! session.generate(Job::new(vec![1, 2, 3], 8), &AtomicBool::new(false), &mut |event| {
//!     if let Event::Token { id, .. } = event {
//!         answer.push(id);
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(answer.len(), 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod bench;
mod budget;
mod engine;
mod error;
mod event;
mod job;
mod repetition;
mod sampling;
mod score;
mod session;
mod worker;

pub use bench::{BenchCase, BenchEvent, BenchWork};
pub use budget::{ANSWER_RESERVE, CloseReason, Thinking, ThinkingSetup, thinking_budget};
pub use engine::{Engine, EngineOptions};
pub use error::Error;
pub use event::{Event, Finish, Stats};
pub use job::{Job, Mask};
pub use repetition::{MAX_PERIOD, PHRASE, Repetition, RepetitionDetector, WINDOW};
pub use sampling::{
    DrawKey, Logprobs, MAX_TOP_LOGPROBS, PenaltyScope, SamplerOrder, SamplerScratch, Sampling, SamplingSettings,
    TokenHistory, TokenLogprob, TokenMask, raw_logprobs, sample,
};
pub use session::{Prefill, Session, Snapshot, SyncPlan, WeakSnapshot};
pub use worker::Emit;

/// A token of the model's vocabulary.
pub type TokenId = u32;
