//! `botpsy import`.

use botpsy_agent::journal::What;
use expect_test::expect;

use crate::owner::{Owner, event};

#[test]
fn events_are_shown_then_taken_over() {
    let owner = Owner::new();
    owner.write("many.ics", event("a", "One", "DTSTART:20261204T100000Z\r\n"));
    let file = owner.home.join("many.ics");
    let file = file.to_str().unwrap();
    let ran = owner.run(&["import", file]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(String::from_utf8(ran.out).unwrap(), "1 event to import, 0 left out\n  + a.ics\n");
    assert!(ran.err.contains("add --yes"), "{}", ran.err);
    expect![[r#"
        1 event to import, 0 left out
          + a.ics
        Imported 1 event (step 1); `botpsy undo` takes it back.
    "#]]
    .assert_eq(&owner.run(&["import", file, "--yes"]).ok());
    assert!(owner.read("calendar/a.ics").contains("SUMMARY:One"));
    let (desk, now) = owner.desk();
    let steps = desk.undoable(&What::Last).unwrap();
    assert!(desk.undo(&steps, &now).1.is_none());
    assert!(!owner.home.join("calendar/a.ics").exists());
    drop(desk);
    assert_eq!(owner.run(&["import", file, "--yes", "--json"]).json()["step"], 3);
    // A second time there is nothing new.
    let json = owner.run(&["import", file, "--yes", "--json"]).json();
    assert_eq!((&json["new"], &json["imported"], &json["step"]), (&0.into(), &false.into(), &serde_json::Value::Null));
}

#[test]
fn notes_of_a_folder() {
    let owner = Owner::new();
    owner.write("old/a.md", "# A\n");
    owner.write("old/deep/b.txt", "b\n");
    owner.write("notes/a.md", "mine\n");
    let folder = owner.home.join("old");
    let json = owner.run(&["import", folder.to_str().unwrap(), "--yes", "--json"]).json();
    assert_eq!((&json["what"], &json["new"], &json["step"]), (&"notes".into(), &1.into(), &1.into()));
    assert_eq!(json["skipped"][0]["path"], "a.md");
    assert_eq!((owner.read("notes/deep/b.txt"), owner.read("notes/a.md")), ("b\n".to_owned(), "mine\n".to_owned()));
    let err = owner.run(&["import", "/nowhere.ics"]).refused();
    assert!(err.contains("/nowhere.ics"), "{err}");
}
