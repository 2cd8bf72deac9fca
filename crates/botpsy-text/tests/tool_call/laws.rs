//! Pieces and cuts.

use botpsy_text::conversation::ToolCall;
use botpsy_text::tool_call::{Stop, Thinking};

use crate::support::{Case, Numbers, every_case};

/// A streamed output is the unstreamed one, in these pieces.
pub(crate) fn check_pieces<'a>(case: &Case, pieces: impl IntoIterator<Item = &'a [u8]>) {
    let (_, streamed) = case.stream_pieces(pieces);
    assert_eq!(streamed, case.parse(), "{}: {:?}", case.name, case.text);
}

/// The calls of an output that was cut at `len` stand in the whole one too, in the same order.
pub(crate) fn check_cut(case: &Case, len: usize, whole: &[&[ToolCall]]) {
    let cut = case.with_text(&case.text[..len]).with_stop(Stop::Length).parse();
    for whole in whole {
        let mut rest = whole.iter();
        let kept = cut.tool_calls.iter().all(|call| rest.any(|other| other == call));
        assert!(kept, "{} cut at {len}: {:?} is not in {whole:?}: {:?}", case.name, cut.tool_calls, case.text);
    }
}

pub(crate) fn check_all_cuts(case: &Case) {
    let by_itself = case.with_stop(Stop::Eos).parse().tool_calls;
    let as_is = case.parse().tool_calls;
    let cut = case.with_stop(Stop::Length).parse().tool_calls;
    for len in (0..=case.text.len()).filter(|len| case.text.is_char_boundary(*len)) {
        check_cut(case, len, &[&by_itself, &as_is, &cut]);
    }
}

fn variants() -> impl Iterator<Item = Case> {
    let thinking = [Thinking::On, Thinking::Off];
    let stops = [Stop::Eos, Stop::Length];
    let ways = thinking.into_iter().flat_map(move |thinking| stops.map(|stop| (thinking, stop)));
    every_case()
        .into_iter()
        .flat_map(move |case| ways.clone().map(move |(thinking, stop)| case.with_thinking(thinking).with_stop(stop)))
}

#[test]
fn one_cut_between_any_two_bytes_changes_nothing() {
    for case in variants() {
        let bytes = case.text.as_bytes();
        for at in 0..=bytes.len() {
            check_pieces(&case, [&bytes[..at], &bytes[at..]]);
        }
    }
}

#[test]
fn single_bytes_and_random_pieces_change_nothing() {
    let mut numbers = Numbers(20_261_130);
    for case in variants() {
        check_pieces(&case, case.text.as_bytes().chunks(1));
        for longest in [2, 3, 7, 20, 60] {
            check_pieces(&case, numbers.pieces(case.text.as_bytes(), longest));
        }
    }
}

#[test]
fn a_cut_never_makes_a_call() {
    variants().for_each(|case| check_all_cuts(&case));
}

#[test]
fn bytes_cut_inside_the_last_character_are_dropped() {
    let case = Case::new("half", Vec::new(), Thinking::Off, Stop::Length, "");
    let (_, message) = case.stream_pieces(["tooth 🦷".as_bytes(), &"🦷".as_bytes()[..3]]);
    assert_eq!(message.content.as_deref(), Some("tooth 🦷"));
    let (_, message) = case.stream_pieces([&b"a"[..], &[0xFF], &[0xF0, 0x9F], b"b", &[0xC3], &[0xA9]]);
    assert_eq!(message.content.as_deref(), Some("abé"));
}
