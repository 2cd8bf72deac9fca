//! The paths beside OpenAI's.

use serde_json::{Value, json};

use crate::support::{model_server, user};

#[test]
fn tokens_go_there_and_back() {
    let served = model_server();
    let text = "Grüße, 世界 <|im_end|> 🙂";
    let reply = served.post("/tokenize", &json!({ "content": text, "with_pieces": true })).ok();
    let tokens = reply["tokens"].as_array().unwrap();
    assert_eq!(reply["count"], tokens.len());
    let ids: Vec<Value> = tokens.iter().map(|token| token["id"].clone()).collect();
    assert_eq!(served.post("/detokenize", &json!({ "tokens": ids })).ok()["content"], text);
    let plain = served.post("/tokenize", &json!({ "content": text, "parse_special": false })).ok();
    assert!(plain["count"].as_u64() > reply["count"].as_u64(), "the special token is text");
    assert_eq!(served.post("/detokenize", &json!({ "tokens": plain["tokens"] })).ok()["content"], text);
    let chat = served.post("/tokenize", &json!({ "messages": user("hi") })).ok();
    assert_eq!(chat["count"], served.post("/apply-template", &json!({ "messages": user("hi") })).ok()["count"]);
    let empty = json!([{ "role": "user", "content": null }]);
    let rendered = served.post("/apply-template", &json!({ "messages": empty })).ok();
    assert!(!rendered["prompt"].as_str().unwrap().contains("None"), "{rendered}");
    assert_eq!(served.post("/tokenize", &json!({})).error(400)["param"], "content");
    assert_eq!(served.post("/detokenize", &json!({ "tokens": [4_000_000] })).error(400)["param"], "tokens");
}

#[test]
fn it_tells_what_holds() {
    let served = model_server();
    let props = served.get("/props").ok();
    let params = &props["default_generation_settings"]["params"];
    let close = |key: &str, value: f64| (params[key].as_f64().unwrap() - value).abs() < 1e-6;
    // What the file says goes before what this program would take.
    assert!(close("temperature", 0.0) && close("presence_penalty", 0.0) && params["max_tokens"] == 256, "{props}");
    assert!(close("top_p", 0.95) && close("min_p", 0.0) && params["top_k"] == 20, "{props}");
    assert_eq!(props["thinking"]["enabled"], true);
    let models = served.get("/v1/models").ok();
    assert_eq!(models["data"][0]["thinking"], true);
    assert_eq!(served.get("/v1/models/qvac/BotPsy-0.8B").ok()["id"], "qvac/BotPsy-0.8B");
    served.chat(&json!({ "messages": user("hi"), "max_tokens": 3 })).ok();
    let metrics = served.get("/metrics").body;
    for line in ["botpsy_requests_total 1", "botpsy_tokens_predicted_total 3", "botpsy_requests_processing"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[test]
fn the_description_names_every_path_and_field() {
    let served = model_server();
    let document = served.get("/openapi.json").ok();
    for path in ["/v1/chat/completions", "/v1/completions", "/v1/models", "/tokenize", "/apply-template", "/metrics"] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let schemas = &document["components"]["schemas"];
    for (schema, field) in [("ChatFields", "messages"), ("SamplingFields", "min_p"), ("ChatCompletion", "usage")] {
        assert!(schemas[schema]["properties"][field].is_object(), "{schema}.{field}");
    }
    // Every reference leads somewhere, and every operation says how it refuses.
    let text = document.to_string();
    for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(schemas[name].is_object(), "{name}");
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for status in ["400", "401", "403", "503"] {
                let schema = &operation["responses"][status]["content"]["application/json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/Error", "{method} {path} {status}");
            }
        }
    }
}
