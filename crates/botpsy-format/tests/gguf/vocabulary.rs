//! A vocabulary of the real size.

use std::time::{Duration, Instant};

use botpsy_format::{Gguf, GgufArray, GgufValue, GgufWriter, StringArray};

const N_TOKENS: usize = 248_320;
const N_MERGES: usize = 247_587;
/// Measured in release: 0.02 s. Here the machine may be busy and overflow checks are on.
const MOST: Duration = Duration::from_millis(500);

#[test]
fn a_large_vocabulary_is_read_quickly() {
    // Seven to ten bytes each, like the real ones; some of them not ASCII.
    let token = |i: usize| format!("Ġ{i:x}{}", ["tion", "é", "ing"][i % 3]);
    let merge = |i: usize| format!("{i:x} {}", token(i));
    let array = |strings: StringArray| GgufValue::Array(GgufArray::String(strings));
    let mut writer = GgufWriter::new("vocabulary");
    let types = GgufValue::Array(GgufArray::I32(vec![1; N_TOKENS]));
    writer.insert("tokenizer.ggml.tokens", array((0..N_TOKENS).map(token).collect())).unwrap();
    writer.insert("tokenizer.ggml.token_type", types).unwrap();
    writer.insert("tokenizer.ggml.merges", array((0..N_MERGES).map(merge).collect())).unwrap();
    let bytes = writer.begin(Vec::new()).unwrap().finish().unwrap();
    let size = bytes.len();

    let start = Instant::now();
    let gguf = Gguf::from_bytes(bytes.into(), "vocabulary").unwrap();
    let elapsed = start.elapsed();
    println!("{size} bytes of metadata in {elapsed:?}");
    assert!(elapsed < MOST, "{elapsed:?}");

    let tokens: &StringArray = gguf.metadata().get("tokenizer.ggml.tokens").unwrap();
    let merges: &StringArray = gguf.metadata().get("tokenizer.ggml.merges").unwrap();
    assert!(tokens.iter().eq((0..N_TOKENS).map(token)));
    assert!(merges.iter().eq((0..N_MERGES).map(merge)));
}
