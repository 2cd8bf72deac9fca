//! A whole output at once.

use std::sync::Arc;

use super::delivery::{Delivery, Piece};
use super::fault::Fault;
use super::stop::StopStrings;
use super::toolset::Toolset;
use super::{FinishReason, Stop, Thinking, ToolChoice};
use crate::conversation::{ToolCall, ToolSpec};

/// What the reader has to know about an output.
#[derive(Clone, Debug)]
pub struct ParseOptions<'a> {
    /// The offered tools.
    pub tools: &'a [ToolSpec],
    /// Whether the prompt opened the reasoning.
    pub thinking: Thinking,
    /// Why the output ended.
    pub stop: Stop,
    /// What the request said about calls.
    pub tool_choice: ToolChoice,
}

/// An output, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedMessage {
    /// What the model thought; `None` when empty.
    pub reasoning_content: Option<String>,
    /// What it said; `None` when empty.
    pub content: Option<String>,
    /// The tools it called, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why the message ends.
    pub finish_reason: FinishReason,
    /// What was wrong with the form.
    pub faults: Vec<Fault>,
}

/// Takes an output apart. It never fails: what cannot be read stays text, and [`ParsedMessage::faults`] says so.
///
/// ```
/// # use botpsy_text::tool_call::{FinishReason, ParseOptions, Stop, Thinking, ToolChoice, parse};
/// let text = "They greet me.\n</think>\n\nHello!";
/// let message = parse(text, &ParseOptions {
///     tools: &[],
///     thinking: Thinking::On,
///     stop: Stop::Eos,
///     tool_choice: ToolChoice::Auto,
/// });
/// assert_eq!(message.reasoning_content.as_deref(), Some("They greet me."));
/// assert_eq!(message.content.as_deref(), Some("Hello!"));
/// assert_eq!(message.finish_reason, FinishReason::Stop);
/// ```
pub fn parse(text: &str, options: &ParseOptions<'_>) -> ParsedMessage {
    let tools = Arc::new(Toolset::new(options.tools));
    let mut delivery = Delivery::new(tools, options.thinking, &options.tool_choice, StopStrings::default());
    let mut message = ParsedMessage::default();
    let pieces = delivery.push(text).into_iter();
    for piece in pieces.chain(delivery.finish(options.stop)) {
        match piece {
            Piece::Reasoning(text) => message.reasoning_content.get_or_insert_default().push_str(&text),
            Piece::Content(text) => message.content.get_or_insert_default().push_str(&text),
            Piece::Call(call) => message.tool_calls.push(call),
        }
    }
    message.finish_reason = delivery.finish_reason(options.stop);
    message.faults = delivery.into_faults();
    message
}
