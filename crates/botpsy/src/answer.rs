//! An answer on screen: reasoning dimmed, then content, then each call with its arguments.

use std::io;

use botpsy_chat::{ChatEvent, Completion};
use botpsy_engine::Stats;
use botpsy_text::conversation::ToolSpec;
use botpsy_text::tool_call::Delta;
use indicatif::ProgressBar;
use serde_json::{Map, Value};

use crate::output::{self, Screen};

/// Prompts under this length are read before anybody could see a bar.
const LONG_PROMPT: usize = 1024;

/// Prints events as they come. Reasoning and notices go to standard error, the answer to standard output.
pub(crate) struct AnswerPrinter {
    out: Screen,
    err: Screen,
    quiet: bool,
    shows: Shows,
    reading: Option<ProgressBar>,
    part: Part,
    /// The name of the call whose arguments come next.
    call: String,
    /// The first write that failed: events cannot return it.
    failed: Option<io::Error>,
}

/// What is shown while it is written.
#[derive(Clone, Copy, PartialEq)]
enum Shows {
    Everything,
    /// The thought; the answer waits until it was looked at.
    Thought,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Nothing,
    Reasoning,
    Content,
    Calls,
}

impl AnswerPrinter {
    /// `quiet` leaves out everything but the answer.
    pub(crate) fn new(quiet: bool) -> AnswerPrinter {
        AnswerPrinter {
            out: Screen::out(),
            err: Screen::err(),
            quiet,
            shows: Shows::Everything,
            reading: None,
            part: Part::Nothing,
            call: String::new(),
            failed: None,
        }
    }

    /// Leaves out content and calls.
    pub(crate) fn of_thoughts(quiet: bool) -> AnswerPrinter {
        AnswerPrinter { shows: Shows::Thought, ..AnswerPrinter::new(quiet) }
    }

    /// Ends a begun line: somebody else writes now.
    pub(crate) fn pause(&mut self) {
        if self.failed.is_none() {
            self.failed = self.begin(Part::Nothing).err();
        }
    }

    /// Prints what an event says.
    pub(crate) fn take(&mut self, event: &ChatEvent) {
        if self.failed.is_none() {
            self.failed = self.print(event).err();
        }
    }

    /// Ends the answer: says which calls are to none of `tools`, and its length and speed for whoever watches.
    pub(crate) fn finish(mut self, completion: &Completion, tools: &[ToolSpec]) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.begin(Part::Nothing)?;
        for call in &completion.message.tool_calls {
            if !self.quiet && tools.iter().all(|tool| tool.name != call.name) {
                output::note(&format!("{} is not one of the tools on offer", call.name));
            }
        }
        if self.err.is_terminal() && !self.quiet {
            let calls = if completion.message.tool_calls.is_empty() { "" } else { "; nothing was executed" };
            self.err.write_dimmed(&format!("{}{calls}\n", speed(&completion.stats)))?;
        }
        Ok(())
    }

    fn print(&mut self, event: &ChatEvent) -> io::Result<()> {
        match event {
            ChatEvent::Reading { done, total } => {
                self.read(*done, *total);
                Ok(())
            }
            ChatEvent::Delta(delta) => self.delta(delta),
            ChatEvent::Notice(notice) if !self.quiet => {
                self.begin(Part::Nothing)?;
                output::note(&notice.to_string());
                Ok(())
            }
            ChatEvent::Token { .. } | ChatEvent::Notice(_) => Ok(()),
        }
    }

    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        match delta {
            Delta::Reasoning(_) if self.quiet => Ok(()),
            Delta::Reasoning(text) => {
                self.begin(Part::Reasoning)?;
                self.err.write_dimmed(text)
            }
            Delta::Content(_) | Delta::ToolCall { .. } | Delta::Arguments { .. } if self.shows == Shows::Thought => {
                Ok(())
            }
            Delta::Content(text) => {
                self.begin(Part::Content)?;
                self.out.write(text)
            }
            Delta::ToolCall { name, .. } => {
                self.call.clone_from(name);
                Ok(())
            }
            Delta::Arguments { json, .. } => {
                self.begin(Part::Calls)?;
                self.out.write(&call_lines(&self.call, json))
            }
            Delta::Role | Delta::Finish(_) => Ok(()),
        }
    }

    /// Ends the line of the part before this one.
    fn begin(&mut self, part: Part) -> io::Result<()> {
        let before = std::mem::replace(&mut self.part, part);
        match before {
            Part::Reasoning if part != before => self.err.write("\n"),
            Part::Content if part != before => self.out.write("\n"),
            _ => Ok(()),
        }
    }

    fn read(&mut self, done: usize, total: usize) {
        if self.quiet || !self.err.is_terminal() || total < LONG_PROMPT {
            return;
        }
        let bar = self.reading.get_or_insert_with(|| output::progress("reading", total as u64));
        bar.set_position(done as u64);
        if done == total {
            bar.finish_and_clear();
            self.reading = None;
        }
    }
}

/// A call: its name, then its arguments, one on a line.
pub(crate) fn call_lines(name: &str, json: &str) -> String {
    // The reader prints an object, always.
    let arguments: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let width = arguments.keys().map(|key| key.chars().count()).max().unwrap_or(0);
    let mut text = format!("{name}\n");
    for (key, value) in &arguments {
        let value = match value {
            Value::String(text) if !text.contains('\n') => text.clone(),
            other => other.to_string(),
        };
        text += &format!("  {key:width$}  {value}\n");
    }
    text
}

/// Counts and speeds for whoever watches.
pub(crate) fn speed(stats: &Stats) -> String {
    let computed = stats.prompt_tokens - stats.cached_tokens;
    format!(
        "{computed} tokens read in {:.2} s ({:.0}/s), {} written in {:.2} s ({:.0}/s)",
        stats.prefill_ms / 1e3,
        stats.prefill_tps(),
        stats.generated_tokens,
        stats.decode_ms / 1e3,
        stats.decode_tps(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_name_and_lines() {
        let lines = call_lines("create_event", r#"{"title":"Dentist","day":"Friday","minutes":30,"notes":"a\nb"}"#);
        let expected =
            "create_event\n  title    Dentist\n  day      Friday\n  minutes  30\n  notes    \"a\\nb\"\n".to_owned();
        assert_eq!(lines, expected);
        assert_eq!(call_lines("stop", "{}"), "stop\n");
    }
}
