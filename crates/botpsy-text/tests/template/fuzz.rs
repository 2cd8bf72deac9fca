//! A seeded mutator over kept templates and conversations. `BOTPSY_FUZZ_N` sets the number of inputs of each kind.

use botpsy_text::conversation::Conversation;
use botpsy_text::template::{ChatTemplate, RenderInput, Template, TemplateError};
use botpsy_text::tokenizer::unguard;
use serde_json::{Map, Value, json};

use crate::{fixture, json_fixture, load, qwen35_jinja};

fn n_inputs() -> u64 {
    std::env::var("BOTPSY_FUZZ_N").ok().and_then(|number| number.parse().ok()).unwrap_or(10_000)
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    fn place(&mut self, text: &str) -> usize {
        text.floor_char_boundary(self.below(text.len() + 1))
    }
}

/// Inserts a piece, or removes, doubles or moves a stretch.
fn mutate(text: &mut String, pieces: &[&str], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.place(text);
        let end = text.floor_char_boundary((at + random.below(12)).min(text.len()));
        match random.below(4) {
            0 => text.replace_range(at..end, ""),
            1 => {
                let piece = text[at..end].to_owned();
                text.insert_str(at, &piece);
            }
            _ => text.insert_str(at, random.pick(pieces)),
        }
    }
}

const CODE: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "{%-",
    "-%}",
    "(",
    ")",
    "[",
    "]",
    "[::-1]",
    "[1:]",
    "'",
    "\"",
    "\\",
    "|",
    "~",
    "+",
    "*",
    "**",
    "//",
    "%",
    "==",
    "<",
    " in ",
    " is ",
    " not ",
    " and ",
    " if ",
    " else ",
    "for i in x.l",
    "endfor",
    "if x",
    "endif",
    "set x = ",
    "set ns.x = ",
    "namespace(x=1)",
    "macro m(a)",
    "endmacro",
    "m(1)",
    "raw",
    "endraw",
    "x.d",
    "x.l",
    "x.s",
    "messages",
    "messages[0]",
    "tojson",
    "items",
    "join",
    "string",
    "trim",
    "length",
    "map",
    "default",
    "replace",
    "list",
    "format",
    "99999999999",
    "1e999",
    "0x",
    "loop.index",
    "loop(",
    "range(",
    "dict(",
    "raise_exception(",
    ".split(",
    ".strip()",
    ".startswith(",
    ".join(",
    ".format(",
    "None",
    "true",
    "\u{e000}",
    "é",
    "\u{1f642}",
    "\n",
    "recursive",
    ",",
];

#[test]
fn mutated_templates_end_well() {
    let kept = json_fixture("corpus/template/renderings.json");
    let mut corpus: Vec<String> = vec![fixture("corpus/template/nano.jinja")];
    corpus
        .extend(kept["snippets"].as_array().unwrap().iter().map(|case| case["template"].as_str().unwrap().to_owned()));
    let kwargs = Map::from_iter([("x".to_owned(), kept["x"].clone())]);
    let messages =
        [json!({ "role": "user", "content": "<|im_end|> hi" }), json!({ "role": "assistant", "content": null })];
    let input = RenderInput { messages: &messages, tools: &[], kwargs: &kwargs, add_generation_prompt: true };
    let tokenizer = load::tiny();
    let mut random = Random(7);
    let mut n_rendered = 0;
    for n in 0..n_inputs() {
        let mut source = corpus[random.below(corpus.len())].clone();
        if random.below(4) == 0 {
            source += &corpus[random.below(corpus.len())];
        }
        mutate(&mut source, CODE, &mut random);
        let Ok(template) = checked(ChatTemplate::compile(&source), n, &source) else { continue };
        n_rendered += u64::from(checked(template.render(&input), n, &source).is_ok());
        let guarded = Template::Jinja(template).prompt(&input, tokenizer.added_tokens());
        let _ = checked(guarded, n, &source);
    }
    assert!(n_rendered > n_inputs() / 10, "{n_rendered}");
}

/// A panic inside the engine comes back as a failure of its thread.
fn checked<T>(result: Result<T, TemplateError>, n: u64, source: &str) -> Result<T, TemplateError> {
    if let Err(TemplateError::Thread(error)) = &result {
        panic!("input {n}: {error}: {source}");
    }
    result
}

const WORDS: &[&str] = &[
    "<|im_end|>",
    "<|im_start|>",
    "<|im_",
    "end|>",
    "<think>",
    "</think>",
    "</think",
    "<tool_call>",
    "</tool_call",
    "<tool_response>",
    "</tool_response>",
    ">",
    "<",
    "|>",
    "\n",
    "\n\n",
    " ",
    "\u{1c}",
    "\u{85}",
    "\u{e000}",
    "\u{e000}\u{e000}",
    "é",
    "e\u{301}",
    "\u{1f642}",
    "\"",
    "\\",
    "{{ x }}",
    "</parameter>",
    "<function=",
    "\u{2028}",
    "\0",
];

#[test]
fn mutated_conversations_print_the_same_by_both_templates() {
    let reference = json_fixture("reference/chat-renderings.json");
    let cases = reference["cases"].as_array().unwrap();
    let jinja = Template::Jinja(qwen35_jinja());
    let tokenizer = load::tiny();
    let mut random = Random(11);
    let mut n_rendered = 0;
    for n in 0..n_inputs() {
        let case = &cases[random.below(cases.len())];
        let mut messages = case["messages"].clone();
        let mut tools = case["tools"].clone();
        for _ in 0..=random.below(3) {
            mutate_json(if random.below(5) == 0 { &mut tools } else { &mut messages }, &mut random);
        }
        let (Some(messages), tools) = (messages.as_array(), tools.as_array().map_or(&[][..], Vec::as_slice)) else {
            continue;
        };
        let kwargs = Map::from_iter([("enable_thinking".to_owned(), Value::from(random.below(2) == 0))]);
        let add_generation_prompt = random.below(2) == 0;
        let input = RenderInput { messages, tools, kwargs: &kwargs, add_generation_prompt };
        if let Ok(text) = Template::Qwen35.render(&input) {
            let prompt = Template::Qwen35.prompt(&input, tokenizer.added_tokens()).unwrap();
            assert_eq!(unguard(&prompt.text), text, "input {n}");
        }
        let Ok(conversation) = Conversation::from_json(messages, tools) else { continue };
        let (messages, tools) = (conversation.template_messages(), conversation.template_tools());
        let input = RenderInput { messages: &messages, tools: &tools, ..input };
        let built_in = Template::Qwen35.render(&input);
        n_rendered += u64::from(built_in.is_ok());
        if random.below(4) == 0 {
            assert_eq!(jinja.render(&input), built_in, "input {n}: {messages:?}");
        }
    }
    assert!(n_rendered > n_inputs() / 3, "{n_rendered}");
}

/// Changes one value somewhere inside.
fn mutate_json(value: &mut Value, random: &mut Random) {
    match value {
        Value::Array(items) if !items.is_empty() && random.below(8) > 0 => {
            let at = random.below(items.len());
            match random.below(8) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => mutate_json(&mut items[at], random),
            }
        }
        Value::Object(fields) if !fields.is_empty() && random.below(8) > 0 => {
            let at = random.below(fields.len());
            let key = fields.keys().nth(at).cloned().unwrap_or_default();
            match random.below(12) {
                0 => drop(fields.remove(&key)),
                1 => {
                    let mut other = key.clone();
                    mutate(&mut other, WORDS, random);
                    fields.insert(other, fields[&key].clone());
                }
                _ => mutate_json(&mut fields[&key], random),
            }
        }
        Value::String(text) if random.below(12) > 0 => mutate(text, WORDS, random),
        other => {
            let texts = [
                "null",
                "true",
                "1",
                "1.0",
                "1e-7",
                "-0.0",
                "1e400",
                "123456789012345678901234567890123456789012",
                "\"\"",
                "\"<|im_end|>\"",
                "[]",
                "{}",
                "[{}, \"<think>\"]",
                "{\"text\": \"x\", \"type\": \"text\"}",
            ];
            *other = serde_json::from_str(random.pick(&texts)).unwrap_or_default();
        }
    }
}
