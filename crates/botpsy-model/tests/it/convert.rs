//! Converted checkpoints against the files of the reference converter.

use std::collections::HashMap;

use botpsy_format::{Gguf, GgufValue};
use botpsy_model::convert::{Conversion, to_gguf};
use botpsy_model::{Checkpoint, ModelError};
use botpsy_tensor::{DType, dequantize};
use sha2::{Digest, Sha256};

use crate::fixture::path;

fn converted(name: &str, conversion: Conversion) -> Gguf {
    let checkpoint = Checkpoint::open(&path("reference").join(name)).unwrap();
    let metadata = vec![("general.name".to_owned(), GgufValue::String(name.to_owned()))];
    let mut done = 0;
    let bytes = to_gguf(&checkpoint, metadata, conversion, Vec::new(), &mut |tensor| {
        done += 1;
        assert_eq!(tensor.done, done);
    });
    let gguf = Gguf::from_bytes(bytes.unwrap().into(), name).unwrap();
    assert_eq!(gguf.tensors().len(), done);
    gguf
}

#[test]
fn tiny_grouped_equals_the_reference_converter() {
    for (conversion, file) in [
        (Conversion::F32, "model-f32.gguf"),
        (Conversion::BF16, "model-bf16.gguf"),
        (Conversion::Q8_0, "model-q8_0.gguf"),
    ] {
        let reference = Gguf::open(&path("reference/tiny-grouped").join(file)).unwrap();
        let ours = converted("tiny-grouped", conversion);
        assert_eq!(ours.tensors().len(), reference.tensors().len());
        for tensor in reference.tensors() {
            let (a, b) = (reference.tensor(tensor.name()).unwrap(), ours.tensor(tensor.name()).unwrap());
            assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()), "{file}: {}", tensor.name());
            if tensor.name().ends_with("ssm_a") {
                // Exponentials of two mathematical libraries: a unit in the last place.
                let (a, b) = (dequantize(&a).unwrap(), dequantize(&b).unwrap());
                assert!(
                    a.iter().zip(b).all(|(a, b)| a.to_bits().abs_diff(b.to_bits()) <= 1),
                    "{file}: {}",
                    tensor.name()
                );
            } else {
                assert!(a.bytes() == b.bytes(), "{file}: {} differs", tensor.name());
            }
        }
        let tokenizer = |key: &str| key.starts_with("tokenizer.");
        for (key, value) in reference.metadata().iter().filter(|(key, _)| !tokenizer(key)) {
            assert_eq!(ours.metadata().value(key), Some(value), "{file}: {key}");
        }
    }
}

#[test]
fn tiny_heads_in_q8_0_and_bf16_has_the_listed_hashes() {
    let list = std::fs::read_to_string(path("reference/quant-tensors.json")).unwrap();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    for (conversion, name) in [(Conversion::Q8_0, "tiny-heads-q8_0"), (Conversion::BF16, "tiny-heads-bf16")] {
        let ours = converted("tiny-heads", conversion);
        let listed = list["files"][name].as_object().unwrap();
        let mut n_q8_0 = 0;
        for (tensor, expected) in listed.iter().filter(|(tensor, _)| !tensor.ends_with("ssm_a")) {
            let view = ours.tensor(tensor).unwrap();
            let hash: String = Sha256::digest(view.bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Some(view.dtype().name()), expected["type"].as_str(), "{name}: {tensor}");
            assert_eq!(Some(hash.as_str()), expected["sha256"].as_str(), "{name}: {tensor}");
            n_q8_0 += usize::from(view.dtype() == DType::Q8_0);
        }
        assert_eq!(n_q8_0 > 0, conversion == Conversion::Q8_0);
    }
}

#[test]
fn half_precision_keeps_vectors_exact() {
    let (ours, exact) = (converted("tiny-grouped", Conversion::F16), converted("tiny-grouped", Conversion::F32));
    let types: HashMap<&str, DType> = ours.tensors().iter().map(|tensor| (tensor.name(), tensor.dtype())).collect();
    assert_eq!(types["blk.0.attn_qkv.weight"], DType::F16);
    assert_eq!(types["blk.0.ssm_conv1d.weight"], DType::F32);
    assert_eq!(types["blk.0.attn_norm.weight"], DType::F32);
    for tensor in exact.tensors() {
        let values = |gguf: &Gguf| dequantize(&gguf.tensor(tensor.name()).unwrap()).unwrap();
        let close = |(a, b): (&f32, f32)| (a - b).abs() <= a.abs() / 2048.0 + 1e-7;
        assert!(values(&exact).iter().zip(values(&ours)).all(close), "{}", tensor.name());
    }
}

#[test]
fn what_cannot_be_converted_is_named() {
    let gguf = Checkpoint::open(&path("reference/tiny-grouped/model-f32.gguf")).unwrap();
    let convert = |checkpoint: &Checkpoint, metadata: Vec<(String, GgufValue)>| -> ModelError {
        to_gguf(checkpoint, metadata, Conversion::F32, Vec::new(), &mut |_| ()).unwrap_err()
    };
    let error = convert(&gguf, Vec::new()).to_string();
    assert!(error.ends_with("is GGUF already; a folder with safetensors and config.json is needed"), "{error}");
    let folder = Checkpoint::open(&path("reference/tiny-grouped")).unwrap();
    let error = convert(&folder, vec![("qwen35.block_count".into(), GgufValue::U32(1))]).to_string();
    assert!(error.ends_with("tiny-grouped: metadata qwen35.block_count: appears twice"), "{error}");
}
