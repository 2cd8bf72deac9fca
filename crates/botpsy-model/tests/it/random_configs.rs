//! Ten random configurations: the fast path on every instruction set, the plain path, and the formulas agree; and so do
//! they once converted to GGUF, which stores value heads in another order.

use botpsy_format::SafeTensors;
use botpsy_kernels::attention::KvType;
use botpsy_model::convert::{Conversion, to_gguf};
use botpsy_model::reference::Reference;
use botpsy_model::{Activations, Checkpoint, LayerKind, State};
use botpsy_tensor::dequantize;

use crate::fixture::{context, isas, load, logits, path};

/// The bar of the reference fixtures.
const F32_BAR: f32 = 2e-4;

/// A model, the tokens that it reads, and the logits that the formulas give.
struct Case {
    name: String,
    checkpoint: Checkpoint,
    tokens: Vec<u32>,
    expected: Vec<f32>,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        (0..10).map(|i| {
            let folder = path("random-configs").join(i.to_string());
            let expected = SafeTensors::open(&folder.join("expected.safetensors")).unwrap();
            let values = |name: &str| dequantize(&expected.tensor(name).unwrap()).unwrap();
            Case {
                name: format!("configuration {i}"),
                checkpoint: Checkpoint::open(&folder).unwrap(),
                tokens: values("tokens").iter().map(|t| *t as u32).collect(),
                expected: values("logits"),
            }
        })
    }

    fn converted(self) -> Case {
        let bytes = to_gguf(&self.checkpoint, Vec::new(), Conversion::F32, Vec::new(), &mut |_| ()).unwrap();
        let name = format!("{}, converted", self.name);
        Case { checkpoint: Checkpoint::from_bytes(bytes.into(), &name).unwrap(), name, ..self }
    }

    fn check(&self) {
        let mut plain = Reference::load(&self.checkpoint).unwrap();
        let found: Vec<f32> = self.tokens.iter().flat_map(|t| plain.step(*t, &mut |_, _, _| ()).unwrap()).collect();
        assert_close(&found, &self.expected, &format!("{}: plain path", self.name));
        for isa in isas() {
            let what = format!("{} on {}", self.name, isa.name());
            // One thread: the models are so small that waking another takes most of the time.
            let ctx = context(isa, 1);
            let model = load(&ctx, &self.checkpoint, Activations::F32);
            let run = |state: &mut State, pieces: &[usize]| logits(&ctx, &model, state, &self.tokens, pieces);
            let mut state = State::new(&model, KvType::F32);
            let whole = run(&mut state, &[self.tokens.len()]);
            assert_close(&whole, &self.expected, &what);
            for (layer, kind) in model.config().layer_kinds.iter().enumerate() {
                let found = state.linear_layer(&model, layer);
                assert_eq!(found.is_some(), *kind == LayerKind::Linear);
                if let Some(((recurrent, conv), expected)) = found.zip(plain.linear_layer(layer)) {
                    assert_close(&recurrent, expected.0, &format!("{what}: state of layer {layer}"));
                    assert_close(&conv, expected.1, &format!("{what}: conv inputs of layer {layer}"));
                }
            }
            for pieces in [&[1][..], &[7, 3]] {
                let found = run(&mut State::new(&model, KvType::F32), pieces);
                assert!(found == whole, "{what} in pieces of {pieces:?}");
            }
        }
    }
}

fn assert_close(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    // In the total order a difference that is not a number is the largest; a maximum would pass over it.
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).max_by(f32::total_cmp).unwrap_or(0.0);
    assert!(worst <= F32_BAR, "{what}: {worst}");
}

#[test]
fn all_paths_agree_with_the_formulas() {
    Case::all().for_each(|case| case.check());
}

#[test]
fn all_paths_agree_on_the_converted_files() {
    Case::all().for_each(|case| case.converted().check());
}
