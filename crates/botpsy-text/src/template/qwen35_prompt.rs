//! The prompt text of the Qwen3.5 chat template: the one text in this crate that others wrote.
//!
//! Copyright Alibaba Cloud, the Qwen team. Licensed under the Apache License, Version 2.0
//! (<http://www.apache.org/licenses/LICENSE-2.0>); `NOTICE` at the root of the repository names it. The models were
//! trained on these words, so they are kept to the letter.

/// What comes before the list of tools, one JSON object a line.
pub(super) const BEFORE_TOOLS: &str = "\
# Tools

You have access to the following functions:

<tools>";

/// What comes after the list of tools.
pub(super) const AFTER_TOOLS: &str = "
</tools>

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
</IMPORTANT>";
