//! The parts of a conversation that the template prints and the parser reads.

use serde_json::{Map, Value};

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that stands in `<function=NAME>`.
    pub name: String,
    /// JSON Schema of the arguments; an empty object when the tool declares none.
    pub parameters: Value,
    /// The tool object exactly as the caller gave it; this is what templates print.
    pub source: Value,
}

/// One call, as the model made it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Name of the tool; it may be one that was not offered.
    pub name: String,
    /// Arguments in the order in which they were written.
    pub arguments: Map<String, Value>,
}
