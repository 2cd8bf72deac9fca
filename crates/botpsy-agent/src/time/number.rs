//! Numbers in digits and in words, and how long something takes.

use super::ast::Length;
use super::parser::{Parsed, Parser};
use super::words::{self, Unit};

const HOUR: i64 = 3600;

/// Longer numbers do not fit.
const MAX_DIGITS: u8 = 9;

impl Parser<'_> {
    /// A whole number: `25`, `twenty-five`, `a hundred and five`.
    pub(super) fn integer(&self, at: usize) -> Parsed<u32> {
        if let Some(number) = self.digits(at) {
            return (number.digits <= MAX_DIGITS).then_some((number.value, at + 1));
        }
        let hundreds = |value: u32, end: usize| {
            let end = self.skip(end, &["hundred"]);
            let rest = self.below_hundred(self.skip(end, &["and"]));
            rest.map_or((value * 100, end), |(rest, end)| (value * 100 + rest, end))
        };
        if self.is(at, "a") && self.is(at + 1, "hundred") {
            return Some(hundreds(1, at + 1));
        }
        let (value, end) = self.below_hundred(at)?;
        Some(if self.is(end, "hundred") { hundreds(value, end) } else { (value, end) })
    }

    fn below_hundred(&self, at: usize) -> Parsed<u32> {
        let word = self.word(at)?;
        let Some(tens) = words::tens(word) else { return words::small_number(word).map(|value| (value, at + 1)) };
        let next = self.skip_mark(at + 1, '-');
        let ones = self.word(next).and_then(words::small_number).filter(|ones| (1..10).contains(ones));
        Some(ones.map_or((tens, at + 1), |ones| (tens + ones, next + 1)))
    }

    /// A place in a row: `3rd`, `third`, `twenty-first`.
    pub(super) fn ordinal(&self, at: usize) -> Parsed<u32> {
        if let Some(number) = self.digits(at) {
            let ends = self.is_joined(at + 1) && self.is_any(at + 1, &["st", "nd", "rd", "th"]);
            return ends.then_some((number.value, at + 2));
        }
        let word = self.word(at)?;
        if let Some(tens) = words::tens(word) {
            let next = self.skip_mark(at + 1, '-');
            let ones = self.word(next).and_then(words::ordinal).filter(|ones| *ones < 10)?;
            return Some((tens + ones, next + 1));
        }
        words::ordinal(word).map(|value| (value, at + 1))
    }

    /// How long: `90 minutes`, `1h30`, `an hour and a half`, `2 days and 3 hours`.
    pub(super) fn length(&self, at: usize) -> Parsed<Length> {
        let (mut length, mut end, mut unit) = self.one_length(at)?;
        if let Some((minutes, behind)) = self.bare_minutes(end, unit) {
            return Some((length.plus(times(minutes * 1000, Unit::Minute)?)?, behind));
        }
        // Smaller and smaller units, and each only once: a list of lengths is not one length.
        loop {
            let next = self.skip(self.skip_mark(end, ','), &["and"]);
            let Some((more, behind, smaller)) = self.one_length(next) else { break };
            if size(smaller) >= size(unit) {
                break;
            }
            (length, end, unit) = (length.plus(more)?, behind, smaller);
        }
        Some((length, end))
    }

    /// A number and its unit.
    fn one_length(&self, at: usize) -> Option<(Length, usize, Unit)> {
        if let Some(found) = self.spoken_fraction(at) {
            return Some(found);
        }
        let (thousandths, end) = self.amount(at)?;
        let (unit, behind) = self.unit(end)?;
        // `an hour and a half`, `2 hours and a half`
        if let Some(behind) = self.phrase(behind, "and a half")
            && self.word(behind).and_then(words::unit).is_none()
        {
            return Some((times(thousandths + 500, unit)?, behind, unit));
        }
        if let Some(behind) = self.phrase(behind, "and a quarter") {
            return Some((times(thousandths + 250, unit)?, behind, unit));
        }
        Some((times(thousandths, unit)?, behind, unit))
    }

    fn unit(&self, at: usize) -> Parsed<Unit> {
        let word = self.word(at)?;
        if let Some(unit) = words::unit(word) {
            // `2-hour` has its hyphen passed over by nobody: it describes, it does not tell.
            return Some((unit, at + 1));
        }
        let joined = self.is_joined(at) && self.digits(at - 1).is_some();
        let unit = words::letter_unit(word).filter(|_| joined && !self.is_running())?;
        Some((unit, at + 1))
    }

    /// `half an hour`, `a quarter of an hour`, `three quarters of an hour`.
    fn spoken_fraction(&self, at: usize) -> Option<(Length, usize, Unit)> {
        const FRACTIONS: [(&str, i64); 8] = [
            ("half an", 500),
            ("half a", 500),
            ("a half", 500),
            ("a quarter of an", 250),
            ("quarter of an", 250),
            ("a quarter", 250),
            ("three quarters of an", 750),
            ("three quarters of a", 750),
        ];
        let (thousandths, end) =
            FRACTIONS.iter().find_map(|(phrase, thousandths)| Some((*thousandths, self.phrase(at, phrase)?)))?;
        let unit = words::unit(self.word(end)?)?;
        Some((times(thousandths, unit)?, end + 1, unit))
    }

    /// How many, in thousandths: `1.5`, `two and a half`, `a couple of`, `an`.
    fn amount(&self, at: usize) -> Parsed<i64> {
        if let Some(end) = self.phrases(at, &["a couple of", "a couple"]) {
            return Some((2000, end));
        }
        if self.is_any(at, &["a", "an"]) && !self.is(at + 1, "hundred") {
            return Some((1000, at + 1));
        }
        if let Some(found) = self.decimal(at) {
            return Some(found);
        }
        let (value, end) = self.integer(at)?;
        let whole = i64::from(value) * 1000;
        match self.phrase(end, "and a half") {
            Some(end) if self.word(end).and_then(words::unit).is_some() => Some((whole + 500, end)),
            _ => Some((whole, end)),
        }
    }

    /// `1.5` or `1,5`.
    fn decimal(&self, at: usize) -> Parsed<i64> {
        let whole = self.digits(at).filter(|whole| whole.digits <= MAX_DIGITS)?;
        let fraction = [('\u{BC}', 250), ('\u{BD}', 500), ('\u{BE}', 750)]
            .into_iter()
            .find(|(mark, _)| self.mark(at + 1) == Some(*mark));
        if let Some((_, thousandths)) = fraction {
            return Some((i64::from(whole.value) * 1000 + thousandths, at + 2));
        }
        if !self.is_joint(at + 1, '.') && !self.is_joint(at + 1, ',') {
            return None;
        }
        let part = self.digits(at + 2).filter(|part| part.digits <= 3)?;
        let scale = 10_i64.pow(3 - u32::from(part.digits));
        Some((i64::from(whole.value) * 1000 + i64::from(part.value) * scale, at + 3))
    }

    /// The minutes of `1h30`.
    fn bare_minutes(&self, at: usize, unit: Unit) -> Parsed<i64> {
        let minutes = self.digits(at).filter(|number| number.digits == 2 && number.value < 60)?;
        let joined = unit == Unit::Hour && self.is_joined(at) && self.is_joined(at - 1);
        let end = if self.is_any(at + 1, &["m", "min"]) && self.is_joined(at + 1) { at + 2 } else { at + 1 };
        joined.then_some((i64::from(minutes.value), end))
    }
}

/// Thousandths of a unit. A fraction of a month has no length; one of a week or a day is exact in seconds.
fn times(thousandths: i64, unit: Unit) -> Option<Length> {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    Some(match unit {
        Unit::Second => Length { seconds: whole, ..Length::default() },
        Unit::Minute => Length { seconds: thousandths.checked_mul(60)? / 1000, ..Length::default() },
        Unit::Hour => Length { seconds: thousandths.checked_mul(HOUR)? / 1000, ..Length::default() },
        Unit::Day => Length { days: whole, seconds: rest * 24 * HOUR / 1000, ..Length::default() },
        Unit::Week => {
            let sevenths = rest * 7;
            let seconds = sevenths % 1000 * 24 * HOUR / 1000;
            Length { days: whole.checked_mul(7)?.checked_add(sevenths / 1000)?, seconds, ..Length::default() }
        }
        Unit::Fortnight => times(thousandths.checked_mul(2)?, Unit::Week)?,
        Unit::Month if rest == 0 => Length { months: whole, ..Length::default() },
        Unit::Year if rest % 250 == 0 => Length { months: thousandths.checked_mul(12)? / 1000, ..Length::default() },
        Unit::Month | Unit::Year => return None,
    })
}

fn size(unit: Unit) -> u8 {
    match unit {
        Unit::Second => 0,
        Unit::Minute => 1,
        Unit::Hour => 2,
        Unit::Day => 3,
        Unit::Week => 4,
        Unit::Fortnight => 5,
        Unit::Month => 6,
        Unit::Year => 7,
    }
}
