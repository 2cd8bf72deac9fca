//! `botpsy doctor`.

use crate::owner::Owner;

#[test]
fn all_is_well_in_a_new_home() {
    let owner = Owner::new();
    let ran = owner.run(&["doctor", "--json"]);
    let json = ran.json();
    assert_eq!(json["healthy"], true, "{json}");
    let checks = json["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in ["program", "processor", "memory", "data", "database", "policy", "time zone", "model", "speed"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // Looking makes nothing.
    assert!(!owner.home.join("botpsy.db").exists());
}

#[test]
fn what_is_wrong_is_told_with_the_next_step() {
    let owner = Owner::new();
    owner.write("policy.toml", "hots = []");
    owner.write("botpsy.db", "this is no database, and longer than a header of one would have to be at the least");
    owner.write("notes", "not a folder");
    let ran = owner.run(&["doctor", "-m", "/nowhere.gguf"]);
    assert_eq!(ran.code, Some(1));
    let out = String::from_utf8(ran.out).unwrap();
    for line in ["problem  model", "problem  notes", "problem  policy"] {
        assert!(out.contains(line), "{out}");
    }
    std::fs::remove_file(owner.home.join("notes")).unwrap();
    let out = String::from_utf8(owner.run(&["doctor"]).out).unwrap();
    assert!(out.contains("problem  database") && out.contains("help: copy the data folder away"), "{out}");
}

#[test]
fn a_log_that_was_changed_is_noticed() {
    let owner = Owner::new();
    owner.write("old/a.md", "# A\n");
    owner.run(&["import", owner.home.join("old").to_str().unwrap(), "--yes"]).ok();
    let out = owner.run(&["doctor"]).ok();
    assert!(out.contains("ok       log") && out.contains("sound, version"), "{out}");
    let path = owner.home.join("botpsy.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i..].starts_with(b"Import 1 note")).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|place| bytes[place + 7] = b'2');
    std::fs::write(&path, bytes).unwrap();
    let ran = owner.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    let out = String::from_utf8(ran.out).unwrap();
    assert!(out.contains("problem  log         row 1: it was changed after it was written"), "{out}");
}
