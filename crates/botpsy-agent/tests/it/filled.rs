//! A whole store, for other programs to read: with `BOTPSY_STORES` set, it is left in that folder for `checks/read_stores.py`.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::desk::Desk;

/// Zones with two changes a year, with other rules, with odd ones, and without.
const ZONES: [&str; 10] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "America/Sao_Paulo",
    "Asia/Jerusalem",
    "Europe/Dublin",
    "Pacific/Chatham",
    "UTC",
];

#[test]
fn a_store_of_everything() {
    for zone in ZONES {
        let desk = Desk::at(&format!("2026-11-30T12:00[{zone}]"));
        fill(&desk);
        if let Ok(folder) = std::env::var("BOTPSY_STORES") {
            copy(&desk.root, &Path::new(&folder).join(zone.replace('/', "-")));
        }
    }
}

fn fill(desk: &Desk) {
    let text = "Ääkköset, \"quotes\"; a\\b: and a text that is long enough to be folded, again and again, 日本語日本語日本語日本語日本語日本語";
    desk.run("create_event", json!({"title": text, "start": "2026-12-04T15:00", "notes": format!("{text}\nanother line\\n"), "place": "x;y"}));
    desk.run(
        "create_event",
        json!({"title": "Summer", "start": "2027-03-20T09:00", "end": "2027-03-20T09:45", "repeat": "every week"}),
    );
    desk.run("create_event", json!({"title": "Days", "start": "2026-12-24", "end": "2026-12-26"}));
    desk.run("create_event", json!({"title": "Yearly", "start": "2026-12-31", "repeat": "yearly"}));
    desk.run("create_event", json!({"title": "Yoga", "start": "2026-12-01T18:00", "repeat": "weekdays"}));
    desk.run("delete_event", json!({"event": "yoga", "day": "2026-12-03"}));
    desk.run(
        "change_event",
        json!({"event": "yoga", "day": "2026-12-04", "start": "2026-12-04T20:00", "title": "Late yoga"}),
    );
    desk.run("change_event", json!({"event": "yoga", "day": "all", "place": "Gym"}));
    desk.run("set_alarm", json!({"time": "2026-12-01T07:00", "repeat": "daily"}));
    desk.run("set_timer", json!({"duration": "90 seconds", "label": "tea"}));
    desk.run("create_note", json!({"title": "Wi-Fi", "text": text}));
    desk.run("add_to_list", json!({"list": "shopping", "items": ["milk", text]}));
    desk.run("check_off", json!({"list": "shopping", "items": ["milk"]}));
    desk.run("remember", json!({"fact": text}));
    desk.run("remember", json!({"fact": "Ann likes tea."}));
    desk.run("forget", json!({"fact": "ann likes tea"}));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match path.is_dir() {
            true => copy(&path, &target),
            false => assert!(fs::copy(&path, &target).is_ok()),
        }
    }
}
