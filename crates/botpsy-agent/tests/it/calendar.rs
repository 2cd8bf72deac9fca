//! Events: made, found, changed, deleted.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use crate::desk::{Desk, fields};

fn dentist(desk: &Desk) -> String {
    let change =
        desk.run("create_event", json!({"title": "Dentist", "start": "2026-12-04T15:00", "place": "Main St. 5"}));
    change.result["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_new_event() {
    let desk = Desk::new();
    desk.run("create_event", json!({"title": "Yoga", "start": "2026-12-04T15:30", "end": "2026-12-04T16:30"}));
    let change = desk.run(
        "create_event",
        json!({"title": "Dentist", "start": "2026-12-04T15:00", "duration": "90 minutes", "notes": "bring; the\ncard"}),
    );
    expect![[r#"
        Add to the calendar: Dentist
        [("when", "Friday 4 December 2026, 15:00 to 16:30 (Europe/Berlin)"), ("notes", "bring; the\ncard")]
        ["overlaps with Yoga (15:30 to 16:30)"]
    "#]]
    .assert_eq(&format!("{}\n{:?}\n{:?}\n", change.summary, change.details, change.warnings));
    assert_eq!(
        desk.agenda("2026-12-04T00:00", "2026-12-05T00:00"),
        [
            "Dentist: Friday 4 December 2026, 15:00 to 16:30 (Europe/Berlin)",
            "Yoga: Friday 4 December 2026, 15:30 to 16:30 (Europe/Berlin)"
        ]
    );
}

#[test]
fn the_file_of_an_event() {
    let desk = Desk::new();
    let title = "Ääkköset, \"quotes\"; and a very long title that is folded since it does not fit into 75 octets";
    let change = desk.run(
        "create_event",
        json!({"title": title, "start": "2026-12-04T15:00", "repeat": "weekly", "notes": "a\nb\\c"}),
    );
    let id = change.result["id"].as_str().unwrap();
    let text = desk.read(&format!("calendar/{id}.ics"));
    assert!(text.split("\r\n").all(|line| line.len() <= 75 && !line.contains('\n')), "{text}");
    expect![[r#"
        BEGIN:VCALENDAR
        VERSION:2.0
        PRODID:-//BotPsy//BotPsy//EN
        BEGIN:VTIMEZONE
        TZID:Europe/Berlin
        BEGIN:DAYLIGHT
        DTSTART:20250330T020000
        RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
        TZOFFSETFROM:+0100
        TZOFFSETTO:+0200
        END:DAYLIGHT
        BEGIN:STANDARD
        DTSTART:20251026T030000
        RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
        TZOFFSETFROM:+0200
        TZOFFSETTO:+0100
        END:STANDARD
        END:VTIMEZONE
        BEGIN:VEVENT
        UID:ID
        DTSTAMP:20261130T110000Z
        DTSTART;TZID=Europe/Berlin:20261204T150000
        DTEND;TZID=Europe/Berlin:20261204T160000
        SUMMARY:Ääkköset\, "quotes"\; and a very long title that is folded since
          it does not fit into 75 octets
        DESCRIPTION:a\nb\\c
        RRULE:FREQ=WEEKLY
        END:VEVENT
        END:VCALENDAR
    "#]]
    .assert_eq(&text.replace(id, "ID").replace("\r\n", "\n"));
}

#[test]
fn another_reader_sees_the_same() {
    use icalendar::{Component, EventLike};
    let desk = Desk::new();
    let (title, notes) = ("Tea, \"hot\"; a\\b: ü", "one\ntwo, three\\n");
    let change =
        desk.run("create_event", json!({"title": title, "start": "2026-12-04T15:00", "notes": notes, "place": "x;y"}));
    let text = desk.read(&format!("calendar/{}.ics", change.result["id"].as_str().unwrap()));
    let calendar: icalendar::Calendar = text.parse().unwrap();
    let event = calendar.components.iter().find_map(|component| component.as_event()).unwrap();
    assert_eq!(event.get_summary(), Some(title));
    assert_eq!(event.get_description(), Some(notes));
    assert_eq!(event.get_location(), Some("x;y"));
}

#[test]
fn whole_days() {
    let desk = Desk::new();
    desk.run("create_event", json!({"title": "Holiday", "start": "2026-12-24"}));
    desk.run("create_event", json!({"title": "Trip", "start": "2026-12-28", "end": "2026-12-30"}));
    assert_eq!(
        desk.agenda("2026-12-01T00:00", "2027-01-01T00:00"),
        [
            "Holiday: Thursday 24 December 2026, all day",
            "Trip: Monday 28 December 2026 to Wednesday 30 December 2026, all day"
        ]
    );
    assert_eq!(desk.agenda("2026-12-30T23:00", "2026-12-31T00:00").len(), 1);
    assert_eq!(desk.agenda("2026-12-31T00:00", "2026-12-31T01:00").len(), 0);
}

#[test]
fn events_are_listed_and_found() {
    let desk = Desk::new();
    dentist(&desk);
    desk.run("create_event", json!({"title": "Past dentist", "start": "2026-11-02T09:00"}));
    let listed = desk.answer("list_events", json!({}));
    assert_eq!(
        fields(&listed["events"], &["title", "when", "place"]),
        "Dentist | Friday 4 December 2026, 15:00 to 16:00 (Europe/Berlin) | Main St. 5"
    );
    let found = desk.answer("find_events", json!({"query": "dentist"}));
    assert_eq!(
        fields(&found["events"], &["title", "start"]),
        "Dentist | 2026-12-04T15:00:00+01:00\nPast dentist | 2026-11-02T09:00:00+01:00"
    );
    assert_eq!(fields(&desk.answer("find_events", json!({"query": "main st"}))["events"], &["title"]), "Dentist");
    assert_eq!(desk.answer("list_events", json!({"when": "2026-12-05"}))["events"], json!([]));
    assert_eq!(desk.answer("list_events", json!({"when": "2026-12-04T09:00"}))["events"].as_array().unwrap().len(), 1);
}

#[test]
fn a_time_changes_and_the_length_stays() {
    let desk = Desk::new();
    let id = dentist(&desk);
    let change = desk.run("change_event", json!({"event": id, "start": "2026-12-05T09:00"}));
    assert_eq!(
        change.details[1],
        ("before".to_owned(), "Friday 4 December 2026, 15:00 to 16:00 (Europe/Berlin)".to_owned())
    );
    let change =
        desk.run("change_event", json!({"event": "the dentist", "title": "Dr. Smith", "end": "2026-12-05T11:30"}));
    assert_eq!(
        fields(&change.result, &["title", "when"]),
        "Dr. Smith | Saturday 5 December 2026, 09:00 to 11:30 (Europe/Berlin)"
    );
    // A day without an hour keeps the hour.
    desk.run("change_event", json!({"event": "smith", "start": "2026-12-07", "place": "Elsewhere"}));
    assert_eq!(
        desk.agenda("2026-12-01T00:00", "2027-01-01T00:00"),
        ["Dr. Smith: Monday 7 December 2026, 09:00 to 11:30 (Europe/Berlin)"]
    );
    assert_eq!(
        desk.error("change_event", json!({"event": id})),
        "argument `title`: say what is to be changed: title, start, end or place"
    );
    assert_eq!(
        desk.error("change_event", json!({"event": id, "end": "2026-12-01T08:00"})),
        "argument `end`: it is before the start"
    );
}

#[test]
fn a_deleted_event_can_come_back() {
    let desk = Desk::new();
    let id = dentist(&desk);
    let change = desk.run("delete_event", json!({"event": "dentist"}));
    assert_eq!(change.summary, "Delete from the calendar: Dentist");
    assert_eq!(change.result, json!({"id": id, "title": "Dentist", "deleted": true}));
    assert!(desk.agenda("2026-12-01T00:00", "2027-01-01T00:00").is_empty());
    assert_eq!(
        desk.error("delete_event", json!({"event": "dentist"})),
        "no event is called `dentist`; find_events searches by other words"
    );
}

#[test]
fn of_several_the_owner_says_which() {
    let desk = Desk::new();
    desk.run("create_event", json!({"title": "Call Ann", "start": "2026-12-04T15:00"}));
    desk.run("create_event", json!({"title": "Call Bob", "start": "2026-12-05T15:00"}));
    let question = desk.error("delete_event", json!({"event": "call"}));
    assert!(question.starts_with("Which event is meant by `call`? There are: `Call "), "{question}");
    assert!(
        question.contains("`Call Bob` (Saturday 5 December 2026, 15:00 to 16:00 (Europe/Berlin), id `botpsy-"),
        "{question}"
    );
    assert_eq!(desk.change("delete_event", json!({"event": "call bob"})).result["title"], "Call Bob");
}

#[test]
fn whole_words_come_before_beginnings() {
    let desk = Desk::new();
    desk.run("create_event", json!({"title": "Room 7", "start": "2026-12-04T15:00"}));
    desk.run("create_event", json!({"title": "Room 77", "start": "2026-12-05T15:00"}));
    assert_eq!(desk.change("delete_event", json!({"event": "7"})).result["title"], "Room 7");
    assert_eq!(desk.change("delete_event", json!({"event": "my room 77"})).result["title"], "Room 77");
    assert!(desk.error("delete_event", json!({"event": "roo"})).starts_with("Which event is meant by `roo`?"));
}

#[test]
fn times_that_nobody_understands_are_asked_for() {
    let desk = Desk::new();
    let question = desk.error("create_event", json!({"title": "x", "start": "xyzzy"}));
    assert!(question.starts_with("When is `xyzzy`?"), "{question}");
    assert_eq!(
        desk.error("create_event", json!({"title": " ", "start": "2026-12-01"})),
        "argument `title`: it is missing"
    );
    let end = json!({"title": "x", "start": "2026-12-01T10:00", "end": "2026-12-01T09:00"});
    assert_eq!(desk.error("create_event", end), "argument `end`: it is before the start");
    let mixed = json!({"title": "x", "start": "2026-12-01T10:00", "end": "2026-12-02"});
    assert_eq!(
        desk.error("create_event", mixed),
        "argument `end`: start and end must both be days, or both have an hour"
    );
    let past = desk.change("create_event", json!({"title": "x", "start": "2026-11-01T10:00"}));
    assert_eq!(past.warnings, ["it is in the past"]);
}

#[test]
fn a_changed_file_is_not_overwritten() {
    let desk = Desk::new();
    let id = dentist(&desk);
    let change = desk.change("change_event", json!({"event": id, "title": "Other"}));
    desk.run("change_event", json!({"event": id, "title": "Meanwhile"}));
    let error = desk.store.apply(&change).unwrap_err().to_string();
    assert_eq!(error, format!("the calendar file `{id}.ics` has changed in the meantime, so nothing was done"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_text_comes_back(title in "\\PC{1,100}", notes in "(\\PC|\n|\t){0,300}", place in "[ -~]{0,60}") {
        let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assume!(!words.is_empty());
        let desk = Desk::new();
        let change = desk.run("create_event", json!({"title": title, "start": "2026-12-04T15:00", "notes": notes, "place": place}));
        let event = desk.store.event(change.result["id"].as_str().unwrap()).unwrap().unwrap();
        prop_assert_eq!(&event.master().title, &words);
        let notes = Some(notes).filter(|notes| !notes.trim().is_empty());
        prop_assert_eq!(&event.master().notes, &notes);
    }
}

#[test]
fn ends_are_counted_from_now_and_hours_alone_from_the_start() {
    let desk = Desk::new();
    let end = |start: &str, end: &str| {
        let event = desk.run("create_event", json!({ "title": "Kim", "start": start, "end": end }));
        event.result["end"].as_str().unwrap()[..16].to_owned()
    };
    assert_eq!(end("tomorrow 3 pm", "tomorrow 5 pm"), "2026-12-01T17:00");
    assert_eq!(end("tomorrow 3 pm", "5 pm"), "2026-12-01T17:00");
    assert_eq!(end("tomorrow 3 pm", "5"), "2026-12-01T17:00");
    assert_eq!(end("tomorrow 10 pm", "2 am"), "2026-12-02T02:00");
    assert_eq!(end("tomorrow 10 pm", "2"), "2026-12-02T02:00");
    assert_eq!(end("next Friday 3 pm", "next Friday 5 pm"), "2026-12-11T17:00");
    let before = json!({ "title": "Kim", "start": "tomorrow 3 pm", "end": "tomorrow 2 pm" });
    assert!(desk.error("create_event", before).contains("before the start"));
    let both = json!({ "title": "Kim", "start": "tomorrow 3 pm", "end": "5 pm", "duration": "1 hour" });
    assert!(desk.error("create_event", both).contains("not both"));
    for twice in ["2027-10-31T02:30", "2027-03-28T02:30"] {
        let error = desk.error("create_event", json!({ "title": "Kim", "start": twice }));
        assert!(error.contains("; or "), "{error}");
    }
    let length = desk.error("set_timer", json!({ "duration": "10" }));
    assert!(length.contains("How long is `10`?"), "{length}");
}
