//! What an expression means now and here.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Zoned};

use super::Reading;
use super::ast::{Clock, Day, Expr, Length, When, Zone};
use super::choice::{Choice, Fate};
use super::dates::{Context, Pick, Place, TOO_FAR, add, later, places};
use super::hours::{DAY, hours, pair};
use super::recur;

/// A moment, or from one to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) from: Zoned,
    pub(super) to: Option<Zoned>,
}

impl Extent {
    /// Where it is over.
    pub(super) fn end(&self) -> &Zoned {
        self.to.as_ref().unwrap_or(&self.from)
    }
}

/// What an expression means; times come in the zone of `now`, recurrences in the zone that they keep to.
pub(super) fn reading(expr: &Expr, now: &Zoned) -> Reading {
    let found = match expr {
        Expr::When(when) => extents(when, &context(when, now)),
        Expr::Between(from, until) => between(from, until, now),
        Expr::Lasting(when, length) => lasting(when, *length, now),
        Expr::Beside(length, when) => beside(*length, when, now),
        Expr::Window(length) => window(*length, now),
        Expr::Length(length) => return duration(*length),
        Expr::Repeat(repeat) => return recur::reading(repeat, now),
    };
    match found {
        Ok(choice) => chosen(choice, now.time_zone()),
        Err(reason) => Reading::Unknown { reason },
    }
}

/// One meaning, or the question.
pub(super) fn chosen(choice: Choice<Extent>, zone: &TimeZone) -> Reading {
    let here = |zoned: &Zoned| zoned.with_time_zone(zone.clone());
    let mut items: Vec<Extent> = Vec::new();
    for item in choice.items {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    match (&items[..], choice.question) {
        ([Extent { from, to: None }], _) => Reading::Instant(here(from)),
        ([Extent { from, to: Some(to) }], _) => Reading::Range(here(from), here(to)),
        (_, question) => Reading::Ambiguous {
            question: question.unwrap_or_else(|| "Which one is meant?".to_owned()),
            choices: items.iter().map(|item| here(&item.from)).collect(),
        },
    }
}

fn duration(length: Length) -> Reading {
    if length.months != 0 {
        let reason = "a month or a year has no fixed length: say it in days or weeks".to_owned();
        return Reading::Unknown { reason };
    }
    let seconds = length.days.checked_mul(DAY).and_then(|days| days.checked_add(length.seconds));
    match seconds {
        Some(seconds) => Reading::Duration(SignedDuration::from_secs(seconds)),
        None => Reading::Unknown { reason: TOO_FAR.to_owned() },
    }
}

pub(super) fn context<'n>(when: &When, now: &'n Zoned) -> Context<'n> {
    let whole_days = when.clock.is_none() && when.part.is_none();
    Context { now, after: now.clone(), whole_days, is_end: false }
}

/// When it is.
pub(super) fn extents(when: &When, context: &Context<'_>) -> Fate<Extent> {
    zones(when.zone.as_ref(), context.now)?
        .and_then(|zone| match (&when.day, &when.clock) {
            (None, Some(clock)) if when.until.is_none() && when.part.is_none() => next_clock(clock, &zone, context),
            (None, _) => {
                let today = context.after.with_time_zone(zone.clone()).date();
                let (tomorrow, after) = (add(today, 1)?, add(today, 2)?);
                let pick = Pick { place: Place::Days(today, tomorrow), retry: Some(Place::Days(tomorrow, after)) };
                picked(pick, when, &zone, context)
            }
            (Some(day), _) => places(day, context)?.and_then(|pick| picked(pick, when, &zone, context)),
        })
        .and_then(|choice| with_rival(choice, when, context))
}

/// Adds what else `10 to 5` may be.
fn with_rival(choice: Choice<Extent>, when: &When, context: &Context<'_>) -> Fate<Extent> {
    let Some(rival) = when.rival else { return Ok(choice) };
    let other = When { clock: Some(rival), until: None, rival: None, ..when.clone() };
    let mut items = extents(&other, context)?.items;
    items.extend(choice.items);
    Ok(Choice::ask(items, format!("Is it {} minutes before the hour, or a range of hours?", rival.less)))
}

/// The first place, or the retry where that is over.
fn picked(pick: Pick, when: &When, zone: &TimeZone, context: &Context<'_>) -> Fate<Extent> {
    let first = placed(&pick.place, when, zone, context)?;
    match pick.retry {
        Some(retry) if first.items.iter().all(|extent| is_over(extent, context)) => placed(&retry, when, zone, context),
        _ => Ok(first),
    }
}

fn is_over(extent: &Extent, context: &Context<'_>) -> bool {
    match &extent.to {
        Some(to) => *to <= context.after,
        None => extent.from < context.after,
    }
}

/// What was said about the time, on these days.
fn placed(place: &Place, when: &When, zone: &TimeZone, context: &Context<'_>) -> Fate<Extent> {
    let timed = when.clock.is_some() || when.part.is_some();
    let (from, to) = match place {
        Place::Moment(_) if timed => return Err("that names two times at once".to_owned()),
        Place::Moment(moment) => return Ok(Choice::one(Extent { from: moment.clone(), to: None })),
        Place::Ahead(date) if !timed => {
            return Ok(civil(date.to_datetime(context.now.time()), zone)?.map(|from| Extent { from, to: None }));
        }
        Place::Ahead(date) => (*date, add(*date, 1)?),
        Place::Days(from, to) => (*from, *to),
    };
    if !timed {
        return Ok(Choice::one(Extent { from: start_of(from, zone)?, to: Some(start_of(to, zone)?) }));
    }
    let days = i64::from(from.until(to).map_err(|_| TOO_FAR.to_owned())?.get_days());
    match days {
        1 => on_day(from, when, zone, context),
        2..=7 => {
            let dates: Result<Vec<Date>, String> = (0..days).map(|days| add(from, days)).collect();
            let choice = Choice::ask(dates?, "Which day of those is it?");
            choice.and_then(|date| on_day(date, when, zone, context))
        }
        _ => Err("that is a time on many days: say which day".to_owned()),
    }
}

fn start_of(date: Date, zone: &TimeZone) -> Result<Zoned, String> {
    date.to_zoned(zone.clone()).map_err(|_| TOO_FAR.to_owned())
}

/// A clock time, a range of clock times or a part of one day.
fn on_day(date: Date, when: &When, zone: &TimeZone, context: &Context<'_>) -> Fate<Extent> {
    let Some(clock) = &when.clock else {
        let (from, to) = when.part.map_or((0, 24), |part| part.hours());
        let from = plainly_at(date, i64::from(from) * 3600, zone)?;
        let to = plainly_at(date, i64::from(to) * 3600, zone)?;
        return Ok(Choice::one(Extent { from, to: Some(to) }));
    };
    if let Some(until) = &when.until {
        let (from, to) = pair(clock, until, when.part)?;
        return at(date, from, zone)?
            .and_then(|from| Ok(at(date, to, zone)?.map(|to| Extent { from: from.clone(), to: Some(to) })));
    }
    let hours = hours(clock, when.part)?;
    let instant = |seconds: i64| -> Fate<Extent> { Ok(at(date, seconds, zone)?.map(|from| Extent { from, to: None })) };
    let is_today = date == context.now.date();
    if clock.midnight && clock.less == 0 && clock.minute == 0 && when.part.is_none() && !is_today {
        let ends = [at(date, 0, zone)?, at(date, DAY, zone)?];
        let items = ends.into_iter().flat_map(|choice| choice.items).map(|from| Extent { from, to: None }).collect();
        return Ok(Choice::ask(items, "Is it the midnight at which that day starts, or ends?"));
    }
    // Of a time today only what is still to come is meant, if anything of it is.
    let likely = instant(hours.likely)?;
    match hours.other {
        Some(other) if is_today && likely.items.iter().all(|extent| extent.from < *context.now) => {
            let other = instant(other)?;
            let ahead = other.items.iter().any(|extent| extent.from >= *context.now);
            Ok(if ahead { other } else { likely })
        }
        _ => Ok(likely),
    }
}

/// The next time that a clock shows it.
fn next_clock(clock: &Clock, zone: &TimeZone, context: &Context<'_>) -> Fate<Extent> {
    let today = context.after.with_time_zone(zone.clone()).date();
    let next = |seconds: i64| -> Fate<Extent> {
        // A midnight may stand at the end of yesterday.
        let mut last = Err(TOO_FAR.to_owned());
        for days in -1..=2 {
            let choice = at(add(today, days)?, seconds, zone)?.map(|from| Extent { from, to: None });
            let is_ahead = choice.items.iter().any(|extent| extent.from >= context.after);
            last = Ok(choice);
            if is_ahead {
                break;
            }
        }
        last
    };
    let hours = hours(clock, None)?;
    let likely = next(hours.likely)?;
    let Some(seconds) = hours.other.filter(|seconds| *seconds >= 6 * 3600) else { return Ok(likely) };
    let other = next(seconds)?;
    let first = |choice: &Choice<Extent>| choice.items.first().map(|extent| extent.from.clone());
    if first(&other) >= first(&likely) {
        return Ok(likely);
    }
    let question = "Is that in the morning or in the evening?";
    Ok(Choice::ask(other.items.into_iter().chain(likely.items).collect(), question))
}

/// Seconds since midnight of a day, as the clocks there show it.
fn at(date: Date, seconds: i64, zone: &TimeZone) -> Fate<Zoned> {
    civil(datetime(date, seconds)?, zone)
}

/// The same without a question: what the clocks leave out comes later by as much, of two the first counts.
pub(super) fn plainly_at(date: Date, seconds: i64, zone: &TimeZone) -> Result<Zoned, String> {
    datetime(date, seconds)?.to_zoned(zone.clone()).map_err(|_| TOO_FAR.to_owned())
}

fn datetime(date: Date, seconds: i64) -> Result<DateTime, String> {
    let date = add(date, seconds.div_euclid(DAY))?;
    let seconds = seconds.rem_euclid(DAY);
    let part = |value: i64| i8::try_from(value).unwrap_or(0);
    let time = Time::new(part(seconds / 3600), part(seconds / 60 % 60), part(seconds % 60), 0);
    Ok(date.to_datetime(time.map_err(|_| TOO_FAR.to_owned())?))
}

/// A time that clocks show: once on most days, never or twice when they are changed.
fn civil(datetime: DateTime, zone: &TimeZone) -> Fate<Zoned> {
    let far = |_| TOO_FAR.to_owned();
    let found = zone.to_ambiguous_zoned(datetime);
    let question = match found.offset() {
        AmbiguousOffset::Unambiguous { .. } => return Ok(Choice::one(found.compatible().map_err(far)?)),
        AmbiguousOffset::Gap { .. } => "is left out, since the clocks are put forward: is it the one before or after?",
        AmbiguousOffset::Fold { .. } => "comes twice, since the clocks are put back: is it the first or the second?",
    };
    let both = vec![found.clone().earlier().map_err(far)?, found.later().map_err(far)?];
    Ok(Choice::ask(both, format!("{} {question}", datetime.strftime("%H:%M on %-d %B %Y"))))
}

pub(super) fn zones(zone: Option<&Zone>, now: &Zoned) -> Fate<TimeZone> {
    let fixed = |seconds: i32| {
        let offset = Offset::from_seconds(seconds).map_err(|_| "there is no such offset from UTC".to_owned());
        offset.map(TimeZone::fixed)
    };
    Ok(match zone {
        None | Some(Zone::Local) => Choice::one(now.time_zone().clone()),
        Some(Zone::Offset(seconds)) => Choice::one(fixed(*seconds)?),
        Some(Zone::Offsets(offsets)) => {
            let zones: Result<Vec<TimeZone>, String> = offsets.iter().map(|seconds| fixed(*seconds)).collect();
            Choice::ask(zones?, "That abbreviation is used for several time zones: which one is it?")
        }
        Some(Zone::Named(name)) => {
            Choice::one(TimeZone::get(name).map_err(|_| format!("there is no time zone {name}"))?)
        }
    })
}

/// From one to the other; what one of them leaves out is taken from the other.
fn between(from: &When, until: &When, now: &Zoned) -> Fate<Extent> {
    let (from, until) = completed(from, until);
    extents(&from, &context(&from, now))?.and_then(|start| {
        let mut context = context(&until, now);
        (context.after, context.is_end) = (start.from.clone(), true);
        // An end without a day is on the day of the start.
        let on_start = start.from.with_time_zone(now.time_zone().clone());
        let mut until = until.clone();
        if until.day.is_none() {
            until.day = Some(Day::Offset(0));
            context.now = &on_start;
        }
        extents(&until, &context)?.and_then(|end| {
            let to = end.end().clone();
            if to <= start.from {
                return Err("that ends before it starts".to_owned());
            }
            Ok(Choice::one(Extent { from: start.from.clone(), to: Some(to) }))
        })
    })
}

fn completed(from: &When, until: &When) -> (When, When) {
    let (mut from, mut until) = (from.clone(), until.clone());
    from.zone = from.zone.or(until.zone.clone());
    until.zone = until.zone.or(from.zone.clone());
    from.day = match (from.day, &until.day) {
        (Some(Day::Ordinal(day)), Some(Day::Date { year, month, .. })) => {
            Some(Day::Date { year: *year, month: *month, day })
        }
        (Some(Day::Ordinal(day)), Some(Day::OrdinalOf(_, month))) => Some(Day::OrdinalOf(Some(day), *month)),
        (Some(Day::Date { year: None, month, day }), Some(Day::Date { year: year @ Some(_), .. })) => {
            Some(Day::Date { year: *year, month, day })
        }
        (day, _) => day,
    };
    (from, until)
}

fn lasting(when: &When, length: Length, now: &Zoned) -> Fate<Extent> {
    extents(when, &context(when, now))?.and_then(|start| {
        let to = later(&start.from, length)?;
        Ok(Choice::one(Extent { from: start.from, to: Some(to) }))
    })
}

fn beside(length: Length, when: &When, now: &Zoned) -> Fate<Extent> {
    extents(when, &context(when, now))?
        .and_then(|base| Ok(Choice::one(Extent { from: later(&base.from, length)?, to: None })))
}

fn window(length: Length, now: &Zoned) -> Fate<Extent> {
    let other = later(now, length)?;
    let (from, to) = if other < *now { (other, now.clone()) } else { (now.clone(), other) };
    Ok(Choice::one(Extent { from, to: Some(to) }))
}
