//! Clock times.

use super::ast::{Clock, Half};
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
}
