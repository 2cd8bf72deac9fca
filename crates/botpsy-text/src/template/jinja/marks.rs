use serde_json::{Value, json};

use crate::template::{RenderInput, TemplateError};

/// Turns that are looked at, from the end: each costs a rendering.
const MAX_TURNS: usize = 4;

/// Where later prompts will agree with `text`: found by rendering the conversation as far as each of the last turns,
/// and the system turn alone. A mark is a hint; a template that prints history in another way has fewer.
pub(super) fn find(
    text: &str,
    input: &RenderInput<'_>,
    render: impl Fn(&RenderInput<'_>) -> Result<String, TemplateError>,
) -> Vec<usize> {
    let mut marks = Vec::new();
    marks.extend(system_end(text, input, &render));
    let is_turn_end = |message: &Value| matches!(message["role"].as_str(), Some("user" | "tool"));
    let ends = (1..=input.messages.len()).rev().filter(|&end| is_turn_end(&input.messages[end - 1]));
    for end in ends.take(MAX_TURNS) {
        let prefix = RenderInput { messages: &input.messages[..end], add_generation_prompt: false, ..*input };
        if let Ok(prefix) = render(&prefix) {
            marks.extend(turn_end(text, &prefix));
        }
    }
    marks.sort_unstable();
    marks.dedup();
    marks.retain(|&mark| mark > 0);
    marks
}

/// Where the turn that ends `prefix` ends in `text`, which may go on with another tool result in the same turn: then
/// all but the last line agrees.
fn turn_end(text: &str, prefix: &str) -> Option<usize> {
    let common = common_prefix(text, prefix);
    if prefix[common.len()..].trim_end_matches('\n').contains('\n') {
        return None;
    }
    // Half a marker is no place to stop.
    match common.rfind(['<', '>']) {
        Some(at) if common[at..].starts_with('<') => Some(at),
        _ => Some(common.len()),
    }
}

/// What two conversations that differ from the first word on have in common, without the line that opens that turn.
fn system_end(
    text: &str,
    input: &RenderInput<'_>,
    render: &impl Fn(&RenderInput<'_>) -> Result<String, TemplateError>,
) -> Option<usize> {
    let system = input.messages.first().filter(|message| message["role"] == "system");
    let start = |word: &str| {
        let user = json!({ "role": "user", "content": word });
        let messages: Vec<Value> = system.cloned().into_iter().chain([user]).collect();
        render(&RenderInput { messages: &messages, add_generation_prompt: false, ..*input }).ok()
    };
    let (first, second) = (start("a")?, start("b")?);
    let common = common_prefix(&first, &second);
    let lines = common.trim_end_matches('\n').rfind('\n')? + 1;
    text.starts_with(&common[..lines]).then_some(lines)
}

fn common_prefix<'a>(first: &'a str, second: &str) -> &'a str {
    let same = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    &first[..first.floor_char_boundary(same)]
}
