//! Load a model, ask with tools, watch the events, cancel with Ctrl-C's flag, read the statistics.
//!
//! `cargo run --release -p botpsy-chat --example tool_call -- model.gguf "set an alarm for 7 am"`

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::sync::atomic::AtomicBool;

use botpsy_chat::{ChatEvent, ChatModel, LoadOptions, ModelSource, Provider, Request};
use botpsy_text::conversation::Conversation;
use botpsy_text::tool_call::Delta;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: tool_call MODEL SENTENCE")?;
    let sentence = args.next().ok_or("usage: tool_call MODEL SENTENCE")?;

    let model = ChatModel::load(&ModelSource::Path(file.into()), &LoadOptions::default())?;
    let tools = json!([{"type": "function", "function": {
        "name": "set_alarm",
        "description": "set alarm",
        "parameters": {"type": "object", "properties": {"time": {"type": "string"}, "date": {"type": "string"}}, "required": []},
    }}]);
    let messages = json!([{"role": "user", "content": sentence}]);
    let conversation = Conversation::from_json(&list(messages), &list(tools))?;
    let request = Request { conversation, ..Request::default() };

    // Raise it from another thread, and the answer ends within one token.
    let cancel = AtomicBool::new(false);
    let completion = model.chat(&request, &cancel, &mut |event| match event {
        ChatEvent::Reading { done, total } => eprintln!("read {done} of {total} tokens"),
        ChatEvent::Delta(Delta::Reasoning(text)) => eprint!("{text}"),
        ChatEvent::Notice(notice) => eprintln!("note: {notice}"),
        _ => {}
    })?;

    for call in &completion.message.tool_calls {
        println!("{} {}", call.name, serde_json::Value::Object(call.arguments.clone()));
    }
    println!("{}", completion.message.content.as_deref().unwrap_or_default());
    let stats = completion.stats;
    eprintln!("{:.0} tokens/s reading, {:.0} tokens/s writing", stats.prefill_tps(), stats.decode_tps());
    Ok(())
}

fn list(value: serde_json::Value) -> Vec<serde_json::Value> {
    value.as_array().cloned().unwrap_or_default()
}
