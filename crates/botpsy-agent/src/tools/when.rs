//! Times that a model gives, and times for the owner to read.

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Span, Timestamp, Unit, Zoned};

use super::args::problem;
use crate::ToolError;
use crate::store::ics::{check_rule, next_after};
use crate::time::{self, Reading};

/// A time that something begins, and what the words said besides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Start {
    pub(super) at: Zoned,
    /// The end, if the words named one: of whole days, the day after the last one.
    pub(super) end: Option<Zoned>,
    /// Whether whole days were named, and no hour.
    pub(super) is_days: bool,
    pub(super) rrule: Option<String>,
}

/// When something begins.
///
/// # Errors
/// If only the owner can say it.
pub(super) fn start(text: &str, now: &Zoned) -> Result<Start, ToolError> {
    let at =
        |at: Zoned| Start { at: at.with_time_zone(now.time_zone().clone()), end: None, is_days: false, rrule: None };
    match read(text, now) {
        Reading::Instant(moment) => Ok(at(moment)),
        Reading::Range(from, to) => {
            let is_days = is_midnight(&from) && is_midnight(&to);
            // `3 to 5 pm` is a start and an end; `tomorrow afternoon` and `next week` are only about then.
            let is_long = to.duration_since(&from) > SignedDuration::from_hours(24 * 4);
            match !text.contains(|c: char| c.is_ascii_digit()) && (!is_days || is_long) {
                true => Err(vague(text, is_long)),
                false => Ok(Start { end: Some(to), is_days, ..at(from) }),
            }
        }
        Reading::Recurrence { first, rrule, length: Some(length) } => {
            let end = first.checked_add(length).map_err(|error| unknown(text, &error.to_string()))?;
            Ok(Start { rrule: Some(rrule), end: Some(end), ..at(first) })
        }
        Reading::Recurrence { first, rrule, length: None } => {
            let is_days = is_midnight(&first) && !rrule.starts_with("FREQ=HOURLY") && !text.contains("midnight");
            let end = is_days.then(|| first.checked_add(Span::new().days(1)).ok()).flatten();
            Ok(Start { rrule: Some(rrule), end, is_days, ..at(first) })
        }
        Reading::Duration(length) => now.checked_add(length).map(at).map_err(|error| unknown(text, &error.to_string())),
        Reading::Ambiguous { question, choices } => Err(ambiguous(question, &choices)),
        Reading::Unknown { reason } => Err(unknown(text, &reason)),
    }
}

/// When something ends that begins at `begin`: an hour alone is the next one after it, every other time is counted from now.
///
/// # Errors
/// If only the owner can say it.
pub(super) fn end(text: &str, begin: &Zoned, now: &Zoned) -> Result<Start, ToolError> {
    if !is_clock(text) {
        return start(text, now);
    }
    let span = format!("{} to {}", begin.strftime("%H:%M"), text.trim().trim_start_matches("at "));
    match read(&span, begin) {
        Reading::Range(from, to) if from == *begin => Ok(Start { at: to, end: None, is_days: false, rrule: None }),
        _ => start(text, begin),
    }
}

/// One moment, to the minute or better.
///
/// # Errors
/// If only the owner can say it.
pub(super) fn moment(text: &str, now: &Zoned) -> Result<Start, ToolError> {
    let start = start(text, now)?;
    match start.end {
        None => Ok(start),
        Some(_) => Err(vague(text, false)),
    }
}

/// From one moment to another; a moment stands for its day.
///
/// # Errors
/// If only the owner can say it.
pub(super) fn span(text: &str, now: &Zoned) -> Result<(Zoned, Zoned), ToolError> {
    if let Reading::Range(from, to) = read(text, now) {
        return Ok((from, to));
    }
    let start = start(text, now)?;
    if let Some(end) = start.end {
        return Ok((start.at, end));
    }
    let day = start.at.start_of_day();
    let day = day.and_then(|day| Ok((day.clone(), day.checked_add(Span::new().days(1))?)));
    day.map_err(|error| unknown(text, &error.to_string()))
}

/// How long.
///
/// # Errors
/// If it is no length of time.
pub(super) fn duration(name: &str, text: &str, now: &Zoned) -> Result<SignedDuration, ToolError> {
    let ask = || Err(ToolError::Ask { question: format!("How long is `{text}`?") });
    let read = match text.trim().trim_start_matches("in ").parse::<SignedDuration>() {
        Ok(length) => length,
        // A number without a unit would be read as an hour of the day.
        Err(_) if !text.contains(char::is_alphabetic) => return ask(),
        Err(_) => match time::read(text, now) {
            Reading::Duration(length) => length,
            Reading::Instant(moment) => moment.duration_since(now),
            Reading::Ambiguous { question, choices } => return Err(ambiguous(question, &choices)),
            _ => return ask(),
        },
    };
    let is_sane = read >= SignedDuration::from_secs(1) && read <= SignedDuration::from_hours(24 * 366);
    if is_sane { Ok(read) } else { Err(problem(name, "it must be between a second and a year")) }
}

/// A rule for something that is to happen first at `first`, as it is said now, and the first time at or after it that the rule allows.
///
/// # Errors
/// If it is no rule.
pub(super) fn repeat(text: &str, first: &Zoned, now: &Zoned) -> Result<(String, Zoned), ToolError> {
    let normal = text.trim().to_lowercase();
    let plain = normal.strip_prefix("every ").unwrap_or(&normal);
    let rule = match plain {
        "daily" | "day" => "FREQ=DAILY".to_owned(),
        "weekly" | "week" => "FREQ=WEEKLY".to_owned(),
        "monthly" | "month" => "FREQ=MONTHLY".to_owned(),
        "yearly" | "annually" | "year" => "FREQ=YEARLY".to_owned(),
        "weekdays" | "weekday" | "working day" | "workday" => "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR".to_owned(),
        "weekend" | "weekends" => "FREQ=WEEKLY;BYDAY=SA,SU".to_owned(),
        _ if normal.starts_with("freq=") => normal.to_uppercase(),
        _ => match time::read(text, now) {
            Reading::Recurrence { rrule, .. } => rrule,
            Reading::Ambiguous { question, choices } => return Err(ambiguous(question, &choices)),
            _ => return Err(ToolError::Ask { question: format!("How often is `{text}`?") }),
        },
    };
    check_rule(&rule, first).map_err(|why| problem("repeat", &why))?;
    let before = first.checked_sub(SignedDuration::from_secs(1)).unwrap_or_else(|_| first.clone());
    match next_after(&rule, first, &before) {
        Some(first) => Ok((rule, first)),
        None => Err(problem("repeat", "by this rule it never happens")),
    }
}

/// Whether the words name an hour and no day.
pub(super) fn is_clock(text: &str) -> bool {
    let small = text.trim().to_lowercase();
    let small = small.strip_prefix("at ").unwrap_or(&small).replace(['.', ':', ' '], "");
    let rest = small.trim_start_matches(|c: char| c.is_ascii_digit());
    matches!(small.as_str(), "noon" | "midnight")
        || (small.len() > rest.len()
            && small.len() - rest.len() <= 4
            && matches!(rest, "" | "am" | "pm" | "o'clock" | "h"))
}

/// `Friday 4 December 2026, 15:00 (Europe/Berlin)`.
pub fn say(moment: &Zoned) -> String {
    let seconds = if moment.second() == 0 { "" } else { ":%S" };
    moment.strftime(&format!("%A %-d %B %Y, %H:%M{seconds} (%Q)")).to_string()
}

/// `Friday 4 December 2026, 15:00 to 16:00 (Europe/Berlin)`, or the days when it takes whole ones.
pub fn say_span(start: &Zoned, end: &Zoned, is_all_day: bool) -> String {
    let day = |moment: &Zoned| moment.strftime("%A %-d %B %Y").to_string();
    if is_all_day {
        let last = end.checked_sub(SignedDuration::from_secs(1)).unwrap_or_else(|_| end.clone());
        return match last.date() <= start.date() {
            true => format!("{}, all day", day(start)),
            false => format!("{} to {}, all day", day(start), day(&last)),
        };
    }
    if start == end {
        return say(start);
    }
    let end_text = if start.date() == end.date() { String::new() } else { format!("{}, ", day(end)) };
    format!("{}, {} to {end_text}{} ({})", day(start), clock(start), clock(end), start.strftime("%Q"))
}

/// A time in which several things happen.
pub(super) fn say_range(from: &Zoned, to: &Zoned) -> String {
    say_span(from, to, is_midnight(from) && is_midnight(to))
}

/// As machines write it, with the offset: `2026-12-04T15:00:00+01:00`.
pub(super) fn iso(moment: &Zoned) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// `15:00`.
pub(super) fn clock(moment: &Zoned) -> String {
    moment.strftime("%H:%M").to_string()
}

/// A length in words: `1 hour 30 minutes`.
pub(super) fn say_length(length: SignedDuration) -> String {
    let seconds = length.as_secs();
    let parts = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let word = |(n, unit): &(i64, &str)| format!("{n} {unit}{}", if *n == 1 { "" } else { "s" });
    parts.iter().filter(|(n, _)| *n > 0).map(word).collect::<Vec<_>>().join(" ")
}

/// A rule in words, as far as there are short ones: `every 2 weeks on Monday, Friday until 31 December 2026`.
pub fn say_rule(rule: &str) -> String {
    let part = |name: &str| rule.split(';').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let unit = match part("FREQ") {
        Some("DAILY") => "day",
        Some("WEEKLY") => "week",
        Some("MONTHLY") => "month",
        Some("YEARLY") => "year",
        Some("HOURLY") => "hour",
        _ => return format!("by the rule {rule}"),
    };
    let mut words = match part("INTERVAL") {
        None | Some("1") => format!("every {unit}"),
        Some(n) => format!("every {n} {unit}s"),
    };
    if let Some(days) = part("BYDAY") {
        words += &format!(" on {}", days.split(',').map(say_day).collect::<Vec<_>>().join(", "));
    }
    if let Some(days) = part("BYMONTHDAY") {
        words += &format!(" on day {}", days.replace(',', ", "));
    }
    if let Some(months) = part("BYMONTH") {
        words += &format!(" in month {}", months.replace(',', ", "));
    }
    if let Some(n) = part("COUNT") {
        words += &format!(", {n} times");
    }
    if let Some(date) = part("UNTIL").and_then(|until| Date::strptime("%Y%m%d", until.get(..8)?).ok()) {
        words += &format!(" until {}", date.strftime("%-d %B %Y"));
    }
    words
}

fn say_day(day: &str) -> String {
    let (nth, name) = day.split_at(day.len().saturating_sub(2).min(day.len()));
    let name = match name {
        "MO" => "Monday",
        "TU" => "Tuesday",
        "WE" => "Wednesday",
        "TH" => "Thursday",
        "FR" => "Friday",
        "SA" => "Saturday",
        "SU" => "Sunday",
        other => other,
    };
    match nth {
        "" => name.to_owned(),
        "1" | "+1" => format!("the first {name}"),
        "2" | "+2" => format!("the second {name}"),
        "3" | "+3" => format!("the third {name}"),
        "4" | "+4" => format!("the fourth {name}"),
        "-1" => format!("the last {name}"),
        nth => format!("{name} number {nth}"),
    }
}

/// Times as machines write them come first; words are read by [`time::read`].
fn read(text: &str, now: &Zoned) -> Reading {
    let text = text.trim();
    let both = text.split_once('/').and_then(|(from, to)| Some((machine(from, now)?, machine(to, now)?)));
    if let Some((Reading::Range(from, _) | Reading::Instant(from), to)) = both {
        return match to {
            Reading::Range(_, to) | Reading::Instant(to) if from < to => Reading::Range(from, to),
            _ => Reading::Unknown { reason: "it ends before it begins".to_owned() },
        };
    }
    machine(text, now).unwrap_or_else(|| time::read(text, now))
}

fn machine(text: &str, now: &Zoned) -> Option<Reading> {
    let zone = now.time_zone();
    let year = text.split('-').next().unwrap_or_default();
    if year.len() < 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) || !text.contains('-') {
        return None;
    }
    if let Ok(date) = Date::strptime("%Y-%m-%d", text) {
        let from = date.to_zoned(zone.clone()).ok()?;
        return Some(Reading::Range(from.clone(), from.checked_add(Span::new().days(1)).ok()?));
    }
    if let Ok(moment) = text.parse::<Zoned>() {
        return Some(Reading::Instant(moment.with_time_zone(zone.clone())));
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(Reading::Instant(moment.to_zoned(zone.clone())));
    }
    let civil: DateTime = text.parse().ok()?;
    // An hour that the clocks skip or show twice is asked about, as in words.
    let moment = zone.to_ambiguous_zoned(civil).unambiguous().ok()?;
    Some(Reading::Instant(moment.round(Unit::Second).ok()?))
}

fn is_midnight(moment: &Zoned) -> bool {
    moment.start_of_day().is_ok_and(|start| start == *moment)
}

fn vague(text: &str, is_long: bool) -> ToolError {
    let what = if is_long { "On which day, and at what time" } else { "At what time" };
    ToolError::Ask { question: format!("{what}, for `{text}`?") }
}

fn ambiguous(question: String, choices: &[Zoned]) -> ToolError {
    if choices.is_empty() {
        return ToolError::Ask { question };
    }
    let say_day = |day: &Zoned| day.strftime("%A %-d %B %Y").to_string();
    let is_days = choices.iter().all(is_midnight);
    let is_twice = |choice: &Zoned| choices.iter().filter(|other| say(other) == say(choice)).count() > 1;
    let say_one = |choice: &Zoned| match (is_days, is_twice(choice)) {
        (true, _) => say_day(choice),
        (_, true) => format!("{}, {}", say(choice), choice.strftime("UTC%:z")),
        (_, false) => say(choice),
    };
    let choices: Vec<String> = choices.iter().map(say_one).collect();
    ToolError::Ask { question: format!("{question} ({})", choices.join("; or ")) }
}

fn unknown(text: &str, reason: &str) -> ToolError {
    ToolError::Ask { question: format!("When is `{text}`? ({reason})") }
}
