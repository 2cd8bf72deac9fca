//! Events that repeat: over summer time, with exceptions, one time of them or all.

use serde_json::json;

use crate::desk::{Desk, fields};

fn file(lines: &str) -> String {
    let head = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Other//EN\nBEGIN:VEVENT\nUID:s@x\nDTSTAMP:20260101T000000Z\nSUMMARY:Series\n";
    format!("{head}{lines}END:VEVENT\nEND:VCALENDAR\n").replace('\n', "\r\n")
}

fn starts(desk: &Desk, from: &str, to: &str) -> Vec<String> {
    let at = |text: &str| format!("{text}[Europe/Berlin]").parse().unwrap();
    let agenda = desk.store.events(&at(from), &at(to)).unwrap();
    agenda.occurrences.iter().map(|it| it.start.strftime("%m-%d %H:%M%:z").to_string()).collect()
}

#[test]
fn the_clock_stays_over_summer_time() {
    let desk = Desk::at("2026-03-01T12:00[Europe/Berlin]");
    desk.write(
        "calendar/s.ics",
        file("DTSTART;TZID=Europe/Berlin:20260323T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY\n"),
    );
    assert_eq!(
        starts(&desk, "2026-03-20T00:00", "2026-04-07T00:00"),
        ["03-23 09:00+01:00", "03-30 09:00+02:00", "04-06 09:00+02:00"]
    );
    // Times of New York move against those of Berlin for some weeks.
    desk.write(
        "calendar/s.ics",
        file("DTSTART;TZID=America/New_York:20260302T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=5\n"),
    );
    let times =
        ["03-02 15:00+01:00", "03-09 14:00+01:00", "03-16 14:00+01:00", "03-23 14:00+01:00", "03-30 15:00+02:00"];
    assert_eq!(starts(&desk, "2026-03-01T00:00", "2026-05-01T00:00"), times);
    // Of UTC, the hour here changes.
    desk.write("calendar/s.ics", file("DTSTART:20260322T080000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=2\n"));
    assert_eq!(starts(&desk, "2026-03-01T00:00", "2026-05-01T00:00"), ["03-22 09:00+01:00", "03-29 10:00+02:00"]);
    // 02:30 does not exist on 29 March here; it happens an hour later, and is 02:30 again the next day.
    desk.write(
        "calendar/s.ics",
        file("DTSTART;TZID=Europe/Berlin:20260328T023000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3\n"),
    );
    assert_eq!(
        starts(&desk, "2026-03-01T00:00", "2026-05-01T00:00"),
        ["03-28 02:30+01:00", "03-29 03:30+02:00", "03-30 02:30+02:00"]
    );
}

#[test]
fn rules_end_and_have_exceptions() {
    let desk = Desk::at("2026-06-01T12:00[Europe/Berlin]");
    let all = |lines: &str| {
        desk.write("calendar/s.ics", file(lines));
        starts(&desk, "2026-06-01T00:00", "2026-07-01T00:00")
            .iter()
            .map(|start| start[..11].to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let start = "DTSTART;TZID=Europe/Berlin:20260602T090000\nDTEND;TZID=Europe/Berlin:20260602T100000\n";
    let cases = [
        // The end in UTC is that moment here: 09:00 on the 16th is still in.
        ("RRULE:FREQ=WEEKLY;UNTIL=20260616T070000Z\n", "06-02 09:00, 06-09 09:00, 06-16 09:00"),
        ("RRULE:FREQ=WEEKLY;UNTIL=20260616T065959Z\n", "06-02 09:00, 06-09 09:00"),
        ("RRULE:FREQ=WEEKLY;UNTIL=20260616\n", "06-02 09:00, 06-09 09:00, 06-16 09:00"),
        ("RRULE:FREQ=WEEKLY;UNTIL=20250101T000000Z\n", ""),
        ("RRULE:FREQ=WEEKLY;COUNT=3\nEXDATE;TZID=Europe/Berlin:20260609T090000\n", "06-02 09:00, 06-16 09:00"),
        ("RRULE:FREQ=WEEKLY;COUNT=3\nEXDATE:20260609T070000Z\n", "06-02 09:00, 06-16 09:00"),
        ("RRULE:FREQ=WEEKLY;COUNT=3\nEXDATE;VALUE=DATE:20260609\n", "06-02 09:00, 06-16 09:00"),
        (
            "RRULE:FREQ=WEEKLY;COUNT=2\nRDATE;TZID=Europe/Berlin:20260611T120000,20260612T120000\n",
            "06-02 09:00, 06-09 09:00, 06-11 12:00, 06-12 12:00",
        ),
        ("RRULE:FREQ=MONTHLY;BYDAY=2TU\n", "06-09 09:00"),
        ("RRULE:FREQ=MONTHLY;BYDAY=-1FR\n", "06-26 09:00"),
        ("RRULE:freq=weekly;byday=tu,th;count=4;x-odd=1\n", "06-02 09:00, 06-04 09:00, 06-09 09:00, 06-11 09:00"),
    ];
    for (rule, expected) in cases {
        assert_eq!(all(&format!("{start}{rule}")), expected, "{rule}");
    }
    assert_eq!(all("DTSTART;VALUE=DATE:20260629\nRRULE:FREQ=DAILY;COUNT=2\n"), "06-29 00:00, 06-30 00:00");
    assert_eq!(all("DTSTART:20260602T233000\nRRULE:FREQ=WEEKLY;COUNT=2\n"), "06-02 23:30, 06-09 23:30");
}

#[test]
fn a_moved_occurrence_is_in_its_new_place() {
    let desk = Desk::at("2026-06-01T12:00[Europe/Berlin]");
    let moved = "END:VEVENT\nBEGIN:VEVENT\nUID:s@x\nSUMMARY:Moved\nRECURRENCE-ID;TZID=Europe/Berlin:20260609T090000\nDTSTART;TZID=Europe/Berlin:20260610T110000\nDURATION:PT30M\n";
    let gone = "END:VEVENT\nBEGIN:VEVENT\nUID:s@x\nSTATUS:CANCELLED\nRECURRENCE-ID:20260616T070000Z\nDTSTART:20260616T070000Z\n";
    let lines =
        format!("DTSTART;TZID=Europe/Berlin:20260602T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4\n{moved}{gone}");
    desk.write("calendar/s.ics", file(&lines));
    assert_eq!(
        desk.agenda("2026-06-01T00:00", "2026-07-01T00:00"),
        [
            "Series: Tuesday 2 June 2026, 09:00 to 10:00 (Europe/Berlin)",
            "Moved: Wednesday 10 June 2026, 11:00 to 11:30 (Europe/Berlin)",
            "Series: Tuesday 23 June 2026, 09:00 to 10:00 (Europe/Berlin)",
        ]
    );
}

fn yoga() -> Desk {
    let desk = Desk::new();
    desk.run("create_event", json!({"title": "Yoga", "start": "2026-12-01T18:00", "repeat": "every week"}));
    desk
}

fn december(desk: &Desk) -> String {
    starts(desk, "2026-12-01T00:00", "2027-01-01T00:00")
        .iter()
        .map(|start| start[..11].to_owned())
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn one_time_or_all_is_asked() {
    let desk = yoga();
    assert_eq!(
        desk.error("delete_event", json!({"event": "yoga"})),
        "`Yoga` repeats every week. Is it only on one day (which), or all of it?"
    );
    let listed = desk.answer("list_events", json!({"when": "2026-12-08"}));
    let id = listed["events"][0]["id"].as_str().unwrap().to_owned();
    assert!(id.ends_with("#20261208T180000"), "{id}");
    assert_eq!(
        desk.error("delete_event", json!({"event": id})),
        "`Yoga` repeats every week. Is it only on Tuesday 8 December 2026, 18:00 to 19:00 (Europe/Berlin), or all of it?"
    );
    let change = desk.run("delete_event", json!({"event": id, "day": "this"}));
    assert_eq!(change.details[1].1, "every week; only this time");
    assert_eq!(december(&desk), "12-01 18:00, 12-15 18:00, 12-22 18:00, 12-29 18:00");
    desk.run("delete_event", json!({"event": "yoga", "day": "2026-12-22"}));
    assert_eq!(december(&desk), "12-01 18:00, 12-15 18:00, 12-29 18:00");
    let missing = desk.error("delete_event", json!({"event": "yoga", "day": "2026-12-23"}));
    assert_eq!(missing, "`Yoga` does not happen on Wednesday 23 December 2026");
    let change = desk.run("delete_event", json!({"event": "yoga", "day": "all"}));
    assert_eq!(change.warnings, ["every time of it is deleted, past ones too"]);
    assert_eq!(december(&desk), "");
}

#[test]
fn one_time_moves() {
    let desk = yoga();
    let change = desk.run("change_event", json!({"event": "yoga", "day": "2026-12-08", "start": "2026-12-09T20:00"}));
    assert_eq!(
        fields(&change.result, &["title", "when"]),
        "Yoga | Wednesday 9 December 2026, 20:00 to 21:00 (Europe/Berlin)"
    );
    assert_eq!(december(&desk), "12-01 18:00, 12-09 20:00, 12-15 18:00, 12-22 18:00, 12-29 18:00");
    // The same one again: there is still one exception.
    desk.run(
        "change_event",
        json!({"event": "yoga", "day": "2026-12-09", "title": "Special", "end": "2026-12-09T22:00"}),
    );
    assert_eq!(
        desk.agenda("2026-12-09T00:00", "2026-12-10T00:00"),
        ["Special: Wednesday 9 December 2026, 20:00 to 22:00 (Europe/Berlin)"]
    );
    desk.run("delete_event", json!({"event": "yoga", "day": "2026-12-09"}));
    assert_eq!(december(&desk), "12-01 18:00, 12-15 18:00, 12-22 18:00, 12-29 18:00");
}

#[test]
fn all_times_move() {
    let desk = yoga();
    desk.run("delete_event", json!({"event": "yoga", "day": "2026-12-15"}));
    desk.run("change_event", json!({"event": "yoga", "day": "2026-12-22", "title": "Last one"}));
    desk.run("change_event", json!({"event": "yoga", "day": "all", "start": "2026-12-02T19:30"}));
    assert_eq!(december(&desk), "12-02 19:30, 12-09 19:30, 12-22 18:00, 12-30 19:30");
    let weekly = desk.change(
        "create_event",
        json!({"title": "Class", "start": "2026-12-07T10:00", "repeat": "FREQ=WEEKLY;BYDAY=MO,WE"}),
    );
    desk.store.apply(&weekly).unwrap();
    let error = desk.error("change_event", json!({"event": "class", "day": "all", "start": "2026-12-08T10:00"}));
    assert_eq!(
        error,
        "argument `start`: it repeats on several days: delete it and make a new event instead of moving it to another day"
    );
    desk.run("change_event", json!({"event": "class", "day": "all", "start": "2026-12-07T11:00"}));
}

#[test]
fn overlaps_of_later_times_are_seen() {
    let desk = yoga();
    let change = desk.change("create_event", json!({"title": "Party", "start": "2026-12-15T18:30"}));
    assert_eq!(change.warnings, ["overlaps with Yoga (18:00 to 19:00)"]);
    desk.run("create_event", json!({"title": "Show", "start": "2026-12-17T18:00"}));
    let change =
        desk.change("create_event", json!({"title": "Course", "start": "2026-12-03T18:00", "repeat": "weekly"}));
    assert_eq!(change.warnings, ["overlaps with Show (Thursday 17 December, 18:00 to 19:00)"]);
}
