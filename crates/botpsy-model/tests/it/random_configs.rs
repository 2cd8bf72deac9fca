//! Ten random configurations: the fast path on every instruction set, the plain path, and the formulas agree.

use botpsy_format::SafeTensors;
use botpsy_kernels::attention::KvType;
use botpsy_model::reference::Reference;
use botpsy_model::{Activations, Checkpoint, State};
use botpsy_tensor::dequantize;

use crate::fixture::{context, isas, load, logits, path};

/// The bar of the reference fixtures.
const F32_BAR: f32 = 2e-4;

fn worst(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn all_paths_agree_with_the_formulas() {
    for i in 0..10 {
        let folder = path("random-configs").join(i.to_string());
        let expected = SafeTensors::open(&folder.join("expected.safetensors")).unwrap();
        let values = |name: &str| dequantize(&expected.tensor(name).unwrap()).unwrap();
        let (tokens, expected) = (values("tokens").iter().map(|t| *t as u32).collect::<Vec<_>>(), values("logits"));
        let checkpoint = Checkpoint::open(&folder).unwrap();
        let mut plain = Reference::load(&checkpoint).unwrap();
        let found: Vec<f32> = tokens.iter().flat_map(|t| plain.step(*t, &mut |_, _, _| ()).unwrap()).collect();
        assert!(worst(&found, &expected) <= F32_BAR, "plain path, {i}: {}", worst(&found, &expected));
        for isa in isas() {
            let ctx = context(isa, 2);
            let model = load(&ctx, &checkpoint, Activations::F32);
            let run = |pieces: &[usize]| logits(&ctx, &model, &mut State::new(&model, KvType::F32), &tokens, pieces);
            let whole = run(&[tokens.len()]);
            assert!(worst(&whole, &expected) <= F32_BAR, "{}, {i}: {}", isa.name(), worst(&whole, &expected));
            assert!(run(&[1]) == whole && run(&[7, 3]) == whole, "pieces of {i} on {}", isa.name());
        }
    }
}
