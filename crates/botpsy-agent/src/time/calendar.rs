//! Dates of the calendar, in all their spellings: `3 March`, `March 3rd, 2027`, `2026-12-01`, `1.12.2026`, `3/4`.

use super::ast::Day;
use super::lex::Number;
use super::parser::{Parsed, Parser};
use super::words;

/// Words before a date.
const DATE_LEADS: [&str; 9] = ["on", "by", "until", "till", "from", "since", "before", "after", "of"];

/// Days that have names; longer ones come first.
const NAMED: [(&str, i8, u32); 13] = [
    ("new year s eve", 12, 31),
    ("new years eve", 12, 31),
    ("new year s day", 1, 1),
    ("new years day", 1, 1),
    ("new year s", 1, 1),
    ("christmas eve", 12, 24),
    ("christmas day", 12, 25),
    ("christmas", 12, 25),
    ("xmas", 12, 25),
    ("boxing day", 12, 26),
    ("valentine s day", 2, 14),
    ("valentines day", 2, 14),
    ("halloween", 10, 31),
];

impl Parser<'_> {
    /// A date, with its weekday in front or behind it.
    pub(super) fn calendar_date(&self, at: usize) -> Parsed<Day> {
        if let Some((weekday, end)) = self.weekday(at) {
            let next = self.skip(self.skip(self.skip_mark(end, ','), &["on"]), &["the"]);
            let (day, end) = self
                .plain_date(next)
                .or_else(|| self.month_day_behind(next))
                .or_else(|| self.numeric_date(next, true))?;
            return Some((Day::Checked(weekday, Box::new(day)), end));
        }
        let (day, end) = self.plain_date(at).or_else(|| self.numeric_date(at, false))?;
        let bracket = self.skip_mark(end, '(');
        let behind = self.skip_mark(bracket, ',');
        match self.weekday(behind) {
            Some((weekday, end)) if behind > bracket || bracket > end => {
                Some((Day::Checked(weekday, Box::new(day)), self.skip_mark(end, ')')))
            }
            _ => Some((day, end)),
        }
    }

    /// `Friday the 13th`, `Friday 13th`.
    fn month_day_behind(&self, at: usize) -> Parsed<Day> {
        let said = self.is_after(at, &["the"]) || self.digits(at).is_some();
        said.then(|| self.ordinal(at)).flatten().map(|(day, end)| (Day::Ordinal(day), end))
    }

    fn plain_date(&self, at: usize) -> Parsed<Day> {
        let written = || self.iso_date(at).or_else(|| self.day_then_month(at)).or_else(|| self.month_then_day(at));
        written().or_else(|| self.named_date(at))
    }

    /// `Christmas Eve`, `New Year's Day`: days that are the same everywhere and every year. In running text only behind a word
    /// that makes a day of them: a `christmas card` is none.
    fn named_date(&self, at: usize) -> Parsed<Day> {
        let (month, day, end) = NAMED.iter().find_map(|(name, month, day)| {
            let end = name.split(' ').try_fold(at, |end, word| {
                let end = if word == "s" { self.skip_mark(end, '\'') } else { end };
                self.is(end, word).then_some(end + 1)
            })?;
            Some((*month, *day, end))
        })?;
        let led = self.is_after(at, &DATE_LEADS) && self.is_closed(end);
        let (year, end) = self.year_behind(end);
        (!self.is_running() || led || year.is_some()).then_some((Day::Date { year, month, day }, end))
    }

    /// `2026-12-01`, `2026/12/01`, `20261201T0800`.
    fn iso_date(&self, at: usize) -> Parsed<Day> {
        let number = self.digits(at)?;
        if number.digits == 8 && self.year_of(number.value / 10_000).is_some() {
            let sure = !self.is_running() || (self.is(at + 1, "t") && self.is_joined(at + 1));
            let (month, day) = (number.value / 100 % 100, number.value % 100);
            return sure.then(|| (date(Some(number.value / 10_000), month, day), at + 1));
        }
        let year = Some(number).filter(|year| year.digits == 4)?.value;
        let mark = self.mark(at + 1).filter(|mark| matches!(mark, '-' | '/' | '.'))?;
        if !self.is_joint(at + 1, mark) || !self.is_joint(at + 3, mark) {
            return None;
        }
        let (month, day) = (self.short(at + 2)?, self.short(at + 4)?);
        Some((date(Some(year), month.value, day.value), at + 5))
    }

    fn short(&self, at: usize) -> Option<Number> {
        self.digits(at).filter(|number| number.digits <= 2)
    }

    fn year_of(&self, year: u32) -> Option<u32> {
        (1900..=2199).contains(&year).then_some(year)
    }

    /// `3 March`, `3rd of March 2027`, `the third of March`, `3-Mar-2027`.
    fn day_then_month(&self, at: usize) -> Parsed<Day> {
        let start = self.skip(at, &["the"]);
        let (day, end) = self
            .ordinal(start)
            .or_else(|| self.short(start).map(|day| (day.value, start + 1)))
            .or_else(|| self.integer(start).filter(|(day, _)| *day <= 31 && self.word(start).is_some()))?;
        let end = self.skip_mark(end, '.');
        let end = if self.is_joint(end, '-') || self.is_joint(end, '/') { end + 1 } else { self.skip(end, &["of"]) };
        let (month, end) = self.month_name(end)?;
        let (year, end) = self.year_behind(end);
        Some((Day::Date { year, month, day }, end))
    }

    /// `March 3`, `March 3rd`, `March the 3rd, 2027`, `march eighteen`.
    fn month_then_day(&self, at: usize) -> Parsed<Day> {
        let (month, end) = self.month_name(at)?;
        let joined = if self.is_joint(end, '-') { end + 1 } else { end };
        let start = self.skip(joined, &["the"]);
        let place = self.ordinal(start);
        let number = || match self.word(start) {
            Some(_) => self.integer(start).filter(|(day, _)| *day <= 31),
            None => self.short(start).map(|day| (day.value, start + 1)),
        };
        let (day, behind) = place.or_else(|| number().filter(|_| start == joined))?;
        if place.is_none() && (self.is_joint(behind, ':') || self.half(behind).is_some()) {
            return None;
        }
        let (year, end) = self.year_behind(behind);
        let is_said = year.is_some() || (place.is_some() && self.digits(start).is_some());
        let sure = is_said || !self.is_running() || !self.is_verb(at) || self.is_after(at, &DATE_LEADS);
        // `march 3 miles`, `may first`
        let stands = sure || (self.is_closed(end) && !self.is_any(start, &["first", "second"]));
        stands.then_some((Day::Date { year, month, day }, end))
    }

    /// Whether the month there is written as the verb that it is too.
    fn is_verb(&self, at: usize) -> bool {
        self.is_any(at, &words::VERB_MONTHS) && self.written(at).starts_with(char::is_lowercase)
    }

    /// A month's name, with the point of an abbreviation.
    pub(super) fn month_name(&self, at: usize) -> Parsed<i8> {
        let word = self.word(at)?;
        let month = words::month(word)?;
        let point = word.len() < 5 && self.mark(at + 1) == Some('.') && self.is_joined(at + 1);
        let goes_on = point && self.digits(at + 2).is_some();
        Some((month, if goes_on { at + 2 } else { at + 1 }))
    }

    /// The year behind a month or a day, and where it ends.
    pub(super) fn year_behind(&self, at: usize) -> (Option<u32>, usize) {
        let dashed = if self.is_joint(at, '-') || self.is_joint(at, '/') { at + 1 } else { at };
        let start = if dashed > at { dashed } else { self.skip(self.skip_mark(at, ','), &["in", "of"]) };
        // `March 3, 2030 hours` is not written by anybody; `3 March 2030` is.
        if let Some(year) = self.year(start) {
            return (Some(year), start + 1);
        }
        let short = self.mark(start) == Some('\'') && self.is_joined(start + 1);
        match self.digits(start + 1).filter(|year| short && year.digits == 2) {
            Some(year) => (Some(2000 + year.value), start + 2),
            None => (None, at),
        }
    }

    /// `3/4`, `3/4/2026`, `3-4-26`, `1.12.`, `1.12.2026`. With points the day stands first, as everywhere where points are used.
    fn numeric_date(&self, at: usize, said: bool) -> Parsed<Day> {
        let first = self.short(at)?;
        let mark = self.mark(at + 1).filter(|mark| matches!(mark, '/' | '-' | '.'))?;
        if !self.is_joint(at + 1, mark) {
            return None;
        }
        let second = self.short(at + 2)?;
        let year = self.digits(at + 4).filter(|year| matches!(year.digits, 2 | 4) && self.is_joint(at + 3, mark));
        let ends = mark == '.' && self.mark(at + 3) == Some('.') && self.is_joined(at + 3);
        let (end, year) = match year {
            Some(year) if year.digits == 2 => (at + 5, Some(2000 + year.value)),
            Some(year) => (at + 5, Some(year.value)),
            None => (if ends { at + 4 } else { at + 3 }, None),
        };
        if year.is_none() && !self.is_date_of_two(at, (first.value, second.value), mark, said, ends) {
            return None;
        }
        let day = match mark {
            '.' => date(year, second.value, first.value),
            _ => Day::Numeric { first: first.value, second: second.value, year },
        };
        Some((day, end))
    }

    /// Whether two numbers are a date: in running text only behind a word that says so, since `3/4` is a fraction too.
    fn is_date_of_two(&self, at: usize, (first, second): (u32, u32), mark: char, said: bool, ends: bool) -> bool {
        let led = said || self.is_after(at, &DATE_LEADS);
        let fits = (1..=31).contains(&first) && (1..=31).contains(&second) && first.min(second) <= 12;
        match mark {
            '/' => (led || !self.is_running()) && (fits || !self.is_running()),
            '-' => false,
            _ if ends => (led || !self.is_running() || self.digits(at + 4).is_some()) && fits,
            _ => (led || (!self.is_running() && first >= 24)) && fits && second <= 12,
        }
    }
}

fn date(year: Option<u32>, month: u32, day: u32) -> Day {
    // A month that is none stays none.
    Day::Date { year, month: i8::try_from(month).unwrap_or(0), day }
}
