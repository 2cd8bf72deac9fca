//! The events of a file.

use std::ops::Range;

use jiff::civil::DateTime;
use jiff::{Span, SpanFieldwise};

use super::lines::{Document, Line, unescape};
use super::stamp::{Stamp, read_duration};

/// One `VEVENT`: an event, or what one occurrence of it has become.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its `UID`; empty when the file forgets it.
    pub uid: String,
    /// Its `SUMMARY`.
    pub title: String,
    /// Its `LOCATION`.
    pub place: Option<String>,
    /// Its `DESCRIPTION`.
    pub notes: Option<String>,
    /// When it begins the first time.
    pub start: Stamp,
    /// How long it is.
    pub length: Length,
    /// Its `RRULE`, as written.
    pub rrule: Option<String>,
    /// Further beginnings.
    pub rdates: Vec<Stamp>,
    /// Beginnings that do not happen.
    pub exdates: Vec<Stamp>,
    /// The beginning that this one replaces.
    pub replaces: Option<Stamp>,
    /// Whether it was called off.
    pub is_cancelled: bool,
    /// From `BEGIN:VEVENT` to `END:VEVENT`.
    pub(super) lines: Range<usize>,
}

/// How long an event is.
#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    /// From its start to this end, on its own clocks.
    Until(Stamp),
    /// As written in `DURATION`.
    Lasts(SpanFieldwise),
}

/// The events of a text, and in words what cannot be read in it.
pub fn events(text: &str) -> (Vec<Event>, Vec<String>) {
    read(&Document::parse(text))
}

pub(super) fn read(document: &Document) -> (Vec<Event>, Vec<String>) {
    let (mut events, mut odd) = (Vec::new(), Vec::new());
    let mut start = None;
    // Names that are open inside of an event, such as `VALARM`; their lines say nothing about the event.
    let mut depth = 0_usize;
    for (i, line) in document.lines.iter().enumerate() {
        match (start, line.name.as_str()) {
            (None, "BEGIN") if line.is("BEGIN", "VEVENT") => (start, depth) = (Some(i), 0),
            (Some(_), "BEGIN") => depth += 1,
            (Some(_), "END") if depth > 0 => depth -= 1,
            (Some(from), "END") => {
                match event(&document.lines, from..i + 1) {
                    Ok(event) => events.push(event),
                    Err(why) => odd.push(why),
                }
                start = None;
            }
            _ => {}
        }
    }
    if start.is_some() {
        odd.push("an event has no end".to_owned());
    }
    if !document.lines.iter().any(|line| line.is("BEGIN", "VCALENDAR")) {
        odd.push("not a calendar".to_owned());
    }
    (events, odd)
}

/// The lines of an event that are its own, with their places.
pub(super) fn own_lines(lines: &[Line], range: Range<usize>) -> Vec<(usize, &Line)> {
    let (mut own, mut depth) = (Vec::new(), 0_usize);
    let inner = range.start + 1..range.end.saturating_sub(1);
    for (i, line) in lines.iter().enumerate().take(inner.end).skip(inner.start) {
        match line.name.as_str() {
            "BEGIN" => depth += 1,
            "END" => depth = depth.saturating_sub(1),
            _ if depth == 0 => own.push((i, line)),
            _ => {}
        }
    }
    own
}

fn event(lines: &[Line], range: Range<usize>) -> Result<Event, String> {
    let own = own_lines(lines, range.clone());
    let line = |name: &str| own.iter().find(|(_, line)| line.name == name).map(|(_, line)| *line);
    let text = |name: &str| line(name).map(|line| unescape(&line.value));
    let filled = |name: &str| text(name).filter(|text| !text.trim().is_empty());
    // A title is a line: one with more must not look like several things.
    let title = text("SUMMARY").unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let named = |why: String| format!("`{}`: {why}", title.chars().take(60).collect::<String>());
    let start = line("DTSTART").ok_or_else(|| named("it has no start".to_owned()))?;
    let start = Stamp::read_one(start).map_err(named)?;
    let length = match (line("DTEND"), line("DURATION")) {
        (Some(end), _) => Length::Until(Stamp::read_one(end).map_err(named)?),
        (None, Some(duration)) => Length::Lasts(read_duration(&duration.value).map_err(named)?.fieldwise()),
        (None, None) if start.is_day() => Length::Lasts(Span::new().days(1).fieldwise()),
        (None, None) => Length::Lasts(Span::new().fieldwise()),
    };
    let stamps = |name: &str| {
        let lines = own.iter().filter(|(_, line)| line.name == name);
        let stamps: Result<Vec<Vec<Stamp>>, String> = lines.map(|(_, line)| Stamp::read_all(line)).collect();
        stamps.map(|stamps| stamps.concat()).map_err(named)
    };
    Ok(Event {
        uid: text("UID").unwrap_or_default().trim().to_owned(),
        place: filled("LOCATION"),
        notes: filled("DESCRIPTION"),
        length,
        rrule: line("RRULE").map(|line| line.value.trim().to_owned()).filter(|rule| !rule.is_empty()),
        rdates: stamps("RDATE")?,
        exdates: stamps("EXDATE")?,
        replaces: line("RECURRENCE-ID").map(Stamp::read_one).transpose().map_err(named)?,
        is_cancelled: line("STATUS").is_some_and(|line| line.is("STATUS", "CANCELLED")),
        lines: range,
        start,
        title,
    })
}

impl Event {
    /// When an occurrence ends that begins then, on the same clocks.
    pub(super) fn end_of(&self, start: &Stamp) -> Result<Stamp, String> {
        let add = |civil: DateTime, span: Span| civil.checked_add(span).map_err(|error| error.to_string());
        match &self.length {
            Length::Until(end) => {
                let length = end.civil_as(&self.start) - self.start.civil();
                let length = match length.signum() {
                    1 => length,
                    _ if start.is_day() => Span::new().days(1),
                    _ => Span::new(),
                };
                let civil = add(start.civil(), length)?;
                Ok(start.with_civil(civil))
            }
            // Days are days of the clock; hours, minutes and seconds pass as they do.
            Length::Lasts(span) => match start {
                Stamp::At(civil, zone) => {
                    let moment = zone.to_zoned(*civil).map_err(|error| error.to_string())?;
                    let end = moment.checked_add(span.0).map_err(|error| error.to_string())?;
                    Ok(start.with_civil(end.datetime()))
                }
                _ => Ok(start.with_civil(add(start.civil(), span.0)?)),
            },
        }
    }

    /// Whether it happens more than once.
    pub fn repeats(&self) -> bool {
        self.rrule.is_some() || !self.rdates.is_empty()
    }
}
