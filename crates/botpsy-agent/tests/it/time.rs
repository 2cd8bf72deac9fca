use std::path::Path;

use botpsy_agent::time::{Reading, find, read};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use proptest::prelude::*;
use rrule::RRuleSet;
use serde_json::{Value, json};

fn now(at: &str, zone: &str) -> Zoned {
    at.parse::<Timestamp>().unwrap().to_zoned(TimeZone::get(zone).unwrap())
}

/// A Wednesday in winter, far from any change of clocks.
fn wednesday() -> Zoned {
    now("2027-01-13T09:20:00Z", "Europe/Berlin")
}

fn stamp(at: &Zoned) -> String {
    at.timestamp().display_with_offset(at.offset()).to_string()
}

/// A reading as the fixtures have it.
fn as_json(reading: &Reading) -> Value {
    match reading {
        Reading::Instant(at) => json!({ "kind": "instant", "at": stamp(at) }),
        Reading::Range(from, to) => json!({ "kind": "range", "from": stamp(from), "to": stamp(to) }),
        Reading::Recurrence { first, rrule, length: None } => {
            json!({ "kind": "recurrence", "first": stamp(first), "rrule": rrule })
        }
        Reading::Recurrence { first, rrule, length: Some(length) } => {
            json!({ "kind": "recurrence", "first": stamp(first), "rrule": rrule, "seconds": length.as_secs() })
        }
        Reading::Duration(length) => json!({ "kind": "duration", "seconds": length.as_secs() }),
        Reading::Ambiguous { choices, .. } => {
            json!({ "kind": "ambiguous", "choices": choices.iter().map(stamp).collect::<Vec<_>>() })
        }
        Reading::Unknown { .. } => json!({ "kind": "unknown" }),
    }
}

fn fixtures() -> Vec<Value> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/time/expressions.jsonl"));
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn reading_of(fixture: &Value) -> Reading {
    read(text(fixture, "expression"), &now(text(fixture, "now"), text(fixture, "zone")))
}

#[test]
fn every_fixture_is_read_as_expected() {
    let fixtures = fixtures();
    let independent = fixtures.iter().filter(|fixture| !text(fixture, "source").starts_with("by hand")).count();
    assert!(fixtures.len() >= 400 && independent >= 200, "{} fixtures, {independent} independent", fixtures.len());
    let mut failures = String::new();
    for fixture in &fixtures {
        let read = as_json(&reading_of(fixture));
        let expected = &fixture["expected"];
        let agrees = expected.as_object().unwrap().iter().all(|(key, value)| read.get(key) == Some(value));
        if !agrees {
            let (expression, now) = (text(fixture, "expression"), text(fixture, "now"));
            let (zone, source) = (text(fixture, "zone"), text(fixture, "source"));
            failures.push_str(&format!(
                "{expression}\n  {now} {zone} ({source})\n  expected {expected}\n  read     {read}\n"
            ));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn rules_start_with_their_first_time() {
    for fixture in fixtures() {
        let Reading::Recurrence { first, rrule, .. } = reading_of(&fixture) else { continue };
        // The other library knows no offsets: those rules are about clocks alone.
        let zone = first.time_zone().iana_name().unwrap_or("UTC").to_owned();
        let set = format!("DTSTART;TZID={zone}:{}\nRRULE:{rrule}", first.strftime("%Y%m%dT%H%M%S"));
        let set: RRuleSet = set.parse().unwrap_or_else(|error| panic!("{set}: {error}"));
        let times = set.all(1).dates;
        let second = first.timestamp().as_second();
        assert!(times.first().is_some_and(|time| time.timestamp() == second), "{fixture}: {first} {rrule} {times:?}");
    }
}

/// Expressions that say nothing but how far something is from now.
const RELATIVE: [&str; 60] = [
    "tomorrow",
    "today",
    "tonight",
    "yesterday at 7",
    "the day after tomorrow",
    "tomorrow evening",
    "this evening",
    "Friday",
    "Friday at 3 pm",
    "this Friday",
    "next Friday",
    "last Friday",
    "next Monday",
    "Monday after next",
    "Wednesday",
    "Wednesday at 8",
    "Friday week",
    "a week on Friday",
    "two weeks from Friday",
    "Tuesday next week",
    "next week",
    "this week",
    "last week",
    "this weekend",
    "next weekend",
    "the week after next",
    "in 20 minutes",
    "in 2 hours",
    "in 3 days",
    "in two weeks",
    "in 2 days at 5 pm",
    "3 days ago",
    "an hour ago",
    "half an hour ago",
    "at 4",
    "at 7",
    "at 10",
    "15:00",
    "noon",
    "midnight",
    "tomorrow at midnight",
    "3 pm UTC",
    "half past three",
    "quarter to 5",
    "from 3 to 5 pm",
    "Friday 10-12",
    "Monday to Wednesday",
    "tomorrow until Friday",
    "now",
    "the next 2 hours",
    "2 hours before noon",
    "at 3 pm for 2 hours",
    "every day at 8",
    "every weekday",
    "every second Tuesday",
    "mondays and thursdays at 9",
    "every 3 hours",
    "every weekend",
    "in the morning",
    "next week on Tuesday at 3",
];

fn week_later(at: &Zoned) -> Zoned {
    at.checked_add(Span::new().weeks(1)).unwrap()
}

fn shifted(reading: Reading) -> Reading {
    match reading {
        Reading::Instant(at) => Reading::Instant(week_later(&at)),
        Reading::Range(from, to) => Reading::Range(week_later(&from), week_later(&to)),
        Reading::Recurrence { first, rrule, length } => {
            Reading::Recurrence { first: week_later(&first), rrule, length }
        }
        Reading::Ambiguous { question, choices } => {
            Reading::Ambiguous { question, choices: choices.iter().map(week_later).collect() }
        }
        other => other,
    }
}

/// Without control over where words meet, text made of such pieces reaches more of the grammar than random characters.
fn sentence() -> impl Strategy<Value = String> {
    const PIECES: [&str; 72] = [
        "at",
        "to",
        "from",
        "until",
        "by",
        "on",
        "in",
        "the",
        "of",
        "and",
        "a",
        "an",
        "every",
        "next",
        "last",
        "this",
        "half",
        "past",
        "quarter",
        "between",
        "for",
        "after",
        "before",
        "ago",
        "now",
        "second",
        "first",
        "15th",
        "3",
        "4",
        "12",
        "25",
        "00",
        "2026",
        "99999999999",
        "0",
        ":",
        "/",
        "-",
        ".",
        ",",
        "+",
        "pm",
        "am",
        "h",
        "Friday",
        "sat",
        "March",
        "may",
        "tomorrow",
        "tonight",
        "evening",
        "noon",
        "midnight",
        "week",
        "weeks",
        "days",
        "hours",
        "months",
        "year",
        "UTC",
        "Europe/Berlin",
        "time",
        "eggs",
        "uhr",
        "morgen",
        "'",
        "s",
        "\u{2019}",
        "\u{661}",
        "\u{1F600}",
        "e\u{301}",
    ];
    let piece = (proptest::sample::select(&PIECES[..]), proptest::sample::select(&["", " ", "  ", "\n"][..]));
    proptest::collection::vec(piece, 0..24)
        .prop_map(|pieces| pieces.into_iter().map(|(a, b)| format!("{a}{b}")).collect())
}

fn check_found(text: &str, now: &Zoned) {
    let mut end = 0;
    for (range, reading) in find(text, now) {
        assert!(range.start >= end && range.start < range.end, "{text:?}: {range:?}");
        let found = text.get(range.clone()).unwrap_or_else(|| panic!("{text:?}: {range:?} cuts a character"));
        assert_eq!(read(found, now), reading, "{text:?}: {found:?}");
        assert!(!matches!(reading, Reading::Unknown { .. }), "{text:?}: {found:?}");
        end = range.end;
    }
}

proptest! {
    /// 2027-01-04 to 2027-02-28 in Berlin and New York: no change of clocks there.
    #[test]
    fn a_week_later_every_relative_answer_is_a_week_later(
        minutes in 0..55 * 24 * 60_i64,
        expression in proptest::sample::select(&RELATIVE[..]),
        zone in proptest::sample::select(&["Europe/Berlin", "America/New_York", "Asia/Kolkata"][..]),
    ) {
        let now = now("2027-01-04T00:00:00Z", zone).checked_add(SignedDuration::from_mins(minutes)).unwrap();
        let (before, after) = (read(expression, &now), read(expression, &week_later(&now)));
        prop_assert!(!matches!(before, Reading::Unknown { .. }), "{}: {:?}", expression, before);
        prop_assert_eq!(shifted(before), after);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = read(&text, &wednesday());
        check_found(&text, &wednesday());
    }

    #[test]
    fn no_sentence_makes_it_panic(text in sentence()) {
        let _ = read(&text, &wednesday());
        check_found(&text, &wednesday());
    }

    #[test]
    fn no_moment_makes_it_panic(
        second in Timestamp::MIN.as_second()..=Timestamp::MAX.as_second(),
        text in proptest::sample::select(&RELATIVE[..]),
    ) {
        let _ = read(text, &Timestamp::from_second(second).unwrap().to_zoned(TimeZone::UTC));
    }
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    for moment in [Timestamp::MIN, Timestamp::MAX] {
        let now = moment.to_zoned(TimeZone::UTC);
        RELATIVE.iter().for_each(|text| drop(read(text, &now)));
        for fixture in fixtures() {
            let _ = read(text(&fixture, "expression"), &now);
        }
    }
    for text in ["in 4294967295 years", "in 99999999999 weeks", "99999999999999999999 days", "every 4294967295 years"] {
        assert!(matches!(read(text, &wednesday()), Reading::Unknown { .. }), "{text}");
    }
}

#[test]
fn long_texts_take_time_in_proportion() {
    for piece in [
        "at 4 ",
        "from 3 to ",
        "a hundred and ",
        "Monday, ",
        "3/",
        "every second ",
        "1h30",
        "\u{FF11}",
        "'",
        "x",
        "3 pm x time ",
        "3 pm a/b ",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        let start = std::time::Instant::now();
        check_found(&text, &wednesday());
        assert!(matches!(read(&text, &wednesday()), Reading::Unknown { .. }));
        // Seconds at worst in a slow build; anything quadratic takes minutes.
        assert!(start.elapsed().as_secs() < 20, "{piece}: {:?}", start.elapsed());
    }
}
