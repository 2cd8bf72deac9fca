use serde_json::{Value, json};

use crate::support::{run, scratch_file, str};

#[test]
fn tools_are_checked_one_by_one_with_paths() {
    let tool = |name: &str, code: Value, strict: bool| {
        let parameters = json!({ "type": "object", "properties": { "code": code } });
        json!({ "type": "function", "function": { "name": name, "parameters": parameters, "strict": strict } })
    };
    let good = tool("good", json!({ "type": "integer", "minimum": 3 }), true);
    let parts = tool("parts", json!({ "type": "string", "pattern": "(?=x)", "maxLength": 3 }), true);
    let bad = tool("bad", json!({ "type": "array", "items": { "type": "string", "pattern": "(?=x)" } }), false);
    let file = scratch_file("tools.json", json!([good, parts, bad]).to_string());
    let ran = run(&["tools", "check", str(&file), "--json"], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let out = String::from_utf8(ran.out).unwrap();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths = |line: &Value| {
        let dropped = line["dropped"].as_array().unwrap();
        dropped.iter().map(|dropped| dropped["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines.iter().map(|line| line["enforced"] == true).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(paths(&lines[1]), ["properties.code.pattern", "properties.code.maxLength"]);
    assert_eq!(paths(&lines[2]), ["properties.code.items.pattern"]);
    assert!(lines.iter().all(|line| line["prompt_tokens"].as_u64().unwrap() > 10));

    let file = scratch_file("good.json", json!([good]).to_string());
    let told = run(&["tools", "check", str(&file)], "").ok();
    assert!(told.starts_with("good: enforced, "), "{told}");
    let err = run(&["tools", "check", "/nowhere.json"], "").refused();
    assert!(err.contains("/nowhere.json"), "{err}");
}
