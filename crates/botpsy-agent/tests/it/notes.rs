//! Notes.

use proptest::prelude::*;
use serde_json::json;

use crate::desk::{Desk, fields};

#[test]
fn a_note_is_written_found_read_and_deleted() {
    let desk = Desk::new();
    let change = desk.run("create_note", json!({"title": "Wi-Fi: at home?", "text": "The password\nis on the box.\n"}));
    assert_eq!(change.result, json!({"id": "Wi-Fi at home.md", "title": "Wi-Fi: at home?"}));
    assert_eq!(desk.read("notes/Wi-Fi at home.md"), "# Wi-Fi: at home?\n\nThe password\nis on the box.\n");
    desk.run("create_note", json!({"title": "Holiday", "text": "Ideas"}));
    let found = desk.answer("find_notes", json!({"query": "password box"}));
    assert_eq!(fields(&found["notes"], &["title", "line"]), "Wi-Fi: at home? | The password");
    desk.run("append_note", json!({"note": "the wi-fi", "text": "Ask Ann."}));
    let read = desk.answer("read_note", json!({"note": "Wi-Fi at home.md"}));
    assert_eq!(read["text"], "# Wi-Fi: at home?\n\nThe password\nis on the box.\nAsk Ann.\n");
    let change = desk.run("delete_note", json!({"note": "wi fi"}));
    assert_eq!(change.summary, "Delete the note: Wi-Fi: at home?");
    assert_eq!(
        desk.error("read_note", json!({"note": "wi-fi"})),
        "no note is called `wi-fi`; There are: `Holiday` (id `Holiday.md`)."
    );
}

#[test]
fn names_of_files_are_tame_and_free() {
    let desk = Desk::new();
    for (title, path) in [
        ("../../etc/passwd", "etc passwd.md"),
        ("A", "A.md"),
        ("a", "a 2.md"),
        ("...", "note.md"),
        ("/", "note 2.md"),
        ("äöü", "äöü.md"),
    ] {
        let change = desk.run("create_note", json!({"title": title, "text": "x"}));
        assert_eq!(change.result["id"], path, "{title}");
    }
    let change = desk.change("create_note", json!({"title": "a", "text": "x"}));
    assert_eq!(change.warnings, ["there is a note `A` already"]);
}

#[test]
fn notes_of_others_are_kept_as_they_are() {
    let desk = Desk::new();
    desk.write("notes/office/plan.md", "---\r\ntags: x\r\n---\r\n# The plan\r\n\r\nno end");
    desk.write("notes/bytes.md", [0xff]);
    let change = desk.run("append_note", json!({"note": "plan", "text": "one\ntwo"}));
    assert_eq!(change.result["id"], "office/plan.md");
    assert_eq!(
        desk.read("notes/office/plan.md"),
        "---\r\ntags: x\r\n---\r\n# The plan\r\n\r\nno end\r\none\r\ntwo\r\n"
    );
    let (notes, broken) = desk.store.notes().unwrap();
    assert_eq!((notes.len(), broken[0].path.as_str()), (1, "bytes.md"));
    desk.run("delete_note", json!({"note": "the plan"}));
    assert!(!desk.root.join("notes/work").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_note_comes_back(title in "\\PC{1,80}", text in "(\\PC|\n){1,200}") {
        let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assume!(!words.is_empty() && !text.trim().is_empty());
        let desk = Desk::new();
        let change = desk.run("create_note", json!({"title": title, "text": text}));
        let read = desk.answer("read_note", json!({"note": change.result["id"]}));
        prop_assert_eq!(read["title"].as_str(), Some(words.as_str()));
        let expected = format!("# {words}\n\n{}\n", text.trim_end());
        prop_assert_eq!(read["text"].as_str(), Some(expected.as_str()));
    }
}
