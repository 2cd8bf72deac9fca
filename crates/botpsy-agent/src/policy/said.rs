//! Times that the owner said, and whether a value is one of them.

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};

use crate::time::{self, Reading};

use super::text::{normalize, words};

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A day, as exactly as it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Day {
    year: Option<i16>,
    month: i8,
    day: i8,
}

/// What a text says about times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    days: Vec<Day>,
    weekdays: Vec<usize>,
    /// Minutes since midnight, for each time what it may mean; a bare hour up to twelve has both halves of the day.
    minutes: Vec<Vec<u16>>,
    instants: Vec<Zoned>,
    /// Days and longer times, in which any moment is as good.
    ranges: Vec<(Zoned, Zoned)>,
    words: Vec<String>,
    /// Whether anything was said to happen again and again.
    repeats: bool,
}

/// Words of what happens again and again.
const AGAIN: [&str; 14] = [
    "every",
    "each",
    "daily",
    "weekly",
    "monthly",
    "yearly",
    "annually",
    "weekdays",
    "weekends",
    "hourly",
    "nightly",
    "repeat",
    "repeating",
    "recurring",
];

/// Whether a value says that something happens again and again.
pub(crate) fn is_repeated(value: &str) -> bool {
    let text = normalize(value);
    text.starts_with("freq=") || words(&text).any(|word| AGAIN.contains(&word))
}

impl Said {
    /// Whether anything was said to happen again and again.
    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Adds what a text of the owner says.
    pub(crate) fn add(&mut self, text: &str, now: &Zoned) {
        for (_, reading) in time::find(text, now) {
            match reading {
                Reading::Instant(at) => self.instants.push(at),
                Reading::Range(from, to) => {
                    self.instants.extend([from.clone(), to.clone()]);
                    self.ranges.push((from, to));
                }
                Reading::Recurrence { first, length, .. } => {
                    self.instants.extend(length.and_then(|length| first.checked_add(length).ok()));
                    self.instants.push(first);
                    self.repeats = true;
                }
                Reading::Ambiguous { choices, .. } => self.instants.extend(choices),
                Reading::Duration(_) | Reading::Unknown { .. } => {}
            }
        }
        self.repeats |= is_repeated(text);
        let text = normalize(text);
        self.words.extend(words(&text).map(str::to_owned));
        let read = scan(&text, now);
        self.days.extend(read.days);
        self.weekdays.extend(read.weekdays);
        self.minutes.extend(read.minutes);
    }
}

/// Whether a value that is all that a call says of time has an hour and no day, where the owner named a day: the hour alone is
/// another moment, unless it comes to one of those that were said.
pub(crate) fn lost_its_day(value: &str, said: &Said, now: &Zoned) -> bool {
    let read = scan(&normalize(value), now);
    let has_day = !read.days.is_empty() || !read.weekdays.is_empty();
    let named_day = !said.days.is_empty() || !said.weekdays.is_empty();
    let Reading::Instant(at) = time::read(value, now) else { return false };
    let is_said = said.instants.iter().any(|said| said.timestamp() == at.timestamp());
    !has_day && named_day && !is_said && !said.ranges.iter().any(|(from, to)| *from <= at && at < *to)
}

/// Whether a value is a time that the owner said. A day said without a time of day stands for any time of that day; a value
/// that says less than the owner did is fine.
pub(crate) fn same_time(value: &str, said: &Said, now: &Zoned) -> bool {
    let text = normalize(value);
    let read = scan(&text, now);
    if !end_is_said(value, said, now) {
        return false;
    }
    let exact = |at: &Zoned| {
        let weekday = usize::from(at.weekday().to_monday_zero_offset() as u8);
        let same_day =
            read.days.iter().all(|day| fits(*day, at.date())) && read.weekdays.iter().all(|day| *day == weekday);
        let minute = at.time().hour() as u16 * 60 + at.time().minute() as u16;
        !(read.days.is_empty() && read.minutes.is_empty())
            && same_day
            && read.minutes.iter().all(|may_be| may_be.contains(&minute))
    };
    if said.instants.iter().any(exact) {
        return true;
    }
    if read.days.is_empty() && read.weekdays.is_empty() && read.minutes.is_empty() {
        let mut parts = words(&text).peekable();
        return parts.peek().is_some() && parts.all(|word| said.words.iter().any(|said| said == word));
    }
    let days = read.days.iter().all(|day| said.days.iter().any(|said| same_day(*day, *said)) || on_weekday(*day, said));
    let weekdays = read
        .weekdays
        .iter()
        .all(|day| said.weekdays.contains(day) || said.days.iter().any(|said| weekday_of(*said) == Some(*day)));
    let is_said = |minute: &u16| said.minutes.iter().flatten().any(|said| said == minute);
    let minutes = read.minutes.iter().all(|may_be| may_be.iter().any(is_said));
    // A time of day that nobody spoke of is the model's own; the day must then be the owner's.
    let free_minutes = said.minutes.is_empty() && !read.days.is_empty();
    days && weekdays && (minutes || free_minutes)
}

/// Whether the hour at which a span ends, if the value is one, was spoken of.
fn end_is_said(value: &str, said: &Said, now: &Zoned) -> bool {
    let Reading::Range(_, to) = time::read(value, now) else { return true };
    let minute_of = |at: &Zoned| at.time().hour() as u16 * 60 + at.time().minute() as u16;
    let end = minute_of(&to);
    let is_end = |minute: u16| minute == end;
    end == 0 || said.minutes.iter().flatten().copied().any(is_end) || said.instants.iter().map(minute_of).any(is_end)
}

fn fits(day: Day, date: Date) -> bool {
    day.month == date.month() && day.day == date.day() && day.year.is_none_or(|year| year == date.year())
}

fn same_day(a: Day, b: Day) -> bool {
    let same_year = a.year.is_none() || b.year.is_none() || a.year == b.year;
    (a.month, a.day) == (b.month, b.day) && same_year
}

fn weekday_of(day: Day) -> Option<usize> {
    let date = Date::new(day.year?, day.month, day.day).ok()?;
    Some(usize::from(date.weekday().to_monday_zero_offset() as u8))
}

/// A date on a weekday that was named, within the next two weeks of what was said: the owner may mean this or the next one.
fn on_weekday(day: Day, said: &Said) -> bool {
    weekday_of(day).is_some_and(|weekday| said.weekdays.contains(&weekday)) && said.days.is_empty()
}

fn scan(text: &str, now: &Zoned) -> Said {
    let mut said = Said::default();
    let separated = text.replace('t', " t");
    // `2024-05-19t12:00` has its parts at the letter.
    let iso = if text.contains("t0") || text.contains("t1") || text.contains("t2") {
        separated.replace(" t0", " 0").replace(" t1", " 1").replace(" t2", " 2")
    } else {
        text.to_owned()
    };
    let pieces: Vec<&str> =
        iso.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '\'' | '?' | '!')).collect();
    let pieces: Vec<&str> =
        pieces.iter().map(|piece| piece.trim_end_matches('.')).filter(|piece| !piece.is_empty()).collect();
    for (i, piece) in pieces.iter().enumerate() {
        let after = |n: usize| pieces.get(i + n).copied().unwrap_or_default();
        let before = i.checked_sub(1).and_then(|i| pieces.get(i)).copied().unwrap_or_default();
        said.days.extend(iso_day(piece));
        let day = if before == "of" {
            i.checked_sub(2).and_then(|i| pieces.get(i)).copied().unwrap_or_default()
        } else {
            before
        };
        said.days.extend(named_day(day, piece, after(1), after(2)));
        said.days.extend(relative_day(piece, now));
        said.weekdays.extend(weekday(piece));
        let times = [minutes(before, piece, after(1)), past(before, piece, after(1))];
        said.minutes.extend(times.into_iter().filter(|may_be| !may_be.is_empty()));
    }
    said
}

fn iso_day(piece: &str) -> Option<Day> {
    let parts: Vec<&str> = piece.splitn(3, '-').collect();
    let [year, month, day] = parts[..] else { return None };
    let day = day.get(..2).unwrap_or(day);
    let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    Some(Day { year: Some(date.year()), month: date.month(), day: date.day() })
}

/// `may 15th 2024`, `15th of may`, `15 may 2024`.
fn named_day(before: &str, piece: &str, after: &str, after_that: &str) -> Option<Day> {
    let month = month(piece)?;
    let year = |text: &str| text.parse::<i16>().ok().filter(|year| (1900..2200).contains(year));
    if let Some(day) = ordinal(after) {
        return Some(Day { year: year(after_that), month, day });
    }
    ordinal(before).map(|day| Day { year: year(after), month, day })
}

fn month(piece: &str) -> Option<i8> {
    let full = |i: usize| jiff::civil::date(2000, i as i8 + 1, 1).strftime("%B").to_string().to_lowercase();
    let at = MONTHS.iter().position(|short| piece.starts_with(short))?;
    (piece == MONTHS[at] || piece == full(at) || piece == "sept").then_some(at as i8 + 1)
}

fn ordinal(piece: &str) -> Option<i8> {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| piece.strip_suffix(end)).unwrap_or(piece);
    number.parse().ok().filter(|day| (1..=31).contains(day))
}

fn relative_day(piece: &str, now: &Zoned) -> Option<Day> {
    let days = match piece {
        "today" | "tonight" => 0,
        "tomorrow" => 1,
        _ => return None,
    };
    let date = now.date().checked_add(days.days()).ok()?;
    Some(Day { year: Some(date.year()), month: date.month(), day: date.day() })
}

fn weekday(piece: &str) -> Option<usize> {
    let at = DAYS.iter().position(|short| piece.starts_with(short))?;
    let full = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"][at];
    let day = piece.trim_end_matches("'s").trim_end_matches('s');
    (day == full || piece == DAYS[at] || matches!(piece, "tues" | "wednes" | "thurs")).then_some(at)
}

/// The hour that a piece begins with, as digits or as a word.
fn hour(piece: &str) -> Option<u16> {
    const HOURS: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let named = HOURS.iter().position(|name| *name == piece).map(|at| at as u16 + 1);
    named.or_else(|| piece.parse().ok())
}

/// `half past seven`, `quarter to 8`, in both halves of the day.
fn past(before: &str, piece: &str, after: &str) -> Vec<u16> {
    let minutes = match (before, piece) {
        ("half", "past") => 30,
        ("quarter", "past") => 15,
        ("quarter", "to") => 45,
        _ => return Vec::new(),
    };
    let Some(hour) = hour(after).filter(|hour| (1..=12).contains(hour)) else { return Vec::new() };
    let hour = if piece == "to" { hour + 11 } else { hour };
    vec![hour % 12 * 60 + minutes, (hour % 12 + 12) * 60 + minutes]
}

/// `15:00`, `3pm`, `3 pm`, `3:30 pm`, `at 7`, `noon`.
fn minutes(before: &str, piece: &str, after: &str) -> Vec<u16> {
    match piece {
        "noon" | "midday" => return vec![720],
        "midnight" => return vec![0],
        _ => {}
    }
    let (clock, half) = match (piece.strip_suffix("am"), piece.strip_suffix("pm")) {
        (Some(clock), _) => (clock, Some(0)),
        (_, Some(clock)) => (clock, Some(12)),
        _ => (
            piece,
            match after {
                "am" | "a.m" => Some(0),
                "pm" | "p.m" => Some(12),
                _ => None,
            },
        ),
    };
    let mut parts = clock.split(':');
    let hour = parts.next().and_then(hour);
    let minute = parts.next().map(|minute| minute.get(..2).unwrap_or(minute).parse::<u16>().ok());
    let (Some(hour), minute) = (hour, minute) else { return Vec::new() };
    let minute = match minute {
        Some(Some(minute)) if minute < 60 => minute,
        None if half.is_some()
            || after.starts_with("o'clock")
            || after == "o"
            || matches!(before, "at" | "by" | "until" | "from" | "around") =>
        {
            0
        }
        _ => return Vec::new(),
    };
    match half {
        Some(half) if (1..=12).contains(&hour) => vec![(hour % 12 + half) * 60 + minute],
        None if hour < 24 && (hour == 0 || hour > 12 || clock.starts_with('0')) => vec![hour * 60 + minute],
        // Nobody said which half of the day.
        None if hour <= 12 => vec![hour % 12 * 60 + minute, (hour % 12 + 12) * 60 + minute],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, text: &str, expected: bool) {
        let now: Zoned = "2024-05-15T09:00:00[UTC]".parse().unwrap();
        let mut said = Said::default();
        said.add(text, &now);
        assert_eq!(same_time(value, &said, &now), expected, "{value} in {text}");
    }

    #[test]
    fn times_are_the_same_however_they_are_written() {
        check("15:00", "the dentist on Friday at 3 pm.", true);
        check("Friday", "the dentist on Friday at 3 pm.", true);
        check("07:30", "alarm for 7:30 tomorrow", true);
        check("2024-05-19 12:00", "Am I free at 12:00 on 2024-05-19?", true);
        check("2024-05-19T12:00:00", "Am I free at 12:00 on 2024-05-19?", true);
        check("2025-01-02 00:00", "on January 2nd 2025 to remind me", true);
        check("2023-11-14 18:00", "for the 14th of November to", true);
        check("2024-05-16", "do it tomorrow", true);
        check("18:00", "on Sunday at 18:00", true);
        check("07:30", "wake me at half past seven", true);
        check("07:45", "a quarter to eight", true);
        check("19:00", "at seven", true);
        check("12:00", "tomorrow at noon", true);
        check("7:30", "at 7:30 pm", true);
        check("2024-05-19", "lunch on Sunday", true);
        for value in ["from 3 to 4", "3 to 4", "3 pm", "4 pm", "15:00", "2024-05-17 15:00", "2024-05-17T16:00:00"] {
            check(value, "a meeting on Friday from 3 to 4", true);
        }
    }

    #[test]
    fn other_times_are_not() {
        check("16:00", "the dentist on Friday at 3 pm.", false);
        check("2024-05-30 10:20", "at 12:00 on 2024-05-19", false);
        check("2023-04-25 09:00", "on April 25th 2024", false);
        check("08:00", "alarm for 7:30 tomorrow", false);
        check("Saturday at 10 am", "add the vet on Thursday at 10 am", false);
        for value in ["5 pm", "from 3 to 5", "2024-05-17T17:00:00"] {
            check(value, "a meeting on Friday from 3 to 4", false);
        }
        check("", "anything", false);
        check("2024-05-30", "Check my mail", false);
    }
}
