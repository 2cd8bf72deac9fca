//! Times as people write them: English, digits and ISO 8601 to moments, by fixed rules and no guess.
//!
//! `lex` makes tokens, the pieces of the grammar (`number`, `clock`, `calendar`, `day`, `when`, `repeat`, `expr`) make what was said
//! (`ast`), and `hours`, `dates`, `recur` and `resolve` make of that what it means now and here. `find` looks for all this in
//! sentences. Nothing else decides anything; the rules are these.
//!
//! **Days.** A weekday, a date without a year, `the 15th` and a month's name mean the next one, today included; a weekday alone on that same
//! weekday is asked about. `this Friday` is the coming one, today included; `next Friday` is the one of next week; `last Friday` is the latest one
//! before today; `Friday week` and `a week on Friday` are a week after `Friday`. Weeks start on Monday and carry ISO numbers, the weekend is Saturday
//! and Sunday; whether `the end of the week` is Friday or Sunday is asked. A day or a longer period alone is a range from its first midnight
//! to the one after its end. `the end of the month` is its last day. `next March` is asked about while this year's is ahead.
//!
//! **Dates.** `Christmas Eve`, `New Year's Day` and others that are the same everywhere are dates; those that move or differ by country are
//! not known. `3/4` and `3-4-2026` are asked about unless one number is above 12 or both are the same; with points the day stands first:
//! `1.12.2026`. Years have four digits, in dates of numbers also two: `26` is 2026. A date that is not the weekday beside it is asked about.
//!
//! **Clock times.** A time without a day is the next one from now, this minute included. Hours with a zero in front, above 12, or written with `h` are hours
//! of 24. Other hours without `am` or `pm` lie between 7:00 and 18:59: `at 4` is 16:00, `at 7` is 07:00, `12` is noon. Where no
//! day was said and the other half of the day comes sooner, at 6:00 or later, it is asked (`at 7` said at 10 in the morning); a time `today` that is
//! past in one half is meant in the other. Minutes follow the same rule: `4:30` is 16:30. `1h30` to `6h30` is how long, `7h30` and later a time. `midnight` with a
//! day is asked about, start or end; `tonight at midnight` is the end.
//!
//! **Parts of the day** are ranges: morning 6 to 12, lunchtime 12 to 14, afternoon 12 to 18, evening 18 to 22, night and tonight 18 to 24. With a
//! clock time they say the half: `tonight at 2` is 2:00 of the next day.
//!
//! **Relative.** `in 20 minutes` is counted on the watch, `in 2 days` and longer on the calendar, at the same clock time; a month's last
//! days are kept inside the month. `2 days` alone is 48 hours; months and years alone have no length.
//!
//! **Ranges.** `3 to 5 pm`, `10-12` behind a day, `Monday to Wednesday` (all of Wednesday). The end is the first one after the start. The start takes
//! the half of the day that is nearest before the end. `the next 2 hours` start now.
//!
//! **Recurrences.** `every second Tuesday` and `every other Tuesday` are every two weeks; `every second Tuesday of the month` and `every first
//! Monday` are of the month. `every Monday from 9 to 11` lasts two hours each time. Without a clock time they come at midnight, or where their part of the day starts; hourly and shorter ones
//! first come after one interval.
//!
//! **Zones.** Times are in the zone of `now` unless one is said, as a name, an offset or an abbreviation; abbreviations of several zones are asked
//! about. A time that the clocks leave out or show twice is asked about, with the two that it may be. Recurrences go through it: what
//! is left out comes later by as much, of two the first counts.
//!
//! **Other languages.** Only digits are read; a clock time beside a word for a time in another language is not found, and reading it says
//! which word was not understood.

mod ast;
mod calendar;
mod choice;
mod clock;
mod dates;
mod day;
mod expr;
mod find;
mod hours;
mod lex;
mod number;
mod parser;
mod recur;
mod repeat;
mod resolve;
mod when;
mod words;
mod zone;

use std::ops::Range;

use jiff::{SignedDuration, Zoned};

use lex::{Kind, Token};
use parser::{Care, MAX_TOKENS, Parser};

/// What an expression means at some moment, somewhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A moment.
    Instant(Zoned),
    /// From one moment to another, the end left out.
    Range(Zoned, Zoned),
    /// Again and again.
    Recurrence {
        /// The first time at or after now.
        first: Zoned,
        /// As in RFC 5545, without `RRULE:` and without `DTSTART`: `FREQ=WEEKLY;BYDAY=MO`.
        rrule: String,
        /// How long each one is, where that was said: `from 9 to 11`.
        length: Option<SignedDuration>,
    },
    /// So long.
    Duration(SignedDuration),
    /// Several things; only the owner can say which.
    Ambiguous {
        /// What to ask, as one sentence.
        question: String,
        /// What it may mean; of a range the start.
        choices: Vec<Zoned>,
    },
    /// Not a time, or one in words of another language.
    Unknown {
        /// Why, as one sentence for the owner.
        reason: String,
    },
}

/// No expression is longer than this, in bytes.
const MAX_BYTES: usize = 1000;

/// Words that may stand before an expression and change nothing.
const OPENERS: [&str; 11] = ["at", "on", "by", "until", "till", "to", "from", "for", "around", "starting", "exactly"];

/// Words that may stand behind it.
const CLOSERS: [&str; 3] = ["please", "sharp", "exactly"];

/// Reads a whole text as one expression.
pub fn read(text: &str, now: &Zoned) -> Reading {
    if text.len() > MAX_BYTES {
        return unknown("that is too long for a time");
    }
    let tokens = lex::tokens(text);
    let tokens = inner(&tokens);
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return unknown("there is nothing to read") };
    if tokens.len() > MAX_TOKENS {
        return unknown("that is too long for a time");
    }
    if let Some(length) = iso_duration(&text[first.start..last.end]) {
        return resolve::reading(&ast::Expr::Length(length), now);
    }
    let parser = Parser::new(text, tokens, 0, Care::Whole);
    let mut start = 0;
    let mut furthest = 0;
    loop {
        match parser.expr(start) {
            Some((expr, end)) if end == tokens.len() => return resolve::reading(&expr, now),
            found => furthest = furthest.max(found.map_or(start, |(_, end)| end)),
        }
        if !parser.is_any(start, &OPENERS) {
            return not_read(text, tokens, furthest);
        }
        start += 1;
    }
}

/// Finds every expression in running text, left to right, without overlaps; what they mean is never `Unknown`, and it is
/// what [`read`] says about the found text alone.
pub fn find(text: &str, now: &Zoned) -> Vec<(Range<usize>, Reading)> {
    find::find(text, now)
}

/// Without the marks around it and the words behind it.
fn inner(tokens: &[Token]) -> &[Token] {
    let is_around = |token: &Token| matches!(token.kind, Kind::Mark('"' | '\'' | '(' | '\u{201C}' | '\u{2018}'));
    let is_behind = |token: &Token| match &token.kind {
        Kind::Mark(mark) => matches!(mark, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | ')' | '\u{201D}'),
        Kind::Word(word) => CLOSERS.contains(&word.as_str()),
        Kind::Number(_) => false,
    };
    let start = tokens.iter().position(|token| !is_around(token)).unwrap_or(tokens.len());
    let end = tokens.iter().rposition(|token| !is_behind(token)).map_or(start, |last| last + 1);
    tokens.get(start..end).unwrap_or_default()
}

/// `PT1H30M`, which is the same in every language.
fn iso_duration(text: &str) -> Option<ast::Length> {
    let rest = text.strip_prefix(['P', 'p'])?;
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c.eq_ignore_ascii_case(&'t')) {
        return None;
    }
    let span: jiff::Span = text.parse().ok()?;
    let months = i64::from(span.get_years()) * 12 + i64::from(span.get_months());
    let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
    let minutes = i64::from(span.get_hours()) * 60 + span.get_minutes();
    Some(ast::Length { months, days, seconds: minutes.checked_mul(60)?.checked_add(span.get_seconds())? })
}

fn unknown(reason: &str) -> Reading {
    Reading::Unknown { reason: reason.to_owned() }
}

/// Why it was not read: a word of another language, or what stood where the reading ended.
fn not_read(text: &str, tokens: &[Token], furthest: usize) -> Reading {
    let written = |token: &Token| &text[token.start..token.end];
    let foreign = tokens.iter().find(|token| matches!(&token.kind, Kind::Word(word) if words::is_foreign(word)));
    let reason = match (foreign, tokens.get(furthest)) {
        (Some(token), _) => {
            format!(
                "\"{}\" is not English: say the time in English or in digits, as in 2026-12-01 15:00",
                written(token)
            )
        }
        (None, Some(token)) => format!("\"{}\" does not fit a time", written(token)),
        (None, None) => "that is no time yet".to_owned(),
    };
    Reading::Unknown { reason }
}
