//! The Qwen3.5 dense text family: sizes, weights, the forward pass and the state of a sequence.
//!
//! It knows tokens and tensors; it never sees text, requests or sockets. [`Model`] holds the weights, [`State`] is one
//! sequence so far (cloning it is a snapshot or a fork), and [`Model::forward`] moves states on. [`reference::Reference`]
//! is the same network in plain `f32`, sharing no code with the kernels.
//!
//! ```
//! use std::path::Path;
//! use botpsy_kernels::{Context, Isa, ThreadPool, attention::KvType};
//! use botpsy_model::{Activations, Checkpoint, Logits, Model, Scratch, Segment, State};
//!
//! let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/reference/tiny-grouped"));
//! let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
//! let model = Model::load(&ctx, &Checkpoint::open(&folder.join("model-q8_0.gguf"))?, Activations::Int8)?;
//! let mut state = State::new(&model, KvType::F16);
//! let mut scratch = Scratch::new(&model, 16);
//! let mut logits = Vec::new();
//! let mut segment = [Segment { state: &mut state, tokens: &[1, 2, 3], logits: Logits::Last, keep: None }];
//! model.forward(&ctx, &mut segment, &mut scratch, &mut logits)?;
//! assert_eq!((state.pos(), logits.len()), (3, model.config().vocab_size));
//! # Ok::<(), botpsy_model::ModelError>(())
//! ```

mod checkpoint;
mod config;
pub mod convert;
mod error;
mod forward;
mod layer;
mod load;
pub mod names;
mod profile;
pub mod reference;
mod state;
mod traffic;

pub use checkpoint::{Checkpoint, HeadOrder};
pub use config::{Config, LayerKind};
pub use error::ModelError;
pub use forward::{Keep, Logits, Scratch, Segment};
pub use load::{Activations, Model};
pub use profile::{Operation, Profile, Work};
pub use state::{PageId, State};
