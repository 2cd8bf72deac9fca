//! `botpsy inspect`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;
use botpsy_chat::ModelSource;
use botpsy_format::{FileBytes, Gguf, GgufArray, GgufValue, HfConfig, SafeTensors};
use botpsy_kernels::attention::KvType;
use botpsy_model::{Config, ModelError};
use botpsy_tensor::DType;
use serde_json::{Map, Value, json};

use crate::args::InspectArgs;
use crate::failure::{Exit, OrFail};
use crate::{embedded, input, model_flags, output};

/// Longer arrays, such as a vocabulary, are shown as type and length.
const MAX_ARRAY: usize = 64;

/// What was found in a file.
struct Found {
    format: &'static str,
    architecture: Option<String>,
    file_bytes: u64,
    metadata: Map<String, Value>,
    tensors: Vec<Tensor>,
    /// The sizes, or why this program does not run it.
    config: Result<Config, ModelError>,
}

struct Tensor {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    size_bytes: usize,
}

pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<Exit> {
    let found = open(&args.file)?;
    if let Err(reason) = &found.config {
        output::note(&format!("not a model that this program runs: {reason}"));
    }
    if args.json {
        output::json(&found.json())?;
    } else {
        output::result(found.text().as_bytes())?;
    }
    Ok(Exit::Done)
}

fn open(path: &Path) -> anyhow::Result<Found> {
    let help = "give a GGUF file, a safetensors file, or a folder with safetensors and config.json";
    match model_flags::source(path) {
        ModelSource::Embedded(bytes, label) => {
            let gguf = Gguf::from_bytes(FileBytes::from(bytes), label).or_bad_input(help)?;
            Ok(from_gguf(&gguf, embedded::bytes().len() as u64))
        }
        ModelSource::Path(path) if path.is_dir() => from_folder(&path).or_bad_input(help),
        ModelSource::Path(path) => {
            let bytes = FileBytes::open(&path).or_bad_input(help)?;
            let (label, len) = (path.display().to_string(), bytes.as_bytes().len() as u64);
            // A safetensors file begins with the length of its header: its ninth byte is the header's brace.
            if path.extension().is_some_and(|ext| ext == "safetensors") || bytes.as_bytes().get(8) == Some(&b'{') {
                let tensors = SafeTensors::from_bytes(bytes, &label).or_bad_input(help)?;
                return Ok(from_safetensors(&tensors, len));
            }
            let gguf = Gguf::from_bytes(bytes, &label).or_bad_input(help)?;
            Ok(from_gguf(&gguf, len))
        }
    }
}

fn from_gguf(gguf: &Gguf, file_bytes: u64) -> Found {
    let metadata = gguf.metadata();
    let tensors = gguf.tensors().iter().map(|tensor| Tensor {
        name: tensor.name().to_owned(),
        dtype: tensor.dtype(),
        shape: tensor.shape().to_vec(),
        size_bytes: tensor.range().len(),
    });
    Found {
        format: "gguf",
        architecture: metadata.find("general.architecture").ok().flatten().map(|name: &str| name.to_owned()),
        file_bytes,
        metadata: metadata.iter().map(|(key, value)| (key.to_owned(), gguf_json(value))).collect(),
        tensors: tensors.collect(),
        config: Config::from_gguf(gguf),
    }
}

fn from_safetensors(tensors: &SafeTensors, file_bytes: u64) -> Found {
    let file = tensors.file().to_owned();
    let metadata = tensors.metadata().iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    let found = tensors.tensors().iter().map(|tensor| Tensor {
        name: tensor.name().to_owned(),
        dtype: tensor.dtype(),
        shape: tensor.shape().to_vec(),
        size_bytes: tensor.size_bytes(),
    });
    Found {
        format: "safetensors",
        architecture: None,
        file_bytes,
        metadata: metadata.collect(),
        tensors: found.collect(),
        config: Err(ModelError::Config {
            file,
            field: "config.json".into(),
            problem: "belongs beside the tensors; inspect the folder".into(),
        }),
    }
}

fn from_folder(folder: &Path) -> anyhow::Result<Found> {
    let tensors = SafeTensors::open(folder)?;
    let mut file_bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "safetensors") {
            file_bytes += fs::metadata(&path).with_context(|| path.display().to_string())?.len();
        }
    }
    let path = folder.join("config.json");
    let config = HfConfig::open(&path)?;
    let mut found = from_safetensors(&tensors, file_bytes);
    found.architecture = Some(config.model_type.clone());
    found.config = Config::from_hf(&config, &path.display().to_string());
    found.metadata.insert("config.json".into(), serde_json::from_str(&input::file_text(&path)?)?);
    Ok(found)
}

impl Found {
    fn n_params(&self) -> usize {
        self.tensors.iter().map(|tensor| tensor.shape.iter().product::<usize>()).sum()
    }

    fn memory(&self) -> Value {
        let Ok(config) = &self.config else { return Value::Null };
        json!({
            "weights": self.tensors.iter().map(|tensor| tensor.size_bytes).sum::<usize>(),
            "kv_per_token": config.kv_bytes_per_token(KvType::F16),
            "state": config.state_bytes(),
        })
    }

    fn json(&self) -> Value {
        let tensors = self.tensors.iter().map(|tensor| {
            json!({
                "name": tensor.name,
                "dtype": tensor.dtype.name(),
                "shape": tensor.shape,
                "bytes": tensor.size_bytes,
            })
        });
        json!({
            "format": self.format,
            "architecture": self.architecture,
            "n_params": self.n_params(),
            "file_bytes": self.file_bytes,
            "metadata": self.metadata,
            "tensors": tensors.collect::<Value>(),
            "memory": self.memory(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{label:<14}{value}");
        };
        line("format", &self.format);
        line("architecture", &self.architecture.as_deref().unwrap_or("not stated"));
        line("parameters", &self.n_params());
        line("file", &format_args!("{} bytes", self.file_bytes));
        if let Value::Object(memory) = self.memory() {
            line("weights", &format_args!("{} bytes", memory["weights"]));
            line("KV per token", &format_args!("{} bytes (f16)", memory["kv_per_token"]));
            line("state", &format_args!("{} bytes", memory["state"]));
        }
        text.push_str("\nmetadata\n");
        for (key, value) in &self.metadata {
            let _ = writeln!(text, "  {key} = {}", input::excerpt(&value.to_string()));
        }
        text.push_str("\ntensors\n");
        for tensor in &self.tensors {
            let _ = writeln!(text, "  {:<6}{:<20}{}", tensor.dtype.name(), format!("{:?}", tensor.shape), tensor.name);
        }
        text
    }
}

fn gguf_json(value: &GgufValue) -> Value {
    match value {
        GgufValue::U8(x) => json!(x),
        GgufValue::I8(x) => json!(x),
        GgufValue::U16(x) => json!(x),
        GgufValue::I16(x) => json!(x),
        GgufValue::U32(x) => json!(x),
        GgufValue::I32(x) => json!(x),
        GgufValue::F32(x) => json!(x),
        GgufValue::Bool(x) => json!(x),
        GgufValue::String(x) => json!(x),
        GgufValue::U64(x) => json!(x),
        GgufValue::I64(x) => json!(x),
        GgufValue::F64(x) => json!(x),
        GgufValue::Array(array) => match array {
            GgufArray::U8(items) => list("u8", items),
            GgufArray::I8(items) => list("i8", items),
            GgufArray::U16(items) => list("u16", items),
            GgufArray::I16(items) => list("i16", items),
            GgufArray::U32(items) => list("u32", items),
            GgufArray::I32(items) => list("i32", items),
            GgufArray::F32(items) => list("f32", items),
            GgufArray::Bool(items) => list("bool", items),
            GgufArray::String(items) => list("string", &items.iter().collect::<Vec<_>>()),
            GgufArray::U64(items) => list("u64", items),
            GgufArray::I64(items) => list("i64", items),
            GgufArray::F64(items) => list("f64", items),
        },
    }
}

fn list<T: Clone + Into<Value>>(kind: &str, items: &[T]) -> Value {
    match items.len() {
        len if len > MAX_ARRAY => json!({ "type": kind, "length": len }),
        _ => items.iter().cloned().map(Into::into).collect(),
    }
}
