//! Which half of the day an alarm is meant for.

use jiff::{Span, Zoned};

/// Words that say it, or that make a number something else than an hour of the clock.
const SAID: [&str; 16] = [
    "am",
    "pm",
    "a.m",
    "p.m",
    "noon",
    "afternoon",
    "evening",
    "tonight",
    "night",
    "dinner",
    "hour",
    "hours",
    "minute",
    "minutes",
    "min",
    "midnight",
];

const HOURS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Alarms wake people: of an hour from 4 to 11 of which nobody said the half of the day, the next morning one is meant, where
/// other times are the next ones to come.
pub(super) fn prefer_morning(at: Zoned, said: &str, now: &Zoned) -> Zoned {
    let hour = at.hour() - 12;
    if !(4..=11).contains(&hour) || !is_open(said, hour) {
        return at;
    }
    let morning = at.checked_sub(Span::new().hours(12)).unwrap_or_else(|_| at.clone());
    if morning > *now || at.date() != now.date() || names_today(said) {
        return if morning > *now { morning } else { at };
    }
    morning.checked_add(Span::new().days(1)).unwrap_or(at)
}

fn names_today(said: &str) -> bool {
    said.to_lowercase().contains("today")
}

/// Whether the words name this hour and leave the half of the day open.
fn is_open(said: &str, hour: i8) -> bool {
    let small = said.to_lowercase();
    let words: Vec<&str> = small
        .split(|c: char| !c.is_alphanumeric() && c != '.')
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .collect();
    let number = |word: &str| {
        let named = HOURS.iter().position(|name| *name == word).and_then(|at| i8::try_from(at + 1).ok());
        named.or_else(|| word.split('.').next()?.parse().ok())
    };
    let has_half = |word: &str| {
        let end = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        SAID.contains(&word) || (end != word && ["am", "pm", "h"].contains(&end)) || word.starts_with('0')
    };
    let names = |hour: i8| words.iter().any(|word| number(word) == Some(hour));
    let is_next = words.contains(&"to") && names(hour + 1);
    !words.iter().any(|word| has_half(word)) && !names(hour + 12) && (names(hour) || is_next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str, at: &str, expected: &str) {
        let zoned = |text: &str| format!("{text}[Europe/Berlin]").parse::<Zoned>().unwrap();
        let now = zoned("2026-11-30T14:00");
        assert_eq!(prefer_morning(zoned(at), said, &now), zoned(expected), "{said}");
    }

    #[test]
    fn the_next_morning_is_meant_where_no_half_of_the_day_was_said() {
        check("6:30", "2026-11-30T18:30", "2026-12-01T06:30");
        check("at half past six", "2026-11-30T18:30", "2026-12-01T06:30");
        check("quarter to seven", "2026-11-30T18:45", "2026-12-01T06:45");
        check("Saturday at 7", "2026-12-05T19:00", "2026-12-05T07:00");
        check("at 6.30", "2026-11-30T18:30", "2026-12-01T06:30");
    }

    #[test]
    fn what_was_said_stays() {
        for said in ["6:30 pm", "6.30pm", "18:30", "6:30 this evening", "tonight at 6:30", "today at 6:30"] {
            check(said, "2026-11-30T18:30", "2026-11-30T18:30");
        }
        check("in 5 hours", "2026-11-30T19:00", "2026-11-30T19:00");
        check("6 December at 18:00", "2026-12-06T18:00", "2026-12-06T18:00");
        check("at 3", "2026-11-30T15:00", "2026-11-30T15:00");
    }
}
