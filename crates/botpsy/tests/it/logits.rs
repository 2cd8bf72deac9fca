use std::path::Path;

use botpsy_format::SafeTensors;
use botpsy_tensor::dequantize;
use serde_json::{Value, json};

use crate::support::{fixture, json_fixture, run, scratch, str};

/// Max abs difference: F32 activations and F32 KV; the same with F16 KV.
const EXACT: f32 = 2e-4;
const F16_KV: f32 = 1e-2;

fn values(file: &SafeTensors, name: &str) -> Vec<f32> {
    dequantize(&file.tensor(name).unwrap()).unwrap()
}

fn compute(model: &Path, ids: &Value, flags: &[&str]) -> SafeTensors {
    let out = scratch("logits.safetensors");
    let args = [&["logits", "-m", str(model), "--out", str(&out)], flags].concat();
    assert_eq!(run(&args, ids.to_string()).ok(), "");
    SafeTensors::open(&out).unwrap()
}

fn tokens(folder: &str, n: usize) -> Value {
    let file = SafeTensors::open(&fixture(folder).join("reference.safetensors")).unwrap();
    let words = file.tensor(&format!("tokens.{n}")).unwrap().bytes().as_chunks::<4>().0.to_vec();
    json!(words.into_iter().map(u32::from_le_bytes).collect::<Vec<_>>())
}

fn max_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Compares the rows at the listed positions.
fn check(folder: &str, file: &str, reference: (&str, &str), n: usize, flags: &[&str], bar: f32) {
    let listed = json_fixture(&format!("{folder}/reference.json"));
    let found = values(&compute(&fixture(folder).join(file), &tokens(folder, n), flags), "logits");
    let vocab = found.len() / n;
    let rows = listed["positions"][n.to_string()].as_array().unwrap();
    let rows = rows.iter().flat_map(|row| found[row.as_u64().unwrap() as usize * vocab..][..vocab].iter().copied());
    let reference_file = SafeTensors::open(&fixture(folder).join(reference.0)).unwrap();
    let expected = values(&reference_file, &format!("{}.{n}", reference.1));
    let difference = max_difference(&rows.collect::<Vec<_>>(), &expected);
    assert!(difference <= bar, "{folder}/{file} {n} {flags:?}: {difference}");
}

#[test]
fn logits_are_those_of_the_reference() {
    let (exact, quantized) = (("reference.safetensors", "logits"), "reference_quant.safetensors");
    let (grouped, heads) = ("reference/tiny-grouped", "reference/tiny-heads");
    let flags = ["--kv", "f32", "--act", "f32"];
    for n in [1, 7, 64, 65, 200, 513] {
        check(grouped, ".", exact, n, &flags, EXACT);
        check(grouped, "model-bf16.gguf", exact, n, &flags, EXACT);
    }
    check(grouped, "model-f32.gguf", exact, 65, &flags, EXACT);
    check(grouped, "model-f32.gguf", exact, 200, &[], F16_KV);
    check(heads, ".", exact, 65, &flags, EXACT);
    for tag in ["q8_0", "q4_k_m", "q4_k_m-imat"] {
        let reference = format!("{tag}.logits");
        check(grouped, &format!("model-{tag}.gguf"), (quantized, &reference), 65, &flags, EXACT);
    }
    check(heads, "model-q4_k_m-imat.gguf", (quantized, "q4_k_m-imat.logits"), 65, &flags, EXACT);
}

#[test]
fn pieces_and_threads_change_no_bit() {
    let (model, ids) = (fixture("reference/tiny-grouped/model-q8_0.gguf"), tokens("reference/tiny-grouped", 65));
    let whole = values(&compute(&model, &ids, &["--threads", "1"]), "logits");
    for flags in [&["--pieces", "1"][..], &["--pieces", "7,20,38"], &["--pieces", "64", "--threads", "3"]] {
        assert_eq!(values(&compute(&model, &ids, flags), "logits"), whole, "{flags:?}");
    }
}

#[test]
fn states_come_in_the_order_of_the_checkpoint() {
    let folder = "reference/tiny-grouped";
    let reference = SafeTensors::open(&fixture(folder).join("reference.safetensors")).unwrap();
    for file in [".", "model-f32.gguf"] {
        let flags = ["--kv", "f32", "--act", "f32", "--states"];
        let found = compute(&fixture(folder).join(file), &tokens(folder, 7), &flags);
        assert_eq!(found.tensors().len(), 1 + 2 * 6, "six of eight layers are linear");
        for tensor in found.tensors().iter().filter(|tensor| tensor.name() != "logits") {
            let name = format!("state.7.{}", tensor.name());
            assert_eq!(tensor.shape(), reference.find(&name).unwrap().shape(), "{name}");
            let difference = max_difference(&values(&found, tensor.name()), &values(&reference, &name));
            assert!(difference <= EXACT, "{file} {name}: {difference}");
        }
    }
}

#[test]
fn ids_outside_the_vocabulary_are_refused() {
    let (model, out) = (fixture("reference/tiny-grouped/model-q8_0.gguf"), scratch("none.safetensors"));
    let err = run(&["logits", "-m", str(&model), "--out", str(&out)], "[1, 512]").refused();
    assert!(err.contains("token id 512 is not in the vocabulary of 512"), "{err}");
    assert!(!out.exists());
}
