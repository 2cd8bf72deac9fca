use serde_json::{Value, json};

use crate::support::{fixture, run, str};

fn inspect(name: &str) -> Value {
    run(&["inspect", "--json", str(&fixture(name))], "").json()
}

#[test]
fn both_formats_hold_the_same_model() {
    let (folder, gguf) = (inspect("reference/tiny-grouped"), inspect("reference/tiny-grouped/model-f32.gguf"));
    for (shown, format, architecture) in [(&folder, "safetensors", "qwen3_5_text"), (&gguf, "gguf", "qwen35")] {
        assert_eq!((&shown["format"], &shown["architecture"]), (&json!(format), &json!(architecture)));
        assert_eq!(shown["n_params"], 453_040);
        let bytes = shown["tensors"].as_array().unwrap().iter().map(|tensor| tensor["bytes"].as_u64().unwrap());
        assert_eq!(shown["memory"]["weights"], bytes.sum::<u64>());
        // Two full-attention layers, keys and values of 2 x 32, two bytes each.
        assert_eq!(shown["memory"]["kv_per_token"], 2 * 2 * 64 * 2);
        // Six linear layers: 4 matrices of 32 x 32, and 3 inputs of 256 channels.
        assert_eq!(shown["memory"]["state"], 6 * (4 * 32 * 32 + 3 * 256) * 4);
    }
    assert_eq!(folder["metadata"]["config.json"]["hidden_size"], 64);
    assert_eq!(gguf["metadata"]["qwen35.embedding_length"], 64);
    assert_eq!(gguf["metadata"]["tokenizer.ggml.tokens"], json!({ "type": "string", "length": 512 }));
}

#[test]
fn a_lone_safetensors_file_is_listed() {
    let shown = inspect("reference/tiny-grouped/reference.safetensors");
    assert_eq!((&shown["architecture"], &shown["memory"]), (&Value::Null, &Value::Null));
    let embed = shown["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == "tap.7.embed").unwrap();
    assert_eq!(embed["dtype"], "F32");
    assert_eq!(shown["file_bytes"], fixture("reference/tiny-grouped/reference.safetensors").metadata().unwrap().len());
}

#[test]
fn people_get_a_page() {
    let page = run(&["inspect", "embedded"], "").ok();
    assert!(page.starts_with("format        gguf\narchitecture  qwen35\nparameters    3884632\n"), "{page}");
    assert!(page.contains("  Q8_0  [4096, 256]         token_embd.weight\n"), "{page}");
}
