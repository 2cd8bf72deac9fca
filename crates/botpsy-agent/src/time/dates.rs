//! Days of the calendar, from what was said and today's date.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Span, Zoned};

use super::ast::{Day, Length, Month, Period, Which};
use super::choice::{Choice, Fate};

/// What relative words are relative to.
#[derive(Clone, Debug)]
pub(super) struct Context<'n> {
    pub(super) now: &'n Zoned,
    /// What comes again is the first at or after this: now, or the start of the range whose end is looked for.
    pub(super) after: Zoned,
    /// Whether only days were said, no clock time and no part of a day.
    pub(super) whole_days: bool,
    /// Whether it is the end of a range.
    pub(super) is_end: bool,
}

/// Where a day was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// From the first day to the second, which is left out.
    Days(Date, Date),
    /// A moment that was counted from now.
    Moment(Zoned),
    /// A day that was counted from now in whole days: alone it means this time of that day.
    Ahead(Date),
}

/// A place, and the one to take when that is over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pick {
    pub(super) place: Place,
    pub(super) retry: Option<Place>,
}

/// The dates that can be reached end here.
pub(super) const TOO_FAR: &str = "that is too far away for a calendar";

pub(super) fn add(date: Date, days: i64) -> Result<Date, String> {
    let span = Span::new().try_days(days).map_err(|_| TOO_FAR.to_owned())?;
    date.checked_add(span).map_err(|_| TOO_FAR.to_owned())
}

fn add_months(date: Date, months: i64) -> Result<Date, String> {
    let span = Span::new().try_months(months).map_err(|_| TOO_FAR.to_owned())?;
    date.checked_add(span).map_err(|_| TOO_FAR.to_owned())
}

/// So long after a moment: months and days by the calendar, then seconds by the watch.
pub(super) fn later(from: &Zoned, length: Length) -> Result<Zoned, String> {
    let far = |_| TOO_FAR.to_owned();
    let span = Span::new().try_months(length.months).map_err(far)?.try_days(length.days).map_err(far)?;
    let day = from.checked_add(span).map_err(far)?;
    day.checked_add(jiff::SignedDuration::from_secs(length.seconds)).map_err(far)
}

fn on(date: Date) -> Result<Choice<Pick>, String> {
    Ok(Choice::one(Pick { place: one_day(date)?, retry: None }))
}

fn one_day(date: Date) -> Result<Place, String> {
    Ok(Place::Days(date, add(date, 1)?))
}

fn first_or(date: Date, retry: Date) -> Fate<Pick> {
    Ok(Choice::one(Pick { place: one_day(date)?, retry: Some(one_day(retry)?) }))
}

/// The days that were meant.
pub(super) fn places(day: &Day, context: &Context<'_>) -> Fate<Pick> {
    let today = context.now.date();
    match day {
        Day::Offset(days) => on(add(today, *days)?),
        Day::Weekday(weekday, which) => weekday_place(*weekday, *which, context),
        Day::InWeek(weekday, weeks) => on(add(monday(today)?, weeks.saturating_mul(7) + since_monday(*weekday))?),
        Day::Date { year, month, day } => date_place(*year, *month, *day, context),
        Day::Numeric { first, second, year } => numeric_place(*first, *second, *year, context),
        Day::Checked(weekday, day) => checked_place(*weekday, day, context),
        Day::Ordinal(day) => month_day(*day, context),
        Day::OrdinalOf(day, month) => day_of(*day, *month, context),
        Day::NthOf(nth, weekday, month) => nth_of(*nth, *weekday, *month, context),
        Day::Period(Period::Day) => on(today),
        Day::Period(period) => period_place(*period, context),
        Day::Start(period) => edge(*period, context, |from, _| Ok(from)),
        Day::End(Period::Week(weeks)) => {
            let monday = add(monday(today)?, weeks.saturating_mul(7))?;
            let picks = [4, 6].map(|days| add(monday, days).and_then(one_day));
            let picks: Result<Vec<Pick>, String> =
                picks.into_iter().map(|place| Ok(Pick { place: place?, retry: None })).collect();
            Ok(Choice::ask(picks?, "Does the week end on Friday or on Sunday?"))
        }
        Day::End(period) => edge(*period, context, |_, to| add(to, -1)),
        Day::Ahead(length) => {
            let place = match length.seconds {
                0 if *length != Length::default() => Place::Ahead(add(add_months(today, length.months)?, length.days)?),
                _ => Place::Moment(later(context.now, *length)?),
            };
            Ok(Choice::one(Pick { place, retry: None }))
        }
        Day::From(day, length) => places(day, context)?.and_then(|pick| {
            let moved = |place: Place| match place {
                Place::Days(from, _) => one_day(add(add_months(from, length.months)?, length.days)?),
                other => Ok(other),
            };
            Ok(Choice::one(Pick { place: moved(pick.place)?, retry: pick.retry.map(moved).transpose()? }))
        }),
    }
}

fn since_monday(weekday: Weekday) -> i64 {
    i64::from(weekday.to_monday_zero_offset())
}

/// The Monday of this week.
fn monday(today: Date) -> Result<Date, String> {
    add(today, -since_monday(today.weekday()))
}

fn weekday_place(weekday: Weekday, which: Which, context: &Context<'_>) -> Fate<Pick> {
    let today = context.now.date();
    let coming = |from: Date| add(from, i64::from(from.weekday().until(weekday)));
    match which {
        Which::This => on(coming(today)?),
        Which::Next => on(add(monday(today)?, 7 + since_monday(weekday))?),
        Which::AfterNext => on(add(monday(today)?, 14 + since_monday(weekday))?),
        Which::Last => {
            let days = i64::from(weekday.until(today.weekday()));
            on(add(today, if days == 0 { -7 } else { -days })?)
        }
        Which::Bare => {
            let first = coming(context.after.date())?;
            let second = add(first, 7)?;
            if first != today || !context.whole_days || context.is_end {
                return first_or(first, second);
            }
            let picks = [first, second].map(|date| one_day(date).map(|place| Pick { place, retry: None }));
            let picks: Result<Vec<Pick>, String> = picks.into_iter().collect();
            let name = today.strftime("%A");
            Ok(Choice::ask(picks?, format!("Today is {name}: is it today, or {name} in a week?")))
        }
    }
}

fn real_date(year: i16, month: i8, day: u32) -> Option<Date> {
    Date::new(year, month, i8::try_from(day).ok()?).ok()
}

fn month_word(month: i8) -> Option<String> {
    Date::new(2024, month, 1).ok().map(|date| date.strftime("%B").to_string())
}

fn no_such_date(year: Option<u32>, month: i8, day: u32) -> String {
    let year = year.map(|year| format!(" {year}")).unwrap_or_default();
    match month_word(month) {
        Some(month) => format!("there is no {day} {month}{year}"),
        None => format!("there is no month {month}"),
    }
}

/// A date; without a year the next one that there is.
fn date_place(year: Option<u32>, month: i8, day: u32, context: &Context<'_>) -> Fate<Pick> {
    let none = || no_such_date(year, month, day);
    if let Some(year) = year {
        let date = i16::try_from(year).ok().and_then(|year| real_date(year, month, day));
        return on(date.ok_or_else(none)?);
    }
    let from = context.after.date();
    // Leap days are at most eight years apart.
    let years = from.year()..=from.year().saturating_add(16);
    let mut dates = years.filter_map(|year| real_date(year, month, day)).filter(|date| *date >= from);
    let first = dates.next().ok_or_else(none)?;
    first_or(first, dates.next().ok_or_else(none)?)
}

/// Day and month in one order or the other.
fn numeric_place(first: u32, second: u32, year: Option<u32>, context: &Context<'_>) -> Fate<Pick> {
    let small = |number: u32| i8::try_from(number).unwrap_or(0);
    let of = |day: u32, month: u32| date_place(year, small(month), day, context);
    match (first <= 12, second <= 12) {
        (true, true) if first != second => {
            let (day_first, month_first) = (of(first, second)?, of(second, first)?);
            let told = |choice: &Choice<Pick>| match choice.items.first().map(|pick| &pick.place) {
                Some(Place::Days(date, _)) => date.strftime("%-d %B").to_string(),
                _ => String::new(),
            };
            let question = format!("Is it {} or {}?", told(&day_first), told(&month_first));
            Ok(Choice::ask(day_first.items.into_iter().chain(month_first.items).collect(), question))
        }
        (_, true) => of(first, second),
        (true, false) => of(second, first),
        (false, false) => Err(format!("neither {first} nor {second} is a month")),
    }
}

/// A date that was said to be some weekday.
fn checked_place(weekday: Weekday, day: &Day, context: &Context<'_>) -> Fate<Pick> {
    let all = places(day, context)?;
    let fits = |pick: &Pick| matches!(pick.place, Place::Days(date, _) if date.weekday() == weekday);
    let fitting: Vec<Pick> = all.items.iter().filter(|pick| fits(pick)).cloned().collect();
    match (fitting.len(), all.items.first().map(|pick| &pick.place)) {
        (0, Some(Place::Days(date, _))) => {
            let question = format!(
                "{} is a {}, not a {}: which day is it?",
                date.strftime("%-d %B %Y"),
                date.strftime("%A"),
                weekday_word(weekday)
            );
            let near = weekday_place(weekday, Which::This, context)?;
            Ok(Choice::ask(all.items.into_iter().chain(near.items).collect(), question))
        }
        (1, _) => Ok(Choice { items: fitting, question: None }),
        _ => Ok(all),
    }
}

fn weekday_word(weekday: Weekday) -> String {
    // 1 January 2024 was a Monday.
    let day = Date::new(2024, 1, 1 + weekday.to_monday_zero_offset());
    day.map(|date| date.strftime("%A").to_string()).unwrap_or_default()
}

/// The next such day of a month that has one.
fn month_day(day: u32, context: &Context<'_>) -> Fate<Pick> {
    let from = context.after.date();
    let mut found = Vec::new();
    for months in 0..14 {
        let month = add_months(from.first_of_month(), months)?;
        found.extend(real_date(month.year(), month.month(), day).filter(|date| *date >= from));
    }
    match found[..] {
        [first, second, ..] => first_or(first, second),
        _ => Err(format!("no month has a day {day}")),
    }
}

/// The first days of the months that may be meant.
fn months(month: Month, context: &Context<'_>, fits: impl Fn(Date) -> bool) -> Fate<Date> {
    let today = context.now.date();
    let (month, year, which) = match month {
        Month::Offset(months) => return Ok(Choice::one(add_months(today.first_of_month(), months)?)),
        Month::Named(month, year, which) => (month, year, which),
    };
    let of = |year: i16| Date::new(year, month, 1).map_err(|_| TOO_FAR.to_owned());
    if let Some(year) = year {
        return Ok(Choice::one(of(i16::try_from(year).map_err(|_| TOO_FAR.to_owned())?)?));
    }
    let (this, from) = (today.year(), context.after.date());
    match which {
        Which::This => Ok(Choice::one(of(this)?)),
        Which::Last => Ok(Choice::one(of(if month < today.month() { this } else { this - 1 })?)),
        Which::Next | Which::AfterNext if month > today.month() => {
            let question = format!("Is it {} of this year or of next year?", month_word(month).unwrap_or_default());
            Ok(Choice::ask(vec![of(this)?, of(this + 1)?], question))
        }
        Which::Next | Which::AfterNext => Ok(Choice::one(of(this + 1)?)),
        Which::Bare => {
            let here = of(from.year())?;
            Ok(Choice::one(if fits(here) { here } else { of(from.year() + 1)? }))
        }
    }
}

fn day_of(day: Option<u32>, month: Month, context: &Context<'_>) -> Fate<Pick> {
    let of = |first: Date| match day {
        Some(day) => real_date(first.year(), first.month(), day),
        None => Some(first.last_of_month()),
    };
    let from = context.after.date();
    months(month, context, |first| of(first).is_some_and(|date| date >= from))?.and_then(|first| {
        let year = u32::try_from(first.year()).ok();
        on(of(first).ok_or_else(|| no_such_date(year, first.month(), day.unwrap_or(0)))?)
    })
}

fn nth_of(nth: Option<u32>, weekday: Weekday, month: Month, context: &Context<'_>) -> Fate<Pick> {
    let nth = nth.map_or(Some(-1), |nth| i8::try_from(nth).ok().filter(|nth| (1..=5).contains(nth)));
    let nth = nth.ok_or("no month has so many of that weekday")?;
    let of = |first: Date| first.nth_weekday_of_month(nth, weekday).ok();
    let from = context.after.date();
    months(month, context, |first| of(first).is_some_and(|date| date >= from))?
        .and_then(|first| on(of(first).ok_or("that month has fewer of that weekday")?))
}

fn period_place(period: Period, context: &Context<'_>) -> Fate<Pick> {
    let today = context.now.date();
    let days = |from: Date, to: Date| Ok(Choice::one(Pick { place: Place::Days(from, to), retry: None }));
    let week = |weeks: i64| add(monday(today)?, weeks.saturating_mul(7));
    let year = |year: i16| Date::new(year, 1, 1).map_err(|_| TOO_FAR.to_owned());
    match period {
        Period::Week(weeks) => days(week(weeks)?, add(week(weeks)?, 7)?),
        Period::Weekend(weeks) => days(add(week(weeks)?, 5)?, add(week(weeks)?, 7)?),
        Period::IsoWeek { year, week } => iso_week(year, week, context),
        Period::Year(years) => {
            let this = i64::from(today.year()).saturating_add(years);
            let this = i16::try_from(this).map_err(|_| TOO_FAR.to_owned())?;
            days(year(this)?, year(this + 1)?)
        }
        Period::YearNumber(number) => {
            let number = i16::try_from(number).map_err(|_| TOO_FAR.to_owned())?;
            days(year(number)?, year(number + 1)?)
        }
        Period::Month(month) => {
            let last = context.after.date();
            months(month, context, |first| first.last_of_month() >= last)?
                .and_then(|first| days(first, add(first.last_of_month(), 1)?))
        }
        Period::Day => Err("the end of the day is no clock time: say which one".to_owned()),
    }
}

/// A week by its number; without a year the next one, this one included.
fn iso_week(year: Option<u32>, week: u32, context: &Context<'_>) -> Fate<Pick> {
    let from = context.after.date();
    let monday = |year: i16| {
        let week = i8::try_from(week).ok()?;
        ISOWeekDate::new(year, week, Weekday::Monday).ok().map(Date::from)
    };
    let this = from.iso_week_date().year();
    let years = match year {
        Some(year) => i16::try_from(year).map(|year| year..=year).map_err(|_| TOO_FAR.to_owned())?,
        None => this..=this.saturating_add(12),
    };
    let ends_later = |monday: &Date| year.is_some() || add(*monday, 6).is_ok_and(|sunday| sunday >= from);
    let found = years.filter_map(monday).find(ends_later);
    let first = found.ok_or_else(|| format!("there is no week {week}"))?;
    Ok(Choice::one(Pick { place: Place::Days(first, add(first, 7)?), retry: None }))
}

fn edge(period: Period, context: &Context<'_>, pick: impl Fn(Date, Date) -> Result<Date, String>) -> Fate<Pick> {
    period_place(period, context)?.and_then(|found| match found.place {
        Place::Days(from, to) => on(pick(from, to)?),
        place => Ok(Choice::one(Pick { place, retry: None })),
    })
}
