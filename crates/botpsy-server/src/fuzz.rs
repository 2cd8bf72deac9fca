//! Mutated bodies: a request that can be answered, or a refusal of it in a shape that clients know. Never a panic.
//!
//! `BOTPSY_FUZZ_N` sets how many are tried, `BOTPSY_FUZZ_SEED` which, `BOTPSY_FUZZ_SLOW_MS` how long one may take.

#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use botpsy_chat::{ChatModel, LoadOptions, ModelSource};
use botpsy_text::tool_call::Toolset;
use botpsy_text::tool_call::constrain::CallRules;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::native::text::{rendered, text_of, tokens_of};
use crate::wire::{ChatRequest, CompletionRequest};

#[path = "../../botpsy-format/tests/hf/json_mutation.rs"]
mod json_mutation;

use json_mutation::{Random, mutate};

const DEFAULT_N: usize = 20_000;
/// Grammars are compiled for one body of so many: it takes a thousand times as long as to read one.
const GRAMMAR_OF: usize = 256;
/// Prompts are made of one body of so many.
const PROMPT_OF: usize = 16;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

fn model() -> ChatModel {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../botpsy/assets/nano.gguf");
    let options = LoadOptions { threads: Some(1), ..LoadOptions::default() };
    ChatModel::load(&ModelSource::Path(file), &options).unwrap()
}

/// Bodies to start from, each with the endpoint that it is for: every field stands in one of them.
fn seeds() -> Vec<(Endpoint, Vec<u8>)> {
    let schema = json!({ "type": "object", "required": ["city"], "additionalProperties": false, "$defs": { "day":
        { "enum": ["today", 5, null] } }, "properties": { "city": { "type": "string", "maxLength": 9 }, "n": { "type":
        ["integer", "null"], "minimum": -3 }, "days": { "type": "array", "items": { "$ref": "#/$defs/day" } }, "where": {
        "anyOf": [{ "type": "number" }, { "type": "object", "properties": { "a": { "pattern": "^x+$" } } }] } } });
    let tools = json!([{ "type": "function", "function": { "name": "get_weather", "description": "of a day", "strict":
        false, "parameters": schema } }, { "name": "ping", "strict": true, "parameters": { "required": ["x"],
        "properties": { "x": { "type": "integer" } } } }, { "name": "pong", "parameters": null }]);
    let calls = json!([{ "id": "c1", "type": "function", "function": { "name": "ping", "arguments": "{\"a\": [1, {}]}" }
        }, { "id": "c2", "function": { "name": "get_weather", "arguments": { "city": "Oslo", "n": 1.5 } } }]);
    let messages = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": [{ "type": "text",
        "text": "hi <|im_end|> é🦷" }, "there"] }, { "role": "assistant", "content": null, "reasoning_content": "so",
        "tool_calls": calls }, { "role": "tool", "tool_call_id": "c1", "content": "4" }, { "role": "developer",
        "content": "x", "name": "me" }, { "role": "assistant", "content": "It" }]);
    let sampling = json!({ "temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "presence_penalty": 1,
        "frequency_penalty": -1, "repeat_penalty": 1.1, "seed": 7, "logit_bias": { "5": -100, "6": 1.5 }, "stop": ["a",
        "\n"], "max_tokens": 10.0, "n": 2 });
    let with = |mut fields: Value| {
        fields.as_object_mut().unwrap().extend(sampling.as_object().unwrap().clone());
        fields.to_string().into_bytes()
    };
    let user = json!([{ "role": "user", "content": "hi" }]);
    let chat = [
        with(json!({ "model": "m", "messages": messages, "tools": tools, "tool_choice": "auto", "stream": true,
            "parallel_tool_calls": false, "stream_options": { "include_usage": true }, "continue_final_message": true })),
        with(json!({ "messages": user, "tools": tools, "tool_choice": { "type": "function", "function": { "name":
            "ping" } }, "logprobs": true, "top_logprobs": 3, "thinking_budget": 5, "add_generation_prompt": true })),
        with(json!({ "messages": user, "response_format": { "type": "json_schema", "json_schema": { "name": "x",
            "schema": schema } }, "reasoning_effort": "low", "return_token_ids": true })),
        with(json!({ "messages": user, "response_format": { "type": "json_object" }, "chat_template_kwargs": {
            "enable_thinking": false, "a": [1] }, "user": "u", "store": false, "max_completion_tokens": 5 })),
    ];
    let plain = [
        with(json!({ "prompt": "The sun", "echo": true, "logprobs": 2, "prompt_logprobs": 1, "best_of": 1 })),
        with(json!({ "prompt": ["a", [1, 2], "é"], "suffix": "" })),
        with(json!({ "prompt": [1, 2, 3], "return_token_ids": true, "stream_options": { "include_usage": null } })),
    ];
    let text = [
        json!({ "content": "a <|im_end|> é🦷", "parse_special": false, "with_pieces": true }).to_string(),
        json!({ "messages": messages, "tools": tools }).to_string(),
    ];
    let tokens = json!({ "tokens": [1, 2, 300, 4] }).to_string();
    let of = |endpoint, bodies: Vec<Vec<u8>>| bodies.into_iter().map(move |body| (endpoint, body));
    of(Endpoint::Chat, chat.to_vec())
        .chain(of(Endpoint::Completion, plain.to_vec()))
        .chain(of(Endpoint::Template, vec![chat[0].clone()]))
        .chain(of(Endpoint::Tokenize, text.map(String::into_bytes).to_vec()))
        .chain(of(Endpoint::Detokenize, vec![tokens.into_bytes()]))
        .collect()
}

/// Who reads a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Endpoint {
    Chat,
    Completion,
    Template,
    Tokenize,
    Detokenize,
}

/// Reads a body as its endpoint does, up to where the model would run. `round` says how far it is taken.
fn read(model: &ChatModel, endpoint: Endpoint, body: &[u8], round: usize) -> Result<(), ApiError> {
    let vocab = model.engine().vocab_size();
    match endpoint {
        Endpoint::Chat => {
            let asked = ChatRequest::read(body)?;
            let request = asked.request(vocab)?;
            assert!((1..=16).contains(&asked.sampling.n_choices()?));
            drop(Toolset::new(&request.conversation.tools));
            let n_tokens = if round.is_multiple_of(PROMPT_OF) { model.prompt(&request)?.tokens.len() } else { 1 };
            model.settings(&request.overrides, n_tokens)?.sampling.validate().map_err(botpsy_chat::ChatError::from)?;
            if round.is_multiple_of(GRAMMAR_OF) {
                let (grammars, chat) = (model.grammars()?, botpsy_chat::ChatError::from);
                request.format.iter().try_for_each(|format| format.check(grammars)).map_err(chat)?;
                CallRules::new(grammars, &request.conversation.tools).map_err(chat)?;
            }
        }
        Endpoint::Completion => {
            let asked = CompletionRequest::read(body)?;
            let requests = asked.requests(model.tokenizer(), vocab)?;
            assert!((1..=16).contains(&asked.sampling.n_choices()?) && (1..=64).contains(&requests.len()));
            asked.prompt_logprobs()?;
            for request in requests {
                assert!(!request.prompt.is_empty() && request.prompt.iter().all(|id| (*id as usize) < vocab));
                let settings = model.settings(&request.overrides, request.prompt.len())?;
                settings.sampling.validate().map_err(botpsy_chat::ChatError::from)?;
            }
        }
        Endpoint::Template => drop(rendered(model, body)?),
        Endpoint::Tokenize => drop(tokens_of(model, body)?),
        Endpoint::Detokenize => drop(text_of(model.tokenizer(), body)?),
    }
    Ok(())
}

/// What every refusal promises.
fn check_refusal(refused: &ApiError) {
    let body = refused.body();
    let error = &body["error"];
    assert_eq!(error["type"], "invalid_request_error", "{body}");
    let message = error["message"].as_str().unwrap();
    assert!(!message.is_empty() && message.chars().count() <= 1003, "{body}");
}

#[test]
fn mutated_bodies_are_read_or_refused() {
    let (model, seeds) = (model(), seeds());
    let n = setting("BOTPSY_FUZZ_N").map_or(DEFAULT_N, |n| n as usize);
    let slow = setting("BOTPSY_FUZZ_SLOW_MS").map(Duration::from_millis);
    let mut random = Random(setting("BOTPSY_FUZZ_SEED").unwrap_or(1));
    let (begin, mut n_read, mut slowest) = (Instant::now(), [0; 5], (Duration::ZERO, String::new()));
    for (endpoint, body) in &seeds {
        let refused = read(&model, *endpoint, body, 0).err();
        assert!(refused.is_none(), "{endpoint:?}: {refused:?}: {}", body.escape_ascii());
    }
    for round in 0..n {
        let (endpoint, mut body) = random.pick(&seeds).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut body, &random.pick(&seeds).1.clone(), &mut random);
        }
        if random.below(16) == 0 && !body.is_empty() {
            let at = random.below(body.len());
            body[at] = random.next() as u8;
        }
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            read(&model, endpoint, &body, round).map_err(|refused| check_refusal(&refused))
        }));
        let took = began.elapsed();
        if let Err(panic) = outcome {
            println!("round {round}, {endpoint:?}: b\"{}\"", body.escape_ascii());
            resume_unwind(panic);
        }
        n_read[endpoint as usize] += usize::from(matches!(outcome, Ok(Ok(()))));
        if took > slowest.0 {
            slowest = (took, format!("{endpoint:?}: b\"{}\"", body.escape_ascii()));
        }
        if slow.is_some_and(|slow| took > slow) {
            println!("round {round} took {took:?}, {endpoint:?}: b\"{}\"", body.escape_ascii());
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let slow_enough = slow.is_none_or(|slow| slowest.0 <= slow);
    println!("{n} bodies in {seconds:.1} s, {:.0} a second; read: {n_read:?}", n as f64 / seconds);
    println!("the slowest took {:?}: {:.2000}", slowest.0, slowest.1);
    assert!(slow_enough, "a body took {:?}", slowest.0);
    assert!(n < 5_000 || n_read.iter().all(|n_read| *n_read > n / 1000), "{n_read:?} of {n} were read");
}

/// Bodies that repeat one thing: a reader that takes the square of their length would take minutes.
#[test]
fn large_bodies_take_no_time() {
    let model = model();
    let many = |n: usize, text: &str| format!("[{}]", vec![text; n].join(","));
    let numbered =
        |n: usize, text: &str| (0..n).map(|i| text.replace('@', &i.to_string())).collect::<Vec<_>>().join(",");
    let hi = r#"{"role":"user","content":"hi"}"#;
    let tool =
        |parameters: &str| format!(r#"{{"messages":[{hi}],"tools":[{{"name":"f","parameters":{parameters}}}]}}"#);
    let n = setting("BOTPSY_FUZZ_LARGE").map_or(2_000, |n| n as usize);
    let bodies = [
        ("messages", format!(r#"{{"messages":{}}}"#, many(n, hi))),
        ("systems", format!(r#"{{"messages":[{}{hi}]}}"#, format!("{},", hi.replace("user", "system")).repeat(n))),
        ("parts", format!(r#"{{"messages":[{{"role":"user","content":{}}}]}}"#, many(n, r#""hi""#))),
        ("calls", {
            let call = r#"{"id":"c@","function":{"name":"f","arguments":"{\"a\":@}"}}"#;
            let (calls, result) = (numbered(n, call), r#"{"role":"tool","tool_call_id":"c@","content":"x"}"#);
            let assistant = format!(r#"{{"role":"assistant","tool_calls":[{calls}]}}"#);
            format!(r#"{{"messages":[{hi},{assistant},{}]}}"#, numbered(n, result))
        }),
        ("tools", {
            let tools = numbered(n.min(1024), r#"{"name":"f@","parameters":{"properties":{"a":{"type":"string"}}}}"#);
            format!(r#"{{"messages":[{hi}],"tools":[{tools}]}}"#)
        }),
        ("properties", tool(&format!(r#"{{"properties":{{{}}}}}"#, numbered(n, r#""p@":{"type":"integer"}"#)))),
        ("choices", tool(&format!(r#"{{"properties":{{"a":{{"enum":[{}]}}}}}}"#, numbered(n, "\"e@\"")))),
        ("references", {
            let defs = numbered(n, r##""d@":{"allOf":[{"$ref":"#/$defs/d0"}]}"##);
            tool(&format!(r##"{{"$defs":{{{defs}}},"properties":{{"a":{{"$ref":"#/$defs/d1"}}}}}}"##))
        }),
        ("biases", format!(r#"{{"messages":[{hi}],"logit_bias":{{{}}}}}"#, numbered(n, "\"@\":1"))),
        ("unknown", format!(r#"{{"messages":[{hi}],{}}}"#, numbered(n, "\"x@\":1"))),
        ("text", format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, "a".repeat(10 * n))),
        ("spaces", format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, " ".repeat(10 * n))),
        ("tags", format!(r#"{{"messages":[{{"role":"assistant","content":"{}"}},{hi}]}}"#, "<think>".repeat(n))),
        ("digits", format!(r#"{{"messages":[{hi}],"seed":{}}}"#, "9".repeat(10 * n))),
    ];
    let limit = setting("BOTPSY_FUZZ_SLOW_MS").map(Duration::from_millis);
    for (what, body) in bodies {
        let began = Instant::now();
        let outcome = rendered(&model, body.as_bytes());
        let (took, outcome) =
            (began.elapsed(), outcome.map_or_else(|e| format!("{:.120}", e.body().to_string()), |_| "read".into()));
        println!("{what:10} {:9} bytes {took:>12.1?} {outcome}", body.len());
        assert!(limit.is_none_or(|limit| took <= limit), "{what}: {took:?}");
    }
}
