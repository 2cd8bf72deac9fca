//! Changes: all or nothing, for one process and for several.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use botpsy_agent::store::{ApplyError, Change, Op, Place, Store, StoreError, Table};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::desk::{Desk, folders};

fn file(path: &str, before: Option<&str>, after: Option<&str>) -> Op {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Op::File { place: Place::Notes, path: path.to_owned(), before: owned(before), after: owned(after) }
}

fn memory(id: &str, before: Option<&str>, after: Option<&str>) -> Op {
    let row = |text: &str| {
        json!({"text": text, "origin": "user", "made": "2026-11-30T11:00:00Z"}).as_object().unwrap().clone()
    };
    Op::Row { table: Table::Memories, id: id.to_owned(), before: before.map(row), after: after.map(row) }
}

fn change(ops: Vec<Op>) -> Change {
    Change { summary: "Test".to_owned(), details: vec![], warnings: vec![], ops, result: Value::Null }
}

#[test]
fn a_conflict_changes_nothing() {
    let desk = Desk::new();
    desk.write("notes/a.md", "one\n");
    let before = desk.snapshot();
    let both = change(vec![file("b.md", None, Some("new\n")), file("a.md", Some("other\n"), Some("two\n"))]);
    let error = desk.store.apply(&both).unwrap_err();
    assert_eq!(error.to_string(), "the note `a.md` has changed in the meantime, so nothing was done");
    let rows = change(vec![file("b.md", None, Some("new\n")), memory("m-1", Some("x"), Some("y"))]);
    assert!(matches!(desk.store.apply(&rows), Err(ApplyError::Conflict { .. })));
    assert_eq!(desk.snapshot(), before);
}

#[test]
fn what_is_done_already_is_left() {
    let desk = Desk::new();
    let ops = change(vec![
        file("a.md", None, Some("1\n")),
        memory("m-1", None, Some("x")),
        file("b/c.md", None, Some("2\n")),
    ]);
    desk.there_and_back(&ops);
    let first = desk.store.apply(&ops).unwrap();
    assert_eq!((first.done, first.already), (3, 0));
    let again = desk.store.apply(&ops).unwrap();
    assert_eq!((again.done, again.already), (0, 3));
}

#[test]
fn a_half_done_change_is_finished() {
    let desk = Desk::new();
    let ops =
        change(vec![file("a.md", None, Some("1\n")), memory("m-1", None, Some("x")), file("b.md", None, Some("2\n"))]);
    // As after a kill between the first file and the rest; its temporary file is still there.
    desk.write("notes/a.md", "1\n");
    desk.write("notes/.botpsy-1-1", "2\n");
    let other = Store::open(folders(&desk.root)).unwrap();
    assert!(!desk.root.join("notes/.botpsy-1-1").exists());
    let repaired = other.repair(&ops).unwrap();
    assert_eq!((repaired.done, repaired.already), (2, 1));
    assert_eq!(desk.read("notes/b.md"), "2\n");
    assert_eq!(desk.store.memories("", 9).unwrap().len(), 1);
}

#[test]
fn paths_stay_in_their_folder() {
    let desk = Desk::new();
    fs::create_dir_all(desk.root.join("outside")).unwrap();
    std::os::unix::fs::symlink(desk.root.join("outside"), desk.root.join("notes/link")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", desk.root.join("notes/host.md")).unwrap();
    fs::create_dir_all(desk.root.join("notes/folder.md")).unwrap();
    let before = desk.snapshot();
    let long = "a".repeat(300);
    for path in [
        "../a.md",
        "/etc/passwd",
        "a/../b.md",
        "a//b.md",
        "",
        ".",
        "a\0b.md",
        "link/a.md",
        "host.md",
        ".hidden.md",
        ".git/config",
        "a/.b.md",
        "folder.md",
        "a\\b.md",
        &long,
        "a.md/",
    ] {
        let error = desk.store.apply(&change(vec![file(path, None, Some("x"))]));
        assert!(matches!(error, Err(ApplyError::Refused { .. })), "{path:?}: {error:?}");
    }
    let twice = change(vec![file("a.md", None, Some("1")), file("a.md", None, Some("2"))]);
    assert!(matches!(desk.store.apply(&twice), Err(ApplyError::Refused { .. })));
    assert_eq!(desk.snapshot(), before);
}

#[test]
fn rows_have_the_columns_of_their_table() {
    let desk = Desk::new();
    let row = |row: Value| {
        let after = Some(row.as_object().unwrap().clone());
        change(vec![Op::Row { table: Table::Reminders, id: "r-1".to_owned(), before: None, after }])
    };
    let good = json!({"kind": "alarm", "text": "a", "due": "2026-12-01T06:00:00Z", "zone": "Europe/Berlin", "rrule": null,
        "state": "waiting", "made": "2026-11-30T11:00:00Z"});
    let mut missing = good.clone();
    missing.as_object_mut().unwrap().remove("due");
    let mut more = good.clone();
    more["x; DROP TABLE reminders"] = json!("1");
    let mut number = good.clone();
    number["text"] = json!(1);
    for bad in [missing, more, number] {
        assert!(matches!(desk.store.apply(&row(bad)), Err(ApplyError::Refused { .. })));
    }
    let mut state = good.clone();
    state["state"] = json!("odd");
    assert!(matches!(desk.store.apply(&row(state)), Err(ApplyError::Database(_))));
    desk.there_and_back(&row(good));
}

#[test]
fn a_row_that_fails_puts_the_files_back() {
    let desk = Desk::new();
    desk.write("notes/a.md", "one\n");
    desk.write("notes/sub/gone.md", "going\n");
    let before = desk.snapshot();
    let mut bad = json!({"kind": "odd", "text": "a", "due": "", "zone": "", "rrule": null, "state": "", "made": ""});
    let after = bad.as_object_mut().cloned();
    let ops = change(vec![
        file("a.md", Some("one\n"), Some("two\n")),
        file("new/deep/b.md", None, Some("b\n")),
        file("sub/gone.md", Some("going\n"), None),
        Op::Row { table: Table::Reminders, id: "r-1".to_owned(), before: None, after },
    ]);
    assert!(matches!(desk.store.apply(&ops), Err(ApplyError::Database(_))));
    assert_eq!(desk.snapshot(), before);
}

#[test]
fn work_that_fails_after_a_change_puts_it_back() {
    let desk = Desk::new();
    let before = desk.snapshot();
    let ops = change(vec![file("a.md", None, Some("1\n")), memory("m-1", None, Some("x"))]);
    let failed = desk.store.transact(|transaction| {
        let pending = desk.store.apply_in(transaction, &ops)?;
        transaction.execute("INSERT INTO nothing VALUES (1)", [])?;
        Ok(pending)
    });
    assert!(matches!(failed, Err(ApplyError::Database(_))));
    assert_eq!(desk.snapshot(), before);
}

#[test]
fn a_full_disk_changes_nothing() {
    let desk = Desk::new();
    let notes = desk.root.join("notes");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&notes).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return; // Only who may mount can fill a disk.
    }
    desk.write("notes/a.md", "one\n");
    let before = desk.snapshot();
    let large = "x".repeat(200_000);
    let ops = change(vec![
        file("a.md", Some("one\n"), Some("two\n")),
        memory("m-1", None, Some("x")),
        file("large.md", None, Some(&large)),
    ]);
    let failed = desk.store.apply(&ops);
    let after = desk.snapshot();
    let _ = Command::new("umount").arg("-l").arg(&notes).output();
    let error = failed.unwrap_err().to_string();
    assert!(error.starts_with("the note `large.md`: No space left on device"), "{error}");
    assert!(error.ends_with("nothing was changed"), "{error}");
    assert_eq!(after, before);
}

#[test]
fn two_handles_lose_nothing() {
    let desk = Desk::new();
    let others: Vec<Arc<Store>> = (0..4).map(|_| Arc::new(Store::open(folders(&desk.root)).unwrap())).collect();
    let others = others.into_iter().enumerate();
    let workers: Vec<_> = others.map(|(worker, store)| thread::spawn(move || append(worker, &store))).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let text = desk.read("notes/log.md");
    assert_eq!(text.lines().count(), 40, "{text}");
    assert_eq!(desk.store.memories("", 100).unwrap().len(), 40);
}

/// Ten lines, each with a row; whoever was too late reads again.
fn append(worker: usize, store: &Store) {
    for i in 0..10 {
        loop {
            let (notes, _) = store.notes().unwrap();
            let before = notes.into_iter().next().map(|note| note.text);
            let after = format!("{}{worker} {i}\n", before.as_deref().unwrap_or_default());
            let ops = vec![
                file("log.md", before.as_deref(), Some(&after)),
                memory(&format!("m-{worker}-{i}"), None, Some("x")),
            ];
            match store.apply(&change(ops)) {
                Ok(_) => break,
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn later_data_is_not_opened() {
    let desk = Desk::new();
    let connection = rusqlite::Connection::open(desk.root.join("data/botpsy.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(matches!(Store::open(folders(&desk.root)), Err(StoreError::Later { found: 99, .. })));
}

#[test]
fn only_the_owner_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.store.apply(&change(vec![file("a/b.md", None, Some("x"))])).unwrap();
    let mode = |path: &str| fs::metadata(desk.root.join(path)).unwrap().permissions().mode() & 0o777;
    let modes = ["data", "calendar", "notes", "notes/a", "data/botpsy.db", "notes/a/b.md"].map(mode);
    assert_eq!(modes, [0o700, 0o700, 0o700, 0o700, 0o600, 0o600]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn taking_back_restores_everything(
        there in proptest::collection::btree_map("[a-c]{1,2}", "[ -~\n]{0,20}", 0..5),
        then in proptest::collection::btree_map("[a-c]{1,2}", proptest::option::of("[ -~\n]{0,20}"), 1..6),
    ) {
        let desk = Desk::new();
        for (name, text) in &there {
            desk.write(&format!("notes/{name}.md"), text);
        }
        let ops = then.iter().filter(|(name, after)| there.get(*name) != after.as_ref());
        let ops: Vec<Op> = ops.map(|(name, after)| {
            file(&format!("{name}.md"), there.get(name).map(String::as_str), after.as_deref())
        }).collect();
        desk.there_and_back(&change(ops));
    }
}
