//! Files that others wrote, well or badly: read as far as they go, never a panic, and left alone where they are not changed.

use proptest::prelude::*;
use serde_json::json;

use crate::desk::Desk;

const OUTLOOK: &str = "BEGIN:VCALENDAR\r\nPRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\n\
X-WR-CALNAME:Work\r\nBEGIN:VTIMEZONE\r\nTZID:W. Europe Standard Time\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\n\
TZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n\
ATTENDEE;CN=\"Ann; B: C\";RSVP=TRUE:mailto:ann@example.com\r\nCLASS:PUBLIC\r\nDESCRIPTION:Long text th\r\n at is folded\\, and goes\\non\r\n\
DTSTART;TZID=\"W. Europe Standard Time\":20261204T100000\r\nDTEND;TZID=\"W. Europe Standard Time\":20261204T113000\r\n\
SUMMARY;LANGUAGE=en-us:Review\r\nUID:040000008200E00074C5B7101A82E008\r\nX-MICROSOFT-CDO-BUSYSTATUS:BUSY\r\n\
BEGIN:VALARM\r\nTRIGGER:-PT15M\r\nACTION:DISPLAY\r\nDESCRIPTION:Reminder\r\nSUMMARY:Not the title\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

#[test]
fn an_invitation_is_read_and_changed_where_asked() {
    let desk = Desk::new();
    desk.write("calendar/office/040000.ics", OUTLOOK);
    assert_eq!(
        desk.agenda("2026-12-04T00:00", "2026-12-05T00:00"),
        ["Review: Friday 4 December 2026, 10:00 to 11:30 (Europe/Berlin)"]
    );
    let event = desk.store.event("040000008200E00074C5B7101A82E008").unwrap().unwrap();
    assert_eq!(event.master().notes.as_deref(), Some("Long text that is folded, and goes\non"));
    desk.run("change_event", json!({"event": "review", "title": "Big, review", "start": "2026-12-04T14:00"}));
    let is_kept = |line: &&str| !["SUMMARY", "DTSTART", "DTEND"].iter().any(|name| line.starts_with(name));
    let text = desk.read("calendar/office/040000.ics");
    let kept: Vec<&str> =
        text.split("\r\n").filter(is_kept).filter(|line| !line.starts_with("LAST-MODIFIED")).collect();
    let without_zone = text.find("TZID:Europe/Berlin").is_some();
    assert!(without_zone, "the new zone is described: {text}");
    for line in OUTLOOK.split("\r\n").filter(is_kept) {
        assert!(kept.contains(&line), "{line}");
    }
    assert!(text.contains("SUMMARY:Big\\, review\r\n"), "{text}");
    assert!(text.contains("DTSTART;TZID=Europe/Berlin:20261204T140000\r\n"), "{text}");
    assert!(text.contains("SUMMARY:Not the title\r\n"), "{text}");
    assert_eq!(
        desk.agenda("2026-12-04T00:00", "2026-12-05T00:00"),
        ["Big, review: Friday 4 December 2026, 14:00 to 15:30 (Europe/Berlin)"]
    );
}

#[test]
fn broken_files_are_reported_and_left() {
    let desk = Desk::new();
    let event =
        |lines: &str| format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:x\nSUMMARY:Odd\n{lines}END:VEVENT\nEND:VCALENDAR\n");
    let deep = "BEGIN:X\n".repeat(100_000);
    let files: [(&str, Vec<u8>); 13] = [
        ("empty.ics", Vec::new()),
        ("bytes.ics", vec![0xff, 0xfe, 0x00, 0x80]),
        ("nothing.ics", b"hello".to_vec()),
        ("no_end.ics", b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261204T100000Z\n".to_vec()),
        ("no_start.ics", event("").into()),
        ("bad_date.ics", event("DTSTART:20261399T100000Z\n").into()),
        ("bad_rule.ics", event("DTSTART:20261204T100000Z\nRRULE:FREQ=SOMETIMES\n").into()),
        ("hourly.ics", event("DTSTART:19700101T100000Z\nRRULE:FREQ=HOURLY\n").into()),
        ("by_second.ics", event("DTSTART:20261204T100000Z\nRRULE:FREQ=SECONDLY\n").into()),
        ("bad_length.ics", event("DTSTART:20261204T100000Z\nDURATION:long\n").into()),
        ("huge_length.ics", event("DTSTART:20261204T100000Z\nDURATION:P99999999999999D\n").into()),
        ("far.ics", event("DTSTART:99991231T235959Z\nDURATION:P400D\n").into()),
        ("deep.ics", format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{deep}").into()),
    ];
    for (name, text) in &files {
        desk.write(&format!("calendar/{name}"), text);
    }
    desk.run("create_event", json!({"title": "Good", "start": "2026-12-04T15:00"}));
    let listed = desk.answer("list_events", json!({}));
    assert_eq!(listed["events"].as_array().unwrap().len(), 1, "{listed}");
    let agenda = desk.store.events(&desk.now, &"9999-12-30T00:00[UTC]".parse().unwrap()).unwrap();
    let mut broken: Vec<&str> = agenda.broken.iter().map(|broken| broken.path.as_str()).collect();
    broken.dedup();
    let expected = [
        "bad_date.ics",
        "bad_length.ics",
        "bytes.ics",
        "deep.ics",
        "empty.ics",
        "huge_length.ics",
        "no_end.ics",
        "no_start.ics",
        "nothing.ics",
    ];
    for name in expected {
        assert!(broken.contains(&name), "{name}: {broken:?}");
    }
    assert!(
        broken.contains(&"hourly.ics") && broken.contains(&"bad_rule.ics") && broken.contains(&"by_second.ics"),
        "{broken:?}"
    );
    for (name, text) in &files {
        assert_eq!(&std::fs::read(desk.root.join("calendar").join(name)).unwrap(), text, "{name}");
    }
}

#[test]
fn odd_but_readable() {
    let desk = Desk::new();
    let title = |name: &str, text: &[u8]| {
        desk.write(&format!("calendar/{name}.ics"), text);
        let agenda = desk.agenda("2026-12-04T00:00", "2026-12-05T00:00");
        std::fs::remove_file(desk.root.join(format!("calendar/{name}.ics"))).unwrap();
        agenda.join("; ")
    };
    let event = |lines: &str| format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{lines}END:VEVENT\nEND:VCALENDAR\n");
    let at_ten = "Odd: Friday 4 December 2026, 10:00 to 11:00 (Europe/Berlin)";
    // No UID, Unix line ends, small letters, a mark at the beginning, a fold in the middle of a letter, an unknown zone.
    assert_eq!(title("a", event("SUMMARY:Odd\nDTSTART:20261204T090000Z\nDURATION:PT1H\n").as_bytes()), at_ten);
    assert_eq!(title("b", event("summary:Odd\ndtstart:20261204T090000z\nduration:PT1H\n").as_bytes()), at_ten);
    assert_eq!(
        title("c", format!("\u{feff}{}", event("SUMMARY:Odd\nDTSTART:20261204T090000Z\nDURATION:PT1H\n")).as_bytes()),
        at_ten
    );
    let mut cut = event("SUMMARY:Odd").into_bytes();
    cut.truncate(cut.len() - "END:VEVENT\nEND:VCALENDAR\n".len());
    cut.extend(
        b"\xc3\r\n \xa4\r\nUID:x\r\nDTSTART:20261204T090000Z\r\nDURATION:PT1H\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    );
    assert_eq!(title("d", &cut), at_ten.replace("Odd", "Oddä"));
    assert_eq!(
        title("e", event("SUMMARY:Odd\nDTSTART;TZID=Nowhere/Land:20261204T100000\nDURATION:PT1H\n").as_bytes()),
        at_ten
    );
    assert_eq!(
        title(
            "f",
            event("SUMMARY:Odd\nDTSTART;TZID=/x.org/2007_1/Asia/Tokyo:20261204T180000\nDURATION:PT1H\n").as_bytes()
        ),
        at_ten
    );
    let backwards = "SUMMARY:Odd\nDTSTART:20261204T090000Z\nDTEND:20261204T080000Z\n";
    assert_eq!(title("g", event(backwards).as_bytes()), "Odd: Friday 4 December 2026, 10:00 (Europe/Berlin)");
    assert_eq!(
        title("h", event("SUMMARY:Odd\nDTSTART;VALUE=DATE:20261204\nDTEND;VALUE=DATE:20261204\n").as_bytes()),
        "Odd: Friday 4 December 2026, all day"
    );
    // What can be read but not written as text is not changed.
    desk.write("calendar/d.ics", &cut);
    assert!(desk.error("delete_event", json!({"event": "x"})).contains("can be read but not changed"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_line_panics(
        lines in proptest::collection::vec((prop::sample::select(NAMES.to_vec()), "[-;:=,\"\\\\A-Z0-9TZ/+ä]{0,30}"), 0..12),
        rule in "(FREQ|BYDAY|COUNT|UNTIL|INTERVAL|BYMONTH|BYSETPOS|BYHOUR|BYWEEKNO|BYYEARDAY)=(DAILY|WEEKLY|YEARLY|HOURLY|[-0-9]{1,6}|[12]?MO|20270101T000000Z)(;(FREQ|BYDAY|COUNT|UNTIL|INTERVAL|BYMONTH|BYSETPOS|BYWEEKNO|BYMONTHDAY)=(DAILY|MONTHLY|YEARLY|[-0-9]{1,6}|-?[12]?FR|20270101)){0,4}",
    ) {
        let lines: String = lines.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let text = format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\nDTSTART:20261201T100000Z\nRRULE:{rule}\n{lines}END:VEVENT\nEND:VCALENDAR\n");
        let (events, _) = botpsy_agent::store::ics::events(&text);
        let (from, to) = ("2026-11-01T00:00[Europe/Berlin]".parse().unwrap(), "2028-01-01T00:00[Europe/Berlin]".parse().unwrap());
        let (found, _) = botpsy_agent::store::ics::occurrences(&events, &from, &to);
        prop_assert!(found.iter().all(|it| it.end >= it.start));
        for event in &events {
            let _ = botpsy_agent::store::ics::exclude(&text, &event.uid, &event.start);
            let _ = botpsy_agent::store::ics::remove(&text, &event.uid);
        }
        let _ = botpsy_agent::store::ics::split(&text);
    }
}

const NAMES: [&str; 14] = [
    "DTSTART",
    "DTEND;VALUE=DATE",
    "DURATION",
    "RRULE",
    "EXDATE",
    "RDATE",
    "RECURRENCE-ID",
    "BEGIN",
    "END",
    "SUMMARY",
    "UID",
    "",
    "DTSTART;TZID=\"Europe/Berlin\"",
    "STATUS",
];
