//! The agenda for people, and for programs.

use std::fmt::Write as _;

use botpsy_agent::store::Reminder;
use botpsy_agent::store::ics::Occurrence;
use botpsy_agent::tools::{say, say_rule};
use jiff::civil::Date;
use jiff::{SignedDuration, Zoned};
use serde_json::{Value, json};

use super::Agenda;

/// A line of a day: when it stands in it, and what it says.
struct Line {
    /// Events of whole days stand first.
    at: Option<Zoned>,
    text: String,
}

impl Agenda {
    pub(super) fn json(&self) -> Value {
        let event = |event: &Occurrence| {
            let overlaps: Vec<&str> = self.overlaps(event).iter().map(|other| other.id.as_str()).collect();
            json!({
                "id": event.id, "title": event.title, "start": iso(&event.start), "end": iso(&event.end),
                "all_day": event.is_all_day, "place": event.place, "repeats": event.rrule.as_deref().map(say_rule),
                "overlaps": overlaps,
            })
        };
        let reminder = |reminder: &Reminder| {
            json!({
                "id": reminder.id, "kind": reminder.kind.name(), "text": reminder.text, "due": iso(&reminder.due),
                "repeats": reminder.rrule.as_deref().map(say_rule),
            })
        };
        json!({
            "from": iso(&self.from), "to": iso(&self.to), "zone": self.from.strftime("%Q").to_string(),
            "missed": self.missed.iter().map(reminder).collect::<Vec<_>>(),
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "reminders": self.reminders.iter().map(reminder).collect::<Vec<_>>(),
            "unreadable": self.broken.iter().map(|it| json!({ "path": it.path, "why": it.why })).collect::<Vec<_>>(),
        })
    }

    /// Day by day.
    pub(super) fn text(&self, now: &Zoned) -> String {
        let mut text = String::new();
        if !self.missed.is_empty() {
            text.push_str("Missed\n");
            for missed in &self.missed {
                let _ = writeln!(text, "  {}: {}, {}", missed.kind.name(), missed.text, say(&missed.due));
            }
            text.push('\n');
        }
        let mut is_empty = true;
        for date in self.from.date().series(jiff::Span::new().days(1)) {
            if !self.holds(date) {
                break;
            }
            let lines = self.day(date);
            if lines.is_empty() {
                continue;
            }
            let separator = if is_empty { "" } else { "\n" };
            let _ = writeln!(text, "{separator}{}{}", date.strftime("%A %-d %B %Y"), relation(date, now.date()));
            text.extend(lines.iter().map(|line| format!("  {}\n", line.text)));
            is_empty = false;
        }
        if is_empty {
            let last = self.to.checked_sub(SignedDuration::from_secs(1)).unwrap_or_else(|_| self.to.clone());
            let (from, to) = (self.from.date().strftime("%A %-d %B %Y"), last.date().strftime("%A %-d %B %Y"));
            let _ = match self.from.date() == last.date() {
                true => writeln!(text, "Nothing on {from}."),
                false => writeln!(text, "Nothing from {from} to {to}."),
            };
        }
        text
    }

    /// Whether any of a day lies in the time that is shown.
    fn holds(&self, date: Date) -> bool {
        let to = self.to.datetime();
        date < to.date() || (date == to.date() && to.time() != jiff::civil::Time::midnight())
    }

    fn day(&self, date: Date) -> Vec<Line> {
        let mut lines: Vec<Line> = self.events.iter().filter_map(|event| self.event_line(event, date)).collect();
        let of_day = self.reminders.iter().filter(|reminder| reminder.due.date() == date);
        lines.extend(of_day.map(|reminder| Line { at: Some(reminder.due.clone()), text: reminder_text(reminder) }));
        lines.sort_by(|a, b| a.at.cmp(&b.at));
        lines
    }

    /// An event on one of its days.
    fn event_line(&self, event: &Occurrence, date: Date) -> Option<Line> {
        let last = event.end.checked_sub(SignedDuration::from_nanos(1)).ok().filter(|last| *last > event.start);
        let (first, last) = (event.start.date(), last.as_ref().unwrap_or(&event.start).date());
        if date < first || date > last {
            return None;
        }
        let is_first = date == first;
        let when = match (event.is_all_day, is_first, date == last) {
            (true, ..) => "all day      ".to_owned(),
            (_, true, true) if event.start == event.end => format!("{}        ", clock(&event.start)),
            (_, true, true) => format!("{} - {}", clock(&event.start), clock(&event.end)),
            (_, true, false) => format!("{} - ...  ", clock(&event.start)),
            (_, false, true) => format!("  ... - {}", clock(&event.end)),
            (_, false, false) => "all day      ".to_owned(),
        };
        let mut text = format!("{when}  {}", event.title);
        if let Some(place) = event.place.as_deref().filter(|place| !place.is_empty()) {
            let _ = write!(text, " ({})", place.replace('\n', ", "));
        }
        let others: Vec<&str> = self.overlaps(event).iter().map(|other| other.title.as_str()).collect();
        if !others.is_empty() {
            let _ = write!(text, "  ! overlaps with {}", others.join(", "));
        }
        let at = (!event.is_all_day && is_first).then(|| event.start.clone());
        Some(Line { at, text })
    }
}

fn reminder_text(reminder: &Reminder) -> String {
    let repeats = reminder.rrule.as_ref().map(|rule| format!(", {}", say_rule(rule))).unwrap_or_default();
    format!("{}          {}: {}{repeats}", clock(&reminder.due), reminder.kind.name(), reminder.text)
}

fn relation(date: Date, today: Date) -> &'static str {
    match date {
        date if date == today => ", today",
        date if today.tomorrow().is_ok_and(|tomorrow| tomorrow == date) => ", tomorrow",
        _ => "",
    }
}

fn clock(at: &Zoned) -> String {
    at.strftime("%H:%M").to_string()
}

fn iso(at: &Zoned) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
