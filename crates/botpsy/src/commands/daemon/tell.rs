//! How a reminder makes itself heard.

use std::env;
use std::process::{Command, Stdio};

use botpsy_agent::store::{Reminder, ReminderKind, ReminderState};
use botpsy_agent::tools::say;
use jiff::Zoned;
use serde_json::json;

use crate::output::{self, Screen};

/// Who is told, and how.
#[derive(Debug)]
pub(super) struct Teller {
    json: bool,
    has_desktop: bool,
}

impl Teller {
    pub(super) fn new(json: bool) -> Teller {
        Teller { json, has_desktop: has_desktop() }
    }

    /// Whether a person or a program gets to know: a journal alone is read by nobody.
    pub(super) fn has_listener(&self) -> bool {
        self.has_desktop || env::var_os("JOURNAL_STREAM").is_none()
    }

    /// Tells one, on every way that is there.
    pub(super) fn tell(&self, reminder: &Reminder, now: &Zoned) -> anyhow::Result<()> {
        let due = reminder.due.with_time_zone(now.time_zone().clone());
        let heading = heading(reminder);
        if self.json {
            output::json(&json!({
                "id": reminder.id, "kind": reminder.kind.name(), "text": reminder.text,
                "due": due.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(), "state": reminder.state.name(),
            }))?;
        } else {
            let screen = Screen::out();
            screen.write(&format!("{heading}: {}\n  {}\n", reminder.text, say(&due)))?;
            if screen.is_terminal() && rings(reminder) {
                output::result(b"\x07")?;
            }
        }
        if self.has_desktop {
            let when = match reminder.state {
                ReminderState::Missed => say(&due),
                _ => due.strftime("%H:%M").to_string(),
            };
            notify(&heading, &format!("{}\n{when}", reminder.text), rings(reminder));
        }
        Ok(())
    }
}

fn heading(reminder: &Reminder) -> String {
    let kind = match reminder.kind {
        ReminderKind::Alarm => "Alarm",
        ReminderKind::Timer => "Timer",
        ReminderKind::Reminder => "Reminder",
    };
    match reminder.state {
        ReminderState::Missed => format!("Missed {}", kind.to_lowercase()),
        _ => kind.to_owned(),
    }
}

fn rings(reminder: &Reminder) -> bool {
    reminder.kind != ReminderKind::Reminder && reminder.state != ReminderState::Missed
}

/// Whether `notify-send` is there.
pub(crate) fn has_desktop() -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join("notify-send").is_file())
}

/// Shows it on the desktop. Without one nothing is lost: it stands on standard output too.
fn notify(heading: &str, text: &str, is_urgent: bool) {
    let urgency = if is_urgent { "critical" } else { "normal" };
    let mut command = Command::new("notify-send");
    command.args(["--app-name=BotPsy", "--urgency", urgency, "--", heading, &escape(text)]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // It talks to the desktop, which may be slow: nobody else waits for it.
        std::thread::spawn(move || child.wait());
    }
}

/// Desktops read the text as markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
