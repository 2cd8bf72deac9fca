//! Texts of events: new ones, and those of others, changed where asked and nowhere else.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::{DateTime, Weekday};
use jiff::{Span, Zoned};
use sha2::{Digest, Sha256};

use super::event::{self, Event, own_lines};
use super::lines::{Document, Line, escape};
use super::stamp::Stamp;
use super::vtimezone::vtimezone;

/// An event that is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Its `UID`.
    pub uid: String,
    /// Its title.
    pub title: String,
    /// When it begins.
    pub start: Stamp,
    /// When it ends; of whole days, the day after the last one.
    pub end: Stamp,
    /// Where it is.
    pub place: Option<String>,
    /// What else is to be known.
    pub notes: Option<String>,
    /// As it stands after `RRULE:`.
    pub rrule: Option<String>,
}

/// What is to be changed of an event; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amend {
    /// Its title.
    pub title: Option<String>,
    /// When it begins and ends.
    pub times: Option<(Stamp, Stamp)>,
    /// Where it is.
    pub place: Option<String>,
}

/// The text of a file with this event alone, written at `now`.
pub fn compose(new: &NewEvent, now: &Zoned) -> String {
    let mut document = Document::default();
    let mut put = |head: &str, value: &str| document.lines.push(Line::new(head, value, "\r\n"));
    put("BEGIN", "VCALENDAR");
    put("VERSION", "2.0");
    put("PRODID", "-//BotPsy//BotPsy//EN");
    put("BEGIN", "VEVENT");
    put("UID", &escape(&new.uid));
    put("DTSTAMP", &utc(now));
    for (name, stamp) in [("DTSTART", &new.start), ("DTEND", &new.end)] {
        let (params, value) = stamp.write();
        put(&format!("{name}{params}"), &value);
    }
    let texts = [("SUMMARY", Some(&new.title)), ("LOCATION", new.place.as_ref()), ("DESCRIPTION", new.notes.as_ref())];
    for (name, text) in texts {
        if let Some(text) = text {
            put(name, &escape(text));
        }
    }
    if let Some(rule) = &new.rrule {
        put("RRULE", rule);
    }
    put("END", "VEVENT");
    put("END", "VCALENDAR");
    describe_zone(&mut document, &new.start);
    describe_zone(&mut document, &new.end);
    document.text()
}

/// The text with an event changed: all of it, or only the occurrence that begins at `key`.
///
/// # Errors
/// In words, if it is not there, or if its rule does not allow the change.
pub fn amend(text: &str, uid: &str, key: Option<&Stamp>, change: &Amend, now: &Zoned) -> Result<String, String> {
    let mut document = Document::parse(text);
    let end = document.line_end();
    let (events, _) = event::read(&document);
    let of_uid: Vec<&Event> = events.iter().filter(|event| is_named(event, uid)).collect();
    let master = of_uid.iter().find(|event| event.replaces.is_none());
    let exception = key.and_then(|key| of_uid.iter().find(|event| is_at(event, key)));
    let (range, mut block) = match (key, exception, master) {
        (Some(_), Some(event), _) => (event.lines.clone(), document.lines[event.lines.clone()].to_vec()),
        (Some(key), None, Some(master)) => {
            (master.lines.end..master.lines.end, occurrence_block(&document, master, key, end)?)
        }
        (None, _, Some(master)) => (master.lines.clone(), document.lines[master.lines.clone()].to_vec()),
        _ => return Err("the event is not there any more".to_owned()),
    };
    if let (None, Some(master), Some((start, _))) = (key, master, &change.times)
        && master.repeats()
    {
        shift_series(&mut block, master, start, end)?;
    }
    change_block(&mut block, change, now, end);
    let shift = match (key, master, &change.times) {
        (None, Some(master), Some((start, _))) => start.civil_as(&master.start) - master.start.civil(),
        _ => Span::new(),
    };
    if !shift.is_zero() {
        shift_exceptions(&mut document, &of_uid, shift, end)?;
    }
    document.lines.splice(range, block);
    if let Some((start, end)) = &change.times {
        describe_zone(&mut document, start);
        describe_zone(&mut document, end);
    }
    Ok(document.text())
}

/// The text with one occurrence taken out of an event that repeats.
///
/// # Errors
/// In words, if the event is not there.
pub fn exclude(text: &str, uid: &str, key: &Stamp) -> Result<String, String> {
    let mut document = Document::parse(text);
    let end = document.line_end();
    let (events, _) = event::read(&document);
    let of_uid = || events.iter().filter(|event| is_named(event, uid));
    let mut ranges: Vec<Range<usize>> =
        of_uid().filter(|event| is_at(event, key)).map(|event| event.lines.clone()).collect();
    let master = of_uid().find(|event| event.replaces.is_none());
    if let Some(master) = master {
        let (params, value) = master.start.with_civil(key.civil()).write();
        let line = Line::new(&format!("EXDATE{params}"), &value, end);
        document.lines.insert(master.lines.end - 1, line);
        for range in ranges.iter_mut().filter(|range| range.start >= master.lines.end) {
            *range = range.start + 1..range.end + 1;
        }
    } else if ranges.is_empty() {
        return Err("the event is not there any more".to_owned());
    }
    drop_ranges(&mut document, ranges);
    Ok(document.text())
}

/// The text without an event, or `None` when no other event is left.
pub fn remove(text: &str, uid: &str) -> Option<String> {
    let mut document = Document::parse(text);
    let (events, _) = event::read(&document);
    if events.iter().all(|event| is_named(event, uid)) {
        return None;
    }
    let ranges = events.iter().filter(|event| is_named(event, uid)).map(|event| event.lines.clone());
    drop_ranges(&mut document, ranges.collect());
    Some(document.text())
}

/// A text with many events as one text per `UID`, each with the zones that the whole has; an event without one is given one.
pub fn split(text: &str) -> (BTreeMap<String, String>, Vec<String>) {
    let document = Document::parse(text);
    let (events, odd) = event::read(&document);
    let zones = blocks(&document, "VTIMEZONE");
    let mut bodies: BTreeMap<String, (Vec<Line>, Vec<String>)> = BTreeMap::new();
    for event in &events {
        let mut lines = document.lines[event.lines.clone()].to_vec();
        let uid = if event.uid.is_empty() { named_by_content(&lines) } else { event.uid.clone() };
        if event.uid.is_empty() {
            set(&mut lines, "UID", "", &uid, "\r\n");
        }
        let used = lines.iter().filter_map(|line| line.param("TZID").map(str::to_owned)).collect::<Vec<_>>();
        let body = bodies.entry(uid).or_default();
        body.0.extend(lines);
        body.1.extend(used);
    }
    let file = |(lines, used): (Vec<Line>, Vec<String>)| {
        let head = [("BEGIN", "VCALENDAR"), ("VERSION", "2.0"), ("PRODID", "-//BotPsy//BotPsy//EN")];
        let mut all: Vec<Line> = head.iter().map(|(name, value)| Line::new(name, value, "\r\n")).collect();
        let is_used = |zone: &&[Line]| zone.iter().any(|line| line.name == "TZID" && used.contains(&line.value));
        all.extend(zones.iter().copied().filter(is_used).flatten().cloned());
        all.extend(lines);
        all.push(Line::new("END", "VCALENDAR", "\r\n"));
        Document { lines: all }.text().replace("\r\n", "\n").replace('\n', "\r\n")
    };
    (bodies.into_iter().map(|(uid, body)| (uid, file(body))).collect(), odd)
}

/// The lines of an occurrence as its event has them.
fn occurrence_block(document: &Document, master: &Event, key: &Stamp, end: &str) -> Result<Vec<Line>, String> {
    let mut block = document.lines[master.lines.clone()].to_vec();
    for name in ["RRULE", "RDATE", "EXDATE", "DURATION"] {
        drop_property(&mut block, name);
    }
    let start = master.start.with_civil(key.civil());
    let (params, value) = start.write();
    set(&mut block, "RECURRENCE-ID", &params, &value, end);
    set(&mut block, "DTSTART", &params, &value, end);
    let (params, value) = master.end_of(&start)?.write();
    set(&mut block, "DTEND", &params, &value, end);
    Ok(block)
}

fn change_block(block: &mut Vec<Line>, change: &Amend, now: &Zoned, end: &str) {
    for (name, text) in [("SUMMARY", &change.title), ("LOCATION", &change.place)] {
        if let Some(text) = text {
            set(block, name, "", &escape(text), end);
        }
    }
    if let Some((start, finish)) = &change.times {
        drop_property(block, "DURATION");
        for (name, stamp) in [("DTSTART", start), ("DTEND", finish)] {
            let (params, value) = stamp.write();
            set(block, name, &params, &value, end);
        }
    }
    set(block, "LAST-MODIFIED", "", &utc(now), end);
}

/// Brings the rule and the exceptions of an event along when all of it moves.
fn shift_series(block: &mut Vec<Line>, master: &Event, start: &Stamp, end: &str) -> Result<(), String> {
    if start.is_day() != master.start.is_day() {
        return Err("it repeats: make a new event instead of turning hours into days".to_owned());
    }
    let (from, to) = (master.start.civil(), start.civil_as(&master.start));
    if let Some(rule) = master.rrule.as_ref().filter(|_| from.date() != to.date()) {
        set(block, "RRULE", "", &shift_rule(rule, from.weekday(), to.weekday())?, end);
    }
    let shift = to - from;
    for (name, stamps) in [("EXDATE", &master.exdates), ("RDATE", &master.rdates)] {
        if stamps.is_empty() || shift.is_zero() {
            continue;
        }
        drop_property(block, name);
        for stamp in stamps {
            let civil = moved(stamp.civil(), shift)?;
            let (params, value) = stamp.with_civil(civil).write();
            let at = block.len() - 1;
            block.insert(at, Line::new(&format!("{name}{params}"), &value, end));
        }
    }
    Ok(())
}

/// The rule on another day: a weekly rule of one weekday moves; other rules that name days do not.
fn shift_rule(rule: &str, from: Weekday, to: Weekday) -> Result<String, String> {
    let (from, to) = (day_name(from), day_name(to));
    let parts: Vec<String> = rule.split(';').map(str::to_ascii_uppercase).collect();
    let names_days = |part: &&String| part.starts_with("BY");
    if parts.iter().filter(names_days).all(|part| *part == format!("BYDAY={from}")) {
        let moved = |part: &String| if part.starts_with("BY") { format!("BYDAY={to}") } else { part.clone() };
        return Ok(parts.iter().map(moved).collect::<Vec<_>>().join(";"));
    }
    Err("it repeats on several days: delete it and make a new event instead of moving it to another day".to_owned())
}

/// Occurrences that were changed one by one stay those of the same day.
fn shift_exceptions(document: &mut Document, events: &[&Event], shift: Span, end: &str) -> Result<(), String> {
    for event in events {
        let Some(key) = &event.replaces else { continue };
        let (params, value) = key.with_civil(moved(key.civil(), shift)?).write();
        let own = own_lines(&document.lines, event.lines.clone());
        if let Some((i, _)) = own.into_iter().find(|(_, line)| line.name == "RECURRENCE-ID") {
            document.lines[i] = Line::new(&format!("RECURRENCE-ID{params}"), &value, end);
        }
    }
    Ok(())
}

fn moved(civil: DateTime, shift: Span) -> Result<DateTime, String> {
    civil.checked_add(shift).map_err(|error| error.to_string())
}

/// An event that lacks a name answers to every one: it is the only one of its kind in its file.
fn is_named(event: &Event, uid: &str) -> bool {
    event.uid == uid || event.uid.is_empty()
}

fn is_at(event: &Event, key: &Stamp) -> bool {
    event.replaces.as_ref().is_some_and(|replaces| replaces.civil_as(key) == key.civil())
}

/// Makes a property of the event what is said; a property that it lacks comes last.
fn set(block: &mut Vec<Line>, name: &str, params: &str, value: &str, end: &str) {
    let line = Line::new(&format!("{name}{params}"), value, end);
    let own = own_lines(block, 0..block.len());
    let place = own.into_iter().find(|(_, line)| line.name == name).map(|(i, _)| i);
    match place {
        Some(i) => block[i] = line,
        None => block.insert(block.len().saturating_sub(1), line),
    }
}

fn drop_property(block: &mut Vec<Line>, name: &str) {
    let own = own_lines(block, 0..block.len());
    let places: Vec<usize> = own.into_iter().filter(|(_, line)| line.name == name).map(|(i, _)| i).collect();
    for i in places.into_iter().rev() {
        block.remove(i);
    }
}

fn drop_ranges(document: &mut Document, mut ranges: Vec<Range<usize>>) {
    ranges.sort_by_key(|range| range.start);
    for range in ranges.into_iter().rev() {
        document.lines.drain(range);
    }
}

/// Adds what the zone of a time is, where the file does not say it yet.
fn describe_zone(document: &mut Document, stamp: &Stamp) {
    let Stamp::At(civil, zone) = stamp else { return };
    let Ok(around) = zone.to_zoned(*civil) else { return };
    let described = vtimezone(&around);
    let Some(name) = described.get(1).and_then(|line| line.strip_prefix("TZID:")) else { return };
    if document.lines.iter().any(|line| line.name == "TZID" && line.value == name) {
        return;
    }
    let is_event = |line: &Line| line.is("BEGIN", "VEVENT");
    let (Some(at), end) = (document.lines.iter().position(is_event), document.line_end()) else { return };
    let lines = described.iter().filter_map(|line| line.split_once(':'));
    let lines: Vec<Line> = lines.map(|(head, value)| Line::new(head, value, end)).collect();
    document.lines.splice(at..at, lines);
}

fn blocks<'a>(document: &'a Document, name: &str) -> Vec<&'a [Line]> {
    let (mut blocks, mut start) = (Vec::new(), None);
    for (i, line) in document.lines.iter().enumerate() {
        if line.is("BEGIN", name) {
            start = Some(i);
        } else if line.is("END", name) {
            blocks.extend(start.take().map(|start: usize| &document.lines[start..=i]));
        }
    }
    blocks
}

fn named_by_content(lines: &[Line]) -> String {
    let text = Document { lines: lines.to_vec() }.text();
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).fold("botpsy-".to_owned(), |uid, byte| format!("{uid}{byte:02x}"))
}

fn day_name(day: Weekday) -> &'static str {
    ["MO", "TU", "WE", "TH", "FR", "SA", "SU"][day.to_monday_zero_offset() as usize % 7]
}

fn utc(now: &Zoned) -> String {
    now.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string()
}
