//! Chat templates: the built-in one and those from files, against Jinja under Python; hostile templates and content.

mod builtin;
mod fuzz;
mod guard;
mod jinja;
#[allow(clippy::unwrap_used, dead_code, unreachable_pub)]
#[path = "../tokenizer/load.rs"]
mod load;
mod marks;

use botpsy_text::template::ChatTemplate;
use serde_json::Value;

fn fixture(name: &str) -> String {
    let path = format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json_fixture(name: &str) -> Value {
    serde_json::from_str(&fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A template of ours in Jinja that prints what the official one prints.
fn qwen35_jinja() -> ChatTemplate {
    compile(&with_prompt_text(&fixture("corpus/template/qwen35.jinja")))
}

/// Sets the two variables that the template leaves open, from what the official template printed.
fn with_prompt_text(source: &str) -> String {
    let reference = json_fixture("reference/chat-renderings.json");
    let cases = reference["cases"].as_array().expect("a list of cases");
    let case = cases.iter().find(|case| case["name"] == "tools_no_system").expect("a case with tools");
    let text = case["expected"].as_str().expect("a text");
    let (head, rest) = text.split_once("\n{\"type\"").expect("a tool");
    let before = head.trim_start_matches("<|im_start|>system\n");
    let after = &rest[rest.find("\n</tools>").expect("an end of tools")..rest.find("<|im_end|>").expect("an end")];
    format!("{{%- set before_tools = {} %}}{{%- set after_tools = {} %}}{source}", quoted(before), quoted(after))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn compile(source: &str) -> ChatTemplate {
    ChatTemplate::compile(source).unwrap_or_else(|error| panic!("{error}: {source}"))
}
