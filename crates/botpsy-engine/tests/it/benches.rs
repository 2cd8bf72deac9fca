use std::sync::atomic::AtomicBool;
use std::time::Duration;

use botpsy_engine::{BenchCase, BenchEvent, BenchWork, Error};
use botpsy_model::Operation;

use crate::fixture::{exact, tiny};

const PREFILL: BenchCase = BenchCase { work: BenchWork::Prefill, tokens: 40, depth: 20, batch: 1 };

#[test]
fn every_repetition_is_timed_and_the_rest_is_told() {
    let engine = tiny(exact());
    for case in [
        PREFILL,
        BenchCase { batch: 3, depth: 0, ..PREFILL },
        BenchCase { work: BenchWork::Decode, tokens: 3, ..PREFILL },
        BenchCase { work: BenchWork::Decode, tokens: 2, batch: 4, ..PREFILL },
    ] {
        let (mut read, mut told) = (vec![0], Vec::new());
        let times = engine.bench(&case, 3, &AtomicBool::new(false), &mut |event| match event {
            BenchEvent::Read { tokens } => read.push(tokens),
            BenchEvent::Timed(time) => told.push(time),
        });
        let times = times.unwrap().unwrap();
        assert!(times.len() == 3 && times.iter().all(|time| !time.is_zero()), "{case:?}: {times:?}");
        assert_eq!(times, told);
        assert!(read.is_sorted() && read.last() == Some(&(case.batch * case.depth)), "{case:?}: {read:?}");
    }
}

#[test]
fn a_raised_flag_ends_it() {
    let cancelled = tiny(exact()).bench(&PREFILL, 1, &AtomicBool::new(true), &mut |_| ()).unwrap();
    assert_eq!(cancelled, None);
}

#[test]
fn what_cannot_be_timed_is_refused() {
    let engine = tiny(exact());
    let refused = |case: &BenchCase, reps| {
        engine.bench(case, reps, &AtomicBool::new(false), &mut |_| ()).expect_err("must be refused").to_string()
    };
    let full = BenchCase { depth: usize::MAX, ..PREFILL };
    let error = engine.bench(&full, 1, &AtomicBool::new(false), &mut |_| ());
    assert!(matches!(error, Err(Error::ContextFull { context_tokens: 600, .. })), "{error:?}");
    assert_eq!(refused(&BenchCase { tokens: 0, ..PREFILL }, 1), "tokens is 0: it must be at least 1");
    assert_eq!(refused(&BenchCase { batch: 0, ..PREFILL }, 1), "batch is 0: it must be at least 1");
    assert_eq!(refused(&PREFILL, 0), "reps is 0: it must be at least 1");
}

#[test]
fn a_step_moves_weights_states_keys_and_values() {
    let engine = tiny(exact());
    let (model, config) = (engine.model(), engine.model().config());
    let decode = BenchCase { work: BenchWork::Decode, tokens: 1, depth: 0, batch: 1 };
    let alone = engine.step_bytes(&decode);
    assert_eq!(alone, model.pass_bytes() + 2 * config.recurrent_bytes());
    assert_eq!(engine.step_bytes(&BenchCase { batch: 3, ..decode }), alone + 4 * config.recurrent_bytes());
    let kv = config.kv_bytes_per_token(engine.options().kv_type);
    assert_eq!(engine.step_bytes(&BenchCase { depth: 64, ..decode }), alone + 64 * kv);
}

#[test]
fn a_profile_divides_the_time_among_the_steps() {
    let engine = tiny(exact());
    let never = AtomicBool::new(false);
    for case in [PREFILL, BenchCase { work: BenchWork::Decode, tokens: 3, batch: 2, ..PREFILL }] {
        let (time, profile) = engine.profile(&case, &never, &mut |_| ()).unwrap().unwrap();
        let spent = Operation::ALL.map(|operation| profile.spent(operation));
        assert!(spent.iter().all(|(time, _)| !time.is_zero()), "{case:?}: {spent:?}");
        assert!(spent.iter().map(|(time, _)| *time).sum::<Duration>() <= time, "{case:?}: {spent:?} of {time:?}");
        let (_, head) = profile.spent(Operation::LmHead);
        let config = engine.model().config();
        let rows = if case.work == BenchWork::Prefill { 1 } else { 6 };
        assert_eq!(head.operations(), 2 * rows * config.vocab_size * config.hidden_size, "{case:?}");
    }
    // What follows records nothing.
    assert!(engine.bench(&PREFILL, 1, &never, &mut |_| ()).is_ok());
}
