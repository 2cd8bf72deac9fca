//! Types from the schema, and the values that raw texts become.

use botpsy_text::schema::{Coerced, Parameters, TypeSet, coerce, python_literal};
use serde_json::{Value, json};

use crate::support::fixture;

/// What a raw text becomes under a schema, with `bad` in front when nothing fits.
fn check(raw: &str, schema: &Value, expected: Value) {
    let coerced = coerce(raw, TypeSet::of(schema, schema));
    assert_eq!(coerced, Coerced::Fits(expected), "{raw:?} under {schema}");
}

fn check_bad(raw: &str, schema: &Value) {
    let coerced = coerce(raw, TypeSet::of(schema, schema));
    assert_eq!(coerced, Coerced::Raw(json!(raw)), "{raw:?} under {schema}");
}

#[test]
fn scalars() {
    let integer = json!({"type": "integer"});
    for (raw, value) in [("007", 7), ("+5", 5), ("-0", 0), ("1e3", 1000), ("1200e-2", 12), ("\n 4 \t", 4), ("2.", 2)] {
        check(raw, &integer, json!(value));
    }
    let digits = "9007199254740993000000000001";
    check(digits, &integer, serde_json::from_str(digits).unwrap());
    for raw in ["", " ", "1.5", "1e-3", "0x10", "1_000", "1,000", "-", ".", "e5", "1e", "1e999", "NaN", "Infinity", "١"]
    {
        check_bad(raw, &integer);
    }
    let number = json!({"type": "number"});
    for (raw, value) in [("2.50", json!(2.5)), (".5", json!(0.5)), ("1e-7", json!(1e-7)), ("-2.0", json!(-2))] {
        check(raw, &number, value);
    }
    check_bad("inf", &number);
    let boolean = json!({"type": "boolean"});
    for (raw, value) in [("TRUE", true), ("False", false), ("1", true), (" 0\n", false)] {
        check(raw, &boolean, json!(value));
    }
    for raw in ["yes", "2", "None", "1.0"] {
        check_bad(raw, &boolean);
    }
}

#[test]
fn the_first_type_that_fits_wins() {
    let all = json!({"type": ["string", "array", "object", "boolean", "number", "integer", "null"]});
    check("null", &all, json!(null));
    check("1", &all, json!(1));
    check("1.5", &all, json!(1.5));
    check("true", &all, json!(true));
    check("{\"a\": [1]}", &all, json!({"a": [1]}));
    check("[1, 2", &all, json!("[1, 2"));
    check(" x ", &all, json!(" x "));
    check("1", &json!({"type": ["boolean", "string"]}), json!(true));
    let either = json!({"type": ["integer", "string"]});
    for (raw, value) in [("7", json!(7)), ("7.0", json!(7)), ("007", json!("007")), ("+4712", json!("+4712"))] {
        check(raw, &either, value);
    }
    check("None", &json!({"type": ["integer", "null"]}), json!(null));
    check("None", &json!({"type": ["integer", "string"]}), json!("None"));
    check("[1]", &json!({"type": ["object", "string"]}), json!("[1]"));
    check_bad("[1]", &json!({"type": "object"}));
    check_bad("null", &json!({"type": "integer"}));
}

#[test]
fn types_are_found_wherever_the_schema_has_them() {
    let defs = json!({
        "Day": {"type": "integer"},
        "Same": {"$ref": "#/$defs/Day"},
        "Loop": {"$ref": "#/$defs/Loop"},
        "a/b ~c": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
        "Node": {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/Node"}]},
    });
    for (schema, raw, value) in [
        (json!({"$ref": "#/$defs/Same"}), "3", json!(3)),
        (json!({"$ref": "#/$defs/a~1b%20~0c/anyOf/1"}), "1", json!(true)),
        (json!({"$ref": "#/$defs/Loop"}), "3", json!("3")),
        (json!({"$ref": "#/$defs/Missing"}), "3", json!("3")),
        (json!({"$ref": "other.json#/a"}), "3", json!("3")),
        (json!({"$ref": 5}), "3", json!("3")),
        (json!({"$ref": "#/$defs/Node"}), "{'a': 1}", json!({"a": 1})),
        (json!({"$ref": "#/$defs/Day", "description": "a day"}), "3", json!(3)),
        (json!({"oneOf": [{"type": "integer"}, {"const": "all"}]}), "all", json!("all")),
        (json!({"allOf": [{"type": ["integer", "string"]}, {"type": "integer"}]}), "3", json!(3)),
        (json!({"allOf": [{"$ref": "#/$defs/Day"}, {"minimum": 1}]}), "3", json!(3)),
        (json!({"enum": [1, 2.5, null]}), "2.5", json!(2.5)),
        (json!({"enum": [1, "a"]}), "a", json!("a")),
        (json!({"enum": ["1", "2"]}), "1", json!("1")),
        (json!({"const": true}), "1", json!(true)),
        (json!({"type": "string", "enum": ["1"]}), "1", json!("1")),
        (json!({"anyOf": [{"type": "integer"}, {"description": "anything"}]}), "x", json!("x")),
        (json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}), "{}", json!({})),
        (json!({"anyOf": [{"minimum": 1}, {}], "allOf": [{"type": "integer"}]}), "1", json!(1)),
        (json!({"type": "strnig"}), "1", json!("1")),
        (json!({"properties": {}}), "{}", json!("{}")),
        (json!(true), "1", json!("1")),
    ] {
        let root = json!({"properties": {"p": schema}, "$defs": defs});
        let types = Parameters::of(&root).types("p").unwrap();
        assert_eq!(coerce(raw, types), Coerced::Fits(value), "{raw} under {schema}");
    }
}

#[test]
fn parameters_are_found_through_references_and_combinations() {
    let schema = json!({
        "allOf": [{"$ref": "#/$defs/Base"}],
        "anyOf": [
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            {"properties": {"b": {"type": "null"}}},
        ],
        "properties": {"a": {"type": "boolean"}},
        "required": ["a", 7, "a"],
        "$defs": {"Base": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    });
    let parameters = Parameters::of(&schema);
    assert_eq!(parameters.required(), ["a", "id"]);
    assert!(["a", "b", "id"].iter().all(|name| parameters.declares(name)));
    assert_eq!(coerce("null", parameters.types("b").unwrap()), Coerced::Fits(json!(null)));
    assert_eq!(coerce("5", parameters.types("b").unwrap()), Coerced::Fits(json!(5)));
    assert_eq!(parameters.types("zzz"), None);
}

#[test]
fn what_holds_for_every_call_is_not_widened_by_what_holds_for_some() {
    let branch = json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    let parameters = Parameters::of(&json!({
        "anyOf": [branch],
        "properties": {"a": {"type": "string"}, "b": {}},
    }));
    assert_eq!(coerce("5", parameters.types("a").unwrap()), Coerced::Fits(json!("5")));
    assert_eq!(coerce("5", parameters.types("b").unwrap()), Coerced::Fits(json!(5)));
}

#[test]
fn python_literals() {
    for (text, value) in [
        ("{}", json!({})),
        ("()", json!([])),
        ("(1,)", json!([1])),
        ("(1)", json!(1)),
        ("[1, -2, +3, 4.0, .5, 1e5,]", serde_json::from_str("[1, -2, 3, 4.0, 0.5, 1e5]").unwrap()),
        ("{'a': [True, None, false], \"b\": (1, 'x')}", json!({"a": [true, null, false], "b": [1, "x"]})),
        ("{1: 'a', None: 'b', True: 'c'}", json!({"1": "a", "null": "b", "true": "c"})),
        (r#"'it\'s \"q\" \n\t\\ \x41\u00e9\ud83e\uddb7\U0001F9B7 \101 \q'"#, json!("it's \"q\" \n\t\\ Aé🦷🦷 A \\q")),
        ("'a\nb'", json!("a\nb")),
        (" [ 'é' , ] ", json!(["é"])),
        ("123456789012345678901", serde_json::from_str("123456789012345678901").unwrap()),
    ] {
        assert_eq!(python_literal(text), Some(value), "{text}");
    }
    for text in [
        "",
        "[",
        "[1",
        "[1 2]",
        "[,]",
        "{'a'}",
        "{'a': 1 'b': 2}",
        "{[1]: 2}",
        "'a",
        "'a' 'b'",
        "x",
        "[x]",
        "f('a')",
        r"'\ud800'",
        r"'\xZ'",
        "[1]]",
        "1_0",
        "{,}",
    ] {
        assert_eq!(python_literal(text), None, "{text}");
    }
}

#[test]
fn depth_is_bounded_on_a_small_stack() {
    let deep = |open: &str, close: &str, levels| open.repeat(levels) + &close.repeat(levels);
    let run = move || {
        let types = TypeSet::of(&json!({"type": ["array", "object"]}), &json!({}));
        assert!(matches!(coerce(&deep("[", "]", 100), types), Coerced::Fits(_)));
        for text in [deep("[", "]", 101), deep("[", "]", 1_000_000), "(".repeat(1_000_000), "{'a':".repeat(1_000_000)] {
            assert_eq!(coerce(&text, types), Coerced::Raw(json!(text)));
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn hostile_schemas_say_nothing_but_do_no_harm() {
    let manifest: Value = serde_json::from_str(&fixture("safety/malformed/manifest.json")).unwrap();
    let entries = manifest["cases"].as_array().unwrap();
    let files: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry["file"].as_str())
        .filter(|file| file.starts_with("schema/"))
        .map(|file| fixture(&format!("safety/malformed/{file}")))
        .collect();
    assert!(files.len() >= 16);
    let run = move || {
        for text in files {
            // What nests too deep for JSON never becomes a schema.
            let Ok(schema) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            let root = json!({"properties": {"p": schema}});
            Parameters::of(&schema);
            Parameters::of(&root);
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn references_that_fan_out_end() {
    // Each level refers to the next one twice: 2^60 paths.
    let defs: serde_json::Map<String, Value> = (0..60)
        .map(|level| {
            let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
            (level.to_string(), json!({"anyOf": [next, next], "allOf": [next, next]}))
        })
        .collect();
    let schema = json!({"$ref": "#/$defs/0", "properties": {"p": {"$ref": "#/$defs/0"}}, "$defs": defs});
    assert!(Parameters::of(&schema).declares("p"));
}
