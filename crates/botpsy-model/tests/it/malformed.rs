//! Files that are sound containers but no sound models: an error, or a model that runs. Never a panic.
//!
//! `BOTPSY_FUZZ_N` sets how many mutated files are tried.

use std::{env, fs};

use botpsy_format::{Gguf, GgufArray, GgufValue, GgufWriter};
use botpsy_kernels::attention::KvType;
use botpsy_kernels::{Context, Isa};
use botpsy_model::reference::Reference;
use botpsy_model::{Activations, Checkpoint, Logits, Model, Scratch, Segment, State};
use botpsy_tensor::DType;

use crate::fixture::{context, path};

#[test]
fn every_malformed_model_is_an_error() {
    let manifest = fs::read_to_string(path("safety/malformed/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let cases = manifest["cases"].as_array().unwrap().iter();
    let cases: Vec<_> = cases.filter(|case| case["kind"] == "gguf" && case["outcome"] == "error").collect();
    assert!(cases.iter().filter(|case| case["level"] == "model").count() >= 3);
    let run = move || {
        let ctx = context(Isa::detect(), 1);
        for case in cases {
            let file = path("safety/malformed").join(case["file"].as_str().unwrap());
            let load = || Model::load(&ctx, &Checkpoint::open(&file)?, Activations::Int8);
            let error = load().map(|_| ()).unwrap_err().to_string();
            assert!(error.starts_with(file.to_str().unwrap()) && error.len() < 1000, "{error}");
        }
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, run).unwrap();
    });
}

/// SplitMix64: the same inputs on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n as u64) as usize
    }
}

/// A file that is easily changed: keys with values, tensors with type, shape and bytes.
#[derive(Clone)]
struct Parts {
    metadata: Vec<(String, GgufValue)>,
    tensors: Vec<(String, DType, Vec<usize>, Vec<u8>)>,
}

impl Parts {
    /// The first four blocks of a reference model, without its tokenizer.
    fn tiny() -> Parts {
        let gguf = Gguf::open(&path("reference/tiny-grouped/model-q8_0.gguf")).unwrap();
        let entries = gguf.metadata().iter().filter(|(key, _)| !key.starts_with("tokenizer."));
        let mut metadata: Vec<(String, GgufValue)> = entries.map(|(key, value)| (key.into(), value.clone())).collect();
        metadata.iter_mut().find(|(key, _)| key == "qwen35.block_count").unwrap().1 = GgufValue::U32(4);
        let is_kept = |name: &str| !(4..8).any(|i| name.starts_with(&format!("blk.{i}.")));
        let tensors = gguf.tensors().iter().filter(|tensor| is_kept(tensor.name())).map(|tensor| {
            let view = gguf.tensor(tensor.name()).unwrap();
            (tensor.name().to_owned(), view.dtype(), view.shape().to_vec(), view.bytes().to_vec())
        });
        Parts { metadata, tensors: tensors.collect() }
    }

    fn file(&self) -> Vec<u8> {
        let mut writer = GgufWriter::new("mutated");
        self.metadata.iter().for_each(|(key, value)| writer.insert(key, value.clone()).unwrap());
        self.tensors.iter().for_each(|(name, dtype, shape, _)| writer.tensor(name, *dtype, shape).unwrap());
        let mut data = writer.begin(Vec::new()).unwrap();
        self.tensors.iter().for_each(|(.., bytes)| data.write(bytes).unwrap());
        data.finish().unwrap()
    }

    fn mutate(&mut self, random: &mut Random) {
        let at = random.below(self.metadata.len());
        let other = random.below(self.metadata.len());
        match random.below(10) {
            0 => _ = self.metadata.swap_remove(at),
            1 => self.metadata[at].1 = self.metadata[other].1.clone(),
            2..6 => self.metadata[at].1 = scaled(&self.metadata[at].1, random),
            _ => self.mutate_tensor(random),
        }
    }

    fn mutate_tensor(&mut self, random: &mut Random) {
        let at = random.below(self.tensors.len());
        if random.below(5) == 0 {
            _ = self.tensors.swap_remove(at);
            return;
        }
        let (_, dtype, shape, bytes) = &mut self.tensors[at];
        let rows: usize = shape[..shape.len() - 1].iter().product();
        match random.below(5) {
            0 => shape.reverse(),
            1 => shape.push(1),
            2 if shape[0] > 1 && rows > 1 => shape[0] -= 1,
            3 => *dtype = [DType::F16, DType::F64, DType::I32, DType::Q4_0][random.below(4)],
            _ => bytes.iter_mut().step_by(1 + random.below(9)).for_each(|byte| *byte = 255),
        }
        if !shape.last().is_some_and(|cols| cols.is_multiple_of(dtype.block_len())) {
            *dtype = DType::F32;
        }
        let n_values: usize = shape.iter().product();
        bytes.resize(n_values / dtype.block_len() * dtype.block_bytes(), 127);
    }
}

/// Another value, mostly of the same type.
fn scaled(value: &GgufValue, random: &mut Random) -> GgufValue {
    const EDGES: [u32; 12] = [0, 1, 2, 3, 5, 7, 8, 31, 1 << 16, 1 << 20, i32::MAX as u32, u32::MAX];
    let edge = EDGES[random.below(EDGES.len())];
    match (value, random.below(5)) {
        (GgufValue::U32(x), 0) => GgufValue::U32(x.wrapping_mul(2)),
        (GgufValue::U32(x), 1) => GgufValue::U32(x / 2),
        (GgufValue::U32(x), 2) => GgufValue::U32(x.wrapping_add(1)),
        (GgufValue::U32(_), 3) => GgufValue::U32(edge),
        (GgufValue::F32(x), 0) => GgufValue::F32(-x),
        (GgufValue::F32(_), i) => GgufValue::F32([f32::NAN, f32::INFINITY, 0.0, 1e-45, 1e30][i]),
        (GgufValue::Array(GgufArray::Bool(bits)), 0) => GgufValue::Array(GgufArray::Bool(bits[1..].to_vec())),
        (GgufValue::Array(GgufArray::Bool(bits)), 1) => {
            GgufValue::Array(GgufArray::Bool(bits.iter().map(|bit| !bit).collect()))
        }
        (_, 4) => GgufValue::I64(-i64::from(edge)),
        _ => GgufValue::U64(u64::from(edge) << 20),
    }
}

/// Whether the file was loaded, in which case it ran too.
fn runs(ctx: &Context, file: Vec<u8>) -> bool {
    let checkpoint = Checkpoint::from_bytes(file.into(), "mutated").unwrap();
    let loaded = match Model::load(ctx, &checkpoint, Activations::Int8) {
        Ok(model) => model,
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("mutated: ") && error.len() < 1000, "{error}");
            assert!(Reference::load(&checkpoint).is_err(), "only the fast path refuses: {error}");
            return false;
        }
    };
    let (mut state, mut scratch) = (State::new(&loaded, KvType::F16), Scratch::new(&loaded, 2));
    let mut segment = [Segment { state: &mut state, tokens: &[0, 1], logits: Logits::Last, keep: None }];
    loaded.forward(ctx, &mut segment, &mut scratch, &mut Vec::new()).unwrap();
    true
}

#[test]
fn mutated_models_run_or_are_refused() {
    let ctx = context(Isa::detect(), 1);
    let n_inputs = env::var("BOTPSY_FUZZ_N").map_or(20_000, |text| text.parse().unwrap());
    let (tiny, mut random, mut n_run) = (Parts::tiny(), Random(8), 0);
    assert!(runs(&ctx, tiny.file()));
    for _ in 0..n_inputs {
        let mut parts = tiny.clone();
        for _ in 0..=random.below(2) {
            parts.mutate(&mut random);
        }
        n_run += usize::from(runs(&ctx, parts.file()));
    }
    println!("{n_run} of {n_inputs} ran");
    assert!(n_run > n_inputs / 20 && n_run < n_inputs, "{n_run} of {n_inputs} ran");
}
