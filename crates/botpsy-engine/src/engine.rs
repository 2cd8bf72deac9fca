//! One loaded model and what all its sessions share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use botpsy_kernels::Context;
use botpsy_kernels::attention::KvType;
use botpsy_model::{Logits, Model, Scratch, Segment, State};

use crate::batch::{Active, Batcher};
use crate::{Error, TokenId};

/// Choices that hold for every session of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Tokens of prompt and answer that a session may hold.
    pub context_tokens: usize,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// Prompt tokens computed between two looks at the cancel flag.
    pub prefill_chunk: usize,
    /// Snapshots that a session, and those that share them with it, keep at the stable marks of their prompts.
    pub max_snapshots: usize,
    /// Bytes that those may take together.
    pub max_snapshot_bytes: usize,
    /// Tokens between what is known and a mark in the middle of a prompt that make a snapshot there worth while: to read fewer
    /// again takes little longer than to keep them.
    pub snapshot_distance: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            context_tokens: 32_768,
            kv_type: KvType::F16,
            prefill_chunk: 256,
            max_snapshots: 4,
            max_snapshot_bytes: usize::MAX,
            snapshot_distance: 128,
        }
    }
}

/// A model ready to run, shared by its sessions.
#[derive(Debug)]
pub struct Engine {
    ctx: Context,
    model: Model,
    options: EngineOptions,
    /// Buffers of the forward pass. Held during one pass.
    scratch: Mutex<Scratch>,
    /// Passes of several sessions, as one.
    batcher: Batcher,
}

impl Engine {
    /// An engine for a model that was loaded with `ctx`.
    ///
    /// # Errors
    /// [`Error::Setting`] if the context or the chunk has no room for a token.
    pub fn new(ctx: Context, model: Model, options: EngineOptions) -> Result<Arc<Engine>, Error> {
        for (field, value) in [("context_tokens", options.context_tokens), ("prefill_chunk", options.prefill_chunk)] {
            if value == 0 {
                return Err(Error::Setting { field: field.to_owned(), value: value.to_string(), range: "at least 1" });
            }
        }
        let scratch = Mutex::new(Scratch::new(&model, options.prefill_chunk));
        Ok(Arc::new(Engine { ctx, model, options, scratch, batcher: Batcher::default() }))
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The choices made for this engine.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The instruction set and threads in use.
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Number of logits.
    pub fn vocab_size(&self) -> usize {
        self.model.config().vocab_size
    }

    /// Refuses ids outside the vocabulary; `what` says where they were given.
    pub(crate) fn check_tokens(&self, what: &'static str, tokens: &[TokenId]) -> Result<(), Error> {
        let vocab = self.vocab_size();
        match tokens.iter().find(|id| **id as usize >= vocab) {
            Some(id) => Err(Error::UnknownToken { what, id: *id, vocab }),
            None => Ok(()),
        }
    }

    /// Says that a session begins to answer: passes wait a moment for it while what is given lives.
    pub(crate) fn enter(&self) -> Active<'_> {
        self.batcher.enter()
    }

    /// Moves `state` on by `tokens`, together with what other sessions ask for; gives the state after `keep` of them.
    pub(crate) fn forward(
        &self,
        state: &mut State,
        tokens: &[TokenId],
        logits: Logits,
        out: &mut Vec<f32>,
        keep: Option<usize>,
    ) -> Result<Option<State>, Error> {
        self.batcher.run(self, state, tokens, logits, out, keep)
    }

    /// One pass over the next tokens of some sequences, at most a prefill chunk of them.
    pub(crate) fn pass(&self, segments: &mut [Segment<'_>], out: &mut Vec<f32>) -> Result<(), Error> {
        Ok(self.model.forward(&self.ctx, segments, &mut self.scratch(), out)?)
    }

    /// The buffers of the forward pass.
    pub(crate) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        // A pass that panicked left nothing in the buffers that the next one reads.
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
