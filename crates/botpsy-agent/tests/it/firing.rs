//! Reminders that come due, on a clock that the tests move.

use std::path::Path;
use std::sync::{Barrier, Mutex};
use std::thread;

use botpsy_agent::journal::{Desk, Event};
use botpsy_agent::store::{Change, Op, Reminder, ReminderKind, ReminderState, Table};
use jiff::Zoned;
use serde_json::Value;

use crate::desk::{folder, folders};

fn at(text: &str) -> Zoned {
    format!("{text}[Europe/Berlin]").parse().unwrap()
}

fn open(root: &Path) -> Desk {
    Desk::open(folders(root), &at("2026-11-30T12:00")).unwrap().0
}

fn put(desk: &Desk, id: &str, due: &str, rrule: Option<&str>) {
    let reminder = Reminder {
        id: id.to_owned(),
        kind: ReminderKind::Reminder,
        text: id.to_owned(),
        due: at(due),
        rrule: rrule.map(str::to_owned),
        state: ReminderState::Waiting,
        made: at("2026-01-01T00:00").timestamp(),
    };
    let op = Op::Row { table: Table::Reminders, id: id.to_owned(), before: None, after: Some(reminder.row()) };
    let change =
        Change { summary: "Test".to_owned(), details: vec![], warnings: vec![], ops: vec![op], result: Value::Null };
    desk.store().apply(&change).unwrap();
}

/// What makes itself heard at a moment.
fn fire(desk: &Desk, now: &str) -> Vec<String> {
    let mut told = Vec::new();
    let tell = &mut |reminder: &Reminder| {
        told.push(format!("{} {} {}", reminder.text, reminder.state.name(), reminder.due.datetime()));
    };
    desk.fire_due(&at(now), tell).unwrap();
    told
}

fn due(desk: &Desk) -> String {
    desk.next_due().unwrap().map_or_else(|| "nothing".to_owned(), |due| due.strftime("%F %H:%M").to_string())
}

#[test]
fn each_is_heard_once_and_at_its_time() {
    let root = folder();
    let desk = open(&root);
    put(&desk, "tea", "2026-11-30T12:05", None);
    put(&desk, "cake", "2026-11-30T12:10", None);
    assert_eq!(due(&desk), "2026-11-30 12:05");
    assert!(fire(&desk, "2026-11-30T12:04:59").is_empty());
    assert_eq!(fire(&desk, "2026-11-30T12:05"), ["tea fired 2026-11-30T12:05:00"]);
    assert!(fire(&desk, "2026-11-30T12:05").is_empty());
    assert_eq!(fire(&desk, "2026-11-30T12:11"), ["cake fired 2026-11-30T12:10:00"]);
    assert_eq!(due(&desk), "nothing");
    // A clock that is set back rings nothing twice.
    assert!(fire(&desk, "2026-11-30T12:00").is_empty());
    let rows = desk.log_rows(None).unwrap();
    assert_eq!(rows.iter().filter(|row| row.entry.event == Event::Reminder).count(), 2);
    assert_eq!(rows[0].entry.body["state"], "fired");
    assert_eq!(desk.verify_log().unwrap().unwrap().0, 2);
}

#[test]
fn what_is_missed_is_told_once() {
    let root = folder();
    let (desk, other) = (open(&root), open(&root));
    put(&desk, "tea", "2026-11-30T12:05", None);
    assert_eq!(fire(&desk, "2026-11-30T12:06:01"), ["tea missed 2026-11-30T12:05:00"]);
    let missed = other.missed().unwrap();
    assert_eq!(missed.iter().map(|missed| missed.text.as_str()).collect::<Vec<_>>(), ["tea"]);
    let now = at("2026-11-30T13:00");
    assert!(other.dismiss(&missed[0], &now).unwrap());
    assert!(!desk.dismiss(&missed[0], &now).unwrap());
    assert!(desk.missed().unwrap().is_empty());
    desk.verify_log().unwrap().unwrap();
}

#[test]
fn what_repeats_comes_again_and_remembers_what_it_missed() {
    let root = folder();
    let desk = open(&root);
    put(&desk, "pills", "2026-11-30T08:00", Some("FREQ=DAILY"));
    assert_eq!(fire(&desk, "2026-11-30T08:00"), ["pills fired 2026-11-30T08:00:00"]);
    assert_eq!(due(&desk), "2026-12-01 08:00");
    // Away for days, and back at the very minute.
    assert_eq!(
        fire(&desk, "2026-12-04T08:00:30"),
        ["pills missed 2026-12-01T08:00:00", "pills fired 2026-12-04T08:00:00"]
    );
    assert_eq!(due(&desk), "2026-12-05 08:00");
    assert_eq!(desk.missed().unwrap().len(), 1);
    assert_eq!(fire(&desk, "2026-12-06T20:00"), ["pills missed 2026-12-05T08:00:00"]);
    assert_eq!(due(&desk), "2026-12-07 08:00");
    assert_eq!(desk.missed().unwrap().len(), 2);
}

#[test]
fn a_count_is_counted_down() {
    let root = folder();
    let desk = open(&root);
    put(&desk, "three", "2026-11-30T08:00", Some("FREQ=DAILY;COUNT=3"));
    let mut heard = Vec::new();
    for day in ["2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04"] {
        heard.extend(fire(&desk, &format!("{day}T08:00")));
    }
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert_eq!(due(&desk), "nothing");
    assert_eq!(desk.store().reminders(&[ReminderState::Fired]).unwrap().len(), 1);
}

#[test]
fn the_hour_stays_over_summer_time() {
    let root = folder();
    let desk = open(&root);
    // On 29 March there is no 2:30, on 25 October there are two.
    for (first, days) in [("2026-03-28", ["03-28 02:30", "03-29 03:30", "03-30 02:30", "03-31 02:30"])] {
        put(&desk, "night", &format!("{first}T02:30"), Some("FREQ=DAILY"));
        for day in days {
            assert_eq!(due(&desk), format!("2026-{day}"));
            assert_eq!(fire(&desk, &format!("2026-{}", day.replace(' ', "T"))).len(), 1, "{day}");
        }
    }
    let desk = open(&folder());
    put(&desk, "night", "2026-10-24T02:30", Some("FREQ=DAILY"));
    let heard: Vec<String> = ["2026-10-24T02:30+02:00", "2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"]
        .iter()
        .flat_map(|now| fire(&desk, now))
        .collect();
    assert_eq!(heard, ["night fired 2026-10-24T02:30:00", "night fired 2026-10-25T02:30:00"]);
    assert_eq!(due(&desk), "2026-10-26 02:30");
}

#[test]
fn of_many_that_look_one_tells() {
    const EACH: usize = 20;
    let root = folder();
    let desk = open(&root);
    for i in 0..EACH {
        put(&desk, &format!("once {i}"), "2026-11-30T12:05", None);
        put(&desk, &format!("often {i}"), "2026-11-30T12:05", Some("FREQ=DAILY"));
    }
    let (told, start) = (Mutex::new(Vec::new()), Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let desk = open(&root);
                start.wait();
                let mine = fire(&desk, "2026-11-30T12:05:10");
                told.lock().unwrap().extend(mine);
            });
        }
    });
    let mut told = told.into_inner().unwrap();
    let all = told.len();
    told.sort();
    told.dedup();
    assert_eq!((told.len(), all), (2 * EACH, 2 * EACH));
    assert_eq!(desk.verify_log().unwrap().unwrap().0, 2 * EACH as i64);
    assert!(desk.missed().unwrap().is_empty());
}

#[test]
fn what_is_set_back_is_missed_again_without_a_second_row() {
    let root = folder();
    let desk = open(&root);
    put(&desk, "pills", "2026-11-30T08:00", Some("FREQ=DAILY"));
    let before = desk.store().reminders(&[ReminderState::Waiting]).unwrap().remove(0);
    assert_eq!(fire(&desk, "2026-11-30T20:00").len(), 1);
    let after = desk.store().reminders(&[ReminderState::Waiting]).unwrap().remove(0);
    let (id, table) = ("pills".to_owned(), Table::Reminders);
    let op = Op::Row { table, id, before: Some(after.row()), after: Some(before.row()) };
    let back =
        Change { summary: "Back".to_owned(), details: vec![], warnings: vec![], ops: vec![op], result: Value::Null };
    desk.store().apply(&back).unwrap();
    assert_eq!(fire(&desk, "2026-11-30T20:00").len(), 1);
    assert_eq!(desk.missed().unwrap().len(), 1);
    assert_eq!(due(&desk), "2026-12-01 08:00");
}
