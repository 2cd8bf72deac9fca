//! The repository itself: arrows between crates point down, files stay short, `unsafe` stays at home.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

/// The crates by layer, as in ARCHITECTURE.md; a crate knows only crates of lower layers.
const LAYERS: [&[&str]; 9] = [
    &["botpsy-tensor", "botpsy-text"],
    &["botpsy-format", "botpsy-kernels"],
    &["botpsy-model"],
    &["botpsy-engine"],
    &["botpsy-chat"],
    &["botpsy-agent"],
    &["botpsy-server", "botpsy-eval"],
    &["botpsy-train"],
    &["botpsy"],
];

const MAX_LINES: usize = 500;

/// Where `unsafe` may stand.
const UNSAFE_HOMES: [&str; 2] = ["crates/botpsy-kernels/", "crates/botpsy-format/src/mmap.rs"];

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().unwrap()
}

/// All files under a folder of the repository, as paths from its root, sorted.
fn files(folder: &str) -> Vec<String> {
    let (root, mut found) = (root(), Vec::new());
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true if name == "target" || name == "__pycache__" => {}
                true => folders.push(path),
                false => found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// The crates of this repository that each crate names in its Cargo.toml, for tests too.
fn arrows() -> BTreeMap<String, Vec<String>> {
    let manifests = files("crates").into_iter().filter(|path| path.ends_with("/Cargo.toml"));
    let arrows = manifests.map(|path| {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let names = text.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let names = names.filter(|name| name.starts_with("botpsy")).map(str::to_owned).collect();
        (path.split('/').nth(1).unwrap().to_owned(), names)
    });
    arrows.collect()
}

#[test]
fn arrows_point_down() {
    let layer = |name: &str| {
        let layer = LAYERS.iter().position(|layer| layer.contains(&name));
        layer.unwrap_or_else(|| panic!("{name} is in no layer"))
    };
    let arrows = arrows();
    assert!(arrows["botpsy"].len() >= 7, "{arrows:?}");
    for (from, names) in arrows {
        for to in names {
            assert!(layer(&to) < layer(&from), "{from} -> {to} points up or across");
        }
    }
}

#[test]
fn files_are_short() {
    let kept = |path: &String| path.ends_with(".rs") || path.ends_with(".py") || path.ends_with(".sh");
    for path in ["bench", "crates", "checks"].into_iter().flat_map(files).filter(kept) {
        let lines = fs::read_to_string(root().join(&path)).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{path}: {lines} lines");
    }
}

/// What is looked for.
const WORD: &str = concat!("un", "safe");

#[test]
fn unsafe_stays_at_home() {
    // The word as code: a block, a function, an implementation, or a lint that is opened.
    let opens = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let code = code.split('"').step_by(2).collect::<String>();
        [" {", " fn", " impl", " extern", "_code"].iter().any(|after| code.contains(&format!("{WORD}{after}")))
    };
    let mut at_home = 0;
    for path in files("crates").into_iter().filter(|path| path.ends_with(".rs")) {
        let is_home = UNSAFE_HOMES.iter().any(|home| path.starts_with(home));
        for (i, line) in fs::read_to_string(root().join(&path)).unwrap().lines().enumerate() {
            if opens(line) {
                at_home += 1;
                assert!(is_home, "{path}:{}: {line}", i + 1);
            }
        }
    }
    assert!(at_home > 0, "the test no longer sees any");
}

#[test]
fn fixtures_are_listed() {
    let listed: Vec<String> = files("fixtures").into_iter().filter(|path| path != "fixtures/FILES.txt").collect();
    let names = listed.iter().map(|path| path.strip_prefix("fixtures/").unwrap());
    expect_file!["../../../../fixtures/FILES.txt"]
        .assert_eq(&names.map(|name| format!("{name}\n")).collect::<String>());
}
