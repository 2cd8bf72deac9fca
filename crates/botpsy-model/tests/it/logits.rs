//! Logits and greedy continuations against the reference implementation.

use botpsy_kernels::attention::KvType;
use botpsy_model::{Activations, Logits, Scratch, Segment, State};

use crate::fixture::{Fixture, LENGTHS, QUANT_LENGTHS, context, distance, isas, load, logits_at};

/// Largest difference to the reference with exact activations: the README of the fixtures names the bar.
const F32_BAR: f32 = 2e-4;
/// The same with keys and values rounded to half precision.
const F16_KV_BAR: f32 = 1e-2;

fn check_all_lengths(name: &'static str, file: &str) {
    let fixture = Fixture::open(name);
    let checkpoint = fixture.checkpoint(file);
    for isa in isas() {
        let ctx = context(isa, 1);
        let model = load(&ctx, &checkpoint, Activations::F32);
        for n in LENGTHS {
            let (tokens, positions) = (fixture.tokens(n), fixture.positions(n));
            let reference = fixture.tensor(&format!("logits.{n}"));
            for (kv, bar) in [(KvType::F32, F32_BAR), (KvType::F16, F16_KV_BAR)] {
                let tested = logits_at(&ctx, &model, kv, &tokens, &positions);
                let found = distance(&reference, &tested);
                assert!(found.max <= bar, "{name}/{file}, {n} tokens, {kv:?}, {}: {found:?}", isa.name());
            }
        }
    }
}

#[test]
fn safetensors_grouped() {
    check_all_lengths("tiny-grouped", ".");
}

#[test]
fn safetensors_heads() {
    check_all_lengths("tiny-heads", ".");
}

#[test]
fn gguf_f32() {
    check_all_lengths("tiny-grouped", "model-f32.gguf");
}

#[test]
fn gguf_bf16() {
    check_all_lengths("tiny-grouped", "model-bf16.gguf");
}

/// Activations rounded to bfloat16: the bars are on the mean KL.
fn check_rounded_bf16(name: &'static str, file: &str, kl_bar: f32) {
    let fixture = Fixture::open(name);
    let checkpoint = fixture.checkpoint(file);
    for isa in isas() {
        let ctx = context(isa, 1);
        let model = load(&ctx, &checkpoint, Activations::Int8);
        for n in LENGTHS {
            let (tokens, positions) = (fixture.tokens(n), fixture.positions(n));
            let reference = fixture.tensor(&format!("logits.{n}"));
            for kv in [KvType::F32, KvType::F16] {
                let found = distance(&reference, &logits_at(&ctx, &model, kv, &tokens, &positions));
                assert!(found.kl <= kl_bar, "{name}/{file}, {n} tokens, {kv:?}, {}: {found:?}", isa.name());
            }
        }
    }
}

#[test]
fn bf16_weights_with_rounded_activations() {
    check_rounded_bf16("tiny-grouped", ".", 1e-3);
    check_rounded_bf16("tiny-grouped", "model-bf16.gguf", 1e-3);
    check_rounded_bf16("tiny-heads", ".", 2e-4);
}

/// Bars on the root mean square and the mean KL with int8 activations.
struct Bars {
    rms: f32,
    kl: f32,
}

fn check_quantized(name: &'static str, file: &str, tag: &str, bars: Bars) {
    let fixture = Fixture::open(name);
    let checkpoint = fixture.checkpoint(file);
    for isa in isas() {
        let ctx = context(isa, 1);
        let exact = load(&ctx, &checkpoint, Activations::F32);
        let int8 = load(&ctx, &checkpoint, Activations::Int8);
        for n in QUANT_LENGTHS {
            let (tokens, positions) = (fixture.tokens(n), fixture.positions(n));
            let reference = fixture.quant_logits(tag, n);
            let found = distance(&reference, &logits_at(&ctx, &exact, KvType::F32, &tokens, &positions));
            assert!(found.max <= F32_BAR, "{name}/{file}, {n} tokens, {}: {found:?}", isa.name());
            let found = distance(&reference, &logits_at(&ctx, &int8, KvType::F16, &tokens, &positions));
            let holds = found.rms <= bars.rms && found.kl <= bars.kl;
            assert!(holds, "{name}/{file}, {n} tokens, int8, {}: {found:?}", isa.name());
        }
    }
}

#[test]
fn gguf_q8_0() {
    check_quantized("tiny-grouped", "model-q8_0.gguf", "q8_0", Bars { rms: 0.16, kl: 1e-2 });
}

#[test]
fn gguf_q4_k_m_falls_back_to_5_bits() {
    check_quantized("tiny-grouped", "model-q4_k_m.gguf", "q4_k_m", Bars { rms: 0.16, kl: 1e-2 });
    check_quantized("tiny-grouped", "model-q4_k_m-imat.gguf", "q4_k_m-imat", Bars { rms: 0.16, kl: 1e-2 });
}

#[test]
fn gguf_q4_k_m_of_whole_blocks() {
    check_quantized("tiny-heads", "model-q4_k_m-imat.gguf", "q4_k_m-imat", Bars { rms: 0.12, kl: 5e-3 });
}

#[test]
fn greedy_continuations() {
    for name in ["tiny-grouped", "tiny-heads"] {
        let fixture = Fixture::open(name);
        let checkpoint = fixture.checkpoint(".");
        for isa in isas() {
            let ctx = context(isa, 1);
            let model = load(&ctx, &checkpoint, Activations::F32);
            for n in [7, 65] {
                let expected = fixture.ids(&format!("greedy.{n}"));
                let mut state = State::new(&model, KvType::F32);
                let (mut scratch, mut logits) = (Scratch::new(&model, 65), Vec::new());
                let (mut next, mut found) = (fixture.tokens(n), Vec::new());
                while found.len() < expected.len() {
                    let mut segment = [Segment { state: &mut state, tokens: &next, logits: Logits::Last, keep: None }];
                    model.forward(&ctx, &mut segment, &mut scratch, &mut logits).unwrap();
                    let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap();
                    found.push(best as u32);
                    next = vec![best as u32];
                }
                let smallest = fixture.margins(n).into_iter().fold(f32::INFINITY, f32::min);
                assert!(smallest > 2.0 * F32_BAR, "{name}: a margin of {smallest} does not decide");
                assert_eq!(found, expected, "{name}, {n} tokens, {}", isa.name());
            }
        }
    }
}
