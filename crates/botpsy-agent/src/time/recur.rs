//! Recurrences as rules of RFC 5545, with their first time.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};

use super::Reading;
use super::ast::{By, Frequency, Length, Repeat};
use super::choice::Choice;
use super::dates::{TOO_FAR, add, later};
use super::hours::{DAY, hours, pair};
use super::resolve::{Extent, chosen, context, extents, plainly_at, zones};

/// Leap days are at most eight years apart.
const MAX_DAYS: i64 = 366 * 9;

/// What comes again, from now on.
pub(super) fn reading(repeat: &Repeat, now: &Zoned) -> Reading {
    match resolved(repeat, now) {
        Ok(reading) => reading,
        Err(reason) => Reading::Unknown { reason },
    }
}

fn resolved(repeat: &Repeat, now: &Zoned) -> Result<Reading, String> {
    let mut zones = zones(repeat.zone.as_ref(), now)?;
    if zones.items.len() > 1 {
        let question = zones.question.unwrap_or_default();
        return Ok(Reading::Ambiguous { question, choices: Vec::new() });
    }
    let zone = zones.items.swap_remove(0);
    let here = now.with_time_zone(zone.clone());
    let start = match &repeat.start {
        None => None,
        Some(when) => match one(extents(when, &context(when, now))?, now) {
            Ok(extent) => Some(extent.from.with_time_zone(zone.clone())),
            Err(question) => return Ok(question),
        },
    };
    let ends = repeat.clock.as_ref().zip(repeat.end.as_ref());
    let pair = ends.map(|(clock, end)| pair(clock, end, repeat.part)).transpose()?;
    let first = first(repeat, pair.map(|(begin, _)| begin), start.as_ref(), &here)?;
    let mut rrule = rule(repeat)?;
    if let Some(when) = &repeat.until {
        let extent = match one(extents(when, &context(when, now))?, now) {
            Ok(extent) => extent,
            Err(question) => return Ok(question),
        };
        // The end of a day is left out of the day.
        let last = match &extent.to {
            Some(to) => to.checked_sub(SignedDuration::from_secs(1)).map_err(|_| TOO_FAR.to_owned())?,
            None => extent.from,
        };
        if last < first {
            return Err("that ends before it starts".to_owned());
        }
        rrule.push_str(&format!(";UNTIL={}", last.with_time_zone(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ")));
    }
    if let Some(count) = repeat.count {
        rrule.push_str(&format!(";COUNT={count}"));
    }
    let length = pair.map(|(begin, end)| SignedDuration::from_secs(end - begin));
    Ok(Reading::Recurrence { first, rrule, length })
}

/// The one extent, or the question as the answer.
fn one(choice: Choice<Extent>, now: &Zoned) -> Result<Extent, Reading> {
    match &choice.items[..] {
        [extent] => Ok(extent.clone()),
        _ => Err(chosen(choice, now.time_zone())),
    }
}

/// The first time at or after now, and not before the start. `begin` is the time of day where an end was said too.
fn first(repeat: &Repeat, begin: Option<i64>, start: Option<&Zoned>, now: &Zoned) -> Result<Zoned, String> {
    let after = start.filter(|start| *start > now).unwrap_or(now);
    let interval = i64::from(repeat.interval);
    let by_clock = |seconds: i64| {
        let length = Length { seconds: interval.saturating_mul(seconds), ..Length::default() };
        start.map_or_else(|| later(now, length), |start| Ok(start.clone()))
    };
    match (repeat.frequency, &repeat.clock) {
        (Frequency::Hourly, None) => return by_clock(3600),
        (Frequency::Minutely, None) => return by_clock(60),
        (Frequency::Secondly, None) => return by_clock(1),
        _ => {}
    }
    let seconds = match (&repeat.clock, repeat.part) {
        _ if begin.is_some() => begin.unwrap_or_default().rem_euclid(DAY),
        (Some(clock), part) => hours(clock, part)?.likely.rem_euclid(DAY),
        (None, Some(part)) => i64::from(part.hours().0) * 3600,
        (None, None) => 0,
    };
    let from = after.date();
    for days in 0..MAX_DAYS {
        let date = add(from, days)?;
        if !is_on(&repeat.by, date) {
            continue;
        }
        let time = plainly_at(date, seconds, after.time_zone())?;
        if time >= *after {
            return Ok(time);
        }
    }
    Err("no day of the calendar is that".to_owned())
}

fn is_on(by: &By, date: Date) -> bool {
    let nth = |nth: i8, weekday: Weekday| date.nth_weekday_of_month(nth, weekday).is_ok_and(|found| found == date);
    match by {
        By::Any => true,
        By::Weekdays(weekdays) => weekdays.contains(&date.weekday()),
        By::MonthDays(days) => days.iter().any(|day| match day {
            -1 => date == date.last_of_month(),
            day => date.day() == *day,
        }),
        By::Nth(place, weekday) => nth(*place, *weekday),
        By::Date(month, day) => (date.month(), date.day()) == (*month, *day),
        By::NthIn(place, weekday, month) => date.month() == *month && nth(*place, *weekday),
    }
}

/// The rule without its start and end.
fn rule(repeat: &Repeat) -> Result<String, String> {
    let frequency = match repeat.frequency {
        Frequency::Secondly => "SECONDLY",
        Frequency::Minutely => "MINUTELY",
        Frequency::Hourly => "HOURLY",
        Frequency::Daily => "DAILY",
        Frequency::Weekly => "WEEKLY",
        Frequency::Monthly => "MONTHLY",
        Frequency::Yearly => "YEARLY",
    };
    let mut rule = format!("FREQ={frequency}");
    match repeat.interval {
        0 => return Err("never is not again and again".to_owned()),
        1 => {}
        // Calendars keep it in 16 bits.
        interval if interval > 10_000 => return Err(TOO_FAR.to_owned()),
        interval => rule.push_str(&format!(";INTERVAL={interval}")),
    }
    rule.push_str(&match &repeat.by {
        By::Any => String::new(),
        By::Weekdays(weekdays) => format!(";BYDAY={}", list(weekdays, |weekday| short(*weekday).to_owned())),
        By::MonthDays(days) => format!(";BYMONTHDAY={}", list(days, ToString::to_string)),
        By::Nth(nth, weekday) => format!(";BYDAY={nth}{}", short(*weekday)),
        By::Date(month, day) => format!(";BYMONTH={month};BYMONTHDAY={day}"),
        By::NthIn(nth, weekday, month) => format!(";BYMONTH={month};BYDAY={nth}{}", short(*weekday)),
    });
    Ok(rule)
}

fn list<T>(items: &[T], told: impl Fn(&T) -> String) -> String {
    items.iter().map(told).collect::<Vec<_>>().join(",")
}

fn short(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}
