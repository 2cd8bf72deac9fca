//! Scripts and recordings.

use std::sync::atomic::AtomicBool;

use botpsy_chat::{ChatError, ChatEvent, Provider, Recorder, Replay, Request, Scripted};
use botpsy_text::tool_call::{Delta, FinishReason};

const CALL: &str =
    "ping\n</think>\n\n<tool_call>\n<function=ping>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>";

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn a_script_answers_in_order_and_then_says_so() {
    let script = Scripted::new([CALL, "Done.\n</think>\n\nIt answered."]);
    let first = script.chat(&Request::user("ping it"), &never(), &mut |_| ()).unwrap();
    assert_eq!((first.message.tool_calls.len(), first.message.finish_reason), (1, FinishReason::ToolCalls));
    let second = script.chat(&Request::user("and?"), &never(), &mut |_| ()).unwrap();
    assert_eq!(second.message.content.as_deref(), Some("It answered."));
    let error = script.chat(&Request::user("more"), &never(), &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "script: no answer is left after 2");
}

#[test]
fn deltas_add_up_to_the_message() {
    let script = Scripted::new(["I think so, yes.\n</think>\n\nYes, it is so."]);
    let (mut reasoning, mut content) = (String::new(), String::new());
    let mut on = |event| match event {
        ChatEvent::Delta(Delta::Reasoning(text)) => reasoning.push_str(&text),
        ChatEvent::Delta(Delta::Content(text)) => content.push_str(&text),
        _ => {}
    };
    let whole = script.chat(&Request::user("Is it?"), &never(), &mut on).unwrap();
    assert_eq!(whole.message.reasoning_content.as_deref(), Some(&*reasoning));
    assert_eq!(whole.message.content.as_deref(), Some(&*content));
}

#[test]
fn a_stop_string_ends_the_content_before_it() {
    let script = Scripted::new(["</think>\n\none two END three"]);
    let request = Request { stop: vec!["END".into()], ..Request::user("count") };
    let reply = script.chat(&request, &never(), &mut |_| ()).unwrap();
    assert_eq!((reply.message.content.as_deref(), reply.message.finish_reason), (Some("one two"), FinishReason::Stop));
}

#[test]
fn a_recording_plays_again_and_refuses_another_conversation() {
    let path = std::env::temp_dir().join(format!("botpsy-recording-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let recorder = Recorder::new(Scripted::new([CALL, "</think>\n\nHello."]), &path).unwrap();
    let requests = [Request::user("ping it"), Request::user("hi")];
    let live: Vec<_> = requests.iter().map(|r| recorder.chat(r, &never(), &mut |_| ()).unwrap().message).collect();
    let replay = Replay::open(&path).unwrap();
    let again: Vec<_> = requests.iter().map(|r| replay.chat(r, &never(), &mut |_| ()).unwrap().message).collect();
    assert_eq!(live, again);
    let replay = Replay::open(&path).unwrap();
    let error = replay.chat(&Request::user("another"), &never(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, ChatError::Recording { line: 1, .. }), "{error}");
    std::fs::write(&path, "{\"version\":9}\n").unwrap();
    let error = Replay::open(&path).unwrap_err().to_string();
    assert!(error.ends_with("line 1: version is 9; this program reads 1"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_cancelled_script_delivers_no_half_call() {
    let script = Scripted::new([CALL]);
    let reply = script.chat(&Request::user("ping it"), &AtomicBool::new(true), &mut |_| ()).unwrap();
    assert!(reply.cancelled && reply.message.tool_calls.is_empty());
}
