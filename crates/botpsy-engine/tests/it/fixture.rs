//! Engines on the reference models, and the sequences that go with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use botpsy_engine::{Engine, EngineOptions, TokenId};
use botpsy_format::SafeTensors;
use botpsy_kernels::attention::KvType;
use botpsy_kernels::{Context, Isa, ThreadPool};
use botpsy_model::{Activations, Checkpoint, Model};

fn folder(model: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/reference")).join(model)
}

/// Exact keys, values and activations, and a chunk so small that every prompt is cut.
pub(crate) fn exact() -> EngineOptions {
    EngineOptions {
        context_tokens: 600,
        kv_type: KvType::F32,
        prefill_chunk: 16,
        snapshot_distance: 1,
        ..EngineOptions::default()
    }
}

/// Loads a file of the model's folder; an empty name is the folder itself, with its safetensors.
pub(crate) fn load(model: &str, file: &str, threads: usize, options: EngineOptions) -> Arc<Engine> {
    let ctx = Context { isa: Isa::from_env().unwrap(), pool: ThreadPool::new(threads) };
    let checkpoint = Checkpoint::open(&folder(model).join(file)).unwrap();
    let model = Model::load(&ctx, &checkpoint, Activations::F32).unwrap();
    Engine::new(ctx, model, options).unwrap()
}

/// The model that most tests use.
pub(crate) fn tiny(options: EngineOptions) -> Arc<Engine> {
    load("tiny-grouped", "model-f32.gguf", 1, options)
}

/// A tensor of token ids from the reference results of `model`.
pub(crate) fn ids(model: &str, tensor: &str) -> Vec<TokenId> {
    let file = SafeTensors::open(&folder(model).join("reference.safetensors")).unwrap();
    let view = file.tensor(tensor).unwrap();
    view.bytes().chunks_exact(4).map(|id| TokenId::from_le_bytes(id.try_into().unwrap())).collect()
}

/// The first `len` tokens of the longest reference sequence.
pub(crate) fn sequence(len: usize) -> Vec<TokenId> {
    ids("tiny-grouped", "tokens.513")[..len].to_vec()
}
