//! Reuse of states: whatever is reused, the logits are those of a fresh computation, bit for bit.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use botpsy_engine::{Engine, EngineOptions, Prefill, Session, SyncPlan, TokenId};

use crate::fixture::{exact, sequence, tiny};

/// Brings the session to the end of `prompt`, keeping snapshots at `marks`; gives what was reused.
fn advance(session: &mut Session, prompt: &[TokenId], marks: &[usize]) -> SyncPlan {
    let plan = session.sync(prompt).unwrap();
    let outcome = session.prefill(prompt, marks, &AtomicBool::new(false), &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.unwrap(), Prefill::Complete);
    assert_eq!(session.tokens(), prompt);
    plan
}

fn bits(logits: &[f32]) -> Vec<u32> {
    assert!(!logits.is_empty());
    logits.iter().map(|logit| logit.to_bits()).collect()
}

/// The logits after `prompt`, computed from nothing.
fn fresh(engine: &Arc<Engine>, prompt: &[TokenId]) -> Vec<u32> {
    let mut session = Session::new(engine);
    advance(&mut session, prompt, &[]);
    bits(session.logits())
}

#[test]
fn a_longer_prompt_extends_the_timeline() {
    let (engine, tokens) = (tiny(exact()), sequence(200));
    let mut session = Session::new(&engine);
    assert_eq!(advance(&mut session, &tokens[..120], &[]), SyncPlan { kept: 0, to_prefill: 120 });
    assert_eq!(advance(&mut session, &tokens, &[]), SyncPlan { kept: 120, to_prefill: 80 });
    assert_eq!(bits(session.logits()), fresh(&engine, &tokens));
    assert_eq!(advance(&mut session, &tokens, &[]), SyncPlan { kept: 200, to_prefill: 0 });
}

#[test]
fn a_prompt_that_turns_off_goes_back_to_the_best_mark() {
    let (engine, tokens) = (tiny(exact()), sequence(200));
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..150], &[140, 40, 90]);
    let other: Vec<_> = tokens[..100].iter().chain(&tokens[..30]).copied().collect();
    assert_eq!(advance(&mut session, &other, &[]), SyncPlan { kept: 90, to_prefill: 40 });
    assert_eq!(bits(session.logits()), fresh(&engine, &other));
    // A prefix of the timeline cannot be cut out of it: it too comes from a mark, and the marks of the first prompt live on.
    assert_eq!(advance(&mut session, &tokens[..60], &[]), SyncPlan { kept: 40, to_prefill: 20 });
    assert_eq!(bits(session.logits()), fresh(&engine, &tokens[..60]));
    assert_eq!(advance(&mut session, &tokens, &[]), SyncPlan { kept: 140, to_prefill: 60 });
    assert_eq!(advance(&mut session, &tokens[1..50], &[]), SyncPlan { kept: 0, to_prefill: 49 });
    assert_eq!(bits(session.logits()), fresh(&engine, &tokens[1..50]));
}

#[test]
fn a_mark_at_the_end_of_a_prompt_needs_no_recomputation_and_one_before_it_does() {
    let (engine, tokens) = (tiny(exact()), sequence(60));
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..50], &[30, 50]);
    session.decode(&[tokens[0]]).unwrap();
    assert_eq!(session.sync(&tokens[..50]).unwrap(), SyncPlan { kept: 50, to_prefill: 0 });
    assert_eq!(bits(session.logits()), fresh(&engine, &tokens[..50]));
    // At the mark of 30 no logits were computed, so a prompt of just these tokens starts again.
    assert_eq!(advance(&mut session, &tokens[..30], &[30]), SyncPlan { kept: 0, to_prefill: 30 });
    // Now they are, and the snapshot with them has taken the place of the one without.
    advance(&mut session, &tokens[..50], &[]);
    assert_eq!(session.sync(&tokens[..30]).unwrap(), SyncPlan { kept: 30, to_prefill: 0 });
}

#[test]
fn snapshots_are_bounded_and_the_first_one_stays() {
    let (engine, tokens) = (tiny(EngineOptions { max_snapshots: 3, ..exact() }), sequence(200));
    let kept = |session: &Session, len: usize| {
        let other: Vec<_> = tokens[..len].iter().copied().chain([0, 0]).collect();
        session.fork().sync(&other).unwrap().kept
    };
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..100], &[10, 20, 30, 40, 50]);
    assert_eq!([15, 25, 35, 45, 55].map(|len| kept(&session, len)), [10, 10, 10, 40, 50]);
    advance(&mut session, &tokens, &[150]);
    assert_eq!([15, 45, 55, 160].map(|len| kept(&session, len)), [10, 10, 50, 150]);
    let mut none = Session::new(&tiny(EngineOptions { max_snapshots: 0, ..exact() }));
    advance(&mut none, &tokens[..100], &[10, 20]);
    assert_eq!(kept(&none, 50), 0);
}

#[test]
fn marks_near_what_is_known_are_left_out_but_not_the_first_and_the_last() {
    let (engine, tokens) = (tiny(EngineOptions { snapshot_distance: 30, ..exact() }), sequence(200));
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..150], &[10, 20, 39, 40, 69, 140]);
    let kept = |session: &Session, len: usize| {
        let other: Vec<_> = tokens[..len].iter().copied().chain([0, 0]).collect();
        session.fork().sync(&other).unwrap().kept
    };
    assert_eq!([15, 25, 39, 45, 69, 145].map(|len| kept(&session, len)), [10, 10, 10, 40, 40, 140]);
    // The last mark of the next turn is near the end of this one.
    advance(&mut session, &tokens[..160], &[10, 140, 145, 155]);
    assert_eq!([148, 158].map(|len| kept(&session, len)), [140, 155]);
}

#[test]
fn chunks_and_single_tokens_give_the_same_bits() {
    let tokens = sequence(130);
    let whole = fresh(&tiny(EngineOptions { prefill_chunk: 512, ..exact() }), &tokens);
    for prefill_chunk in [1, 7, 64] {
        assert_eq!(fresh(&tiny(EngineOptions { prefill_chunk, ..exact() }), &tokens), whole);
    }
    let mut session = Session::new(&tiny(exact()));
    for id in &tokens {
        session.decode(&[*id]).unwrap();
    }
    assert_eq!(bits(session.logits()), whole);
}

#[test]
fn forks_go_their_own_ways() {
    let (engine, tokens) = (tiny(exact()), sequence(80));
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..70], &[]);
    let mut fork = session.fork();
    session.decode(&[3]).unwrap();
    fork.decode(&[4]).unwrap();
    session.decode(&[5]).unwrap();
    let after = |ids: &[TokenId]| fresh(&engine, &[&tokens[..70], ids].concat());
    assert_eq!(bits(session.logits()), after(&[3, 5]));
    assert_eq!(bits(fork.logits()), after(&[4]));
}

#[test]
fn a_restored_snapshot_continues_as_if_nothing_had_happened() {
    let (engine, tokens) = (tiny(exact()), sequence(80));
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..70], &[]);
    let snapshot = session.snapshot();
    let there = bits(session.logits());
    for first in [3, 4] {
        session.decode(&[first]).unwrap();
        advance(&mut session, &tokens[5..25], &[]);
        session.restore(&snapshot).unwrap();
        assert_eq!((session.tokens(), bits(session.logits())), (snapshot.tokens(), there.clone()));
        let then = fresh(&engine, &[&tokens[..70], &[first]].concat());
        assert_eq!(bits(session.decode(&[first]).unwrap()), then);
    }
    let mut stranger = Session::new(&tiny(exact()));
    let error = stranger.restore(&snapshot).unwrap_err();
    assert_eq!(error.to_string(), "the snapshot was taken from a session of another engine");
}

#[test]
fn a_cancelled_prefill_stands_at_a_chunk_and_goes_on_from_there() {
    let (engine, tokens) = (tiny(exact()), sequence(100));
    let mut session = Session::new(&engine);
    let cancel = AtomicBool::new(false);
    let mut seen = Vec::new();
    let outcome = session.prefill(&tokens, &[], &cancel, &mut |done| {
        seen.push(done);
        cancel.store(done == 32, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    assert_eq!((outcome.unwrap(), seen), (Prefill::Cancelled, vec![16, 32]));
    assert!(session.logits().is_empty());
    let stopped = session.prefill(&tokens, &[], &AtomicBool::new(false), &mut |_| ControlFlow::Break(()));
    assert_eq!(stopped.unwrap(), Prefill::Stopped);
    assert_eq!(advance(&mut session, &tokens, &[]), SyncPlan { kept: 48, to_prefill: 52 });
    assert_eq!(bits(session.logits()), fresh(&engine, &tokens));
}

#[test]
fn what_does_not_fit_is_refused_with_both_numbers_and_changes_nothing() {
    let (engine, tokens) = (tiny(EngineOptions { context_tokens: 20, ..exact() }), sequence(30));
    let mut session = Session::new(&engine);
    advance(&mut session, &tokens[..20], &[]);
    let message = "21 tokens do not fit into the context of 20";
    assert_eq!(session.sync(&tokens[..21]).unwrap_err().to_string(), message);
    assert_eq!(session.decode(&[1]).unwrap_err().to_string(), message);
    assert_eq!(session.sync(&[]).unwrap_err().to_string(), "prompt: expected at least one token, found none");
    assert_eq!(session.sync(&[1, 512]).unwrap_err().to_string(), "prompt: token 512 is outside the vocabulary of 512");
    assert_eq!(session.tokens(), &tokens[..20]);
    assert_eq!(bits(session.logits()), fresh(&engine, &tokens[..20]));
}
