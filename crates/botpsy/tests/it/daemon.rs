//! `botpsy daemon`.

use std::fs::OpenOptions;

use botpsy_agent::store::ReminderKind;
use expect_test::expect;
use jiff::Zoned;

use crate::owner::{Owner, at};

#[test]
fn what_was_missed_and_what_is_due_are_told_once() {
    let owner = Owner::new();
    owner.remind("tea", ReminderKind::Timer, &at("2020-01-02T09:00"), None);
    owner.remind("call", ReminderKind::Reminder, &Zoned::now(), None);
    owner.remind("later", ReminderKind::Alarm, &at("2999-01-02T09:00"), None);
    let told = owner.run(&["daemon", "--once"]).ok();
    let (missed, fired) = told.split_at(told.find("Reminder").unwrap());
    assert_eq!(missed, "Missed timer: the tea\n  Thursday 2 January 2020, 09:00 (Europe/Berlin)\n");
    assert!(fired.starts_with("Reminder: the call\n  "), "{fired}");
    assert_eq!(owner.run(&["daemon", "--once"]).ok(), "");
    let agenda = owner.run(&["agenda"]).ok();
    assert!(agenda.starts_with("Nothing from "), "{agenda}");
}

#[test]
fn a_line_for_each() {
    let owner = Owner::new();
    owner.remind("tea", ReminderKind::Timer, &at("2020-01-02T09:00"), None);
    expect![[r#"
        {"id":"tea","kind":"timer","text":"the tea","due":"2020-01-02T09:00:00+01:00","state":"missed"}
    "#]]
    .assert_eq(&owner.run(&["daemon", "--once", "--json"]).ok());
}

#[test]
fn a_second_one_says_so_and_ends() {
    let owner = Owner::new();
    let lock = OpenOptions::new().write(true).create(true).truncate(true).open(owner.home.join("daemon.lock")).unwrap();
    lock.lock().unwrap();
    let ran = owner.run(&["daemon"]);
    assert_eq!(ran.code, Some(1));
    expect![[r#"
        error: another `botpsy daemon` runs on HOME
        help: nothing is missing: it tells all reminders; end it first to run this one
    "#]]
    .assert_eq(&owner.tidy(&ran.err));
}

#[test]
fn the_unit_names_this_program() {
    let owner = Owner::new();
    let ran = owner.run(&["daemon", "--unit"]);
    assert!(ran.err.contains("systemctl --user enable --now botpsy.service"), "{}", ran.err);
    let unit = ran.ok();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert_eq!(line.trim_matches('"'), format!("{} daemon", env!("CARGO_BIN_EXE_botpsy")));
    assert!(unit.contains("BOTPSY_HOME="), "{unit}");
}
