//! Stop strings end the content, however it is cut.

use std::sync::Arc;

use botpsy_text::tool_call::{Delta, DeltaStream, FinishReason, Stop, StopStrings, StreamOptions, Thinking};

use crate::support::{Numbers, add_up, every_case};

fn stream(stops: &[&str], thinking: Thinking) -> DeltaStream {
    let stop_strings = StopStrings::new(stops.iter().map(|stop| (*stop).to_owned()));
    DeltaStream::new(StreamOptions { thinking, stop_strings, ..StreamOptions::default() }, Box::new(String::new))
}

/// The content of a text that was given in any pieces.
fn check(stops: &[&str], text: &str, content: Option<&str>, stopped: bool) {
    let mut numbers = Numbers(7);
    for longest in [1, 2, 3, 5, text.len().max(1)] {
        let mut stream = stream(stops, Thinking::Off);
        let pieces = numbers.pieces(text.as_bytes(), longest);
        let mut deltas: Vec<Delta> = pieces.into_iter().flat_map(|piece| stream.push_bytes(piece)).collect();
        deltas.extend(stream.finish(Stop::Eos));
        let message = add_up(&deltas, &stream);
        assert_eq!(message.content.as_deref(), content, "{text:?} with {stops:?}");
        assert_eq!(stream.stopped(), stopped, "{text:?} with {stops:?}");
        assert_eq!(message.finish_reason, FinishReason::Stop);
    }
}

#[test]
fn the_content_ends_before_the_first_stop_string() {
    check(&["END"], "one END two", Some("one"), true);
    check(&["END"], "one EN two", Some("one EN two"), false);
    check(&["END"], "one EN", Some("one EN"), false);
    check(&["END"], "END", None, true);
    check(&["END"], "EEND", Some("E"), true);
    check(&["aab"], "aaab", Some("a"), true);
    check(&["\n\n"], "\n\n one\n\ntwo", Some("one"), true);
    check(&["\n\n"], "one\n\n", Some("one"), true);
    check(&["é🦷"], "caé🦷x", Some("ca"), true);
    check(&[], "one", Some("one"), false);
    check(&["", "x"], "axb", Some("a"), true);
}

#[test]
fn of_several_the_one_that_is_complete_first_counts() {
    check(&["abcd", "bc"], "xabcd", Some("xa"), true);
    check(&["abc", "bc"], "xabcd", Some("x"), true);
}

#[test]
fn reasoning_is_not_searched_and_nothing_comes_after_a_stop() {
    let mut stream = stream(&["END"], Thinking::On);
    let mut deltas = stream.push("END of thought\n</think>\n\nHi END <tool_call>");
    assert!(stream.stopped());
    deltas.extend(stream.push("\n<function=f>\n</function>\n</tool_call> more"));
    deltas.extend(stream.finish(Stop::Length));
    let message = add_up(&deltas, &stream);
    assert_eq!(message.reasoning_content.as_deref(), Some("END of thought"));
    assert_eq!(message.content.as_deref(), Some("Hi"));
    assert!(message.tool_calls.is_empty());
    assert_eq!(message.finish_reason, FinishReason::Stop);
    assert_eq!(stream.push("x"), []);
    assert_eq!(stream.finish(Stop::Eos), []);
}

#[test]
fn pieces_change_nothing_with_stop_strings_either() {
    let mut numbers = Numbers(11);
    for case in every_case() {
        for stops in [&["the", "e T"][..], &["\n", "l\n"], &[".", "Done.\n"], &["</parameter>"]] {
            let stop_strings = StopStrings::new(stops.iter().map(|stop| (*stop).to_owned()));
            let options = StreamOptions {
                tools: Arc::clone(&case.toolset),
                thinking: case.thinking,
                tool_choice: case.tool_choice.clone(),
                stop_strings,
            };
            let mut message = |longest| {
                let mut n_ids = 0;
                let new_id = move || {
                    n_ids += 1;
                    format!("call_{n_ids}")
                };
                let mut stream = DeltaStream::new(options.clone(), Box::new(new_id));
                let pieces = numbers.pieces(case.text.as_bytes(), longest);
                let mut deltas: Vec<Delta> = pieces.into_iter().flat_map(|piece| stream.push_bytes(piece)).collect();
                deltas.extend(stream.finish(case.stop));
                add_up(&deltas, &stream)
            };
            let whole = message(usize::MAX - 1);
            for longest in [1, 2, 4, 9] {
                assert_eq!(message(longest), whole, "{} with {stops:?}: {:?}", case.name, case.text);
            }
        }
    }
}
