//! What commands print: results on standard output, everything else on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::failure::OrFail;

/// Writes a result to standard output and sends it off; on a terminal control characters in it are shown, not obeyed.
pub(crate) fn result(bytes: &[u8]) -> anyhow::Result<()> {
    let written = match std::str::from_utf8(bytes) {
        Ok(text) => Screen::out().write(text),
        Err(_) => write_out(bytes),
    };
    written.context("standard output").or_failed("check where the output goes, and that there is room")
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes one JSON value on a line of its own.
pub(crate) fn json(value: &Value) -> anyhow::Result<()> {
    result(format!("{value}\n").as_bytes())
}

/// Tells the user something beside the result.
pub(crate) fn note(text: &str) {
    // Nothing is left to tell it to when standard error is gone.
    let _ = Screen::err().write(&format!("note: {text}\n"));
}

/// One of the two streams, and whether a person looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    stream: Stream,
    is_terminal: bool,
    dims: bool,
}

#[derive(Clone, Copy, Debug)]
enum Stream {
    Out,
    Err,
}

impl Screen {
    /// Standard output.
    pub(crate) fn out() -> Screen {
        Screen::new(Stream::Out, io::stdout().is_terminal())
    }

    /// Standard error.
    pub(crate) fn err() -> Screen {
        Screen::new(Stream::Err, io::stderr().is_terminal())
    }

    fn new(stream: Stream, is_terminal: bool) -> Screen {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Screen { stream, is_terminal, dims: is_terminal && !no_color }
    }

    /// Whether a person looks at it.
    pub(crate) fn is_terminal(self) -> bool {
        self.is_terminal
    }

    /// Writes text by a model: on a terminal its control characters are shown, not obeyed.
    pub(crate) fn write(self, text: &str) -> io::Result<()> {
        let text = if self.is_terminal { visible(text) } else { Cow::Borrowed(text) };
        self.write_raw(text.as_bytes())
    }

    /// As [`write`](Self::write), dimmed where that is possible.
    pub(crate) fn write_dimmed(self, text: &str) -> io::Result<()> {
        if !self.dims {
            return self.write(text);
        }
        self.write_raw(format!("\x1b[2m{}\x1b[0m", visible(text)).as_bytes())
    }

    fn write_raw(self, bytes: &[u8]) -> io::Result<()> {
        match self.stream {
            Stream::Out => write_out(bytes),
            Stream::Err => io::stderr().write_all(bytes),
        }
    }
}

/// Text without the power to move a cursor or recolor a terminal.
fn visible(text: &str) -> Cow<'_, str> {
    let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_direction(c);
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if acts(c) { char::REPLACEMENT_CHARACTER } else { c }).collect())
}

/// Characters that reorder the text around them: a call could be shown as another one.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A bar on standard error for work of `total` steps; invisible when nobody looks.
pub(crate) fn progress(what: &'static str, total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}").unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style).with_message(what).with_elapsed(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_lose_their_power_and_text_does_not() {
        assert_eq!(visible("na\u{EF}ve\n\t\u{4F60}"), "na\u{EF}ve\n\t\u{4F60}");
        assert_eq!(visible("\x1b[2Jx\r\u{202E}y\u{9B}"), "\u{FFFD}[2Jx\u{FFFD}\u{FFFD}y\u{FFFD}");
    }
}
