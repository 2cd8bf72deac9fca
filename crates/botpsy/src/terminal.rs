//! The owner at a terminal: sees what happens, and answers questions.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use botpsy_agent::assistant::{Done, Face, Question, Reply, Report, one_line, preview};
use botpsy_agent::policy::{Decision, Verdict};
use botpsy_agent::store::{ApplyError, Change};
use botpsy_chat::ChatEvent;
use botpsy_engine::Stats;
use botpsy_text::conversation::ToolCall;
use serde_json::Value;

use crate::answer::{AnswerPrinter, call_lines, speed};
use crate::output::{self, Screen};

/// How long a question waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// How soon Ctrl-C is seen while a question waits.
const GLANCE: Duration = Duration::from_millis(200);

/// Whoever answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Somebody at the terminal.
    There,
    /// Somebody who agreed beforehand.
    Agrees,
    /// Nobody.
    Nobody,
}

impl Owner {
    /// `yes` is the flag. A question must be seen and answered, so both streams must be a terminal.
    pub(crate) fn find(yes: bool) -> Owner {
        match io::stdin().is_terminal() && io::stderr().is_terminal() {
            _ if yes => Owner::Agrees,
            true => Owner::There,
            false => Owner::Nobody,
        }
    }
}

/// What is told beside what was done and the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tells {
    /// Nothing at all: the result is JSON, and comes at the end.
    Json,
    /// No more.
    Quiet,
    /// Thoughts, notices and what was refused.
    Usual,
    /// Also each decision.
    Decisions,
}

/// Shows a turn as it goes.
pub(crate) struct Terminal<'a> {
    owner: Owner,
    tells: Tells,
    cancel: &'a AtomicBool,
    printer: AnswerPrinter,
    /// The first write that failed: a face cannot return it.
    failed: Option<io::Error>,
    /// What was done and stands nowhere yet.
    untold: Vec<String>,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(owner: Owner, tells: Tells, cancel: &'a AtomicBool) -> Terminal<'a> {
        let printer = AnswerPrinter::of_thoughts(matches!(tells, Tells::Json | Tells::Quiet));
        Terminal { owner, tells, cancel, printer, failed: None, untold: Vec::new() }
    }

    /// Says what was done and would stand in a result that does not come.
    pub(crate) fn break_off(mut self) {
        self.printer.pause();
        self.untold.iter().for_each(|line| output::note(line));
    }

    /// Shows the answer.
    pub(crate) fn finish(mut self, report: &Report) -> io::Result<()> {
        self.printer.pause();
        if !report.answer.is_empty() {
            self.show(&format!("{}\n", report.answer.trim_end()));
        }
        report.notes.iter().for_each(|note| output::note(&note.text));
        let err = Screen::err();
        if err.is_terminal() && matches!(self.tells, Tells::Usual | Tells::Decisions) {
            err.write_dimmed(&format!("{}\n", speed(&stats(report))))?;
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn show(&mut self, text: &str) {
        self.printer.pause();
        if self.failed.is_none() {
            self.failed = Screen::out().write(text).err();
        }
    }
}

impl Face for Terminal<'_> {
    fn is_there(&self) -> bool {
        self.owner != Owner::Nobody
    }

    fn ask(&mut self, question: &Question) -> Reply {
        self.printer.pause();
        match self.owner {
            Owner::There if confirm(&question.text(), self.cancel) => Reply::Yes,
            Owner::Agrees => Reply::Yes,
            Owner::There | Owner::Nobody => Reply::No,
        }
    }

    fn event(&mut self, event: &ChatEvent) {
        if !matches!(self.tells, Tells::Json) {
            self.printer.take(event);
        }
    }

    fn decided(&mut self, call: &ToolCall, verdict: &Verdict) {
        if matches!(self.tells, Tells::Decisions) {
            let arguments = Value::Object(call.arguments.clone()).to_string();
            let (decision, rule) = (verdict.decision.word(), &verdict.rule);
            let call = call_lines(&call.name, &arguments);
            self.show(&format!("{decision} ({rule}): {call}  because {}\n", verdict.reason));
        } else if matches!(verdict.decision, Decision::Deny { .. }) && !matches!(self.tells, Tells::Json) {
            self.printer.pause();
            let help = if verdict.rule == "nobody-there" { "; `botpsy ask --yes` agrees beforehand" } else { "" };
            // The name comes from a model, and this may be a terminal.
            let _ = Screen::err().write(&format!("refused: {}: {}{help}\n", call.name, verdict.reason));
        }
    }

    fn done(&mut self, done: &Done) {
        let when = done.details.iter().find(|(name, _)| matches!(name.as_str(), "when" | "due"));
        let when = when.map(|(_, when)| format!(", {when}")).unwrap_or_default();
        let mut line = format!("done: {}{when} (undo with: botpsy undo {})", one_line(&done.summary), done.step);
        line.extend(done.warnings.iter().map(|warning| format!("\n  note: {}", one_line(warning))));
        match self.tells {
            Tells::Json => self.untold.push(line),
            _ => self.show(&format!("{line}\n")),
        }
    }

    fn failed(&mut self, summary: &str, error: &ApplyError) {
        self.printer.pause();
        let _ = Screen::err().write(&format!("not done: {summary}: {error}\n"));
    }

    fn would(&mut self, change: &Change) {
        if !matches!(self.tells, Tells::Json) {
            self.show(&format!("would be done: {}", preview(change)));
        }
    }
}

/// What all rounds of a turn took together.
pub(crate) fn stats(report: &Report) -> Stats {
    let mut all = Stats::default();
    for stats in report.completions.iter().map(|completion| &completion.stats) {
        if all.ttft_ms == 0.0 {
            all.ttft_ms = stats.ttft_ms;
        }
        all.prompt_tokens += stats.prompt_tokens;
        all.cached_tokens += stats.cached_tokens;
        all.generated_tokens += stats.generated_tokens;
        all.prefill_ms += stats.prefill_ms;
        all.decode_ms += stats.decode_ms;
    }
    all
}

/// Asks at the terminal. Only a clear yes is one: no answer in time, Ctrl-C and everything else are a no.
pub(crate) fn confirm(question: &str, cancel: &AtomicBool) -> bool {
    forget_input();
    let err = Screen::err();
    if err.write(question).and_then(|()| err.write("Do it? [y/N] ")).is_err() {
        return false;
    }
    let answer = read_line(cancel);
    if answer.is_none() {
        let _ = err.write("\nno answer: not done\n");
    }
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    matches!(answer.as_str(), "y" | "yes")
}

/// What was typed before a question stood there is no answer to it.
#[cfg(unix)]
fn forget_input() {
    // Where this cannot be done the terminal is gone, and so is every answer.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// A line that is typed in time. Read without a buffer, so that what follows stays for whoever reads next.
#[cfg(unix)]
fn read_line(cancel: &AtomicBool) -> Option<String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let (stdin, until) = (io::stdin(), Instant::now() + PATIENCE);
    loop {
        let left = until.checked_duration_since(Instant::now())?;
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(left.min(GLANCE).subsec_nanos()) };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                let mut bytes = [0; 4096];
                let n = rustix::io::read(&stdin, &mut bytes).ok().filter(|n| *n > 0)?;
                return Some(String::from_utf8_lossy(&bytes[..n]).into_owned());
            }
            Err(_) => return None,
        }
    }
}

#[cfg(not(unix))]
fn forget_input() {}

#[cfg(not(unix))]
fn read_line(_cancel: &AtomicBool) -> Option<String> {
    let begun = Instant::now();
    let mut line = String::new();
    let n = io::stdin().read_line(&mut line).ok()?;
    (n > 0 && begun.elapsed() < PATIENCE).then_some(line)
}
