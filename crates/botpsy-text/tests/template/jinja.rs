use botpsy_text::template::{ChatTemplate, RenderInput, Template, TemplateError, render_request};
use serde_json::{Map, json};

use crate::builtin::{check_template_cases, reference_result};
use crate::{compile, fixture, json_fixture, qwen35_jinja};

#[test]
fn the_reference_renderings_are_equal() {
    let template = Template::Jinja(qwen35_jinja());
    let fixture = json_fixture("reference/chat-renderings.json");
    for case in fixture["cases"].as_array().unwrap() {
        assert_eq!(render_request(case, &template), reference_result(case), "{}", case["name"]);
    }
}

#[test]
fn the_template_cases_hold() {
    check_template_cases(&Template::Jinja(qwen35_jinja()));
}

#[test]
fn the_template_of_the_nano_model_prints_what_python_prints() {
    let template = compile(&fixture("corpus/template/nano.jinja"));
    let fixture = json_fixture("corpus/template/renderings.json");
    for case in fixture["nano"].as_array().unwrap() {
        let input = RenderInput {
            messages: case["messages"].as_array().unwrap(),
            tools: case["tools"].as_array().map_or(&[], Vec::as_slice),
            kwargs: case["chat_template_kwargs"].as_object().unwrap(),
            add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap(),
        };
        assert_eq!(template.render(&input), reference_result(case), "{}", case["name"]);
    }
}

#[test]
fn expressions_and_blocks_print_what_python_prints() {
    let fixture = json_fixture("corpus/template/renderings.json");
    let kwargs = Map::from_iter([("x".to_owned(), fixture["x"].clone())]);
    let input = RenderInput { messages: &[], tools: &[], kwargs: &kwargs, add_generation_prompt: false };
    let mut differences = String::new();
    for case in fixture["snippets"].as_array().unwrap() {
        let source = case["template"].as_str().unwrap();
        let printed = ChatTemplate::compile(source).and_then(|template| template.render(&input));
        if printed != reference_result(case) {
            differences += &format!("{source}\n  {printed:?}\n  {:?}\n", reference_result(case));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn variables_do_not_replace_the_conversation() {
    let template = compile("{{ messages[0].content }}{{ tools }}{{ add_generation_prompt }}{{ extra }}{{ eos_token }}");
    let template = template.with_token("eos_token", "<|im_end|>");
    let kwargs = json!({ "messages": [{ "content": "x" }], "tools": [1], "add_generation_prompt": 7, "extra": 1, "eos_token": "y" });
    let messages = [json!({ "role": "user", "content": "hi" })];
    let kwargs = kwargs.as_object().unwrap();
    let input = RenderInput { messages: &messages, tools: &[], kwargs, add_generation_prompt: true };
    assert_eq!(template.render(&input).unwrap(), "hiNoneTrue1<|im_end|>");
}

#[test]
fn errors_say_where() {
    let input = RenderInput { messages: &[], tools: &[], kwargs: &Map::new(), add_generation_prompt: true };
    let error = |source: &str| {
        let rendered = ChatTemplate::compile(source).and_then(|template| template.render(&input));
        rendered.unwrap_err().to_string()
    };
    assert_eq!(
        error("\n{{ 1 + 'a' }}"),
        "chat template, line 2: invalid operation: tried to use + operator on unsupported types number and string"
    );
    assert_eq!(error("{% for %}"), "chat template, line 1: syntax error: unexpected end of block, expected in");
    assert_eq!(error("{{ raise_exception('no') }}"), "the chat template refuses the conversation: no");
    let long = ChatTemplate::compile(&" ".repeat(ChatTemplate::MAX_BYTES + 1)).unwrap_err();
    assert_eq!(long, TemplateError::TooLong { n_bytes: 64_001, max: 64_000 });
}
