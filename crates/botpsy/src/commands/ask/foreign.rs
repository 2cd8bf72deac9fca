//! `botpsy ask --tools`: tools that nobody here can carry out, so calls are shown.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use botpsy_chat::{Completion, Provider, Request};
use botpsy_text::conversation::{Conversation, Message, Role, ToolCall};
use serde_json::{Map, Value, json};

use super::timings;
use crate::answer::AnswerPrinter;
use crate::answering::Answering;
use crate::args::AskArgs;
use crate::commands::parse::call;
use crate::failure::Exit;
use crate::input::Untrusted;
use crate::{input, interrupt, model_flags, output};

pub(crate) fn run(args: &AskArgs, tools: &Path, wish: String, started: Instant) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let tools = input::tools(tools)?;
    let texts = super::texts(args)?;

    let model = Answering::open(&args.answering)?;
    let load_ms = started.elapsed().as_secs_f64() * 1e3;
    let quiet = args.quiet || args.json;
    if !quiet && let Some(remark) = model.remark() {
        output::note(remark);
    }
    let conversation = Conversation { messages: messages(wish, texts), tools };
    let request = Request { conversation, free_calls: args.free_calls, ..Request::default() };
    let completion = answer(model.provider(), &request, &cancel, quiet, args.json)?;
    if args.json {
        output::json(&result(&completion, load_ms, started))?;
    }
    Ok(if cancel.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Done })
}

/// The user's words, and each text by somebody else as the result of a tool.
fn messages(wish: String, texts: Vec<Untrusted<String>>) -> Vec<Message> {
    let mut messages = vec![Message::new(Role::User, wish)];
    for text in texts {
        let source = Value::from(text.source());
        let arguments = Map::from_iter([("source".to_owned(), source)]);
        let mut reading = Message::new(Role::Assistant, "");
        reading.tool_calls.push(ToolCall { name: "read_text".to_owned(), arguments });
        messages.extend([reading, Message::new(Role::Tool, text.into_tool_result())]);
    }
    messages
}

fn answer(
    model: &dyn Provider,
    request: &Request,
    cancel: &AtomicBool,
    quiet: bool,
    as_json: bool,
) -> anyhow::Result<Completion> {
    if as_json {
        return model.chat(request, cancel, &mut |_| ()).map_err(model_flags::answer_error);
    }
    let mut printer = AnswerPrinter::new(quiet);
    let completion = model.chat(request, cancel, &mut |event| printer.take(&event));
    let completion = completion.map_err(model_flags::answer_error)?;
    printer.finish(&completion, &request.conversation.tools)?;
    Ok(completion)
}

/// What `--json` prints. Nothing is decided or executed, so those lists are empty.
fn result(completion: &Completion, load_ms: f64, started: Instant) -> Value {
    let (message, stats) = (&completion.message, &completion.stats);
    json!({
        "reasoning_content": message.reasoning_content,
        "content": message.content,
        "tool_calls": message.tool_calls.iter().map(call).collect::<Value>(),
        "decisions": [],
        "effects": [],
        "timings": timings(stats, load_ms, started),
    })
}
