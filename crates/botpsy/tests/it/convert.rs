use std::process::Command;

use botpsy_format::Gguf;
use serde_json::json;

use crate::support::{fixture, run, scratch, shared, str};

#[test]
fn the_embedded_file_is_what_convert_makes() {
    let Some(folder) = shared("models/nano-bootstrap") else { return };
    let out = scratch("nano.gguf");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/make_nano.sh");
    let made = Command::new(script).arg(env!("CARGO_BIN_EXE_botpsy")).args([&folder, &out]).status().unwrap();
    assert!(made.success());
    assert!(std::fs::read(&out).unwrap() == include_bytes!("../../assets/nano.gguf"), "run assets/make_nano.sh anew");
}

#[test]
fn a_converted_folder_gives_the_tensors_tokens_and_answers_of_the_folder() {
    let folder = fixture("reference/tiny-grouped");
    for (kind, reference) in [("f32", "model-f32.gguf"), ("bf16", "model-bf16.gguf"), ("q8_0", "model-q8_0.gguf")] {
        let out = scratch("converted.gguf");
        run(&["convert", str(&folder), "--out", str(&out), "--type", kind, "--meta", "general.name=tiny"], "").ok();
        let (ours, theirs) = (Gguf::open(&out).unwrap(), Gguf::open(&folder.join(reference)).unwrap());
        assert_eq!(ours.metadata().get::<&str>("general.name").unwrap(), "tiny");
        for tensor in theirs.tensors().iter().filter(|tensor| !tensor.name().ends_with("ssm_a")) {
            let (a, b) = (ours.tensor(tensor.name()).unwrap(), theirs.tensor(tensor.name()).unwrap());
            assert!(a.bytes() == b.bytes(), "{kind}: {}", tensor.name());
        }
        let text = "Hello, world! <think>\u{1F600}";
        let ids = run(&["tokenize", "-m", str(&out)], text).json();
        assert_eq!(ids, run(&["tokenize", "-m", str(&folder)], text).json());
        let answer = run(&["generate", "-m", str(&out), "--greedy", "-n", "4", "--json"], ids.to_string()).json();
        assert_eq!(answer["ids"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn what_cannot_be_converted_leaves_no_file() {
    let out = scratch("none.gguf");
    let gguf = fixture("reference/tiny-grouped/model-q8_0.gguf");
    let err = run(&["convert", str(&gguf), "--out", str(&out)], "").refused();
    assert!(err.contains("model-q8_0.gguf: expected a folder"), "{err}");
    let folder = fixture("reference/tiny-grouped");
    let err = run(&["convert", str(&folder), "--out", str(&out), "--meta", "license"], "").refused();
    assert!(err.contains("--meta license: expected KEY=TEXT"), "{err}");
    assert!(!out.exists() && !out.with_added_extension("part").exists());
}

#[test]
fn what_the_file_says_about_itself_is_shown() {
    let shown = run(&["inspect", "embedded", "--json"], "").json();
    let metadata = &shown["metadata"];
    assert!(metadata["botpsy.remark"].as_str().unwrap().contains("demonstration model"));
    for source in ["CLINC150 (CC BY 3.0)", "HWU64 (CC BY 4.0)", "SLURP text (CC BY 4.0)", "SNIPS 2017 (CC0)"] {
        assert!(metadata["general.attribution"].as_str().unwrap().contains(source), "{source}");
    }
    for (key, value) in [
        ("general.sampling.temp", json!(0.0)),
        ("botpsy.sampling.presence_penalty", json!(0.0)),
        ("botpsy.sampling.max_tokens", json!(256)),
    ] {
        assert_eq!(metadata[key], value, "{key}");
    }
}
