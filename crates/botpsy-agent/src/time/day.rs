//! Days and longer periods: `tomorrow`, `next Friday`, `the first Monday of March`, `in two weeks`.

use jiff::civil::Weekday;

use super::ast::{Day, Length, Month, Period, Which};
use super::parser::{Parsed, Parser};
use super::words;

impl Parser<'_> {
    /// A day, or a period of several days.
    pub(super) fn day(&self, at: usize) -> Parsed<Day> {
        let pieces = [
            Parser::ahead,
            Parser::weeks_on,
            Parser::calendar_date,
            Parser::near_day,
            Parser::weekday_of,
            Parser::placed_day,
            Parser::weekday_day,
            Parser::edge,
            Parser::period_day,
        ];
        pieces.iter().find_map(|piece| piece(self, at))
    }

    /// `in 3 days`, `3 days from now`, `3 days ago`, `an hour later`.
    fn ahead(&self, at: usize) -> Parsed<Day> {
        if self.is(at, "in") {
            let (length, end) = self.length(at + 1)?;
            let end = self.skip(self.skip_mark(end, '\''), &["s"]);
            let end = self.phrases(end, &["from now", "time"]).unwrap_or(end);
            return Some((Day::Ahead(length), end));
        }
        let (length, end) = self.length(at)?;
        if let Some(end) = self.phrases(end, &["from now", "from today", "hence"]) {
            let day = if self.is(end - 1, "today") {
                Day::From(Box::new(Day::Offset(0)), length)
            } else {
                Day::Ahead(length)
            };
            return Some((day, end));
        }
        self.phrases(end, &["ago"]).map(|end| (Day::Ahead(length.signed(-1)), end))
    }

    /// `a week on Friday`, `two weeks from tomorrow`, `the day after Friday`, `3 days before 4 March`.
    fn weeks_on(&self, at: usize) -> Parsed<Day> {
        let start = self.skip(at, &["the"]);
        let (length, end) = match self.phrases(start, &["day", "week"]) {
            Some(end) if self.is_any(end, &["after", "before"]) => {
                (Length::days(if self.is(start, "day") { 1 } else { 7 }), end)
            }
            _ => self.length(at)?,
        };
        if length.seconds != 0 {
            return None;
        }
        let (sign, base) = match self.word(end)? {
            "after" | "from" | "on" => (1, end + 1),
            "before" => (-1, end + 1),
            "today" | "tomorrow" if length.months == 0 && length.days % 7 == 0 => (1, end),
            _ => return None,
        };
        let (day, end) = self.calendar_date(base).or_else(|| self.near_day(base)).or_else(|| self.weekday_day(base))?;
        Some((Day::From(Box::new(day), length.signed(sign)), end))
    }

    fn near_day(&self, at: usize) -> Parsed<Day> {
        let after_the = self.skip(at, &["the"]);
        if let Some(end) = self.phrase(after_the, "day after tomorrow") {
            return Some((Day::Offset(2), end));
        }
        if let Some(end) = self.phrase(after_the, "day before yesterday") {
            return Some((Day::Offset(-2), end));
        }
        let now = self.skip(at, &["right"]);
        if self.is(now, "now") && !self.is_any(now + 1, &["that", "and", "on"]) {
            return Some((Day::Ahead(Length::default()), now + 1));
        }
        let (days, end) = match self.word(at)? {
            "today" | "todays" => (0, at + 1),
            "tomorrow" | "tomorrows" | "tmrw" | "tmr" => (1, at + 1),
            "yesterday" | "yesterdays" => (-1, at + 1),
            _ => return None,
        };
        // `tomorrow week`
        let later = !self.is_running() && self.is(end, "week");
        Some(if later { (Day::Offset(days + 7), end + 1) } else { (Day::Offset(days), end) })
    }

    pub(super) fn which(&self, at: usize) -> (Which, usize) {
        let start = self.skip(at, &["the"]);
        match self.word(start) {
            Some("this") => (Which::This, self.skip(start + 1, &["coming"])),
            Some("coming" | "upcoming") => (Which::This, start + 1),
            Some("next") => (Which::Next, start + 1),
            Some("last" | "past" | "previous") => (Which::Last, start + 1),
            _ => (Which::Bare, at),
        }
    }

    /// A weekday's name; a short one that is another word too only where something says that it is a day.
    pub(super) fn weekday(&self, at: usize) -> Parsed<Weekday> {
        let word = self.word(at)?;
        let weekday = words::weekday(word)?;
        let lower = self.written(at).starts_with(char::is_lowercase);
        let said = self.is_after(
            at,
            &["on", "by", "next", "this", "last", "every", "each", "until", "till", "from", "to", "before", "after"],
        );
        if self.is_running() && words::DOUBTFUL_DAYS.contains(&word) && !said && (lower || self.word(at + 1).is_some())
        {
            return None;
        }
        if self.is_running() && word == "mon" && lower && !said {
            return None;
        }
        let abbreviated = word.len() < 6 && self.mark(at + 1) == Some('.') && self.is_joined(at + 1);
        let goes_on = abbreviated && !self.is_end(at + 2) && self.digits(at + 2).is_some();
        Some((weekday, if goes_on { at + 2 } else { at + 1 }))
    }

    /// `next Friday`, `Friday week`, `Monday after next`, `Friday`.
    fn weekday_day(&self, at: usize) -> Parsed<Day> {
        let (which, start) = self.which(at);
        if let Some((weekday, end)) = self.weekday(self.skip(at, &["the"]))
            && let Some(end) = self.phrase(end, "after next")
        {
            return Some((Day::Weekday(weekday, Which::AfterNext), end));
        }
        let (weekday, end) = self.weekday(start)?;
        let day = Day::Weekday(weekday, which);
        if which != Which::Bare {
            return Some((day, end));
        }
        if self.is(end, "week") {
            return Some((Day::From(Box::new(day), Length::days(7)), end + 1));
        }
        if let Some((length, end)) = self.is(end, "in").then(|| self.length(end + 1)).flatten()
            && length.months == 0
            && length.seconds == 0
            && length.days % 7 == 0
        {
            return Some((Day::InWeek(weekday, length.days / 7), end));
        }
        Some((day, end))
    }

    /// `Tuesday next week`, `next week Tuesday`, `Tuesday of next week`, `Friday in a week`, `in two weeks on Monday`.
    fn weekday_of(&self, at: usize) -> Parsed<Day> {
        if let Some((weeks, end)) = self.some_week(at) {
            let (weekday, end) = self.weekday(self.skip(end, &["on"]))?;
            return Some((Day::InWeek(weekday, weeks), end));
        }
        let (weekday, end) = self.weekday(at)?;
        let (weeks, end) = self.some_week(self.skip(end, &["of", "in"]))?;
        Some((Day::InWeek(weekday, weeks), end))
    }

    /// `next week`, `the week after next`.
    fn some_week(&self, at: usize) -> Parsed<i64> {
        let start = self.skip(at, &["the"]);
        if let Some(end) = self.phrase(start, "week after next") {
            return Some((2, end));
        }
        let (which, end) = self.which(at);
        // `the coming week` is the next seven days to some, and the next week to others.
        let vague = self.is_any(end.checked_sub(1)?, &["coming", "upcoming"]);
        (self.is(end, "week") && !vague).then_some((weeks(which)?, end + 1))
    }

    /// `the first Monday of March`, `the last day of the month`, `the 15th of next month`, `the 15th`.
    fn placed_day(&self, at: usize) -> Parsed<Day> {
        let start = self.skip(at, &["the"]);
        let (nth, end) = match self.is(start, "last") {
            true => (None, start + 1),
            false => self.ordinal(start).map(|(nth, end)| (Some(nth), end))?,
        };
        if let Some((weekday, end)) = self.weekday(end)
            && self.is_any(end, &["of", "in"])
            && let Some((month, end)) = self.month_meant(end + 1)
        {
            return Some((Day::NthOf(nth, weekday, month), end));
        }
        let of = self.skip(end, &["day"]);
        if self.is(of, "of")
            && (nth.is_some() || of > end)
            && let Some((month, end)) = self.month_meant(of + 1)
        {
            return Some((Day::OrdinalOf(nth, month), end));
        }
        // `on the second floor` is no day; `on the 2nd` is one.
        let before = if self.is_after(start, &["the"]) { start - 1 } else { start };
        let led = self.is_after(before, &["on", "by", "until", "from", "to", "for"]);
        let stands = !self.is_running() || (led && self.is_closed(end));
        nth.filter(|_| stands).map(|nth| (Day::Ordinal(nth), end))
    }

    /// A month with words that say which: `next month`, `the month`, `March 2027`, `next March`.
    pub(super) fn month_meant(&self, at: usize) -> Parsed<Month> {
        let start = self.skip(at, &["the"]);
        if self.is(start, "month") && !self.is(start + 1, "after") {
            return Some((Month::Offset(0), start + 1));
        }
        if let Some(end) = self.phrase(start, "month after next") {
            return Some((Month::Offset(2), end));
        }
        let (which, end) = self.which(at);
        if self.is(end, "month") {
            return Some((Month::Offset(weeks(which)?), end + 1));
        }
        let (month, end) = self.month_name(end)?;
        let (year, end) = self.year_behind(end);
        Some((Month::Named(month, year, which), end))
    }

    /// `the end of the month`, `the beginning of next year`, `end of the week`.
    fn edge(&self, at: usize) -> Parsed<Day> {
        let start = self.skip(at, &["the"]);
        let is_end = self.is_any(start, &["end"]);
        if !is_end && !self.is_any(start, &["start", "beginning"]) {
            return None;
        }
        let of = self.skip(start + 1, &["of"]);
        let (period, end) = self.period(of).or_else(|| {
            let now = self.skip(of, &["the"]);
            if let Some(year) = self.year(of) {
                return Some((Period::YearNumber(year), of + 1));
            }
            match self.word(now)? {
                "day" if is_end => Some((Period::Day, now + 1)),
                "week" => Some((Period::Week(0), now + 1)),
                "month" => Some((Period::Month(Month::Offset(0)), now + 1)),
                "year" => Some((Period::Year(0), now + 1)),
                _ => None,
            }
        })?;
        Some((if is_end { Day::End(period) } else { Day::Start(period) }, end))
    }

    fn period_day(&self, at: usize) -> Parsed<Day> {
        let (period, end) = self.period(at)?;
        Some((Day::Period(period), end))
    }

    /// `next week`, `this weekend`, `March`, `next month`, `2027`, `week 49`.
    fn period(&self, at: usize) -> Parsed<Period> {
        if let Some((weeks, end)) = self.some_week(at) {
            return Some((Period::Week(weeks), end));
        }
        let (which, end) = self.which(at);
        let counted = weeks(which);
        match self.word(end) {
            Some("weekend") if which != Which::Bare || self.is_after(end, &["the"]) || self.is(at, "the") => {
                return Some((Period::Weekend(counted.unwrap_or(0)), end + 1));
            }
            Some("year") if which != Which::Bare => return Some((Period::Year(counted?), end + 1)),
            _ => {}
        }
        let the = self.skip(at, &["the"]);
        let led = the > at || self.is_after(at, &["at", "on", "by", "until", "for", "over"]);
        if self.is(the, "weekend") && (led || !self.is_running()) {
            return Some((Period::Weekend(0), the + 1));
        }
        let week = self.skip(the, &["calendar"]);
        if self.is(week, "week")
            && let Some(number) = self.digits(week + 1).filter(|number| number.digits <= 2)
        {
            return Some((Period::IsoWeek { year: None, week: number.value }, week + 2));
        }
        if let Some(found) = self.iso_period(at) {
            return Some(found);
        }
        if let Some(year) = self.year(at + 1).filter(|_| self.is(at, "in")) {
            return Some((Period::YearNumber(year), at + 2));
        }
        self.whole_month(at).map(|(month, end)| (Period::Month(month), end))
    }

    /// `2026-12` and `2026-W49`.
    fn iso_period(&self, at: usize) -> Parsed<Period> {
        let year = Some(self.year(at).filter(|_| !self.is_running() && self.is_joint(at + 1, '-'))?);
        if self.is(at + 2, "w") && self.is_joined(at + 3) {
            return self.digits(at + 3).map(|week| (Period::IsoWeek { year, week: week.value }, at + 4));
        }
        let month = self.digits(at + 2).filter(|month| month.digits == 2 && (1..=12).contains(&month.value))?;
        let month = Month::Named(i8::try_from(month.value).ok()?, year, Which::Bare);
        Some((Period::Month(month), at + 3))
    }

    /// A month as a period of its own. In running text `may` and `march` are verbs, and short names are names.
    fn whole_month(&self, at: usize) -> Parsed<Month> {
        let start = self.skip(at, &["in"]);
        if self.is(self.skip(start, &["the"]), "month") {
            return None;
        }
        let (month, end) = self.month_meant(start)?;
        let Month::Named(_, year, which) = month else { return Some((month, end)) };
        let name = self.word(end - 1).unwrap_or_default();
        let plain = words::PLAIN_MONTHS.contains(&name);
        let said = year.is_some() || which != Which::Bare || plain;
        let led = start > at || self.is_after(at, &["in", "by", "until", "till", "since", "of", "from"]);
        let sure = said || (led && (!words::VERB_MONTHS.contains(&name) || self.is_closed(end)));
        (sure || !self.is_running()).then_some((month, end))
    }

    pub(super) fn year(&self, at: usize) -> Option<u32> {
        self.digits(at).filter(|year| year.digits == 4 && (1900..=2199).contains(&year.value)).map(|year| year.value)
    }
}

/// How far from this one.
fn weeks(which: Which) -> Option<i64> {
    match which {
        Which::This => Some(0),
        Which::Next => Some(1),
        Which::Last => Some(-1),
        Which::AfterNext => Some(2),
        Which::Bare => None,
    }
}
