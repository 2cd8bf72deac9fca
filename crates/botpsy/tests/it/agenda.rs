//! `botpsy agenda`.

use botpsy_agent::store::ReminderKind;
use expect_test::expect;
use serde_json::json;

use crate::owner::{Owner, at, event};

const NOW: [&str; 2] = ["--now", "2026-12-01T08:00:00Z"];

fn owner() -> Owner {
    let owner = Owner::new();
    let dentist = "DTSTART;TZID=Europe/Berlin:20261201T150000\r\nDTEND;TZID=Europe/Berlin:20261201T160000\r\nLOCATION:High Street 1\r\n";
    owner.write("calendar/a.ics", event("a", "Dentist", dentist));
    owner.write("calendar/b.ics", event("b", "Yoga", "DTSTART:20261201T143000Z\r\nDTEND:20261201T153000Z\r\n"));
    owner.write("calendar/c.ics", event("c", "Fair", "DTSTART;VALUE=DATE:20261202\r\nDTEND;VALUE=DATE:20261204\r\n"));
    owner.write("calendar/d.ics", event("d", "Far", "DTSTART:20261220T143000Z\r\n"));
    owner.write("calendar/e.ics", event("e", "Broken", ""));
    owner.remind("alarm", ReminderKind::Alarm, &at("2026-12-02T07:00"), Some("FREQ=DAILY;COUNT=2"));
    owner.remind("pills", ReminderKind::Reminder, &at("2026-11-30T09:00"), None);
    owner
}

fn agenda(owner: &Owner, when: &[&str]) -> String {
    owner.run(&[&["agenda"], when, &NOW].concat()).ok()
}

#[test]
fn days_with_what_was_missed_on_top() {
    let owner = owner();
    expect![[r#"
        Missed
          reminder: the pills, Monday 30 November 2026, 09:00 (Europe/Berlin)

        Tuesday 1 December 2026, today
          15:00 - 16:00  Dentist (High Street 1)  ! overlaps with Yoga
          15:30 - 16:30  Yoga  ! overlaps with Dentist

        Wednesday 2 December 2026, tomorrow
          all day        Fair
          07:00          alarm: the alarm, every day, 2 times

        Thursday 3 December 2026
          all day        Fair
          07:00          alarm: the alarm, every day, 2 times
    "#]]
    .assert_eq(&agenda(&owner, &[]));
    let err = owner.run(&["agenda", NOW[0], NOW[1]]).err;
    expect![[r#"
        note: e.ics cannot be read and was left out: `Broken`: it has no start
    "#]]
    .assert_eq(&err);
}

#[test]
fn a_time_in_words() {
    let owner = owner();
    assert!(agenda(&owner, &["Sunday", "20", "December"]).contains("15:30          Far"));
    assert!(agenda(&owner, &["2026-12-24"]).ends_with("\nNothing on Thursday 24 December 2026.\n"));
    let json: serde_json::Value = serde_json::from_str(&agenda(&owner, &["tomorrow", "--json"])).unwrap();
    assert_eq!(json["from"], "2026-12-02T00:00:00+01:00");
    assert_eq!(json["events"][0]["title"], "Fair");
    assert_eq!(json["reminders"][0]["due"], "2026-12-02T07:00:00+01:00");
    assert_eq!(json["missed"][0]["id"], "pills");
    assert_eq!(json["unreadable"][0]["path"], json!("e.ics"));
    let err = owner.run(&["agenda", "blue"]).refused();
    assert!(err.contains("`blue` is no time"), "{err}");
    let err = owner.run(&["agenda", "--now", "2026-12-01T08:00:00Z", "3/4"]).refused();
    assert!(err.contains("help: say which: "), "{err}");
}
