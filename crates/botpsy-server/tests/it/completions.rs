//! Plain completions.

use serde_json::{Value, json};

use crate::support::{Served, model_server};

fn complete(served: &Served, body: &Value) -> Value {
    served.post("/v1/completions", body).ok()
}

#[test]
fn text_and_its_tokens_are_continued_alike_whole_and_in_pieces() {
    let served = model_server();
    let ids = served.post("/tokenize", &json!({ "content": "The sun rises" })).ok()["tokens"].clone();
    let of_text = json!({ "prompt": "The sun rises", "max_tokens": 12, "return_token_ids": true });
    let whole = complete(&served, &of_text);
    assert_eq!(whole["object"], "text_completion");
    let choice = &whole["choices"][0];
    assert_eq!(choice["prompt_token_ids"], ids);
    let of_ids = complete(&served, &json!({ "prompt": ids, "max_tokens": 12 }));
    assert_eq!(of_ids["choices"][0]["text"], choice["text"]);
    let text = served.post("/detokenize", &json!({ "tokens": choice["token_ids"] })).ok();
    assert_eq!(text["content"], choice["text"]);

    let mut streamed = of_text;
    streamed["stream"] = true.into();
    streamed["stream_options"] = json!({ "include_usage": true });
    let chunks = served.post("/v1/completions", &streamed).chunks();
    let (usage, pieces) = chunks.split_last().unwrap();
    let text: String = pieces.iter().map(|piece| piece["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(choice["text"], text);
    assert_eq!(usage["usage"]["completion_tokens"], whole["usage"]["completion_tokens"]);
}

#[test]
fn several_prompts_and_answers_come_in_order() {
    let served = model_server();
    let body = json!({ "prompt": ["One", "Two"], "n": 2, "max_tokens": 4, "echo": true, "temperature": 1.2 });
    let reply = complete(&served, &body);
    let choices = reply["choices"].as_array().unwrap();
    let begins: Vec<&str> = choices.iter().map(|choice| &choice["text"].as_str().unwrap()[..3]).collect();
    assert_eq!(begins, ["One", "One", "Two", "Two"]);
    let indices: Vec<u64> = choices.iter().map(|choice| choice["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, [0, 1, 2, 3]);
}

#[test]
fn prompt_log_probabilities_agree_with_those_of_an_answer() {
    let served = model_server();
    let greedy = json!({ "prompt": "The sun rises", "max_tokens": 6, "temperature": 0, "presence_penalty": 0, "logprobs": 2,
        "return_token_ids": true });
    let answer = complete(&served, &greedy);
    let choice = &answer["choices"][0];
    let mut ids = choice["prompt_token_ids"].as_array().unwrap().clone();
    let n_prompt = ids.len();
    ids.extend(choice["token_ids"].as_array().unwrap().clone());
    let scored = complete(&served, &json!({ "prompt": ids, "max_tokens": 1, "prompt_logprobs": 1 }));
    let entries = scored["choices"][0]["prompt_logprobs"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]), (ids.len(), &Value::Null));
    for (i, logprob) in choice["logprobs"]["token_logprobs"].as_array().unwrap().iter().enumerate() {
        let entry = &entries[n_prompt + i][ids[n_prompt + i].to_string()];
        assert_eq!((&entry["logprob"], &entry["rank"]), (logprob, &json!(1)));
    }
    let offsets = choice["logprobs"]["text_offset"].as_array().unwrap();
    assert!(offsets.len() == choice["token_ids"].as_array().unwrap().len() && offsets[0] == 0);
}

#[test]
fn a_prompt_can_be_asked_about_without_an_answer() {
    let served = model_server();
    let asked = json!({ "prompt": ["The sun", "x"], "max_tokens": 0, "prompt_logprobs": 1, "return_token_ids": true });
    let reply = complete(&served, &asked);
    let of_one = complete(&served, &json!({ "prompt": "The sun", "max_tokens": 1, "prompt_logprobs": 1 }));
    let choice = &reply["choices"][0];
    assert_eq!(choice["prompt_logprobs"], of_one["choices"][0]["prompt_logprobs"]);
    assert_eq!(
        (&choice["text"], &choice["finish_reason"], &choice["token_ids"]),
        (&json!(""), &json!("length"), &json!([]))
    );
    assert_eq!((&reply["choices"][1]["index"], &reply["usage"]["completion_tokens"]), (&json!(1), &json!(0)));
    assert_eq!(reply["usage"]["total_tokens"], reply["usage"]["prompt_tokens"]);
    let echo = json!({ "prompt": "The sun", "max_tokens": 0, "echo": true });
    assert_eq!(complete(&served, &echo)["choices"][0]["text"], "The sun");
    let chunks =
        served.post("/v1/completions", &json!({ "prompt": "a", "max_tokens": 0, "echo": true, "stream": true }));
    assert_eq!(chunks.chunks()[0]["choices"][0]["text"], "a");
    let bare = served.post("/v1/completions", &json!({ "prompt": "a", "max_tokens": 0 }));
    assert_eq!(bare.error(400)["param"], "max_tokens");
    let wrong = json!({ "prompt": "a", "max_tokens": 0, "echo": true, "temperature": -1 });
    assert_eq!(served.post("/v1/completions", &wrong).error(400)["param"], "temperature");
}

#[test]
fn an_echo_is_told_with_the_log_probabilities_of_its_tokens() {
    let served = model_server();
    let mut asked = json!({ "prompt": ["The sun sets", "x"], "n": 2, "max_tokens": 2, "echo": true, "logprobs": 2 });
    asked["prompt_logprobs"] = json!(1);
    asked["return_token_ids"] = json!(true);
    let reply = complete(&served, &asked);
    for choice in reply["choices"].as_array().unwrap() {
        let (told, about) = (&choice["logprobs"], choice["prompt_logprobs"].as_array().unwrap());
        let (text, ids) = (choice["text"].as_str().unwrap(), choice["prompt_token_ids"].as_array().unwrap());
        let tokens: Vec<&str> =
            told["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
        assert_eq!(tokens.concat(), text);
        assert_eq!((&told["token_logprobs"][0], &told["top_logprobs"][0]), (&Value::Null, &Value::Null));
        for (i, entry) in about.iter().enumerate().skip(1) {
            assert_eq!(entry[ids[i].to_string()]["logprob"], told["token_logprobs"][i]);
            assert_eq!(told["top_logprobs"][i].as_object().unwrap().len(), 2);
            assert!((1..=2).contains(&entry.as_object().unwrap().len()), "{entry}");
        }
        let n_answer = choice["token_ids"].as_array().unwrap().len();
        assert_eq!(tokens.len(), ids.len() + n_answer);
        let mut offset = 0;
        for (token, begins) in tokens.iter().zip(told["text_offset"].as_array().unwrap()) {
            assert_eq!(*begins, json!(offset));
            offset += token.chars().count();
        }
    }
    asked["stream"] = json!(true);
    asked["prompt_logprobs"] = Value::Null;
    let chunks = served.post("/v1/completions", &asked).chunks();
    assert_eq!(chunks[0]["choices"][0]["logprobs"]["token_logprobs"][0], Value::Null);
    let only = json!({ "prompt": "The sun sets", "max_tokens": 0, "echo": true, "logprobs": 1 });
    let told = &complete(&served, &only)["choices"][0]["logprobs"];
    assert!(told["token_logprobs"].as_array().unwrap().len() > 1 && told["token_logprobs"][1].is_number(), "{told}");
}

#[test]
fn offsets_point_into_the_text() {
    let served = model_server();
    let asked = json!({ "prompt": "é한!", "max_tokens": 0, "echo": true, "logprobs": 0 });
    let choice = complete(&served, &asked)["choices"][0].clone();
    let (text, told) = (choice["text"].as_str().unwrap(), &choice["logprobs"]);
    let offsets = told["text_offset"].as_array().unwrap().iter().map(|offset| offset.as_u64().unwrap() as usize);
    for (token, offset) in told["tokens"].as_array().unwrap().iter().zip(offsets) {
        let token = token.as_str().unwrap();
        let rest: String = text.chars().skip(offset).collect();
        assert!(token.contains('\u{fffd}') || rest.starts_with(token), "{token:?} at {offset} of {text:?}");
    }
}

#[test]
fn more_than_fits_an_answer_is_not_told() {
    let served = model_server();
    let prompt: Vec<u32> = (0..1500).map(|i| 300 + i % 500).collect();
    let prompts: Vec<_> = vec![prompt; 64];
    let mut body = json!({ "prompt": prompts, "n": 16, "max_tokens": 0, "prompt_logprobs": 20 });
    assert_eq!(served.post("/v1/completions", &body).error(400)["param"], "prompt_logprobs");
    body.as_object_mut().unwrap().remove("prompt_logprobs");
    body["echo"] = json!(true);
    body["logprobs"] = json!(20);
    assert_eq!(served.post("/v1/completions", &body).error(400)["param"], "logprobs");
    let long = json!({ "prompt": vec![300; 60_000], "max_tokens": 1 });
    assert_eq!(served.post("/v1/completions", &long).error(400)["param"], "prompt");
}

#[test]
fn what_cannot_be_continued_is_refused_by_name() {
    let served = model_server();
    for (body, param) in [
        (json!({}), "prompt"),
        (json!({ "prompt": "" }), "prompt"),
        (json!({ "prompt": [] }), "prompt"),
        (json!({ "prompt": [1, "two"] }), "prompt"),
        (json!({ "prompt": [4_000_000_000_u64] }), "prompt"),
        (json!({ "prompt": "a", "suffix": "z" }), "suffix"),
        (json!({ "prompt": "a", "best_of": 2 }), "best_of"),
        (json!({ "prompt": "a", "prompt_logprobs": 21 }), "prompt_logprobs"),
        (json!({ "prompt": "a", "logprobs": -1 }), "logprobs"),
        (json!({ "prompt": "a", "temperature": -1 }), "temperature"),
        (json!({ "prompt": "a", "temperature": "hot" }), "temperature"),
    ] {
        assert_eq!(served.post("/v1/completions", &body).error(400)["param"], param, "{body}");
    }
}
