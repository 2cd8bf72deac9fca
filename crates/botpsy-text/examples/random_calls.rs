//! Walks at random through the grammars of tools, for `checks/random_schemas.py`; and times how long they take to compile.
//!
//! usage: random_calls < TOOLS.jsonl > WALKS.jsonl
//!        random_calls --time

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/tool_call/walker.rs"]
mod walker;

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use botpsy_text::conversation::{Conversation, ToolSpec};
use botpsy_text::schema::Parameters;
use botpsy_text::tokenizer::Tokenizer;
use botpsy_text::tool_call::constrain::{CallRules, Constraint, Grammars};
use botpsy_text::tool_call::{ParseOptions, Stop, Thinking, ToolChoice, parse};
use serde_json::{Map, Value, json};
use walker::{Habits, grammars, is_allowed, tokenizer, walk};

fn main() {
    let tokenizer = tokenizer();
    if std::env::args().any(|arg| arg == "--time") {
        return time(&tokenizer);
    }
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let input: Value = serde_json::from_str(&line.unwrap()).unwrap();
        // Grammars that were used before are kept; each tool begins with none, as in a fresh process.
        let result = one(&tokenizer, &grammars(&tokenizer), &input);
        writeln!(out, "{result}").unwrap();
    }
}

/// One walk through one tool: what was written and read, and what is not enforced.
fn one(tokenizer: &Tokenizer, grammars: &Arc<Grammars>, input: &Value) -> Value {
    let tools = tools(&input["tool"], false);
    let rules = CallRules::new(grammars, &tools).unwrap();
    let strict = CallRules::new(grammars, &self::tools(&input["tool"], true)).err();
    let dropped: Vec<Value> = rules.dropped().iter().map(|d| json!({ "path": d.path, "why": d.why })).collect();
    let declared = Parameters::of(&tools[0].parameters);
    let names: Vec<String> = declared.names().map(str::to_owned).collect();
    let habits = Habits::new(tokenizer, &tools[0].name, &names);
    let new = || Constraint::new(grammars, &rules, None, &ToolChoice::Required, true, Thinking::Off);
    let walked = walk(tokenizer, &mut new(), "<tool_call>", &habits, input["seed"].as_u64().unwrap());
    let (mut answer, mut arguments, mut problem, mut accepted) = (Value::Null, Value::Null, Value::Null, true);
    match walked {
        Err(broken) => problem = broken.into(),
        Ok(None) => {}
        Ok(Some(text)) => {
            let options =
                ParseOptions { tools: &tools, thinking: Thinking::Off, stop: Stop::Eos, tool_choice: ToolChoice::Auto };
            let message = parse(&text, &options);
            let faults: Vec<String> = message.faults.iter().map(ToString::to_string).collect();
            match &message.tool_calls[..] {
                [call] if call.name == tools[0].name => {
                    // As text: those who read it keep the numbers as they are written.
                    arguments = json!(call.arguments).to_string().into();
                }
                calls => problem = format!("{} calls: {message:?}", calls.len()).into(),
            }
            // Others than the declared ones may be allowed, and required ones may have a name that cannot be written.
            let is_told = |fault: &String| {
                fault.starts_with("unknown_parameter:") || fault.starts_with("missing_required:") && !dropped.is_empty()
            };
            if !faults.iter().all(is_told) {
                problem = format!("faults {faults:?}").into();
            }
            accepted = is_allowed(tokenizer, &mut new(), &text);
            answer = text.into();
        }
    }
    let strict = strict.map(|error| json!({ "field": error.field, "problem": error.problem }));
    json!({ "answer": answer, "arguments": arguments, "problem": problem, "dropped": dropped, "strict": strict,
            "accepted": accepted })
}

fn tools(tool: &Value, strict: bool) -> Vec<ToolSpec> {
    let mut function = tool.clone();
    function["strict"] = strict.into();
    Conversation::from_json(&[], &[json!({ "type": "function", "function": function })]).unwrap().tools
}

/// How long rules take to make for tools that were never seen, the vocabulary being built.
fn time(tokenizer: &Tokenizer) {
    let kinds = [
        json!({ "type": "string" }),
        json!({ "type": "integer", "minimum": 0, "maximum": 100 }),
        json!({ "type": "number", "exclusiveMinimum": 0 }),
        json!({ "type": "boolean" }),
        json!({ "enum": ["low", "middle", "high"] }),
        json!({ "type": "array", "items": { "type": "string", "maxLength": 40 }, "maxItems": 10 }),
    ];
    let all: Map<String, Value> = (0..60).map(|i| (format!("option_{i}"), kinds[i % kinds.len()].clone())).collect();
    let tool = json!({ "name": "sixty", "parameters": { "type": "object", "properties": all } });
    let tools = tools(&tool, true);
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let grammars = grammars(tokenizer);
            let start = Instant::now();
            CallRules::new(&grammars, &tools).unwrap();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("60 optional parameters: {:.1} ms to compile (median of 5)", times[2]);
}
