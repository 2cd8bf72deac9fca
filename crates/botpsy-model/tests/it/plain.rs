//! The plain reference path: logits, states and every tap; and the fast path against it on other shapes.

use botpsy_model::reference::Reference;

use crate::fixture::{Fixture, QUANT_LENGTHS, VOCAB, distance, largest};

/// As for the fast path: the bar of the fixtures' README.
const F32_BAR: f32 = 2e-4;

#[test]
fn logits_match_in_both_file_orders() {
    for (name, files) in [("tiny-grouped", &[".", "model-f32.gguf"][..]), ("tiny-heads", &["."])] {
        let fixture = Fixture::open(name);
        for file in files {
            let mut model = Reference::load(&fixture.checkpoint(file)).unwrap();
            let tokens = fixture.tokens(65);
            let found: Vec<f32> = tokens.iter().flat_map(|t| model.step(*t, &mut |_, _, _| ()).unwrap()).collect();
            let found = distance(&fixture.tensor("logits.65"), &found);
            assert!(found.max <= F32_BAR, "{name}/{file}: {found:?}");
        }
    }
}

#[test]
fn logits_of_quantized_files_match() {
    for (name, file, tag) in [
        ("tiny-grouped", "model-q8_0.gguf", "q8_0"),
        ("tiny-grouped", "model-q4_k_m.gguf", "q4_k_m"),
        ("tiny-heads", "model-q4_k_m-imat.gguf", "q4_k_m-imat"),
    ] {
        let fixture = Fixture::open(name);
        let n = QUANT_LENGTHS[0];
        let mut model = Reference::load(&fixture.checkpoint(file)).unwrap();
        let found: Vec<f32> =
            fixture.tokens(n).iter().flat_map(|t| model.step(*t, &mut |_, _, _| ()).unwrap()).collect();
        let found = distance(&fixture.quant_logits(tag, n), &found);
        assert!(found.max <= F32_BAR, "{name}/{file}: {found:?}");
    }
}

#[test]
fn every_tap_of_the_last_token_matches() {
    for name in ["tiny-grouped", "tiny-heads"] {
        let fixture = Fixture::open(name);
        let mut model = Reference::load(&fixture.checkpoint(".")).unwrap();
        let (mut compared, tokens) = (0, fixture.tokens(7));
        for (i, token) in tokens.iter().enumerate() {
            let mut tap = |layer: Option<usize>, name: &str, value: &[f32]| {
                let name = match layer {
                    Some(layer) => format!("tap.7.layer{layer}.{name}"),
                    None => format!("tap.7.{name}"),
                };
                if i + 1 == tokens.len() && fixture.has(&name) {
                    let expected = fixture.tensor(&name);
                    assert_eq!(value.len(), expected.len(), "{name}");
                    let worst = largest(value.iter().zip(&expected).map(|(a, b)| (a - b).abs()));
                    assert!(worst <= F32_BAR, "{name}: {worst}");
                    compared += 1;
                }
            };
            let logits = model.step(*token, &mut tap).unwrap();
            assert_eq!(logits.len(), VOCAB);
        }
        // 12 of a linear layer, 7 of a full one, two hidden states, the embedding and the final norm.
        assert_eq!(compared, 23, "{name}");
    }
}

#[test]
fn hidden_states_of_every_layer_match() {
    for name in ["tiny-grouped", "tiny-heads"] {
        let fixture = Fixture::open(name);
        let mut model = Reference::load(&fixture.checkpoint(".")).unwrap();
        let (expected, tokens) = (fixture.tensor("hidden.7"), fixture.tokens(7));
        let hidden = expected.len() / (fixture_layers(&fixture) + 1) / tokens.len();
        for (t, token) in tokens.iter().enumerate() {
            let mut rows = Vec::new();
            let mut tap = |_: Option<usize>, name: &str, value: &[f32]| {
                if matches!(name, "embed" | "hidden" | "final_norm") {
                    rows.push(value.to_vec());
                }
            };
            model.step(*token, &mut tap).unwrap();
            // The reference lists the last layer's output after the final norm.
            rows.remove(rows.len() - 2);
            for (layer, row) in rows.iter().enumerate() {
                let expected = &expected[(layer * tokens.len() + t) * hidden..][..hidden];
                let worst = largest(row.iter().zip(expected).map(|(a, b)| (a - b).abs()));
                assert!(worst <= F32_BAR, "{name}: entry {layer}, token {t}: {worst}");
            }
        }
    }
}

fn fixture_layers(fixture: &Fixture) -> usize {
    fixture.checkpoint(".").config().unwrap().layer_kinds.len()
}
