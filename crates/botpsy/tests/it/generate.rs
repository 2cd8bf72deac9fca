use std::io::{Read, Write};
use std::process::Command;

use botpsy_format::SafeTensors;
use serde_json::{Value, json};

use crate::support::{command, fixture, run, str};

/// The token that ends a turn in the tiny models.
const EOS: u64 = 488;

fn ids(folder: &str, name: &str) -> Vec<u64> {
    let file = SafeTensors::open(&fixture(folder).join("reference.safetensors")).unwrap();
    let words = file.tensor(name).unwrap().bytes().as_chunks::<4>().0.to_vec();
    words.into_iter().map(|word| u64::from(u32::from_le_bytes(word))).collect()
}

#[test]
fn greedy_continuations_are_those_of_the_reference() {
    for (folder, file) in [
        ("reference/tiny-grouped", "model-f32.gguf"),
        ("reference/tiny-grouped", "model-bf16.gguf"),
        ("reference/tiny-grouped", "."),
        ("reference/tiny-heads", "."),
    ] {
        let model = fixture(folder).join(file);
        for n in [7, 65] {
            let prompt = json!(ids(folder, &format!("tokens.{n}")));
            let expected = ids(folder, &format!("greedy.{n}"));
            let expected: Vec<u64> = expected.into_iter().take_while(|id| *id != EOS).collect();
            let args = ["generate", "-m", str(&model), "--greedy", "--max-tokens", "32", "--json"];
            let args = [&args[..], &["--kv", "f32", "--act", "f32"]].concat();
            let found = run(&args, prompt.to_string()).json();
            assert_eq!(found["ids"], json!(expected), "{folder}/{file} {n}");
            let finish = if expected.len() == 32 { "length" } else { "stop" };
            assert_eq!(found["finish_reason"], finish, "{folder}/{file} {n}");
            for key in ["prefill_tps", "decode_tps", "ttft_ms"] {
                assert!(found[key].as_f64().unwrap() > 0.0, "{key}");
            }
        }
    }
}

#[test]
fn the_embedded_model_stops_at_the_end_of_its_turn() {
    let expected: Value = serde_json::from_str(include_str!("../data/expected.json")).unwrap();
    let case = &expected["cases"][3];
    let tools: Value = serde_json::from_str(include_str!("../../assets/tools.json")).unwrap();
    let request = json!({ "messages": [{ "role": "user", "content": case["user"] }], "tools": tools,
        "chat_template_kwargs": { "enable_thinking": true } });
    let prompt = run(&["render", "-m", "embedded"], request.to_string()).ok();
    let found = run(&["generate", "--text", "--json"], &prompt).json();
    assert_eq!(found["finish_reason"], "stop");
    assert_eq!(format!("{}<|im_end|>", found["text"].as_str().unwrap()), case["text"].as_str().unwrap());
    let (found, expected) = (found["ids"].as_array().unwrap(), case["ids"].as_array().unwrap());
    assert_eq!(found[..], expected[..expected.len() - 1]);
    let text = run(&["generate", "--text", "-n", "3"], &prompt).ok();
    assert!(case["text"].as_str().unwrap().starts_with(text.trim_end()), "{text}");
}

#[test]
fn a_seed_decides_the_draw() {
    let model = fixture("reference/tiny-grouped/model-q8_0.gguf");
    let draw = |seed: &str| {
        let flags = ["--temp", "1", "--top-k", "0", "--top-p", "1", "--presence-penalty", "0", "-n", "16", "--json"];
        let args = [&["generate", "-m", str(&model), "--seed", seed][..], &flags].concat();
        run(&args, "[1, 2, 3]").json()["ids"].clone()
    };
    assert_eq!(draw("5"), draw("5"));
    assert_ne!(draw("5"), draw("6"));
}

#[test]
fn the_order_of_filters_and_the_window_of_penalties_matter() {
    let model = fixture("reference/tiny-grouped/model-q8_0.gguf");
    let ids = |flags: &[&str]| {
        let args =
            [&["generate", "-m", str(&model), "--json", "-n", "48", "--seed", "3", "--min-p", "0"], flags].concat();
        run(&args, "[1, 2, 3, 4]").json()["ids"].clone()
    };
    let hot = ["--temp", "3", "--top-k", "200", "--top-p", "0.9", "--presence-penalty", "0"];
    assert_ne!(ids(&hot), ids(&[&hot[..], &["--sampler-order", "llama.cpp"]].concat()));
    let penalized = ["--temp", "0", "--repetition-penalty", "1.8", "--frequency-penalty", "1"];
    assert_ne!(ids(&penalized), ids(&[&penalized[..], &["--penalty-window", "2"]].concat()));
}

#[test]
fn the_context_is_a_limit_that_is_told() {
    let model = fixture("reference/tiny-grouped/model-q8_0.gguf");
    let args = ["generate", "-m", str(&model), "--ctx", "4", "--greedy", "--json"];
    let found = run(&args, "[1, 2]").json();
    assert_eq!((found["ids"].as_array().unwrap().len(), &found["finish_reason"]), (2, &json!("length")));
    let err = run(&args, "[1, 2, 3, 4]").refused();
    assert!(err.contains("the prompt has 4 tokens and the context holds 4") && err.contains("--ctx"), "{err}");
}

#[test]
fn ctrl_c_ends_the_answer_and_keeps_it() {
    let model = fixture("reference/tiny-grouped/model-q8_0.gguf");
    let mut command = command(&["generate", "-m", str(&model), "--greedy", "-n", "30000"]);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"[1, 2, 3]").unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut text = vec![0; 1];
    out.read_exact(&mut text).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    out.read_to_end(&mut text).unwrap();
    assert!(text.ends_with(b"\n"), "the line is ended");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
