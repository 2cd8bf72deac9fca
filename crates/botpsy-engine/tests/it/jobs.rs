//! Jobs from prompt to end, seen through their events.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use botpsy_engine::{
    CloseReason, Engine, EngineOptions, Error, Event, Finish, Job, Mask, Sampling, SamplingSettings, Session, Stats,
    ThinkingSetup, TokenId, TokenMask,
};

use crate::fixture::{exact, ids, load, sequence, tiny};

fn greedy() -> Sampling {
    SamplingSettings::greedy().validate().unwrap()
}

fn warm(seed: u64) -> Sampling {
    SamplingSettings { temperature: 1.0, seed, ..SamplingSettings::greedy() }.validate().unwrap()
}

fn job(prompt: &[TokenId], max_tokens: u32, sampling: Sampling) -> Job {
    Job { sampling, ..Job::new(prompt.to_vec(), max_tokens) }
}

/// What a job sent.
#[derive(Debug)]
struct Run {
    events: Vec<Event>,
    answer: Vec<TokenId>,
    finish: Finish,
    stats: Stats,
}

/// Runs a job; `watch` sees each event and may end it.
fn watched(
    session: &mut Session,
    job: Job,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&Event) -> ControlFlow<()>,
) -> Result<Run, Error> {
    let (mut events, mut answer) = (Vec::new(), Vec::new());
    let finish = session.generate(job, cancel, &mut |event| {
        if let Event::Token { id, .. } = event {
            answer.push(id);
        }
        let flow = watch(&event);
        events.push(event);
        flow
    })?;
    let Some(Event::Done { finish: last, stats }) = events.last().cloned() else { panic!("no end: {events:?}") };
    assert_eq!(last, finish);
    Ok(Run { events, answer, finish, stats })
}

fn run(engine: &Arc<Engine>, job: Job) -> Run {
    run_in(&mut Session::new(engine), job)
}

fn run_in(session: &mut Session, job: Job) -> Run {
    watched(session, job, &AtomicBool::new(false), &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn greedy_continuations_are_those_of_the_reference() {
    for (model, file) in [("tiny-grouped", "model-f32.gguf"), ("tiny-grouped", ""), ("tiny-heads", "")] {
        let engine = load(model, file, 2, exact());
        for n in [7, 65] {
            let prompt = ids(model, &format!("tokens.{n}"));
            let run = run(&engine, job(&prompt, 32, greedy()));
            assert_eq!(run.answer, ids(model, &format!("greedy.{n}")), "{model}/{file}, {n} tokens");
            assert_eq!(run.finish, Finish::Length);
        }
    }
}

#[test]
fn events_come_in_order_and_the_statistics_add_up() {
    let engine = tiny(exact());
    let mut session = Session::new(&engine);
    let prompt = sequence(40);
    let first = run_in(&mut session, job(&prompt, 3, greedy()));
    let progress = |done| Event::Prefilling { done, total: 40 };
    assert_eq!(first.events[..3], [progress(16), progress(32), progress(40)]);
    assert_eq!(first.events[3], Event::Prefilled { prompt_tokens: 40, cached_tokens: 0 });
    assert!(first.events[4..7].iter().all(|event| matches!(event, Event::Token { forced: false, logprobs: None, .. })));
    assert_eq!(first.events.len(), 8);
    assert_eq!((first.stats.prompt_tokens, first.stats.cached_tokens, first.stats.generated_tokens), (40, 0, 3));
    assert!(first.stats.ttft_ms >= first.stats.prefill_ms && first.stats.prefill_ms > 0.0);
    assert!(first.stats.prefill_tps() > 0.0 && first.stats.decode_tps() > 0.0);

    // The next prompt contains the answer: all but its last token was decoded already.
    let next = [&prompt[..], &first.answer, &[7, 8]].concat();
    let second = run_in(&mut session, job(&next, 2, greedy()));
    assert_eq!((second.stats.prompt_tokens, second.stats.cached_tokens), (45, 42));
    assert_eq!(second.answer, run(&engine, job(&next, 2, greedy())).answer);
}

#[test]
fn a_seed_repeats_itself_and_another_choice_or_seed_does_not() {
    let engine = tiny(exact());
    let prompt = sequence(20);
    let answer = |seed, choice| run(&engine, Job { choice, ..job(&prompt, 40, warm(seed)) }).answer;
    assert_eq!(answer(1, 0), answer(1, 0));
    assert_ne!(answer(1, 0), answer(1, 1));
    assert_ne!(answer(1, 0), answer(2, 0));
    let threads = load("tiny-grouped", "model-f32.gguf", 2, exact());
    assert_eq!(run(&threads, job(&prompt, 40, warm(1))).answer, answer(1, 0));
}

#[test]
fn a_draw_depends_on_its_position_and_not_on_how_the_answer_got_there() {
    let engine = tiny(exact());
    let prompt = sequence(20);
    let whole = run(&engine, job(&prompt, 30, warm(5))).answer;
    // The same first ten tokens forced instead of drawn: the rest is as before.
    let forced = Job { forced: whole[..10].to_vec(), ..job(&prompt, 30, warm(5)) };
    let run = run(&engine, forced);
    assert_eq!(run.answer, whole);
    let forced = |event: &&Event| matches!(event, Event::Token { forced: true, .. });
    assert_eq!(run.events.iter().filter(forced).count(), 10);
}

#[test]
fn sessions_on_several_threads_do_not_disturb_each_other() {
    let engine = load("tiny-grouped", "model-f32.gguf", 2, exact());
    let answer = |seed: u64| run(&engine, job(&sequence(20 + seed as usize), 20, warm(seed))).answer;
    let alone: Vec<_> = (0..4).map(answer).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..4).map(|seed| scope.spawn(move || answer(seed))).collect();
        running.into_iter().map(|job| job.join().unwrap()).collect()
    });
    assert_eq!(together, alone);
}

#[test]
fn a_stop_token_ends_the_answer_and_is_not_part_of_it() {
    let engine = tiny(exact());
    let prompt = sequence(20);
    let whole = run(&engine, job(&prompt, 30, greedy())).answer;
    let stop = whole[12];
    let end = whole.iter().position(|id| *id == stop).unwrap();
    let run = run(&engine, Job { stop: vec![stop], ..job(&prompt, 30, greedy()) });
    assert_eq!((&run.answer[..], run.finish), (&whole[..end], Finish::Eos));
    assert_eq!(run.stats.generated_tokens, end + 1);
}

#[test]
fn a_thought_over_its_budget_is_closed_and_its_closer_counts() {
    let engine = tiny(exact());
    let prompt = sequence(20);
    let thinking = ThinkingSetup { end: 500, closer: vec![10, 500, 11], budget: 5 };
    let with_forced = Job { thinking: Some(thinking), forced: vec![20, 21], ..job(&prompt, 12, greedy()) };
    let run = run(&engine, with_forced);
    assert_eq!((run.answer.len(), run.answer[5..10].to_vec()), (12, vec![10, 500, 11, 20, 21]));
    let closed = |event: &Event| matches!(event, Event::ThinkingClosed { .. });
    let at = run.events.iter().position(closed).unwrap();
    assert_eq!(run.events[at], Event::ThinkingClosed { reason: CloseReason::Budget, thought_tokens: 5 });
    assert!(matches!(run.events[at - 1], Event::Token { id: 500, forced: true, .. }));
    assert_eq!((run.finish, run.stats.generated_tokens), (Finish::Length, 12));
}

#[test]
fn a_looping_thought_is_closed() {
    let engine = tiny(exact());
    let settings = SamplingSettings { logit_bias: vec![(3, 100.0)], ..SamplingSettings::greedy() };
    let thinking = ThinkingSetup { end: 500, closer: vec![500], budget: 400 };
    let looping = Job { thinking: Some(thinking), ..job(&sequence(20), 200, settings.validate().unwrap()) };
    let run = run(&engine, looping);
    let reason = run.events.iter().find_map(|event| match event {
        Event::ThinkingClosed { reason, thought_tokens } => Some((*reason, *thought_tokens)),
        _ => None,
    });
    assert!(matches!(reason, Some((CloseReason::Repetition(_), 160))), "{reason:?}");
    assert_eq!(run.answer[159..162], [3, 500, 3]);
}

#[test]
fn a_mask_is_kept_and_sees_the_answer_so_far() {
    let engine = tiny(exact());
    let mut seen = Vec::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let masked = Job {
        mask: Some(Box::new(move |answer: &[TokenId], mask: &mut TokenMask| {
            sender.send(answer.to_vec()).unwrap();
            mask.clear();
            mask.allow(100 + answer.len() as TokenId);
        })),
        forced: vec![99],
        ..job(&sequence(20), 4, warm(1))
    };
    assert_eq!(run(&engine, masked).answer, [99, 101, 102, 103]);
    seen.extend(receiver.iter());
    assert_eq!(seen, [vec![99], vec![99, 101], vec![99, 101, 102]]);
}

/// Forces some tokens after the third one, and is a mask that allows only even ones otherwise.
struct Forcing(bool);

impl Mask for Forcing {
    fn fill(&mut self, answer: &[TokenId], mask: &mut TokenMask) {
        (1..500).step_by(2).for_each(|id| mask.deny(id));
        // What would be forced is all that is allowed, where it is not.
        if let (false, Some(id)) = (self.0, FORCED.get(answer.len().wrapping_sub(3))) {
            mask.clear();
            mask.allow(*id);
        }
    }

    fn forced(&mut self, answer: &[TokenId]) -> Vec<TokenId> {
        if self.0 && answer.len() == 3 { FORCED.to_vec() } else { Vec::new() }
    }
}

const FORCED: [TokenId; 5] = [7, 9, 9, 11, 300];

#[test]
fn forced_tokens_read_together_lead_where_the_same_tokens_one_by_one_do() {
    let engine = tiny(exact());
    let answer = |forcing: bool, n: u32, sampling: &Sampling| {
        let job = Job { mask: Some(Box::new(Forcing(forcing))), ..job(&sequence(20), n, sampling.clone()) };
        run(&engine, job).answer
    };
    let logprobs = SamplingSettings { top_logprobs: Some(1), seed: 5, ..SamplingSettings::default() };
    for sampling in [warm(1), warm(2), logprobs.validate().unwrap()] {
        for n in [2, 3, 4, 6, 8, 9, 20] {
            let found = answer(true, n, &sampling);
            assert_eq!(found, answer(false, n, &sampling), "{n} tokens");
            assert_eq!(found.len(), n as usize);
            assert!(n < 9 || found[3..8] == FORCED);
        }
    }
}

#[test]
fn penalties_count_the_answer_and_logprobs_are_raw() {
    let engine = tiny(exact());
    let settings = SamplingSettings {
        presence_penalty: 2.0,
        frequency_penalty: 2.0,
        top_k: NonZeroU32::new(20),
        top_logprobs: Some(2),
        ..SamplingSettings::greedy()
    };
    let run = run(&engine, job(&sequence(65), 8, settings.validate().unwrap()));
    let mut session = Session::new(&engine);
    let mut expected = Vec::new();
    for event in &run.events {
        let Event::Token { id, logprobs: Some(logprobs), .. } = event else { continue };
        session.sync(&[&sequence(65)[..], &expected].concat()).unwrap();
        let prompt = [&sequence(65)[..], &expected].concat();
        session.prefill(&prompt, &[], &AtomicBool::new(false), &mut |_| ControlFlow::Continue(())).unwrap();
        let logits = session.logits();
        let penalized = |id: usize| {
            let count = expected.iter().filter(|seen| **seen == id as TokenId).count();
            if count > 0 { logits[id] - 2.0 * count as f32 - 2.0 } else { logits[id] }
        };
        let best = (0..logits.len()).max_by(|a, b| penalized(*a).total_cmp(&penalized(*b))).unwrap();
        assert_eq!(*id as usize, best);
        let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        assert!((f64::from(logprobs.chosen.logprob) - (f64::from(logits[best]) - sum.ln())).abs() < 1e-5);
        assert_eq!((logprobs.chosen.id, logprobs.top.len()), (*id, 2));
        expected.push(*id);
    }
    assert_eq!((expected.len(), &expected), (8, &run.answer));
}

#[test]
fn a_job_can_be_ended_at_each_stage() {
    let engine = tiny(exact());
    let prompt = sequence(40);
    let end = |stop_at: fn(&Event) -> bool, by_flag: bool| {
        let cancel = AtomicBool::new(false);
        let mut watch = |event: &Event| {
            if !stop_at(event) {
                return ControlFlow::Continue(());
            }
            cancel.store(by_flag, Ordering::Relaxed);
            if by_flag { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let run = watched(&mut Session::new(&engine), job(&prompt, 5, greedy()), &cancel, &mut watch).unwrap();
        (run.finish, run.answer.len())
    };
    for (by_flag, finish) in [(true, Finish::Cancelled), (false, Finish::Stop)] {
        assert_eq!(end(|event| matches!(event, Event::Prefilling { done: 16, .. }), by_flag), (finish, 0));
        assert_eq!(end(|event| matches!(event, Event::Prefilled { .. }), by_flag), (finish, 0));
        assert_eq!(end(|event| matches!(event, Event::Token { .. }), by_flag), (finish, 1));
    }
}

#[test]
fn the_context_ends_an_answer_and_refuses_a_prompt_that_fills_it() {
    let engine = tiny(EngineOptions { context_tokens: 24, ..exact() });
    let run = run(&engine, job(&sequence(20), 100, greedy()));
    assert_eq!((run.answer.len(), run.finish), (4, Finish::Length));
    let full = job(&sequence(24), 100, greedy());
    let error = Session::new(&engine).generate(full, &AtomicBool::new(false), &mut |_| ControlFlow::Continue(()));
    assert_eq!(error.unwrap_err().to_string(), "25 tokens do not fit into the context of 24");
}
