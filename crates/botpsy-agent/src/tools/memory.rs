//! What is remembered over sessions.

use botpsy_text::conversation::ToolCall;
use serde_json::{Map, Value, json};

use super::args::line;
use super::pick::{self, Candidate};
use super::{BuiltIn, text, tool};
use crate::policy::Integrity;
use crate::store::{Change, Memory, Op, Table, new_id, normalize};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

/// No answer names more.
const MAX_LISTED: usize = 20;

/// Until somebody who knows says otherwise, the model made it up.
const UNKNOWN_ORIGIN: &str = "model";

/// Says in a change where what it remembers came from; the tool cannot know it, the gate does.
pub fn label_memories(change: &mut Change, origin: &str) {
    for op in &mut change.ops {
        if let Op::Row { table: Table::Memories, before: None, after: Some(row), .. } = op {
            row.insert("origin".to_owned(), json!(origin));
        }
    }
}

/// What a call of `recall` gave, each memory with the label of whoever wrote it; `None` for anything else.
pub(crate) fn recalled(call: &ToolCall, text: &str) -> Option<Vec<(String, Integrity)>> {
    if call.name != "recall" {
        return None;
    }
    let answer: Value = serde_json::from_str(text).ok()?;
    let memory = |fact: &Value| {
        let label = match fact["from"].as_str()? {
            "user" => Integrity::User,
            "own" => Integrity::Own,
            // The model may have it from anybody.
            _ => Integrity::Third,
        };
        Some((fact["title"].as_str()?.to_owned(), label))
    };
    answer["facts"].as_array()?.iter().map(memory).collect()
}

pub(super) fn tools() -> Vec<BuiltIn> {
    vec![
        tool(
            "remember",
            "Remembers a fact about the user for later.",
            (Effect::MemoryWrite, Output::Service, Undo::InverseCall),
            vec![text("fact", Role::Key, "The fact, as one sentence.")],
            remember,
        ),
        tool(
            "recall",
            "Looks up what was remembered.",
            (Effect::Read, Output::Memory, Undo::None),
            vec![text("query", Role::Selector, "Words to look for.")],
            recall,
        ),
        tool(
            "forget",
            "Forgets something that was remembered.",
            (Effect::Destructive, Output::Memory, Undo::Trash),
            vec![text("fact", Role::Object, "Its id, or words of it.")],
            forget,
        ),
    ]
}

fn remember(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let text = line(arguments, "fact")?;
    let there = world.store.memories(&text, MAX_LISTED)?;
    if let Some(same) = there.iter().find(|memory| normalize(&memory.text) == normalize(&text)) {
        return Ok(Plan::Answer(json!({ "id": same.id, "title": same.text, "known": true })));
    }
    let made = world.now.timestamp().to_string();
    let memory = Memory { id: new_id("m-"), text, origin: UNKNOWN_ORIGIN.to_owned(), made };
    Ok(Plan::Change(Change {
        summary: format!("Remember: {}", memory.text),
        details: Vec::new(),
        warnings: Vec::new(),
        result: json!({ "id": memory.id, "title": memory.text }),
        ops: vec![Op::Row { table: Table::Memories, before: None, after: Some(memory.row()), id: memory.id }],
    }))
}

fn recall(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let there = world.store.memories(&line(arguments, "query")?, MAX_LISTED)?;
    let fact = |memory: &Memory| json!({ "id": memory.id, "title": memory.text, "from": memory.origin });
    let facts: Vec<Value> = there.iter().map(fact).collect();
    Ok(Plan::Answer(json!({ "facts": facts })))
}

fn forget(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let said = line(arguments, "fact")?;
    let mut there = world.store.memories("", 10_000)?;
    let candidate =
        |memory: &Memory| Candidate { id: memory.id.clone(), title: memory.text.clone(), hint: String::new() };
    let candidates: Vec<Candidate> = there.iter().map(candidate).collect();
    let memory = there.swap_remove(pick::one("memory", &said, &candidates)?);
    Ok(Plan::Change(Change {
        summary: format!("Forget: {}", memory.text),
        details: Vec::new(),
        warnings: Vec::new(),
        result: json!({ "id": memory.id, "title": memory.text, "forgotten": true }),
        ops: vec![Op::Row { table: Table::Memories, before: Some(memory.row()), after: None, id: memory.id }],
    }))
}
