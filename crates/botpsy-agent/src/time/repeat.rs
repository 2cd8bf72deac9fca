//! What comes again: `every day at 8`, `every second Tuesday`, `on the first of every month`, `mondays and thursdays`.

use jiff::civil::Weekday;

use super::ast::{By, Day, Expr, Frequency, Month, Repeat, When, Which};
use super::parser::{Parsed, Parser, Ranges};
use super::words::{self, Part, Unit};

const WORKDAYS: [Weekday; 5] =
    [Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday];

impl Parser<'_> {
    /// Something that comes again, with its clock time in front or behind.
    pub(super) fn repeat(&self, at: usize) -> Parsed<Expr> {
        let (before, start) = self.clock_in_front(at);
        let start = self.skip(start, &["on"]);
        let (mut repeat, mut end) = self.core(start)?;
        if let Some(when) = before {
            (repeat.clock, repeat.end, repeat.zone) = (when.clock, when.until, when.zone);
            repeat.part = repeat.part.or(when.part);
        }
        while let Some(behind) = self.more(&mut repeat, end) {
            end = behind;
        }
        let vague = self.is_running() && end == start + 1 && repeat.clock.is_none() && !self.is_closed(end);
        (!vague).then_some((Expr::Repeat(repeat), end))
    }

    fn clock_in_front(&self, at: usize) -> (Option<When>, usize) {
        // `three Fridays` has no clock time in front.
        match self
            .when(at)
            .filter(|(_, end)| *end > at + 1 || self.word(at).is_some_and(|word| words::small_number(word).is_none()))
        {
            Some((when, end)) if when.clock.is_some() && when.day.is_none() && when.rival.is_none() => {
                (Some(when), self.skip_mark(end, ','))
            }
            _ => (None, at),
        }
    }

    fn core(&self, at: usize) -> Parsed<Repeat> {
        self.every(at)
            .or_else(|| self.adverb(at))
            .or_else(|| self.plurals(at))
            .or_else(|| self.of_every(at))
            .or_else(|| self.yearly_date(at))
    }

    /// `every 3 hours`, `every other Friday`, `every weekday`, `every first Monday of the month`, `every 4 July`.
    fn every(&self, at: usize) -> Parsed<Repeat> {
        let at = self.skip(at, &["once"]);
        if !self.is_any(at, &["every", "each"]) {
            return None;
        }
        if let Some((repeat, end)) = self.every_placed(at + 1) {
            return Some((repeat, end));
        }
        if let Some(end) = self.phrases(at + 1, &["half hour", "half an hour"]) {
            return Some((Repeat::new(Frequency::Minutely, 30, By::Any), end));
        }
        let (interval, start) = self.interval(at + 1);
        if let Some((weekdays, end)) = self.weekday_list(start) {
            return Some((Repeat::new(Frequency::Weekly, interval, By::Weekdays(weekdays)), end));
        }
        let word = self.word(start)?;
        let end = start + 1;
        if let Some(part) = words::part(word) {
            return Some((Repeat { part: Some(part), ..Repeat::new(Frequency::Daily, interval, By::Any) }, end));
        }
        let repeat = match word {
            "weekday" | "workday" | "weekdays" => {
                Repeat::new(Frequency::Weekly, interval, By::Weekdays(WORKDAYS.into()))
            }
            "working" | "week" if self.is(end, "day") => {
                return Some((Repeat::new(Frequency::Weekly, interval, By::Weekdays(WORKDAYS.into())), end + 1));
            }
            "weekend" => Repeat::new(Frequency::Weekly, interval, weekend()),
            "quarter" => Repeat::new(Frequency::Monthly, interval.checked_mul(3)?, By::Any),
            _ => of_unit(words::unit(word)?, interval)?,
        };
        Some((repeat, end))
    }

    /// `other` and `second` are two.
    fn interval(&self, at: usize) -> (u32, usize) {
        let at = self.skip(at, &["single"]);
        if self.is_any(at, &["other", "second", "alternate"]) {
            return (2, at + 1);
        }
        match self.ordinal(at).or_else(|| self.integer(at)) {
            Some((interval, end)) if interval > 0 => (interval, end),
            _ => (1, at),
        }
    }

    /// What stands behind `every` and names its month: `second Tuesday of the month`, `15th`, `4 July`, `last Friday`.
    fn every_placed(&self, at: usize) -> Parsed<Repeat> {
        if let Some((day, end)) = self.calendar_date(at)
            && let Day::Date { year: None, month, day } = day
        {
            return Some((Repeat::new(Frequency::Yearly, 1, By::Date(month, i8::try_from(day).ok()?)), end));
        }
        if let Some((nth, behind)) = self.nth(at) {
            if let Some((weekday, end)) = self.weekday(behind) {
                let month = self.phrases(end, &["of the month", "in the month", "of each month", "of every month"]);
                // `every first Monday` can be of a month only; `every second Tuesday` is every other one.
                let end = month.or((matches!(nth, -1 | 1)).then_some(end))?;
                return Some((Repeat::new(Frequency::Monthly, 1, By::Nth(nth, weekday)), end));
            }
            let day = self.skip(behind, &["day"]);
            let month = self.phrases(day, &["of the month", "of each month"]);
            let digits = self.digits(at).is_some() && !self.counts(behind);
            let end = month.or((digits && day == behind).then_some(behind))?;
            return Some((Repeat::new(Frequency::Monthly, 1, By::MonthDays(vec![nth])), end));
        }
        None
    }

    /// Whether a unit or a weekday stands there, which a number in front counts.
    fn counts(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| words::unit(word).is_some() || words::weekday(word).is_some())
    }

    /// A place in a month, -1 for the last.
    fn nth(&self, at: usize) -> Parsed<i8> {
        let at = self.skip(at, &["the"]);
        if self.is(at, "last") {
            return Some((-1, at + 1));
        }
        let (nth, end) = self.ordinal(at)?;
        i8::try_from(nth).ok().filter(|nth| (1..=31).contains(nth)).map(|nth| (nth, end))
    }

    /// `Monday, Wednesday and Friday`, `Monday to Friday`.
    fn weekday_list(&self, at: usize) -> Parsed<Vec<Weekday>> {
        let named = |at: usize| {
            let plural = self.word(at).and_then(words::weekdays).map(|weekday| (weekday, at + 1));
            plural.or_else(|| self.word(at).and_then(words::weekday).map(|weekday| (weekday, at + 1)))
        };
        let (first, mut end) = named(at)?;
        let to = if self.mark(end) == Some('-') { end + 1 } else { self.skip(end, &["to", "through", "until"]) };
        if let Some((last, end)) = named(to).filter(|_| to > end) {
            let days = (0..=first.until(last)).map(|days| first.wrapping_add(days));
            return Some((days.collect(), end));
        }
        let mut list = vec![first];
        loop {
            let comma = self.skip_mark(end, ',');
            let next = self.skip(if comma == end { self.skip_mark(end, '&') } else { comma }, &["and"]);
            let next = self.skip(next, &["every"]);
            let Some((weekday, behind)) = named(next).filter(|_| next > end) else { break };
            if !list.contains(&weekday) {
                list.push(weekday);
            }
            end = behind;
        }
        list.sort_by_key(|weekday| weekday.to_monday_zero_offset());
        Some((list, end))
    }

    /// `daily`, `weekly on Monday`, `once a week`.
    fn adverb(&self, at: usize) -> Parsed<Repeat> {
        if let Some(end) = self.phrases(at, &["once a", "once every", "once per", "once each"]) {
            let unit = self.word(end).and_then(words::unit)?;
            return Some((of_unit(unit, 1)?, end + 1));
        }
        let (frequency, interval) = match self.word(at)? {
            "hourly" => (Frequency::Hourly, 1),
            "daily" | "everyday" => (Frequency::Daily, 1),
            "nightly" => {
                let repeat = Repeat::new(Frequency::Daily, 1, By::Any);
                return Some((Repeat { part: Some(Part::Night), ..repeat }, at + 1));
            }
            "weekly" => (Frequency::Weekly, 1),
            "fortnightly" => (Frequency::Weekly, 2),
            "monthly" => (Frequency::Monthly, 1),
            "quarterly" => (Frequency::Monthly, 3),
            "yearly" | "annually" => (Frequency::Yearly, 1),
            _ => return None,
        };
        Some((Repeat::new(frequency, interval, By::Any), at + 1))
    }

    /// `mondays and thursdays`, `weekdays`, `weekends`, `Monday mornings`.
    fn plurals(&self, at: usize) -> Parsed<Repeat> {
        match self.word(at)? {
            "weekdays" | "workdays" => {
                return Some((Repeat::new(Frequency::Weekly, 1, By::Weekdays(WORKDAYS.into())), at + 1));
            }
            "weekends" => return Some((Repeat::new(Frequency::Weekly, 1, weekend()), at + 1)),
            _ => {}
        }
        let (weekdays, end) = self.weekday_list(at)?;
        let part = self.word(end).and_then(words::parts);
        let plural = (at..end).any(|at| self.word(at).and_then(words::weekdays).is_some());
        let repeat = Repeat::new(Frequency::Weekly, 1, By::Weekdays(weekdays));
        match part {
            Some(part) => Some((Repeat { part: Some(part), ..repeat }, end + 1)),
            None => plural.then_some((repeat, end)),
        }
    }

    /// `the first of every month`, `the 1st and 15th of each month`, `the last day of every month`, `the first Monday of every month`.
    fn of_every(&self, at: usize) -> Parsed<Repeat> {
        let (nth, mut end) = self.nth(at)?;
        let every = |end: usize| self.phrases(end, &["of every month", "of each month", "every month", "each month"]);
        if let Some((weekday, end)) = self.weekday(end) {
            let by = By::Nth(nth, weekday);
            if let Some(end) = every(end) {
                return Some((Repeat::new(Frequency::Monthly, 1, by), end));
            }
            let (month, end) = self.month_name(self.skip(end, &["of", "in"]))?;
            let end = self.phrases(end, &["every year", "each year"])?;
            return Some((Repeat::new(Frequency::Yearly, 1, By::NthIn(nth, weekday, month)), end));
        }
        let mut days = vec![nth];
        while days.len() < 6 {
            let next = self.skip(self.skip_mark(end, ','), &["and"]);
            let Some((nth, behind)) = self.nth(next).filter(|_| next > end) else { break };
            days.push(nth);
            end = behind;
        }
        let end = every(self.skip(end, &["day"]))?;
        Some((Repeat::new(Frequency::Monthly, 1, By::MonthDays(days)), end))
    }

    /// `4 July every year`.
    fn yearly_date(&self, at: usize) -> Parsed<Repeat> {
        let (day, end) = self.calendar_date(at)?;
        let Day::Date { year: None, month, day } = day else { return None };
        let end = self.phrases(end, &["every year", "each year", "yearly", "annually"])?;
        Some((Repeat::new(Frequency::Yearly, 1, By::Date(month, i8::try_from(day).ok()?)), end))
    }

    /// What stands behind: days, a clock time, from when, until when, how often.
    fn more(&self, repeat: &mut Repeat, at: usize) -> Option<usize> {
        let comma = self.skip_mark(at, ',');
        let ranged = |(when, _): &(When, usize)| when.day.is_none() && when.until.is_some() && when.rival.is_none();
        if repeat.clock.is_none()
            && let Some((when, end)) = self.when(comma).filter(ranged)
        {
            (repeat.clock, repeat.end) = (when.clock, when.until);
            repeat.part = repeat.part.or(when.part);
            repeat.zone = repeat.zone.take().or(when.zone);
            return Some(end);
        }
        self.more_days(repeat, self.skip(comma, &["on"])).or_else(|| self.more_limits(repeat, comma)).or_else(|| {
            let (when, end) = self.with(Ranges::None).when(comma)?;
            let fits = when.day.is_none() && when.until.is_none() && (when.clock.is_none() || repeat.clock.is_none());
            if !fits || (when.part.is_some() && repeat.part.is_some()) {
                return None;
            }
            repeat.clock = repeat.clock.or(when.clock);
            repeat.part = repeat.part.or(when.part);
            repeat.zone = repeat.zone.take().or(when.zone);
            Some(end)
        })
    }

    fn more_days(&self, repeat: &mut Repeat, at: usize) -> Option<usize> {
        if repeat.by != By::Any {
            return None;
        }
        let (by, end) = match repeat.frequency {
            Frequency::Weekly => {
                let (weekdays, end) = self.weekday_list(at)?;
                (By::Weekdays(weekdays), end)
            }
            Frequency::Monthly => {
                let (nth, end) = self.nth(at)?;
                match self.weekday(end) {
                    Some((weekday, end)) => (By::Nth(nth, weekday), end),
                    None => (By::MonthDays(vec![nth]), self.skip(end, &["day"])),
                }
            }
            Frequency::Yearly => {
                if let Some((Day::NthOf(nth, weekday, Month::Named(month, None, Which::Bare)), end)) = self.day(at) {
                    (By::NthIn(nth.map_or(Some(-1), |nth| i8::try_from(nth).ok())?, weekday, month), end)
                } else {
                    let (Day::Date { year: None, month, day }, end) = self.calendar_date(at)? else { return None };
                    (By::Date(month, i8::try_from(day).ok()?), end)
                }
            }
            _ => return None,
        };
        repeat.by = by;
        Some(end)
    }

    fn more_limits(&self, repeat: &mut Repeat, at: usize) -> Option<usize> {
        if repeat.until.is_none()
            && self.is_any(at, &["until", "till"])
            && let Some((until, end)) = self.when(at + 1)
        {
            repeat.until = Some(until);
            return Some(end);
        }
        if repeat.start.is_none() && self.is_any(at, &["starting", "from", "beginning"]) {
            let (start, end) = self.with(Ranges::None).when(self.skip(at + 1, &["on", "from"]))?;
            if start.clock.is_some() && repeat.clock.is_some() {
                return None;
            }
            repeat.clock = repeat.clock.or(start.clock);
            repeat.start = start.day.is_some().then_some(start);
            return Some(end);
        }
        let (count, end) = self.integer(self.skip(at, &["for"]))?;
        let end = self.phrases(end, &["times"]).filter(|_| count > 0 && repeat.count.is_none())?;
        repeat.count = Some(count);
        Some(end)
    }
}

fn weekend() -> By {
    By::Weekdays(vec![Weekday::Saturday, Weekday::Sunday])
}

fn of_unit(unit: Unit, interval: u32) -> Option<Repeat> {
    let (frequency, interval) = match unit {
        Unit::Second => (Frequency::Secondly, interval),
        Unit::Minute => (Frequency::Minutely, interval),
        Unit::Hour => (Frequency::Hourly, interval),
        Unit::Day => (Frequency::Daily, interval),
        Unit::Week => (Frequency::Weekly, interval),
        Unit::Fortnight => (Frequency::Weekly, interval.checked_mul(2)?),
        Unit::Month => (Frequency::Monthly, interval),
        Unit::Year => (Frequency::Yearly, interval),
    };
    Some(Repeat::new(frequency, interval, By::Any))
}
