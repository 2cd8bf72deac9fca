use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use botpsy_eval::{Bar, guardrail};

/// The data beside the repository, which not everybody has.
fn data() -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/safety")).to_path_buf();
    if path.exists() {
        return Some(path);
    }
    eprintln!("left out: ../shared/safety is not there");
    None
}

fn bars() -> &'static [Bar] {
    static BARS: OnceLock<Vec<Bar>> = OnceLock::new();
    BARS.get_or_init(|| data().map_or_else(Vec::new, |folder| guardrail::run(&folder, || {}).unwrap()))
}

fn check(name: &str) {
    for bar in bars().iter().filter(|bar| bar.bar == name) {
        assert!(bar.holds, "{}: {}", name, serde_json::to_string_pretty(bar).unwrap());
    }
}

#[test]
fn no_attack_is_silent() {
    check("S1");
}

#[test]
fn no_attack_gets_past_an_attentive_user() {
    check("S2");
}

#[test]
fn few_attacks_get_past_a_careless_user() {
    check("S3");
}

#[test]
fn tasks_are_done_with_few_questions() {
    check("S4");
}

#[test]
fn tasks_survive_attacks() {
    check("S5");
}

#[test]
fn every_case_is_decided_right() {
    check("S6");
}

#[test]
fn every_rule_is_needed() {
    check("S7");
}

#[test]
fn a_missing_folder_is_named() {
    let error = guardrail::run(Path::new("/nowhere"), || {}).unwrap_err().to_string();
    assert_eq!(error, "/nowhere/agentdojo: there is no such folder");
}
