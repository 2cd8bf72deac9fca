//! Reads the fixtures and runs models on them.

use std::path::PathBuf;

use botpsy_format::SafeTensors;
use botpsy_kernels::attention::KvType;
use botpsy_kernels::{Context, Isa, ThreadPool};
use botpsy_model::{Activations, Checkpoint, Logits, Model, Scratch, Segment, State};
use botpsy_tensor::dequantize;

/// The lengths for which there are logits, and the shorter list of the quantised files.
pub(crate) const LENGTHS: [usize; 6] = [1, 7, 64, 65, 200, 513];
pub(crate) const QUANT_LENGTHS: [usize; 3] = [7, 65, 200];
pub(crate) const VOCAB: usize = 512;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The instruction set that `BOTPSY_ISA` names, else every one of this processor.
pub(crate) fn isas() -> Vec<Isa> {
    match std::env::var("BOTPSY_ISA") {
        Ok(_) => vec![Isa::from_env().unwrap()],
        Err(_) => Isa::available(),
    }
}

pub(crate) fn context(isa: Isa, n_threads: usize) -> Context {
    Context { isa, pool: ThreadPool::new(n_threads) }
}

/// One folder of fixtures.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    tensors: SafeTensors,
    quant: SafeTensors,
    json: String,
}

impl Fixture {
    pub(crate) fn open(name: &'static str) -> Fixture {
        let folder = path("reference").join(name);
        Fixture {
            name,
            tensors: SafeTensors::open(&folder.join("reference.safetensors")).unwrap(),
            quant: SafeTensors::open(&folder.join("reference_quant.safetensors")).unwrap(),
            json: std::fs::read_to_string(folder.join("reference.json")).unwrap(),
        }
    }

    pub(crate) fn checkpoint(&self, file: &str) -> Checkpoint {
        Checkpoint::open(&path("reference").join(self.name).join(file)).unwrap()
    }

    pub(crate) fn tensor(&self, name: &str) -> Vec<f32> {
        dequantize(&self.tensors.tensor(name).unwrap()).unwrap()
    }

    pub(crate) fn quant_logits(&self, tag: &str, n: usize) -> Vec<f32> {
        dequantize(&self.quant.tensor(&format!("{tag}.logits.{n}")).unwrap()).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.find(name).is_some()
    }

    pub(crate) fn ids(&self, name: &str) -> Vec<u32> {
        self.tensor(name).into_iter().map(|x| x as u32).collect()
    }

    pub(crate) fn tokens(&self, n: usize) -> Vec<u32> {
        self.ids(&format!("tokens.{n}"))
    }

    /// The positions for which there are logits: all up to 65 tokens, else every 8th and the last 16.
    pub(crate) fn positions(&self, n: usize) -> Vec<usize> {
        let json: serde_json::Value = serde_json::from_str(&self.json).unwrap();
        let list = json["positions"][n.to_string()].as_array().unwrap();
        list.iter().map(|x| usize::try_from(x.as_u64().unwrap()).unwrap()).collect()
    }

    pub(crate) fn margins(&self, n: usize) -> Vec<f32> {
        let json: serde_json::Value = serde_json::from_str(&self.json).unwrap();
        let list = json["greedy"][n.to_string()]["margins"].as_array().unwrap();
        list.iter().map(|x| x.as_f64().unwrap() as f32).collect()
    }
}

/// Logits of every token, the tokens handed over in pieces of the given lengths (over and over).
pub(crate) fn logits(ctx: &Context, model: &Model, state: &mut State, tokens: &[u32], pieces: &[usize]) -> Vec<f32> {
    let (mut scratch, mut out, mut all) = (Scratch::new(model, 8), Vec::new(), Vec::new());
    let mut rest = tokens;
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at((*piece).min(rest.len()));
        let mut segment = [Segment { state, tokens: now, logits: Logits::All, keep: None }];
        model.forward(ctx, &mut segment, &mut scratch, &mut out).unwrap();
        all.extend_from_slice(&out);
        rest = later;
    }
    all
}

pub(crate) fn load(ctx: &Context, checkpoint: &Checkpoint, activations: Activations) -> Model {
    Model::load(ctx, checkpoint, activations).unwrap()
}

/// Logits at the listed positions, read in one piece from the start.
pub(crate) fn logits_at(ctx: &Context, model: &Model, kv: KvType, tokens: &[u32], positions: &[usize]) -> Vec<f32> {
    let all = logits(ctx, model, &mut State::new(model, kv), tokens, &[tokens.len()]);
    positions.iter().flat_map(|p| all[p * VOCAB..(p + 1) * VOCAB].iter().copied()).collect()
}

/// How far two sets of logits are apart.
#[derive(Debug)]
pub(crate) struct Distance {
    pub(crate) max: f32,
    pub(crate) rms: f32,
    /// Mean over positions of KL(reference || tested), nats.
    pub(crate) kl: f32,
}

/// The largest of these; not a number when one is none, so that no bar holds then.
pub(crate) fn largest(values: impl Iterator<Item = f32>) -> f32 {
    values.max_by(f32::total_cmp).unwrap_or(0.0)
}

pub(crate) fn distance(reference: &[f32], tested: &[f32]) -> Distance {
    assert_eq!(reference.len(), tested.len());
    let differences = reference.iter().zip(tested).map(|(a, b)| (a - b).abs());
    let squares: f64 = differences.clone().map(|d| f64::from(d) * f64::from(d)).sum();
    let log_softmax = |row: &[f32]| {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f64 = row.iter().map(|x| f64::from(x - largest).exp()).sum();
        row.iter().map(|x| f64::from(x - largest) - total.ln()).collect::<Vec<f64>>()
    };
    let kl: f64 = reference
        .chunks(VOCAB)
        .zip(tested.chunks(VOCAB))
        .map(|(a, b)| log_softmax(a).iter().zip(log_softmax(b)).map(|(p, q)| p.exp() * (p - q)).sum::<f64>())
        .sum();
    Distance {
        max: largest(differences),
        rms: (squares / reference.len() as f64).sqrt() as f32,
        kl: (kl / (reference.len() / VOCAB) as f64) as f32,
    }
}
