//! Recurrent states and what a model refuses.

use botpsy_kernels::Isa;
use botpsy_kernels::attention::KvType;
use botpsy_model::{Activations, LayerKind, Logits, ModelError, Scratch, Segment, State};

use crate::fixture::{Fixture, context, isas, largest, load, logits};

/// The reference's own two forms differ by 5e-5 in logits; states are of the same size.
const STATE_BAR: f32 = 2e-4;

#[test]
fn states_match_the_reference_in_both_file_orders() {
    for (name, lengths) in [("tiny-grouped", &[7, 65, 200][..]), ("tiny-heads", &[7])] {
        let fixture = Fixture::open(name);
        let files = if name == "tiny-grouped" { &[".", "model-f32.gguf", "model-bf16.gguf"][..] } else { &["."] };
        for file in files {
            for isa in isas() {
                let ctx = context(isa, 1);
                let model = load(&ctx, &fixture.checkpoint(file), Activations::F32);
                for n in lengths {
                    let mut state = State::new(&model, KvType::F32);
                    logits(&ctx, &model, &mut state, &fixture.tokens(*n), &[*n]);
                    let linear = |i: &usize| model.config().layer_kinds[*i] == LayerKind::Linear;
                    for i in (0..model.config().layer_kinds.len()).filter(linear) {
                        let (recurrent, conv) = state.linear_layer(&model, i).unwrap();
                        for (kind, found) in [("recurrent", recurrent), ("conv", conv)] {
                            let expected = fixture.tensor(&format!("state.{n}.layer{i}.{kind}"));
                            assert_eq!(found.len(), expected.len());
                            let worst = largest(found.iter().zip(&expected).map(|(a, b)| (a - b).abs()));
                            assert!(worst <= STATE_BAR, "{name}/{file} {kind} of layer {i}, {n} tokens: {worst}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_token_outside_the_vocabulary_changes_nothing() {
    let fixture = Fixture::open("tiny-grouped");
    let ctx = context(Isa::detect(), 1);
    let model = load(&ctx, &fixture.checkpoint("."), Activations::Int8);
    let mut state = State::new(&model, KvType::F16);
    let (mut scratch, mut out) = (Scratch::new(&model, 4), Vec::new());
    let mut segment = [Segment { state: &mut state, tokens: &[1, 512], logits: Logits::Last, keep: None }];
    let error = model.forward(&ctx, &mut segment, &mut scratch, &mut out).unwrap_err();
    assert!(matches!(error, ModelError::Token { id: 512, vocab_size: 512 }), "{error}");
    assert_eq!(error.to_string(), "token id 512 is not in the vocabulary of 512");
    assert_eq!(state.pos(), 0);
    assert_eq!(logits(&ctx, &model, &mut state, &[1], &[1]).len(), 512);
}

#[test]
fn memory_is_what_the_sizes_predict() {
    let fixture = Fixture::open("tiny-heads");
    let ctx = context(Isa::detect(), 1);
    let model = load(&ctx, &fixture.checkpoint("."), Activations::Int8);
    for kv in [KvType::F16, KvType::F32] {
        let mut state = State::new(&model, kv);
        logits(&ctx, &model, &mut state, &fixture.tokens(64), &[64]);
        let config = model.config();
        assert_eq!(state.size_bytes(), config.state_bytes() + 64 * config.kv_bytes_per_token(kv));
    }
}
