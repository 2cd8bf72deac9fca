//! Clock times and the zones behind them.

use super::ast::{Clock, Half, Zone};
use super::parser::{Parsed, Parser};
use super::words;

/// How a clock time may be written at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bare {
    /// A number alone is one.
    Yes,
    /// A number alone is one only after a word such as `at`, and before nothing that it may count.
    Led,
}

impl Parser<'_> {
    /// A clock time.
    pub(super) fn clock(&self, at: usize, bare: Bare) -> Parsed<Clock> {
        self.named_clock(at)
            .or_else(|| self.spoken_clock(at))
            .or_else(|| self.written_clock(at))
            .or_else(|| self.bare_clock(at, bare))
    }

    fn named_clock(&self, at: usize) -> Parsed<Clock> {
        let at = match self.is(at, "twelve") || self.digits(at).is_some_and(|number| number.value == 12) {
            true if self.is_any(at + 1, &["noon", "midnight"]) => at + 1,
            _ => at,
        };
        match self.word(at)? {
            "noon" | "midday" => Some((Clock::noon(), at + 1)),
            "midnight" => Some((Clock::midnight(), at + 1)),
            _ => None,
        }
    }

    /// `half past three`, `quarter to 5`, `ten past nine`, `5 minutes to noon`.
    fn spoken_clock(&self, at: usize) -> Parsed<Clock> {
        let (minutes, end, sure) = self.spoken_minutes(at)?;
        let past = self.is_any(end, &["past", "after"]);
        let to = self.is_any(end, &["to", "till", "before"]) || (self.is(end, "of") && minutes == 15);
        // `10 to 5` may be ten hours to five; `after` and `before` need the word `minutes`.
        let plain = self.is_any(end, &["past", "to", "till", "of"]);
        if !(past || to) || !(sure || plain) {
            return None;
        }
        let (clock, end) = self.named_clock(end + 1).or_else(|| self.spoken_hour(end + 1))?;
        if past {
            return Some((Clock { minute: minutes, ..clock }, end));
        }
        Some((Clock { less: minutes, ..clock }, end))
    }

    /// The minutes in front of `past` or `to`, and whether they are surely minutes.
    fn spoken_minutes(&self, at: usize) -> Option<(u32, usize, bool)> {
        if self.is(at, "half") && self.is(at + 1, "past") {
            return Some((30, at + 1, true));
        }
        let quarter = self.skip(at, &["a"]);
        if self.is(quarter, "quarter") {
            return Some((15, quarter + 1, true));
        }
        let (minutes, end) = self.integer(at)?;
        if self.is_any(end, &["minutes", "minute", "min", "mins"]) {
            return (minutes < 60).then_some((minutes, end + 1, true));
        }
        let is_word = self.word(at).is_some();
        let usual = matches!(minutes, 5 | 10 | 20 | 25)
            && (is_word || minutes >= 20 || self.is(end, "past") || self.is_after(at, &["at"]));
        usual.then_some((minutes, end, false))
    }

    fn spoken_hour(&self, at: usize) -> Parsed<Clock> {
        let (hour, end) = self.hour(at)?;
        if !(1..=23).contains(&hour) {
            return None;
        }
        Some(self.with_half(hour, 0, 0, hour > 12, self.oclock(end).unwrap_or(end)))
    }

    /// Behind `o'clock`.
    fn oclock(&self, at: usize) -> Option<usize> {
        if self.is(at, "oclock") {
            return Some(at + 1);
        }
        if let Some(end) = self.phrase(at, "o clock") {
            return Some(end);
        }
        (self.is(at, "o") && self.is_joint(at + 1, '\'') && self.is(at + 2, "clock")).then_some(at + 3)
    }

    fn hour(&self, at: usize) -> Parsed<u32> {
        if let Some(number) = self.digits(at) {
            return (number.digits <= 2).then_some((number.value, at + 1));
        }
        let hour = self.word(at).and_then(words::small_number)?;
        (1..=12).contains(&hour).then_some((hour, at + 1))
    }

    /// The clock time with the half of the day that stands behind it. `full` is for hours that are one of 24 anyway.
    fn with_half(&self, hour: u32, minute: u32, second: u32, full: bool, at: usize) -> (Clock, usize) {
        let (half, end) = match self.half(at) {
            Some((half, end)) => (half, end),
            None if full => (Half::Full, at),
            None => (Half::Unsaid, at),
        };
        (Clock { second, ..Clock::new(hour, minute, half) }, end)
    }

    /// `am`, `p.m.`
    pub(super) fn half(&self, at: usize) -> Parsed<Half> {
        let (first, end) = match self.word(at)? {
            word @ ("am" | "pm") => (word, at + 1),
            word @ ("a" | "p") if self.is_joint(at + 1, '.') && self.is(at + 2, "m") => {
                (word, if self.mark(at + 3) == Some('.') && self.is_joined(at + 3) { at + 4 } else { at + 3 })
            }
            _ => return None,
        };
        Some((if first.starts_with('a') { Half::Am } else { Half::Pm }, end))
    }

    /// Digits that nothing else looks like: `15:00`, `3.30 pm`, `15h30`, `3 pm`, `4 o'clock`, `0730 hours`.
    fn written_clock(&self, at: usize) -> Parsed<Clock> {
        if let Some(found) = self.with_minutes(at) {
            return Some(found);
        }
        if let Some(found) = self.run_together(at) {
            return Some(found);
        }
        let (hour, end) = self.hour(at)?;
        if let Some((half, end)) = self.half(end) {
            return Some((Clock::new(hour, 0, half), end));
        }
        if let Some(end) = self.oclock(end) {
            return Some(self.with_half(hour, 0, 0, hour > 12, end));
        }
        let (minute, end) = self.said_minutes(end)?;
        self.word(at)?;
        Some(self.with_half(hour, minute, 0, false, end))
    }

    /// The minutes of `seven thirty` and `seven oh five`.
    fn said_minutes(&self, at: usize) -> Parsed<u32> {
        if self.is_any(at, &["oh", "o"]) {
            let (minute, end) = self.integer(at + 1)?;
            return (self.word(at + 1).is_some() && minute < 10).then_some((minute, end));
        }
        self.word(at)?;
        let (minute, end) = self.integer(at)?;
        let counts = self.word(end).is_some_and(|word| words::unit(word).is_some());
        ((10..60).contains(&minute) && !counts).then_some((minute, end))
    }

    /// `15:00`, `15:00:30`, `3.30 pm`, `at 15.30`, `15h30`.
    fn with_minutes(&self, at: usize) -> Parsed<Clock> {
        let hour = self.digits(at).filter(|hour| hour.digits <= 2)?;
        let full = hour.padded || hour.value > 12 || hour.value == 0;
        let minute = self.digits(at + 2).filter(|minute| minute.digits == 2);
        if self.is_joined(at + 1) && self.is(at + 1, "h") && (hour.value > 6 || self.is_after(at, &["at"])) {
            let minute = minute.filter(|_| self.is_joined(at + 2));
            return match minute {
                Some(minute) => Some((Clock::new(hour.value, minute.value, Half::Full), at + 3)),
                None if self.is_after(at, &["at"]) => Some((Clock::new(hour.value, 0, Half::Full), at + 2)),
                None => None,
            };
        }
        let minute = minute?.value;
        if self.is_joint(at + 1, ':') {
            let (second, end) = self.seconds(at + 3);
            return Some(self.with_half(hour.value, minute, second, full, end));
        }
        // A point is one of a number or of a date, unless something says otherwise.
        let said = self.half(at + 3).is_some() || (self.is_after(at, &["at"]) && !self.is_joint(at + 3, '.'));
        (self.is_joint(at + 1, '.') && said).then(|| self.with_half(hour.value, minute, 0, full, at + 3))
    }

    fn seconds(&self, at: usize) -> (u32, usize) {
        let second = self.digits(at + 1).filter(|second| second.digits == 2 && self.is_joint(at, ':'));
        let Some(second) = second else { return (0, at) };
        let fraction = (self.is_joint(at + 2, '.') || self.is_joint(at + 2, ',')) && self.digits(at + 3).is_some();
        (second.value, if fraction { at + 4 } else { at + 2 })
    }

    /// `at 1530`, `0730`, `0730 hours`.
    fn run_together(&self, at: usize) -> Parsed<Clock> {
        let number = self.digits(at).filter(|number| number.digits == 4)?;
        let end = self.skip(at + 1, &["hours", "hrs", "h"]);
        let led = self.is_after(at, &["at"]) && self.is_closed(end);
        let clock = Clock::new(number.value / 100, number.value % 100, Half::Full);
        let sure = led || (number.padded && (!self.is_running() || end > at + 1));
        if let Some((half, end)) = self.half(at + 1) {
            return Some((Clock { half, ..clock }, end));
        }
        (sure && clock.hour < 24 && clock.minute < 60).then_some((clock, end))
    }

    /// A number and nothing else.
    fn bare_clock(&self, at: usize, bare: Bare) -> Parsed<Clock> {
        let (hour, end) = self.hour(at)?;
        let stands = match bare {
            Bare::Yes => true,
            Bare::Led => self.is_led(at) && (self.is_closed(end) || !self.is_running()),
        };
        let padded = self.digits(at).is_some_and(|number| number.padded);
        let full = padded || hour > 12 || hour == 0;
        let half = if full { Half::Full } else { Half::Unsaid };
        (stands && (1..=24).contains(&hour)).then_some((Clock::new(hour, 0, half), end))
    }

    /// A zone behind a clock time: `UTC`, `+02:00`, `Europe/Berlin`, `CET`, `Tokyo time`.
    pub(super) fn zone(&self, at: usize) -> Parsed<Zone> {
        if let Some(sign @ ('+' | '-')) = self.mark(at) {
            let (seconds, end) = self.offset(at + 1)?;
            return Some((Zone::Offset(if sign == '+' { seconds } else { -seconds }), self.bracketed(end)));
        }
        if self.mark(at) == Some('[') {
            let (zone, end) = self.named_zone(at + 1)?;
            return (self.mark(end) == Some(']')).then_some((zone, end + 1));
        }
        let word = self.word(at)?;
        if word == "utc" || word == "gmt" || (word == "z" && self.is_joined(at)) {
            let signed = matches!(self.mark(at + 1), Some('+' | '-')) && self.is_joined(at + 1);
            return match self.zone(at + 1).filter(|_| signed) {
                Some(found) => Some(found),
                None => Some((Zone::Offset(0), self.bracketed(at + 1))),
            };
        }
        if let Some(end) = self.phrases(at, &["local time", "my time"]) {
            return Some((Zone::Local, end));
        }
        self.abbreviated(at).or_else(|| self.named_zone(at)).or_else(|| self.place(at))
    }

    /// Behind a zone's name in brackets, which only says again where an offset holds.
    fn bracketed(&self, at: usize) -> usize {
        let again = self.mark(at) == Some('[') && self.is_joined(at);
        self.zone(at).filter(|_| again).map_or(at, |(_, end)| end)
    }

    /// `2`, `02`, `0200`, `02:00`.
    fn offset(&self, at: usize) -> Parsed<i32> {
        let number = self.digits(at).filter(|_| self.is_joined(at))?;
        let (hours, minutes, end) = match number.digits {
            1 | 2 if self.is_joint(at + 1, ':') => (number.value, self.digits(at + 2)?.value, at + 3),
            1 | 2 => (number.value, 0, at + 1),
            4 => (number.value / 100, number.value % 100, at + 1),
            _ => return None,
        };
        let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
        (hours <= 18 && minutes < 60).then_some((seconds, end))
    }

    /// Abbreviations in capitals. Some are used on two continents.
    fn abbreviated(&self, at: usize) -> Parsed<Zone> {
        const HOUR: i32 = 3600;
        let american = match self.written(at) {
            "ET" => Some("America/New_York"),
            "CT" => Some("America/Chicago"),
            "MT" => Some("America/Denver"),
            "PT" => Some("America/Los_Angeles"),
            _ => None,
        };
        if let Some(name) = american {
            return Some((Zone::Named(name.to_owned()), at + 1));
        }
        let offsets: &[i32] = match self.written(at) {
            "WET" => &[0],
            "BST" => &[HOUR, 6 * HOUR],
            "CET" | "WEST" => &[HOUR],
            "CEST" | "EET" => &[2 * HOUR],
            "EEST" | "MSK" => &[3 * HOUR],
            "IST" => &[5 * HOUR + HOUR / 2, 2 * HOUR, HOUR],
            "JST" | "KST" => &[9 * HOUR],
            "AEST" => &[10 * HOUR],
            "AEDT" => &[11 * HOUR],
            "EST" => &[-5 * HOUR],
            "EDT" => &[-4 * HOUR],
            "CST" => &[-6 * HOUR, 8 * HOUR],
            "CDT" => &[-5 * HOUR],
            "MDT" => &[-6 * HOUR],
            "MST" | "PDT" => &[-7 * HOUR],
            "PST" => &[-8 * HOUR],
            _ => return None,
        };
        Some((Zone::Offsets(offsets), at + 1))
    }

    /// `Europe/Berlin`, `America/Argentina/Buenos_Aires`.
    fn named_zone(&self, at: usize) -> Parsed<Zone> {
        self.word(at).filter(|_| self.is_joint(at + 1, '/'))?;
        let mut name = self.written(at).to_owned();
        let mut end = at + 1;
        while self.is_joint(end, '/') && self.word(end + 1).is_some() {
            name = format!("{name}/{}", self.written(end + 1));
            end += 2;
            while self.is_joint(end, '-') && self.word(end + 1).is_some() {
                name = format!("{name}-{}", self.written(end + 1));
                end += 2;
            }
        }
        let known = jiff::tz::TimeZone::get(&name).ok()?;
        known.iana_name().map(|name| (Zone::Named(name.to_owned()), end))
    }

    /// `Tokyo time`, `New York time`, `Eastern time`: a place that the time zone database names.
    fn place(&self, at: usize) -> Parsed<Zone> {
        let words = (1..=3).find(|words| self.is(at + words, "time"))?;
        let names: Option<Vec<&str>> = (at..at + words).map(|at| self.word(at)).collect();
        let place = names?.join("_");
        let american = match place.as_str() {
            "eastern" => Some("America/New_York"),
            "central" => Some("America/Chicago"),
            "mountain" => Some("America/Denver"),
            "pacific" => Some("America/Los_Angeles"),
            _ => None,
        };
        let end = at + words + 1;
        if let Some(name) = american {
            return Some((Zone::Named(name.to_owned()), end));
        }
        let is_place = |name: &str| name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&place));
        let database = jiff::tz::db();
        let mut known = database.available().map(|name| name.to_string());
        let name = known.find(|name| name.contains('/') && !name.starts_with("Etc/") && is_place(name))?;
        Some((Zone::Named(name), end))
    }
}
