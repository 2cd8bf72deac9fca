//! `botpsy parse`.

use std::io::{self, BufRead};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use botpsy_text::conversation::{ToolCall, ToolSpec};
use botpsy_text::tool_call::{
    Delta, DeltaStream, Fault, ParseOptions, Stop, StreamOptions, Thinking, ToolChoice, Toolset, parse,
};
use serde_json::{Value, json};

use crate::args::{ParseArgs, StopArg};
use crate::failure::{Exit, OrFail};
use crate::{input, output};

pub(crate) fn run(args: &ParseArgs) -> anyhow::Result<Exit> {
    let tools = args.tools.as_deref().map_or(Ok(Vec::new()), input::tools)?;
    let thinking = if args.thinking { Thinking::On } else { Thinking::Off };
    let stop = match args.stop {
        StopArg::Eos => Stop::Eos,
        StopArg::Length => Stop::Length,
    };
    let tool_choice = match args.tool_choice.as_str() {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        name => ToolChoice::Named(name.to_owned()),
    };
    if args.stream {
        let tools = Arc::new(Toolset::new(&tools));
        return stream(StreamOptions { tools, thinking, tool_choice, ..StreamOptions::default() }, stop);
    }
    whole(&tools, thinking, stop, tool_choice)
}

fn whole(tools: &[ToolSpec], thinking: Thinking, stop: Stop, tool_choice: ToolChoice) -> anyhow::Result<Exit> {
    // As a stream does, bytes that are no part of a character are dropped.
    let bytes = input::stdin_bytes("a model's raw text")?;
    let text: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
    let message = parse(&text, &ParseOptions { tools, thinking, stop, tool_choice });
    output::json(&json!({
        "reasoning_content": message.reasoning_content,
        "content": message.content,
        "tool_calls": message.tool_calls.iter().map(call).collect::<Value>(),
        "finish_reason": message.finish_reason.as_str(),
        "faults": faults(&message.faults),
    }))?;
    Ok(Exit::Done)
}

fn stream(options: StreamOptions, stop: Stop) -> anyhow::Result<Exit> {
    let mut n_calls = 0;
    let new_id = move || {
        n_calls += 1;
        format!("call_{n_calls}")
    };
    let mut stream = DeltaStream::new(options, Box::new(new_id));
    for (i, line) in io::stdin().lock().lines().enumerate() {
        let line = line.with_context(|| format!("standard input: line {}", i + 1)).or_bad_input(PIECE)?;
        if line.trim().is_empty() {
            continue;
        }
        let deltas = stream.push_bytes(&piece(&line).with_context(|| format!("standard input: line {}", i + 1))?);
        print(&deltas, &stream)?;
    }
    let deltas = stream.finish(stop);
    print(&deltas, &stream)?;
    Ok(Exit::Done)
}

const PIECE: &str = "each line is one piece of the output: a JSON string, or a JSON array of byte values";

/// The bytes that a line stands for.
fn piece(line: &str) -> anyhow::Result<Vec<u8>> {
    let value: Value = serde_json::from_str(line).or_bad_input(PIECE)?;
    let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
    let bytes = match &value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(items) => items.iter().map(byte).collect(),
        _ => None,
    };
    bytes.ok_or_else(|| anyhow!("expected a piece, found {}", input::excerpt(line))).or_bad_input(PIECE)
}

fn print(deltas: &[Delta], stream: &DeltaStream) -> anyhow::Result<()> {
    for delta in deltas {
        output::json(&wire(delta, stream.faults()))?;
    }
    Ok(())
}

/// A delta as it stands in a `chat.completion.chunk`. The last one also says what was wrong with the form.
fn wire(delta: &Delta, all_faults: &[Fault]) -> Value {
    match delta {
        Delta::Role => json!({ "role": "assistant" }),
        Delta::Reasoning(text) => json!({ "reasoning_content": text }),
        Delta::Content(text) => json!({ "content": text }),
        Delta::ToolCall { index, id, name } => {
            let function = json!({ "name": name, "arguments": "" });
            json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] })
        }
        Delta::Arguments { index, json } => {
            json!({ "tool_calls": [{ "index": index, "function": { "arguments": json } }] })
        }
        Delta::Finish(reason) => json!({ "finish_reason": reason.as_str(), "faults": faults(all_faults) }),
    }
}

/// A call as the commands print it.
pub(crate) fn call(call: &ToolCall) -> Value {
    json!({ "name": call.name, "arguments": call.arguments })
}

fn faults(faults: &[Fault]) -> Value {
    faults.iter().map(|fault| Value::from(fault.to_string())).collect()
}
