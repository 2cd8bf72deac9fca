//! Templates from files: Jinja as `transformers` runs it, with limits.
//!
//! A template comes with a model file, so it is a stranger's program. It gets no loader, fuel, bounds on what it
//! builds, an output cap, and a stack large enough for any expression of the allowed size: compiling and rendering run
//! on a thread of their own, whatever the caller's stack is.

mod bounds;
mod environment;
mod guarded;
mod marks;
mod program;
mod tojson;
mod value;

use std::thread;

use minijinja::{Error, ErrorKind};
use serde_json::Value;

use crate::tokenizer::AddedTokens;

use super::{Prompt, RenderInput, TemplateError};
use environment::{Strings, python_like};
use program::Program;

/// A Jinja template that was found valid.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: String,
    /// Whether the template has a place of its own for thoughts in history.
    reads_reasoning: bool,
    /// Variables that hold tokens of the model.
    tokens: Vec<(String, String)>,
}

impl ChatTemplate {
    /// Longest template in bytes. The engine counts columns in 16 bits, and errors point one further.
    pub const MAX_BYTES: usize = 64_000;

    /// Checks the source of a template.
    ///
    /// # Errors
    /// When it is too long, or is no Jinja, or includes other templates.
    pub fn compile(source: &str) -> Result<ChatTemplate, TemplateError> {
        if source.len() > Self::MAX_BYTES {
            return Err(TemplateError::TooLong { n_bytes: source.len(), max: Self::MAX_BYTES });
        }
        on_large_stack(|| {
            Program::compile(source, &python_like(Strings::Plain)).map_err(|error| failure(&error))?;
            let reads_reasoning = source.contains("reasoning_content");
            Ok(ChatTemplate { source: source.to_owned(), reads_reasoning, tokens: Vec::new() })
        })
    }

    /// Defines a variable that holds a token of the model, such as `eos_token`; requests cannot replace it.
    #[must_use]
    pub fn with_token(mut self, name: &str, text: &str) -> ChatTemplate {
        self.tokens.push((name.to_owned(), text.to_owned()));
        self
    }

    /// What the template prints, nothing guarded.
    ///
    /// # Errors
    /// When the template refuses the conversation, fails or passes a limit.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<String, TemplateError> {
        on_large_stack(|| self.render_here(input, Strings::Plain))
    }

    /// The rendering with all text from outside guarded, and its stable marks.
    ///
    /// A thought inside the content of an assistant message is moved to `reasoning_content` first when the template
    /// reads that, since guarded text no longer holds the `</think>` that templates split at. `startswith` and
    /// `endswith` see through the guard.
    pub(super) fn prompt(&self, input: &RenderInput<'_>, added: &AddedTokens) -> Result<Prompt, TemplateError> {
        on_large_stack(|| {
            let guarded = guarded::Guarded::new(input, added, self.reads_reasoning);
            let input = guarded.input(input.add_generation_prompt);
            let text = self.render_here(&input, Strings::Guarded)?;
            let marks = marks::find(&text, &input, |input| self.render_here(input, Strings::Guarded));
            Ok(Prompt { text, marks })
        })
    }

    fn render_here(&self, input: &RenderInput<'_>, strings: Strings) -> Result<String, TemplateError> {
        let n_bytes = input_bytes(input);
        let mut environment = python_like(strings);
        environment.set_fuel(Some(fuel(n_bytes, input.messages.len())));
        let program = Program::compile(&self.source, &environment).map_err(|error| failure(&error))?;
        let text = program.run(&environment, value::context(input, &self.tokens)).map_err(|error| failure(&error))?;
        let max = MIN_OUTPUT_CAP + 4 * n_bytes;
        if text.len() > max {
            return Err(TemplateError::Failed { line: 0, reason: format!("it prints more than {max} bytes") });
        }
        Ok(text)
    }
}

/// Room for the template's own text, beyond four times what it prints from.
const MIN_OUTPUT_CAP: usize = 256 * 1024;

/// Stack of the thread that compiles and renders. An expression takes a few frames for each of its tokens, a macro call
/// a few for each level.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Bounds time (about a hundredth of a second for each 100,000) and memory (64 bytes each).
const MAX_FUEL: u64 = 1_000_000;

fn fuel(n_bytes: usize, n_messages: usize) -> u64 {
    let text = u64::try_from(n_bytes / 8).unwrap_or(MAX_FUEL);
    let messages = u64::try_from(n_messages).unwrap_or(MAX_FUEL).saturating_mul(100);
    text.saturating_add(messages).saturating_add(250_000).min(MAX_FUEL)
}

fn input_bytes(input: &RenderInput<'_>) -> usize {
    let lists = input.messages.iter().chain(input.tools).chain(input.kwargs.values());
    lists.map(value_bytes).sum()
}

/// About the length of the value as JSON.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| value_bytes(item) + 2).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + value_bytes(value) + 6).sum::<usize>() + 2
        }
    }
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, TemplateError> + Send) -> Result<T, TemplateError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("chat template".to_owned()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(|error| TemplateError::Thread(error.to_string()))?;
        thread.join().unwrap_or_else(|_| Err(TemplateError::Thread("it panicked".to_owned())))
    })
}

/// A text of the template in `raise_exception`, on its way out of the engine.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refusal(String);

fn failure(error: &Error) -> TemplateError {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(Refusal(message)) = inner.downcast_ref() {
            return TemplateError::Refused(message.clone());
        }
        source = inner.source();
    }
    let reason = match error.kind() {
        ErrorKind::OutOfFuel => "it takes too many steps or too much memory".to_owned(),
        kind => error.detail().map_or_else(|| kind.to_string(), |detail| format!("{kind}: {detail}")),
    };
    TemplateError::Failed { line: error.line().unwrap_or(0), reason }
}
