//! What commands read: standard input, JSON files, and text by somebody else.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use botpsy_text::conversation::{Conversation, ToolSpec};
use botpsy_text::template::{ChatTemplate, Template};
use serde_json::Value;

use crate::failure::{OrFail, bad_input};

/// More than this is no prompt, no list of tools and no model output.
const MAX_BYTES: u64 = 64 << 20;

/// More third-party text than this fills any context.
const MAX_UNTRUSTED_BYTES: u64 = 4 << 20;

/// How long a pipe on standard input may be silent before it counts as empty.
const SILENCE: Duration = Duration::from_secs(2);

/// Text by somebody else: never an instruction. It reaches a model only as the result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Untrusted<T> {
    value: T,
    source: String,
}

impl<T> Untrusted<T> {
    /// Where it comes from.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Hands the value to the one place that shows it to a model.
    pub(crate) fn into_tool_result(self) -> T {
        self.value
    }
}

/// All of standard input.
pub(crate) fn stdin_bytes(what: &str) -> anyhow::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        let error = anyhow!("standard input: expected {what}, found a terminal");
        return Err(bad_input(error, "redirect a file (`< FILE`) or pipe into this command"));
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).context("standard input")?;
    check_size("standard input", bytes.len(), MAX_BYTES)?;
    Ok(bytes)
}

/// Standard input as text.
pub(crate) fn stdin_text() -> anyhow::Result<String> {
    String::from_utf8(stdin_bytes("text")?)
        .map_err(|error| anyhow!("standard input: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
        .or_bad_input("convert it first, for example with `iconv -t UTF-8`")
}

/// Standard input as a JSON array of token ids.
pub(crate) fn stdin_ids() -> anyhow::Result<Vec<u32>> {
    let help = "give a JSON array such as [9707, 11], for example the output of `botpsy tokenize`";
    let value: Value = serde_json::from_slice(&stdin_bytes("a JSON array of token ids")?)
        .context("standard input: expected a JSON array of token ids")
        .or_bad_input(help)?;
    let Value::Array(items) = value else {
        return Err(bad_input(anyhow!("standard input: expected a JSON array of token ids"), help));
    };
    let id = |(i, item): (usize, &Value)| {
        let id = item.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| anyhow!("standard input: item {i}: expected a token id, found {}", excerpt(&item.to_string())))
    };
    items.iter().enumerate().map(id).collect::<anyhow::Result<_>>().or_bad_input(help)
}

/// A file's text.
pub(crate) fn file_text(path: &Path) -> anyhow::Result<String> {
    let name = path.display().to_string();
    let bytes = read_file(path, MAX_BYTES)?;
    String::from_utf8(bytes)
        .map_err(|error| anyhow!("{name}: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
        .or_bad_input("convert it first, for example with `iconv -t UTF-8`")
}

/// The chat template in a file.
pub(crate) fn chat_template(path: &Path) -> anyhow::Result<Template> {
    let template = ChatTemplate::compile(&file_text(path)?);
    let template = template.with_context(|| path.display().to_string());
    Ok(Template::Jinja(template.or_bad_input("take another template, or mend this one")?))
}

/// The tools in a file.
pub(crate) fn tools(path: &Path) -> anyhow::Result<Vec<ToolSpec>> {
    let (name, text) = (path.display().to_string(), file_text(path)?);
    let help =
        "give a JSON array of tools: [{\"type\": \"function\", \"function\": {\"name\": .., \"parameters\": {..}}}]";
    let value: Value = serde_json::from_str(&text).with_context(|| name.clone()).or_bad_input(help)?;
    let Value::Array(tools) = value else {
        return Err(bad_input(anyhow!("{name}: expected an array of tools"), help));
    };
    let conversation = Conversation::from_json(&[], &tools).with_context(|| name.clone()).or_bad_input(help)?;
    Ok(conversation.tools)
}

/// Text by somebody else from a file.
pub(crate) fn untrusted_file(path: &Path) -> anyhow::Result<Untrusted<String>> {
    let source = path.display().to_string();
    let bytes = read_file(path, MAX_UNTRUSTED_BYTES)?;
    Ok(untrusted(bytes, source))
}

/// Text by somebody else from standard input; `None` when that is a terminal or empty.
///
/// A pipe that nobody writes to is inherited by many programs that mean nothing by it, so one that stays silent counts as
/// empty, and that is said.
pub(crate) fn untrusted_stdin() -> anyhow::Result<Option<Untrusted<String>>> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock().take(MAX_UNTRUSTED_BYTES + 1);
        let mut bytes = vec![0; 4096];
        let first = stdin.read(&mut bytes).map(|n| bytes.truncate(n));
        let silent = first.as_ref().is_ok_and(|()| bytes.is_empty());
        // The receiver is gone when it waited too long; then nobody needs the rest.
        let _ = sender.send(None);
        let all = first.and_then(|()| if silent { Ok(0) } else { stdin.read_to_end(&mut bytes) }).map(|_| bytes);
        let _ = sender.send(Some(all));
    });
    if receiver.recv_timeout(SILENCE).is_err() {
        crate::output::note("standard input is open but silent and was left out; close it with `< /dev/null`");
        return Ok(None);
    }
    let bytes = receiver.recv().ok().flatten().context("standard input: the thread that reads it ended")?;
    let bytes = bytes.context("standard input")?;
    check_size("standard input", bytes.len(), MAX_UNTRUSTED_BYTES)?;
    Ok((!bytes.is_empty()).then(|| untrusted(bytes, "standard input".to_owned())))
}

fn untrusted(bytes: Vec<u8>, source: String) -> Untrusted<String> {
    let value = String::from_utf8(bytes).unwrap_or_else(|error| {
        crate::output::note(&format!("{source} is not all UTF-8; what is not is shown to the model as \u{FFFD}"));
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    });
    Untrusted { value, source }
}

fn read_file(path: &Path, max: u64) -> anyhow::Result<Vec<u8>> {
    let name = path.display().to_string();
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().with_context(|| name.clone()).or_bad_input("check the path and that the file can be read")?;
    check_size(&name, bytes.len(), max)?;
    Ok(bytes)
}

fn check_size(name: &str, len: usize, max: u64) -> anyhow::Result<()> {
    if len as u64 <= max {
        return Ok(());
    }
    let error = anyhow!("{name}: larger than {} MiB", max >> 20);
    Err(bad_input(error, "give a shorter text, such as the part that matters"))
}

/// The beginning of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
