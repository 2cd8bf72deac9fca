//! Answers kept on disk, and a provider that gives them again.
//!
//! A recording is JSON Lines, one answer a line:
//! `{"version":1,"messages":[..],"thinking":bool,"text":"..","finish_reason":".."}`; `messages` is the conversation that
//! was answered, `text` what the model wrote.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use botpsy_text::tool_call::{FinishReason, Thinking};
use serde_json::{Value, json};

use crate::provider::stop_of;
use crate::scripted::{Script, play};
use crate::{ChatError, ChatEvent, Completion, Provider, Request};

const VERSION: u64 = 1;

/// Gives the answers of a recording again, in order. A request whose messages differ from the recorded ones is an error.
#[derive(Debug)]
pub struct Replay {
    file: String,
    answers: Vec<Recorded>,
    used: AtomicUsize,
}

#[derive(Debug)]
struct Recorded {
    messages: Value,
    thinking: Thinking,
    text: String,
    finish: FinishReason,
}

impl Replay {
    /// Reads a recording.
    ///
    /// # Errors
    /// If the file cannot be read or a line is no recorded answer.
    pub fn open(path: &Path) -> Result<Replay, ChatError> {
        let file = path.display().to_string();
        let io = |source| ChatError::Io { file: file.clone(), source };
        let lines = BufReader::new(File::open(path).map_err(io)?).lines();
        let mut answers = Vec::new();
        for (i, line) in lines.enumerate() {
            let line = line.map_err(io)?;
            let answer =
                recorded(&line).map_err(|problem| ChatError::Recording { file: file.clone(), line: i + 1, problem })?;
            answers.push(answer);
        }
        Ok(Replay { file, answers, used: AtomicUsize::new(0) })
    }
}

fn recorded(line: &str) -> Result<Recorded, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let missing = |field: &str| format!("{field} is missing or of another type");
    match value["version"].as_u64() {
        Some(VERSION) => {}
        _ => return Err(format!("version is {}; this program reads {VERSION}", value["version"])),
    }
    let text = |field: &str| value[field].as_str().ok_or_else(|| missing(field));
    let finishes = [FinishReason::Stop, FinishReason::Length, FinishReason::ToolCalls];
    let finish = text("finish_reason")?;
    Ok(Recorded {
        messages: value["messages"].clone(),
        thinking: if value["thinking"].as_bool().ok_or_else(|| missing("thinking"))? {
            Thinking::On
        } else {
            Thinking::Off
        },
        text: text("text")?.to_owned(),
        finish: finishes.into_iter().find(|f| f.as_str() == finish).ok_or_else(|| missing("finish_reason"))?,
    })
}

impl Provider for Replay {
    fn name(&self) -> &str {
        &self.file
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        let used = self.used.fetch_add(1, Ordering::Relaxed);
        let left = || ChatError::NoAnswerLeft { what: self.file.clone(), used };
        let answer = self.answers.get(used).ok_or_else(left)?;
        if answer.messages != Value::Array(request.conversation.template_messages()) {
            let problem = "the recorded answer belongs to other messages".into();
            return Err(ChatError::Recording { file: self.file.clone(), line: used + 1, problem });
        }
        let script = Script { stop: stop_of(answer.finish), ..Script::from(answer.text.as_str()) };
        Ok(play(&script, answer.thinking, request, cancel, on))
    }
}

/// Passes requests on to a provider and keeps each answer in a file that [`Replay`] reads.
#[derive(Debug)]
pub struct Recorder<P> {
    provider: P,
    path: String,
    file: Mutex<File>,
}

impl<P: Provider> Recorder<P> {
    /// Appends to `path`, which is made if it is not there.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn new(provider: P, path: &Path) -> Result<Recorder<P>, ChatError> {
        let name = path.display().to_string();
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|source| ChatError::Io { file: name.clone(), source })?;
        Ok(Recorder { provider, path: name, file: Mutex::new(file) })
    }
}

impl<P: Provider> Provider for Recorder<P> {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        let completion = self.provider.chat(request, cancel, on)?;
        let line = json!({
            "version": VERSION,
            "messages": request.conversation.template_messages(),
            "thinking": request.overrides.thinking.unwrap_or(true),
            "text": completion.text,
            "finish_reason": completion.message.finish_reason.as_str(),
        });
        let mut file = self.file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        writeln!(file, "{line}").map_err(|source| ChatError::Io { file: self.path.clone(), source })?;
        Ok(completion)
    }
}
