//! The kept cases of `checks/random_schemas.py`: random tools, a random call of each, and what it was read as; the judge
//! found that the arguments fit. They are made anew with that script when another version of the grammar library walks
//! other ways.

use std::sync::Arc;

use botpsy_text::conversation::Conversation;
use botpsy_text::schema::Parameters;
use botpsy_text::tool_call::constrain::{Allowed, CallRules, Constraint, Grammars};
use botpsy_text::tool_call::{ParseOptions, Stop, Thinking, ToolChoice, parse};
use serde_json::{Value, json};

use crate::support::json_lines;
use crate::walker::{Habits, grammars, is_allowed, text, tokenizer, walk};

fn constraint(grammars: &Arc<Grammars>, rules: &CallRules) -> Constraint {
    Constraint::new(grammars, rules, None, &ToolChoice::Required, true, Thinking::Off)
}

#[test]
fn random_calls_of_random_tools_are_walked_and_read_as_they_were_judged() {
    let tokenizer = tokenizer();
    let grammars = grammars(&tokenizer);
    let cases = json_lines("corpus/tool_call/random_calls.jsonl");
    assert_eq!(cases.len(), 500);
    for case in cases {
        let (seed, kept) = (case["seed"].as_u64().unwrap(), case["answer"].as_str().unwrap());
        let tool = json!({ "type": "function", "function": case["tool"] });
        let tools = Conversation::from_json(&[], &[tool]).unwrap().tools;
        let rules = CallRules::new(&grammars, &tools).unwrap();
        let dropped: Vec<Value> = rules.dropped().iter().map(|dropped| dropped.path.clone().into()).collect();
        assert_eq!(case["dropped"], Value::from(dropped), "{seed}");
        let names: Vec<String> = Parameters::of(&tools[0].parameters).names().map(str::to_owned).collect();
        let habits = Habits::new(&tokenizer, &tools[0].name, &names);
        let walked = walk(&tokenizer, &mut constraint(&grammars, &rules), "<tool_call>", &habits, seed).unwrap();
        assert_eq!(walked.as_deref(), Some(kept), "{seed}");
        assert!(is_allowed(&tokenizer, &mut constraint(&grammars, &rules), kept), "{seed}: {kept:?}");
        let (thinking, stop, tool_choice) = (Thinking::Off, Stop::Eos, ToolChoice::Auto);
        let message = parse(kept, &ParseOptions { tools: &tools, thinking, stop, tool_choice });
        let calls: Vec<Value> =
            message.tool_calls.iter().map(|call| json!({ "name": call.name, "arguments": call.arguments })).collect();
        let arguments: Value = serde_json::from_str(case["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(calls, [json!({ "name": case["tool"]["name"], "arguments": arguments })], "{seed}");
        assert_eq!(case["judged"]["without_dropped"], true, "{seed}");
    }
}

#[test]
fn what_is_forced_is_what_the_tokenizer_writes() {
    let tokenizer = Arc::new(tokenizer());
    let grammars = grammars(&tokenizer);
    let (mut n_forced, mut n_tokens, mut n_over) = (0, 0, 0);
    for case in json_lines("corpus/tool_call/random_calls.jsonl") {
        let tool = json!({ "type": "function", "function": case["tool"] });
        let rules = CallRules::new(&grammars, &Conversation::from_json(&[], &[tool]).unwrap().tools).unwrap();
        let kept = tokenizer.encode(case["answer"].as_str().unwrap());
        let kept: Vec<u32> = kept.into_iter().map(|id| id.0).collect();
        let mut forcing = constraint(&grammars, &rules).with_tokenizer(Arc::clone(&tokenizer));
        let mut at = 1;
        while at < kept.len() {
            let forced = forcing.forced(&kept[..at]);
            let (rest, next) = (text(&tokenizer, &kept[at..]), text(&tokenizer, &forced));
            assert!(rest.starts_with(&next), "{}: {next:?} is forced before {rest:?}", case["answer"]);
            if !kept[at..].starts_with(&forced) {
                // A value that begins with a line break: in one token with the one before it, which no grammar lets through.
                n_over += 1;
                break;
            }
            at += forced.len();
            n_forced += forced.len();
            n_tokens += forced.len();
            let Some(id) = kept.get(at) else { break };
            match forcing.allowed(&kept[..at]) {
                Allowed::Bits(bits) if bits[*id as usize / 32] >> (id % 32) & 1 == 1 => at += 1,
                _ => {
                    n_over += 1;
                    break;
                }
            }
            n_tokens += 1;
        }
    }
    assert!(
        n_tokens > 10_000 && n_forced * 10 > n_tokens && n_over < 150,
        "{n_forced} of {n_tokens}, {n_over} over borders"
    );
}
