//! A call as the chat template prints it.

use serde_json::Value;

use super::format::{CALL_CLOSE, CALL_OPEN, FUNCTION_CLOSE, FUNCTION_OPEN, PARAMETER_CLOSE, PARAMETER_OPEN};
use super::python::python_scalar;
use crate::conversation::ToolCall;

/// The call in the form that the model writes: strings raw, lists and objects as JSON, other scalars the Python way. No
/// newline at the end.
///
/// ```
/// # use botpsy_text::{conversation::ToolCall, tool_call::render};
/// let arguments = serde_json::from_str(r#"{"time": "07:00", "repeat": true}"#)?;
/// assert_eq!(
///     render(&ToolCall { name: "set_alarm".to_owned(), arguments }),
///     "<tool_call>\n<function=set_alarm>\n<parameter=time>\n07:00\n</parameter>\n<parameter=repeat>\nTrue\n\
///      </parameter>\n</function>\n</tool_call>"
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn render(call: &ToolCall) -> String {
    let mut out = format!("{CALL_OPEN}\n{FUNCTION_OPEN}{}>\n", call.name);
    for (name, value) in &call.arguments {
        render_parameter(name, value, &mut out);
    }
    out + FUNCTION_CLOSE + "\n" + CALL_CLOSE
}

fn render_parameter(name: &str, value: &Value, out: &mut String) {
    let value = python_scalar(value);
    for part in [PARAMETER_OPEN, name, ">\n", &value, "\n", PARAMETER_CLOSE, "\n"] {
        out.push_str(part);
    }
}
