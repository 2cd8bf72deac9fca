//! Days, parts of days, clock times and zones put together, in whatever order they were said.

use super::ast::{Clock, Day, Half, Length, Period, When, Which, Zone};
use super::clock::Bare;
use super::parser::{Parsed, Parser, Ranges};
use super::words::{self, Part};

/// Words between the pieces.
const JOINERS: [&str; 6] = ["at", "on", "from", "between", "around", "of"];

impl Parser<'_> {
    /// As many pieces as there are, each at most once.
    pub(super) fn when(&self, at: usize) -> Parsed<When> {
        let mut when = When::default();
        let mut end = at;
        while let Some(behind) = self.piece(&mut when, end) {
            end = behind;
        }
        (end > at).then_some((when, end))
    }

    fn piece(&self, when: &mut When, at: usize) -> Option<usize> {
        let is_first = *when == When::default();
        let comma = if is_first { at } else { self.skip_mark(at, ',') };
        let start = if self.mark(comma) == Some('@') {
            comma + 1
        } else {
            self.skip(comma, if is_first { &JOINERS[..5] } else { &JOINERS })
        };
        self.zone_piece(when, at)
            .or_else(|| self.part_piece(when, start, is_first))
            .or_else(|| self.day_piece(when, start))
            .or_else(|| self.clock_piece(when, start, is_first))
    }

    fn zone_piece(&self, when: &mut When, at: usize) -> Option<usize> {
        if when.zone.is_some() || when.clock.is_none() {
            return None;
        }
        let (zone, end) = self.zone(at)?;
        let with_minutes = self.mark(at.checked_sub(2)?) == Some(':');
        // `9-5` is a range; `15:00-05` and `9 -05:00` have an offset.
        let is_offset = matches!(self.mark(at), Some('+' | '-'));
        let long = self.mark(at + 2) == Some(':') || self.digits(at + 1).is_some_and(|number| number.digits == 4);
        let short = with_minutes && self.is_joined(at) && self.digits(at + 1).is_some_and(|number| number.digits == 2);
        if is_offset && !long && !short {
            return None;
        }
        // `10:00 UTC` is written on the clock of 24 hours.
        if let (Zone::Offset(_), true, Some(clock)) = (&zone, with_minutes, &mut when.clock)
            && clock.half == Half::Unsaid
        {
            clock.half = Half::Full;
        }
        when.zone = Some(zone);
        Some(end)
    }

    fn day_piece(&self, when: &mut When, at: usize) -> Option<usize> {
        let (day, end) = self.day(at)?;
        let Some(known) = when.day.take() else {
            when.day = Some(day);
            // The `T` of ISO 8601, where a clock time follows at once.
            let timed =
                self.is(end, "t") && self.is_joined(end) && self.is_joined(end + 1) && self.digits(end + 1).is_some();
            return match timed.then(|| self.iso_clock(end + 1)).flatten() {
                Some((clock, end)) => {
                    when.clock = Some(clock);
                    Some(end)
                }
                None => Some(end),
            };
        };
        match merged(&known, &day) {
            Some(day) => {
                when.day = Some(day);
                Some(end)
            }
            None => {
                when.day = Some(known);
                None
            }
        }
    }

    fn iso_clock(&self, at: usize) -> Parsed<Clock> {
        let number = self.digits(at)?;
        if matches!(number.digits, 4 | 6) {
            let (clock, second) = match number.digits {
                4 => (number.value, 0),
                _ => (number.value / 100, number.value % 100),
            };
            return Some((Clock { second, ..Clock::new(clock / 100, clock % 100, Half::Full) }, at + 1));
        }
        let (clock, end) = self.clock(at, Bare::Yes)?;
        Some((Clock { half: Half::Full, ..clock }, end))
    }

    /// `tonight`, `this evening`, `in the morning`, `evening` behind a day.
    fn part_piece(&self, when: &mut When, at: usize, is_first: bool) -> Option<usize> {
        if when.part.is_some() {
            return None;
        }
        let today = |days: i64, part: Part, end: usize| Some((Some(Day::Offset(days)), part, end));
        let found = match self.word(at)? {
            "tonight" => today(0, Part::Night, at + 1),
            "this" => self.word(at + 1).and_then(words::part).and_then(|part| today(0, part, at + 2)),
            "last" if self.is(at + 1, "night") => today(-1, Part::Night, at + 2),
            _ => {
                let start = self.phrases(at, &["in the", "during the", "the", "at"]).unwrap_or(at);
                let part = self.word(start).and_then(words::part)?;
                let said = self.is_any(at, &["in", "during"])
                    || (part == Part::Night && (self.is(at, "at") || self.is_after(at, &["at"])))
                    || (part == Part::Lunchtime && self.is_after(start, &["at"]));
                let placed = !is_first || said || self.is(start + 1, "of") || !self.is_running();
                placed.then_some((None, part, start + 1))
            }
        };
        let (day, part, end) = found?;
        if day.is_some() && when.day.is_some() && when.day != day {
            return None;
        }
        when.part = Some(part);
        when.day = when.day.take().or(day);
        Some(end)
    }

    fn clock_piece(&self, when: &mut When, at: usize, is_first: bool) -> Option<usize> {
        if when.clock.is_some() {
            return None;
        }
        let led = self.is_after(at, &["from", "between"]);
        let single = self.clock(at, if is_first && !self.is_running() { Bare::Yes } else { Bare::Led });
        if let Some((from, until, end)) = self.clock_range(at, !is_first) {
            let spoken = single.filter(|(clock, single)| clock.less > 0 && *single >= end);
            let sure = led || matches!(until.half, Half::Am | Half::Pm);
            match spoken {
                Some((clock, end)) if !sure => {
                    when.clock = Some(clock);
                    return Some(end);
                }
                _ => {}
            }
            when.rival = self.minutes_to(at, from, until).filter(|_| !sure && is_first);
            (when.clock, when.until) = (Some(from), Some(until));
            return Some(end);
        }
        let (clock, end) = single?;
        when.clock = Some(clock);
        Some(end)
    }

    /// `10 to 5` as ten minutes to five.
    fn minutes_to(&self, at: usize, from: Clock, until: Clock) -> Option<Clock> {
        let plain = matches!(from.hour, 5 | 10) && from.minute == 0 && self.is(at + 1, "to");
        (plain && until.half == Half::Unsaid).then_some(Clock { less: from.hour, ..until })
    }

    /// `3 to 5 pm`, `10-12`, `between 3 and 5`.
    fn clock_range(&self, at: usize, placed: bool) -> Option<(Clock, Clock, usize)> {
        let between = self.is_after(at, &["between"]);
        if self.ranges() == Ranges::None || (self.ranges() == Ranges::NotFrom && self.is_after(at, &["from"])) {
            return None;
        }
        let joint = |end: usize| match self.mark(end) {
            Some('-') => Some(end + 1),
            _ if between => self.is(end, "and").then_some(end + 1),
            _ => self.is_any(end, &["to", "until", "till", "til"]).then_some(end + 1),
        };
        let plain = |at: usize| {
            let full = self.clock(at, Bare::Yes).filter(|(clock, _)| clock.less == 0);
            full.or_else(|| self.hour_alone(at))
        };
        let (from, behind) = plain(at)?;
        let start = joint(behind)?;
        // ` -0500` and `15:00:00-05:00` have an offset.
        let offset = (!self.is_joined(behind) && self.is_joined(start)) || behind >= at + 5;
        if self.mark(behind) == Some('-') && offset {
            return None;
        }
        let (until, end) = plain(start)?;
        let is_bare = |clock: Clock, tokens: usize| tokens == 1 && !clock.midnight && clock != Clock::noon();
        let bare_until = is_bare(until, end - start);
        let both = is_bare(from, behind - at) && bare_until;
        let said = self.is_after(at, &["from", "between", "at", "by", "to", "until"]) || placed;
        let dated = self.day(self.skip(end, &["on"])).is_some();
        let stands = !both || said || dated || (!self.is_running() && self.mark(behind) != Some('-'));
        let closed = !self.is_running() || !bare_until || self.is_closed(end);
        (stands && closed).then_some((from, until, end))
    }

    fn hour_alone(&self, at: usize) -> Parsed<Clock> {
        let (hour, end) = self.integer(at)?;
        let half = if hour > 12 || hour == 0 { Half::Full } else { Half::Unsaid };
        (1..=24).contains(&hour).then_some((Clock::new(hour, 0, half), end))
    }
}

/// One day out of two that were said.
fn merged(known: &Day, other: &Day) -> Option<Day> {
    match (known, other) {
        (Day::Weekday(weekday, Which::Bare), Day::Period(Period::Week(weeks)))
        | (Day::Period(Period::Week(weeks)), Day::Weekday(weekday, Which::Bare)) => Some(Day::InWeek(*weekday, *weeks)),
        (Day::Ahead(Length { months: 0, days, seconds: 0 }), Day::Weekday(weekday, Which::Bare)) if days % 7 == 0 => {
            Some(Day::InWeek(*weekday, days / 7))
        }
        (Day::Weekday(weekday, Which::Bare), day @ Day::Offset(_))
        | (day @ Day::Offset(_), Day::Weekday(weekday, Which::Bare)) => {
            Some(Day::Checked(*weekday, Box::new(day.clone())))
        }
        _ => None,
    }
}
