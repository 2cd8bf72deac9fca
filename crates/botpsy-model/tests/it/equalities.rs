//! What must agree to the last bit, on every instruction set.

use botpsy_kernels::Isa;
use botpsy_kernels::attention::KvType;
use botpsy_model::{Activations, Keep, Logits, Scratch, Segment, State};

use crate::fixture::{Fixture, VOCAB, context, isas, load, logits};

/// Runs `check` for one file of each kind of weights.
fn for_each_model(check: impl Fn(Isa, &Fixture, &str)) {
    for (name, files) in [
        ("tiny-grouped", &["model-f32.gguf", "model-bf16.gguf", "model-q8_0.gguf", "model-q4_k_m.gguf", "."][..]),
        ("tiny-heads", &["model-q4_k_m-imat.gguf", "."]),
    ] {
        let fixture = Fixture::open(name);
        for file in files {
            for isa in isas() {
                check(isa, &fixture, file);
            }
        }
    }
}

/// Enough to cross pages; fewer for the larger model.
fn tokens(fixture: &Fixture) -> Vec<u32> {
    if fixture.name == "tiny-heads" { fixture.tokens(65) } else { fixture.tokens(200) }
}

#[test]
fn pieces_equal_the_whole() {
    for_each_model(|isa, fixture, file| {
        let ctx = context(isa, 1);
        let model = load(&ctx, &fixture.checkpoint(file), Activations::Int8);
        let tokens = tokens(fixture);
        for kv in [KvType::F16, KvType::F32] {
            let whole = logits(&ctx, &model, &mut State::new(&model, kv), &tokens, &[tokens.len()]);
            for pieces in [&[1][..], &[2], &[7, 3], &[64], &[65, 1], &[130, 5, 1]] {
                let found = logits(&ctx, &model, &mut State::new(&model, kv), &tokens, pieces);
                assert!(found == whole, "{}/{file} in pieces of {pieces:?} on {}", fixture.name, isa.name());
            }
        }
    });
}

#[test]
fn one_thread_equals_several() {
    for_each_model(|isa, fixture, file| {
        let tokens = fixture.tokens(65);
        let run = |n_threads| {
            let ctx = context(isa, n_threads);
            let model = load(&ctx, &fixture.checkpoint(file), Activations::Int8);
            logits(&ctx, &model, &mut State::new(&model, KvType::F16), &tokens, &[33])
        };
        let one = run(1);
        assert!(run(2) == one && run(3) == one, "{}/{file} on {}", fixture.name, isa.name());
    });
}

#[test]
fn a_snapshot_goes_on_as_if_never_stopped() {
    for_each_model(|isa, fixture, file| {
        let ctx = context(isa, 1);
        let model = load(&ctx, &fixture.checkpoint(file), Activations::Int8);
        let tokens = tokens(fixture);
        let whole = logits(&ctx, &model, &mut State::new(&model, KvType::F16), &tokens, &[tokens.len()]);
        for cut in [1, 63, 64, 65, 130].into_iter().filter(|cut| *cut < tokens.len()) {
            let mut state = State::new(&model, KvType::F16);
            logits(&ctx, &model, &mut state, &tokens[..cut], &[cut]);
            let snapshot = state.clone();
            // The original goes elsewhere first; neither it nor a second fork may touch the snapshot.
            let elsewhere: Vec<u32> = tokens.iter().rev().copied().collect();
            logits(&ctx, &model, &mut state, &elsewhere, &[50]);
            for mut fork in [snapshot.clone(), snapshot] {
                let found = logits(&ctx, &model, &mut fork, &tokens[cut..], &[17]);
                assert!(found[..] == whole[cut * VOCAB..], "{}/{file} cut at {cut} on {}", fixture.name, isa.name());
            }
        }
    });
}

#[test]
fn a_state_kept_on_the_way_is_that_of_a_pass_that_ended_there() {
    for_each_model(|isa, fixture, file| {
        let ctx = context(isa, 1);
        let model = load(&ctx, &fixture.checkpoint(file), Activations::Int8);
        let (before, tokens) = (&fixture.tokens(7)[..3], tokens(fixture));
        for after in [1, 60, 61, tokens.len() - 1] {
            let [mut state, mut stopped] = [(); 2].map(|()| State::new(&model, KvType::F16));
            for state in [&mut state, &mut stopped] {
                logits(&ctx, &model, state, before, &[before.len()]);
            }
            let (mut kept, mut found) = (State::new(&model, KvType::F16), Vec::new());
            let keep = Some(Keep { after, state: &mut kept });
            let mut segment = [Segment { state: &mut state, tokens: &tokens, logits: Logits::All, keep }];
            model.forward(&ctx, &mut segment, &mut Scratch::new(&model, 8), &mut found).unwrap();
            let mut whole = logits(&ctx, &model, &mut stopped, &tokens[..after], &[after]);
            let what = format!("{}/{file} kept after {after} on {}", fixture.name, isa.name());
            assert!(kept.pos() == stopped.pos() && kept.to_bytes() == stopped.to_bytes(), "{what}");
            whole.extend(logits(&ctx, &model, &mut stopped, &tokens[after..], &[tokens.len()]));
            assert!(found == whole && state.to_bytes() == stopped.to_bytes(), "{what}");
        }
    });
}

#[test]
fn a_row_of_a_batch_equals_that_row_alone() {
    for_each_model(|isa, fixture, file| {
        let ctx = context(isa, 1);
        let model = load(&ctx, &fixture.checkpoint(file), Activations::Int8);
        let sequences = [fixture.tokens(7), fixture.tokens(65), fixture.tokens(64), fixture.tokens(1)];
        let alone: Vec<_> = sequences
            .iter()
            .map(|tokens| logits(&ctx, &model, &mut State::new(&model, KvType::F16), tokens, &[tokens.len()]))
            .collect();
        let mut states: Vec<_> = sequences.iter().map(|_| State::new(&model, KvType::F16)).collect();
        let mut segments: Vec<_> = states
            .iter_mut()
            .zip(&sequences)
            .map(|(state, tokens)| Segment { state, tokens, logits: Logits::All, keep: None })
            .collect();
        let (mut scratch, mut together) = (Scratch::new(&model, 8), Vec::new());
        model.forward(&ctx, &mut segments, &mut scratch, &mut together).unwrap();
        assert!(together == alone.concat(), "{}/{file} on {}", fixture.name, isa.name());
        // The states agree as well: one more step, together and alone, with different wishes for logits.
        let mut clones = states.clone();
        let wishes = [Logits::Last, Logits::None, Logits::All, Logits::Last];
        let mut segments: Vec<_> = states
            .iter_mut()
            .zip(wishes)
            .map(|(state, logits)| Segment { state, tokens: &[9], logits, keep: None })
            .collect();
        model.forward(&ctx, &mut segments, &mut scratch, &mut together).unwrap();
        let alone: Vec<_> = [0, 2, 3].map(|i| logits(&ctx, &model, &mut clones[i], &[9], &[1])).concat();
        assert!(together == alone, "{}/{file}: one step on {}", fixture.name, isa.name());
    });
}
