//! What can be wrong with a model's output: a closed list.

use std::fmt;

/// A departure from the good form. Its `Display` is the name that `botpsy parse` prints and the evaluation counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Calls at the end of a thought that was never closed; they were taken as calls.
    CallInThinking,
    /// The thought was never closed.
    UnclosedThinking,
    /// `<think>` where the reasoning was open already, or where none was asked for.
    StrayThinkOpen,
    /// `</think>` where no reasoning was open.
    StrayThinkClose,
    /// A call without `<tool_call>`.
    MissingToolCallOpen,
    /// A call without `</tool_call>`.
    MissingToolCallClose,
    /// A call without `</function>`.
    MissingFunctionClose,
    /// A parameter without `</parameter>`.
    MissingValueClose,
    /// `</parameter>` where no parameter was open.
    DoubledValueClose,
    /// Something between the parameters of a call that is none; it was dropped.
    BrokenParameter,
    /// A parameter that was given more than once; the last one counts.
    DuplicateParameter(String),
    /// A call to a tool that was not offered.
    UnknownTool,
    /// A parameter that the tool does not declare.
    UnknownParameter(String),
    /// Required parameters that were not given.
    MissingRequired(Vec<String>),
    /// A value that has none of the declared types; it was kept as it was written.
    BadValue(String),
    /// A call in the older JSON form.
    JsonCall,
    /// Text after a call.
    TextAfterCall,
    /// A call that the token limit cut; it was not delivered.
    CutCall,
    /// Something that starts like a call and cannot be read; it stays text.
    UnreadableCall,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Fault::CallInThinking => "call_in_thinking",
            Fault::UnclosedThinking => "unclosed_thinking",
            Fault::StrayThinkOpen => "stray_think_open",
            Fault::StrayThinkClose => "stray_think_close",
            Fault::MissingToolCallOpen => "missing_tool_call_open",
            Fault::MissingToolCallClose => "missing_tool_call_close",
            Fault::MissingFunctionClose => "missing_function_close",
            Fault::MissingValueClose => "missing_value_close",
            Fault::DoubledValueClose => "doubled_value_close",
            Fault::BrokenParameter => "broken_parameter",
            Fault::DuplicateParameter(name) => return write!(out, "duplicate_parameter:{name}"),
            Fault::UnknownTool => "unknown_tool",
            Fault::UnknownParameter(name) => return write!(out, "unknown_parameter:{name}"),
            Fault::MissingRequired(names) => return write!(out, "missing_required:{}", names.join(",")),
            Fault::BadValue(name) => return write!(out, "bad_value:{name}"),
            Fault::JsonCall => "json_call",
            Fault::TextAfterCall => "text_after_call",
            Fault::CutCall => "cut_call",
            Fault::UnreadableCall => "unreadable_call",
        };
        out.write_str(name)
    }
}
