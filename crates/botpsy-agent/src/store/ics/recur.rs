//! When an event happens.
//!
//! Rules are unrolled on the clock of the event's zone, as if it had no summer time, and each reading of the clock is then found in
//! the zone: so a weekly event at 9:00 stays at 9:00 all the year.

use std::collections::HashSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rrule::RRuleSet;

use super::event::Event;
use super::stamp::Stamp;

/// An event that repeats more often than this, up to the time that is asked for, is not shown.
const MAX_OCCURRENCES: usize = 40_000;

/// A rule that is longer is none that anybody needs.
const MAX_RULE: usize = 500;

/// One time that an event happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// Names the event, and, where there are several, this occurrence of it: `UID` or `UID#20261204T150000`.
    pub id: String,
    /// Names the event.
    pub uid: String,
    /// Its title.
    pub title: String,
    /// Where it is.
    pub place: Option<String>,
    /// What else is written.
    pub notes: Option<String>,
    /// When it begins, on the owner's clocks.
    pub start: Zoned,
    /// When it ends, on the owner's clocks.
    pub end: Zoned,
    /// Whether it takes whole days.
    pub is_all_day: bool,
    /// The rule by which it repeats.
    pub rrule: Option<String>,
    /// The beginning by which the file knows it.
    pub key: Stamp,
}

/// The occurrences of an event (the `VEVENT`s of one `UID`) that overlap with the time from `from` up to `to`, by their starts;
/// and in words what cannot be understood. Times that name no zone are taken on the clocks of `from`.
pub fn occurrences(events: &[Event], from: &Zoned, to: &Zoned) -> (Vec<Occurrence>, Vec<String>) {
    let local = from.time_zone();
    let (mut found, mut odd) = (Vec::new(), Vec::new());
    let masters: Vec<&Event> = events.iter().filter(|event| event.replaces.is_none()).collect();
    let repeats = masters.iter().any(|master| master.repeats());
    let mut add = |event: &Event, start: &Stamp, key: &Stamp| match occurrence(event, start, key, repeats, local) {
        Ok(occurrence) => {
            let is_inside = if occurrence.start == occurrence.end {
                occurrence.start >= *from && occurrence.start < *to
            } else {
                occurrence.end > *from && occurrence.start < *to
            };
            if is_inside {
                found.push(occurrence);
            }
            Ok(())
        }
        Err(why) => Err(format!("`{}`: {why}", event.title)),
    };
    let exceptions: Vec<&Event> = events.iter().filter(|event| event.replaces.is_some()).collect();
    for master in masters.iter().filter(|master| !master.is_cancelled) {
        let replaced = exceptions.iter().filter_map(|event| Some(event.replaces.as_ref()?.civil_as(&master.start)));
        let replaced: HashSet<DateTime> = replaced.collect();
        match starts(master, to, local) {
            Ok(starts) => {
                for start in starts.into_iter().filter(|start| !replaced.contains(&start.civil())) {
                    odd.extend(add(master, &start, &start).err());
                }
            }
            Err(why) => odd.push(format!("`{}`: {why}", master.title)),
        }
    }
    for event in exceptions.into_iter().filter(|event| !event.is_cancelled) {
        let key = event.replaces.as_ref().unwrap_or(&event.start);
        let key = masters.first().map_or(key.clone(), |master| master.start.with_civil(key.civil_as(&master.start)));
        odd.extend(add(event, &event.start, &key).err());
    }
    found.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| a.end.cmp(&b.end)));
    (found, odd)
}

/// Checks a rule, as it stands after `RRULE:`, for something that begins then.
///
/// # Errors
/// In words.
pub fn check_rule(rule: &str, first: &Zoned) -> Result<(), String> {
    rule_set(rule, first.datetime(), first.time_zone()).map(drop)
}

/// The first time after `after` that something happens which began at `first` and repeats by `rule`.
pub fn next_after(rule: &str, first: &Zoned, after: &Zoned) -> Option<Zoned> {
    let zone = first.time_zone();
    let set = rule_set(rule, first.datetime(), zone).ok()??;
    let moments = set.limit().into_iter().take(MAX_OCCURRENCES).filter_map(|moment| clock(moment.timestamp()));
    moments.filter_map(|civil| zone.to_zoned(civil).ok()).find(|moment| moment > after)
}

/// The name of an occurrence's beginning.
pub(super) fn key_text(key: &Stamp) -> String {
    let form = if key.is_day() { "%Y%m%d" } else { "%Y%m%dT%H%M%S" };
    key.civil().strftime(form).to_string()
}

fn occurrence(
    event: &Event,
    start: &Stamp,
    key: &Stamp,
    repeats: bool,
    local: &TimeZone,
) -> Result<Occurrence, String> {
    let end = event.end_of(start)?;
    let start = start.moment(local)?.with_time_zone(local.clone());
    let end = end.moment(local)?.with_time_zone(local.clone());
    Ok(Occurrence {
        id: if repeats { format!("{}#{}", event.uid, key_text(key)) } else { event.uid.clone() },
        uid: event.uid.clone(),
        title: event.title.clone(),
        place: event.place.clone(),
        notes: event.notes.clone(),
        end: if end < start { start.clone() } else { end },
        start,
        is_all_day: event.start.is_day(),
        rrule: event.rrule.clone(),
        key: key.clone(),
    })
}

/// When an event begins, without what is excluded, up to `to` and a little further.
fn starts(event: &Event, to: &Zoned, local: &TimeZone) -> Result<Vec<Stamp>, String> {
    let zone = event.start.zone(local);
    let last = to.with_time_zone(zone.clone()).datetime();
    let mut civils = match &event.rrule {
        None => vec![event.start.civil()],
        Some(rule) => match rule_set(rule, event.start.civil(), zone)? {
            None => Vec::new(),
            Some(set) => {
                let all = set.limit().into_iter().take(MAX_OCCURRENCES).map_while(|moment| clock(moment.timestamp()));
                let all: Vec<DateTime> = all.take_while(|civil| *civil <= last).collect();
                if all.len() == MAX_OCCURRENCES {
                    return Err("it repeats too often to be shown".to_owned());
                }
                all
            }
        },
    };
    civils.extend(event.rdates.iter().map(|stamp| stamp.civil_as(&event.start)).filter(|civil| *civil <= last));
    civils.sort();
    civils.dedup();
    let is_out = |civil: &DateTime| {
        event.exdates.iter().any(|out| match out {
            Stamp::Day(date) => *date == civil.date(),
            out => out.civil_as(&event.start) == *civil,
        })
    };
    civils.retain(|civil| !is_out(civil));
    Ok(civils.into_iter().map(|civil| event.start.with_civil(civil)).collect())
}

/// The rule as if the clock were that of UTC; `None` when it ends before it begins.
fn rule_set(rule: &str, first: DateTime, zone: &TimeZone) -> Result<Option<RRuleSet>, String> {
    if rule.len() > MAX_RULE {
        return Err("its rule is too long".to_owned());
    }
    let mut parts = Vec::new();
    for part in rule.split(';').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is no part of a rule"))?;
        let (name, value) = (name.trim().to_ascii_uppercase(), value.trim().to_ascii_uppercase());
        match name.as_str() {
            "FREQ" if matches!(value.as_str(), "SECONDLY" | "MINUTELY") => {
                return Err("it repeats by the minute, which is not shown".to_owned());
            }
            "INTERVAL" if !value.parse().is_ok_and(|interval: u32| (1..=10_000).contains(&interval)) => {
                return Err(format!("its interval is `{value}`"));
            }
            "UNTIL" => {
                let until = until(&value, zone)?;
                if until < first {
                    return Ok(None);
                }
                parts.push(format!("UNTIL={}", until.strftime("%Y%m%dT%H%M%SZ")));
            }
            "FREQ" | "INTERVAL" | "COUNT" | "WKST" => parts.push(format!("{name}={value}")),
            by if by.starts_with("BY") && by != "BYEASTER" => parts.push(format!("{name}={value}")),
            _ => {}
        }
    }
    let text = format!("DTSTART:{}\nRRULE:{}", first.strftime("%Y%m%dT%H%M%SZ"), parts.join(";"));
    text.parse().map(Some).map_err(|error| format!("its rule `{rule}`: {error}"))
}

/// The last reading of the clock that a rule allows.
fn until(value: &str, zone: &TimeZone) -> Result<DateTime, String> {
    let bad = || format!("its rule ends at `{value}`");
    let form = if value.contains('T') { "%Y%m%dT%H%M%S" } else { "%Y%m%d" };
    let (clock, is_utc) = value.strip_suffix('Z').map_or((value, false), |clock| (clock, true));
    if form == "%Y%m%d" {
        let date = jiff::civil::Date::strptime(form, clock).map_err(|_| bad())?;
        return Ok(date.at(23, 59, 59, 0));
    }
    let civil = DateTime::strptime(form, clock).map_err(|_| bad())?;
    match is_utc {
        true => Ok(TimeZone::UTC.to_zoned(civil).map_err(|_| bad())?.with_time_zone(zone.clone()).datetime()),
        false => Ok(civil),
    }
}

fn clock(seconds: i64) -> Option<DateTime> {
    Some(Timestamp::from_second(seconds).ok()?.to_zoned(TimeZone::UTC).datetime())
}
