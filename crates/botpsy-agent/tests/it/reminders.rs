//! Alarms, timers and reminders.

use botpsy_agent::store::ReminderState;
use serde_json::json;

use crate::desk::{Desk, fields};

#[test]
fn an_alarm_a_timer_and_a_reminder() {
    let desk = Desk::new();
    let alarm = desk.run("set_alarm", json!({"time": "2026-12-01T07:00", "label": "Wake up", "repeat": "weekdays"}));
    assert_eq!(alarm.summary, "Set an alarm: Wake up");
    let details = [
        ("when", "Tuesday 1 December 2026, 07:00 (Europe/Berlin)"),
        ("repeats", "every week on Monday, Tuesday, Wednesday, Thursday, Friday"),
    ];
    assert_eq!(alarm.details, details.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let timer = desk.run("set_timer", json!({"duration": "10 minutes"}));
    assert_eq!(timer.details[0], ("length".to_owned(), "10 minutes".to_owned()));
    desk.run("create_reminder", json!({"text": "call Ann", "time": "2026-12-24T18:00"}));
    let listed = desk.answer("list_reminders", json!({}));
    assert_eq!(
        fields(&listed["reminders"], &["kind", "title", "time"]),
        "timer | Timer | 2026-11-30T12:10:00+01:00\nalarm | Wake up | 2026-12-01T07:00:00+01:00\nreminder | call Ann | 2026-12-24T18:00:00+01:00"
    );
    let there = desk.store.reminders(&[ReminderState::Waiting]).unwrap();
    assert_eq!(there[1].row()["due"], "2026-12-01T06:00:00Z");
    assert_eq!(there[1].row()["rrule"], "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR");
    assert_eq!(there[1].row()["zone"], "Europe/Berlin");
}

#[test]
fn one_changes_and_one_is_cancelled() {
    let desk = Desk::new();
    desk.run("set_alarm", json!({"time": "2026-12-01T07:00"}));
    let id = desk.run("create_reminder", json!({"text": "Water the plants", "time": "2026-12-02T18:00"})).result["id"]
        .clone();
    let change =
        desk.run("change_reminder", json!({"reminder": "plants", "time": "2026-12-03T19:00", "repeat": "every day"}));
    assert_eq!(
        fields(&change.result, &["title", "when", "repeats"]),
        "Water the plants | Thursday 3 December 2026, 19:00 (Europe/Berlin) | every day"
    );
    let change = desk.run("change_reminder", json!({"reminder": id, "text": "Water all plants", "repeat": "never"}));
    assert_eq!(change.summary, "Change the reminder: Water the plants");
    let change = desk.run("cancel_reminder", json!({"reminder": "the alarm"}));
    assert_eq!(change.summary, "Cancel the alarm: Alarm");
    assert_eq!(
        fields(&desk.answer("list_reminders", json!({}))["reminders"], &["title", "repeats"]),
        "Water all plants | null"
    );
    assert_eq!(desk.store.reminders(&[ReminderState::Cancelled]).unwrap().len(), 1);
    let missing = desk.error("cancel_reminder", json!({"reminder": "dentist"}));
    let there = "`Water all plants` (reminder, Thursday 3 December 2026, 19:00 (Europe/Berlin), id `ID`)";
    assert_eq!(
        missing.replace(id.as_str().unwrap(), "ID"),
        ["no reminder is called `dentist`; There are: ", there, "."].concat()
    );
}

#[test]
fn nothing_rings_in_the_past() {
    let desk = Desk::new();
    let error = desk.error("set_alarm", json!({"time": "2026-11-30T07:00"}));
    assert_eq!(error, "argument `time`: Monday 30 November 2026, 07:00 (Europe/Berlin) is in the past");
    let change = desk.run("set_alarm", json!({"time": "2026-11-30T07:00", "repeat": "daily"}));
    assert_eq!(change.result["time"], "2026-12-01T07:00:00+01:00");
    assert_eq!(desk.error("set_alarm", json!({"time": "2026-12-01"})), "At what time, for `2026-12-01`?");
    assert_eq!(desk.error("set_timer", json!({"duration": "soon"})), "How long is `soon`?");
    assert_eq!(
        desk.error("set_timer", json!({"duration": "9000 hours"})),
        "argument `duration`: it must be between a second and a year"
    );
    assert_eq!(
        desk.error("create_reminder", json!({"text": "x", "time": "2026-12-01T07:00", "repeat": "FREQ=ODDLY"}))
            .split(':')
            .next(),
        Some("argument `repeat`")
    );
}

#[test]
fn what_repeats_keeps_its_hour_over_summer_time() {
    let desk = Desk::at("2026-03-27T12:00[Europe/Berlin]");
    desk.run("set_alarm", json!({"time": "2026-03-28T07:00", "repeat": "daily"}));
    let alarm = &desk.store.reminders(&[ReminderState::Waiting]).unwrap()[0];
    let next = alarm.next_after(&alarm.due).unwrap();
    assert_eq!(next.to_string(), "2026-03-29T07:00:00+02:00[Europe/Berlin]");
    assert_eq!((&next - &alarm.due).total(jiff::Unit::Hour).unwrap(), 23.0);
}
