//! Answers that are held to a schema while they are written.

use serde_json::{Value, json};

use crate::support::{model_server, user};

fn tools(strict: bool) -> Value {
    json!([
        { "type": "function", "function": { "name": "create_event", "description": "Creates an event", "strict": strict,
            "parameters": { "type": "object", "properties": {
                "title": { "type": "string" }, "day": { "enum": ["mon", "tue", "fri"] },
                "hours": { "type": "integer", "minimum": 1, "maximum": 12 }, "all_day": { "type": "boolean" },
                "guests": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
            }, "required": ["title", "day", "hours"], "additionalProperties": false } } },
        { "type": "function", "function": { "name": "set_alarm", "description": "Sets an alarm",
            "parameters": { "type": "object", "properties": { "time": { "type": "string" } }, "required": ["time"] } } },
    ])
}

/// Whether a call's arguments are what the schema allows.
fn check(call: &Value) {
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    let is =
        |key: &str, fits: &dyn Fn(&Value) -> bool| assert!(arguments.get(key).is_none_or(fits), "{key}: {arguments}");
    match call["function"]["name"].as_str().unwrap() {
        "create_event" => {
            assert!(["title", "day", "hours"].iter().all(|key| arguments.get(*key).is_some()), "{arguments}");
            is("title", &Value::is_string);
            is("day", &|day| ["mon", "tue", "fri"].iter().any(|name| day == name));
            is("hours", &|hours| hours.as_u64().is_some_and(|hours| (1..=12).contains(&hours)));
            is("all_day", &Value::is_boolean);
            is("guests", &|guests| guests.as_array().is_some_and(|guests| guests.iter().all(Value::is_string)));
        }
        "set_alarm" => is("time", &Value::is_string),
        other => panic!("{other}"),
    }
}

#[test]
fn calls_fit_their_schema_however_wildly_they_are_drawn() {
    let served = model_server();
    let mut n_calls = 0;
    for seed in 0..24 {
        // Nearly every token is as likely as every other: only the grammar keeps the form.
        let mut body = json!({ "messages": user("Put lunch with Ana on Friday"), "tools": tools(seed % 2 == 0), "seed": seed,
            "temperature": 1.5 + 0.1 * f64::from(seed % 8), "top_k": 0, "top_p": 1, "max_tokens": 1500, "thinking_budget": 40,
            "tool_choice": "required" });
        if seed % 3 == 0 {
            body["tool_choice"] = json!({ "type": "function", "function": { "name": "create_event" } });
        }
        let reply = served.chat(&body).ok();
        let choice = &reply["choices"][0];
        let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
        if choice["finish_reason"] == "length" {
            // A text that found no end; nothing of it is a call.
            continue;
        }
        assert!(!calls.is_empty(), "{reply}");
        assert!(seed % 3 != 0 || (calls.len() == 1 && calls[0]["function"]["name"] == "create_event"), "{reply}");
        calls.iter().for_each(check);
        n_calls += calls.len();
    }
    assert!(n_calls >= 8, "{n_calls} calls");
}

#[test]
fn an_answer_in_json_fits_its_schema() {
    let served = model_server();
    let schema = json!({ "type": "object", "properties": {
        "city": { "enum": ["Oslo", "Rome"] }, "days": { "type": "integer", "minimum": 1, "maximum": 9 },
    }, "required": ["city", "days"], "additionalProperties": false });
    for thinking in [true, false] {
        for stream in [false, true] {
            let reply = served.chat(&json!({ "messages": user("Where to?"), "stream": stream, "max_tokens": 400,
                "chat_template_kwargs": { "enable_thinking": thinking },
                "response_format": { "type": "json_schema", "json_schema": { "name": "trip", "schema": schema } } }));
            let content = if stream {
                let pieces = reply.chunks();
                let texts =
                    pieces.iter().map(|piece| piece["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
                texts.collect::<String>()
            } else {
                reply.ok()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
            };
            let value: Value = serde_json::from_str(&content).unwrap_or_else(|error| panic!("{error}: {content:?}"));
            assert!(["Oslo", "Rome"].iter().any(|city| value["city"] == *city), "{value}");
            assert!(value["days"].as_u64().is_some_and(|days| (1..=9).contains(&days)), "{value}");
        }
    }
}

#[test]
fn what_cannot_be_enforced_is_refused_where_that_was_asked_for_and_told_elsewhere() {
    let served = model_server();
    let tool = |strict: bool| {
        json!([{ "type": "function", "function": { "name": "f", "strict": strict, "parameters": { "type": "object",
            "properties": { "code": { "type": "string", "pattern": "^(?=.*[0-9])[a-z]+$" } } } } }])
    };
    let strict = json!({ "messages": user("hi"), "tools": tool(true) });
    assert_eq!(served.chat(&strict).error(400)["param"], "tools[0].function.parameters.properties.code.pattern");
    let plain = served.chat(&json!({ "messages": user("hi"), "tools": tool(false), "max_tokens": 40 })).ok();
    let notices = plain["notices"].as_array().unwrap();
    assert!(notices.iter().any(|notice| notice.as_str().unwrap().contains("properties.code.pattern")), "{plain}");
    for (format, param) in [
        (json!({ "type": "json_schema" }), "response_format.json_schema.schema"),
        (json!({ "type": "xml" }), "response_format.type"),
        (
            json!({ "type": "json_schema", "json_schema": { "schema": { "type": "strnig" } } }),
            "response_format.json_schema.schema.type",
        ),
        (
            json!({ "type": "json_schema", "json_schema": { "schema": { "$ref": "http://127.0.0.1:1/x.json" } } }),
            "response_format.json_schema.schema.$ref",
        ),
    ] {
        let error = served.chat(&json!({ "messages": user("hi"), "response_format": format })).error(400);
        assert_eq!(error["param"], param, "{format}: {error}");
    }
}

#[test]
fn what_programs_print_of_their_types_is_held_to() {
    let served = model_server();
    let pet =
        |kind: &str| json!({ "type": "object", "properties": { "kind": { "const": kind } }, "required": ["kind"] });
    let definitions = json!({ "cat": pet("cat"), "dog/s": pet("dog") });
    let union = json!({ "oneOf": [{ "$ref": "#/$defs/cat" }, { "$ref": "#/$defs/dog~1s" }] });
    let owner = json!({ "type": "object", "properties": { "pet": union, "age": { "type": "integer", "format": "int32" } },
        "required": ["pet", "age"], "additionalProperties": false });
    let whole = json!({ "$ref": "#/$defs/owner", "$defs": { "owner": owner, "cat": pet("cat"), "dog/s": pet("dog") } });
    let tools = json!([{ "type": "function", "function": { "name": "keep", "strict": true, "parameters": whole } }]);
    let fits = |value: &Value| {
        assert!(value["pet"]["kind"] == "cat" || value["pet"]["kind"] == "dog", "{value}");
        assert!(value["age"].is_i64() && value.as_object().unwrap().len() == 2, "{value}");
    };
    let mut n_calls = 0;
    for seed in 0..4 {
        let asked = json!({ "messages": user("My cat is 3."), "tools": tools, "tool_choice": "required", "seed": seed,
            "thinking_budget": 0, "temperature": 1.0, "max_tokens": 300, "parallel_tool_calls": false });
        let answer = served.chat(&asked).ok();
        for call in answer["choices"][0]["message"]["tool_calls"].as_array().into_iter().flatten() {
            fits(&serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap());
            n_calls += 1;
        }
        let mut schema = owner.clone();
        schema["$defs"] = definitions.clone();
        let asked = json!({ "messages": user("My cat is 3."), "seed": seed, "temperature": 1.0, "max_tokens": 300, "thinking_budget": 0,
            "response_format": { "type": "json_schema", "json_schema": { "name": "owner", "schema": schema } } });
        let answer = served.chat(&asked).ok();
        if answer["choices"][0]["finish_reason"] == "stop" {
            fits(&serde_json::from_str(answer["choices"][0]["message"]["content"].as_str().unwrap()).unwrap());
            n_calls += 1;
        }
    }
    assert!(n_calls >= 4, "{n_calls}");
}

#[test]
fn other_kinds_of_tools_and_choices_are_refused_by_name() {
    let served = model_server();
    let tool = json!({ "type": "function", "function": { "name": "f" } });
    let ask = |tool: &Value, choice: Value| {
        served.chat(&json!({ "messages": user("hi"), "tools": [tool], "tool_choice": choice, "max_tokens": 2 }))
    };
    for kind in ["web_search", "custom", "bash_20250124"] {
        let other = json!({ "type": kind, "name": "bash" });
        assert_eq!(ask(&other, json!("auto")).error(400)["param"], "tools[0].type", "{kind}");
    }
    let allowed = json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [] } });
    assert_eq!(ask(&tool, allowed).error(400)["param"], "tool_choice.type");
    ask(&tool, json!({ "type": "auto" })).ok();
    ask(&tool, json!({ "type": "any" })).ok();
    assert_eq!(served.post("/detokenize", &json!({})).error(400)["param"], "tokens");
}

#[test]
fn strict_refuses_what_hides_behind_references_branches_and_the_root() {
    let served = model_server();
    let ask = |parameters: &Value, strict: bool| {
        let tools =
            json!([{ "type": "function", "function": { "name": "f", "parameters": parameters, "strict": strict } }]);
        served.chat(&json!({ "messages": user("hi"), "tools": tools, "max_tokens": 2, "thinking_budget": 0 }))
    };
    let of = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    for (parameters, path) in [
        (
            of(json!({ "anyOf": [{ "type": "string", "maxLength": 2 }, { "type": "null" }] })),
            "properties.a.anyOf.0.maxLength",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/S" } },
                "$defs": { "S": { "type": "string", "pattern": "x" } } }),
            "$defs.S.pattern",
        ),
        (of(json!({ "enum": ["</parameter>", "b"] })), "properties.a.enum"),
        (of(json!({ "type": "strnig" })), "properties.a.type"),
        (of(json!({ "$ref": "#/nowhere" })), "properties.a.$ref"),
        (of(json!({ "$ref": "http://127.0.0.1:1/x" })), "properties.a.$ref"),
        (of(json!(false)), "properties.a"),
        (of(json!({ "type": "integer", "minimum": 9_007_199_254_740_993_u64 })), "properties.a.minimum"),
        (json!({ "type": "object", "properties": {}, "required": ["q"] }), "required"),
        (json!({ "type": "object", "properties": {}, "minProperties": 1 }), "minProperties"),
        (
            json!({ "type": "object", "anyOf": [{ "required": ["a"] }], "properties": { "a": { "type": "string" } } }),
            "anyOf",
        ),
        (json!({ "type": "object", "additionalProperties": { "type": "integer" } }), "additionalProperties"),
        (json!({ "type": "null" }), "type"),
    ] {
        let param = ask(&parameters, true).error(400)["param"].clone();
        assert_eq!(param, format!("tools[0].function.parameters.{path}"), "{parameters}");
        assert_eq!(ask(&parameters, false).status, 200, "{parameters}");
    }
    for good in [
        json!({ "type": "string", "description": "any text" }),
        json!({ "allOf": [{ "type": "string" }, { "enum": ["m", "n"] }] }),
    ] {
        assert_eq!(ask(&of(good), true).status, 200);
    }
}

#[test]
fn an_answer_that_can_be_held_to_its_schema_no_longer_says_so() {
    let served = model_server();
    // Fine to compile, and too large to go on with.
    let schema = json!({ "type": "string", "pattern": "^([a-z]{0,100}){0,100}$" });
    let mut n_broken = 0;
    for seed in 0..3 {
        let reply = served.chat(&json!({ "messages": user("hi"), "max_tokens": 300, "thinking_budget": 0, "temperature": 1,
            "seed": seed, "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": schema } } }));
        let reply = reply.ok();
        let choice = &reply["choices"][0];
        let content = choice["message"]["content"].as_str().unwrap_or_default();
        if choice["finish_reason"] == "stop" {
            assert!(serde_json::from_str::<Value>(content).is_ok(), "{content:?}");
            continue;
        }
        assert_eq!(choice["finish_reason"], "length", "{reply}");
        n_broken += usize::from(reply["notices"].to_string().contains("too complex"));
    }
    assert!(n_broken > 0, "it was held to it after all");
}

#[test]
fn contradictions_are_refused() {
    let served = model_server();
    let json_object = json!({ "type": "json_object" });
    for choice in [json!("required"), json!({ "type": "function", "function": { "name": "set_alarm" } })] {
        let body = json!({ "messages": user("hi"), "tools": tools(false), "tool_choice": choice, "response_format": json_object });
        assert_eq!(served.chat(&body).error(400)["param"], "response_format");
    }
    let mut twice = tools(false);
    let again = twice[0].clone();
    twice.as_array_mut().unwrap().push(again);
    assert_eq!(served.chat(&json!({ "messages": user("hi"), "tools": twice })).error(400)["param"], "tools");
}
