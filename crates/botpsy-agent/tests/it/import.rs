//! What is taken over from elsewhere.

use std::fs;

use botpsy_agent::store::Broken;

use crate::desk::Desk;

const MANY: &str = "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:19701025T030000\n\
TZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\nUID:a@x\nSUMMARY:One\nDTSTART;TZID=Europe/Berlin:20261204T100000\n\
RRULE:FREQ=WEEKLY;COUNT=2\nEND:VEVENT\nBEGIN:VEVENT\nUID:b/../c\nSUMMARY:Two\nDTSTART:20261205T100000Z\nEND:VEVENT\nBEGIN:VEVENT\nUID:a@x\n\
RECURRENCE-ID;TZID=Europe/Berlin:20261211T100000\nSUMMARY:One moved\nDTSTART;TZID=Europe/Berlin:20261212T100000\nEND:VEVENT\n\
BEGIN:VEVENT\nSUMMARY:Nameless\nDTSTART:20261206T100000Z\nEND:VEVENT\nBEGIN:VEVENT\nUID:broken\nSUMMARY:No start\nEND:VEVENT\nEND:VCALENDAR\n";

#[test]
fn a_calendar_becomes_one_file_for_each_event() {
    let desk = Desk::new();
    desk.write("many.ics", MANY);
    let import = desk.store.import_ics(&desk.root.join("many.ics")).unwrap();
    assert_eq!(
        import.skipped.iter().map(|skipped| skipped.why.as_str()).collect::<Vec<_>>(),
        ["`No start`: it has no start"]
    );
    assert_eq!(import.change.result["imported"], 3);
    desk.there_and_back(&import.change);
    desk.store.apply(&import.change).unwrap();
    assert_eq!(
        desk.agenda("2026-12-01T00:00", "2027-01-01T00:00"),
        [
            "One: Friday 4 December 2026, 10:00 (Europe/Berlin)",
            "Two: Saturday 5 December 2026, 11:00 (Europe/Berlin)",
            "Nameless: Sunday 6 December 2026, 11:00 (Europe/Berlin)",
            "One moved: Saturday 12 December 2026, 10:00 (Europe/Berlin)",
        ]
    );
    let text = desk.read("calendar/a@x.ics");
    assert!(text.contains("BEGIN:VTIMEZONE\r\n") && text.matches("BEGIN:VEVENT").count() == 2, "{text}");
    assert_eq!(fs::read_dir(desk.root.join("calendar")).unwrap().count(), 3);
    // A second time there is nothing new.
    let again = desk.store.import_ics(&desk.root.join("many.ics")).unwrap();
    assert_eq!((again.change.ops.len(), again.skipped.len()), (0, 4));
    assert!(desk.store.import_ics(&desk.root.join("missing.ics")).is_err());
}

#[test]
fn a_folder_of_notes() {
    let desk = Desk::new();
    desk.write("notes/mine.md", "# Mine\n");
    for (name, text) in
        [("a.md", "# A\n"), ("deep/b.txt", "b\n"), ("mine.md", "other\n"), ("c.pdf", "%PDF"), (".git/d.md", "x")]
    {
        desk.write(&format!("old/{name}"), text);
    }
    desk.write("old/bytes.md", [0xff, 0xfe]);
    std::os::unix::fs::symlink("/etc/hostname", desk.root.join("old/link.md")).unwrap();
    let import = desk.store.import_notes(&desk.root.join("old")).unwrap();
    let skipped = |path: &str, why: &str| Broken { path: path.to_owned(), why: why.to_owned() };
    assert_eq!(
        import.skipped,
        [skipped("bytes.md", "not UTF-8"), skipped("mine.md", "a note with this name is there already")]
    );
    desk.there_and_back(&import.change);
    desk.store.apply(&import.change).unwrap();
    let (notes, _) = desk.store.notes().unwrap();
    let paths: Vec<&str> = notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(paths, ["a.md", "deep/b.txt", "mine.md"]);
    assert_eq!(desk.read("notes/mine.md"), "# Mine\n");
}
