//! The tool-call format, in one room: [`render`] writes it, [`parse`] reads a whole output, [`DeltaStream`] reads one
//! that is still being written.
//!
//! The good form, with several calls one after another and text before them, but none after:
//!
//! ```text
//! <tool_call>
//! <function=NAME>
//! <parameter=KEY>
//! VALUE
//! </parameter>
//! </function>
//! </tool_call>
//! ```
//!
//! Reading is tolerant, and every departure has a name ([`Fault`]). `parse` and `DeltaStream` are the same machine, so a
//! streamed output and a whole one give the same message.

mod channel;
pub mod constrain;
mod delivery;
mod fault;
mod format;
mod parse;
pub mod python;
mod reader;
mod render;
mod stop;
mod stream;
mod toolset;

pub use fault::Fault;
pub use format::{
    CALL_CLOSE, CALL_OPEN, FUNCTION_CLOSE, FUNCTION_OPEN, PARAMETER_CLOSE, PARAMETER_OPEN, THINK_CLOSE, THINK_OPEN,
};
pub use parse::{ParseOptions, ParsedMessage, parse};
pub use render::render;
pub use stop::StopStrings;
pub use stream::{Delta, DeltaStream, StreamOptions};
pub use toolset::Toolset;

/// Whether the prompt opened the reasoning for the model to fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// The prompt ends with `<think>`.
    On,
    /// The prompt closed the reasoning, or has none.
    #[default]
    Off,
}

/// Why an output ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model ended it by itself, or a stop string did.
    Eos,
    /// The token limit cut it.
    Length,
}

/// What a request says about calls. Only `None` changes how an output is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model may call.
    #[default]
    Auto,
    /// Nothing is a call.
    None,
    /// The model must call.
    Required,
    /// The model must call this tool.
    Named(String),
}

/// Why a message ends, in OpenAI's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// The model said all.
    #[default]
    Stop,
    /// The token limit cut it.
    Length,
    /// The model waits for the results of its calls.
    ToolCalls,
}

impl FinishReason {
    /// The name on the wire: `stop`, `length` or `tool_calls`.
    pub fn as_str(self) -> &'static str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::ToolCalls => "tool_calls",
        }
    }
}
