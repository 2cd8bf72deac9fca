//! The malformed inputs: each has its stated outcome, in time, and no run ends in a panic or a signal.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, fixture, json_fixture, run, str, text_fixture};

/// The stated limit is 2 s; a loaded machine gets some more.
const PATIENCE: Duration = Duration::from_secs(10);

fn cases(kind: &str) -> Vec<Value> {
    let manifest = json_fixture("safety/malformed/manifest.json");
    let cases = manifest["cases"].as_array().unwrap().iter();
    cases.filter(|case| case["kind"] == kind).cloned().collect()
}

fn in_time(file: &str, work: impl FnOnce() -> Ran) -> Ran {
    let started = Instant::now();
    let ran = work();
    assert!(started.elapsed() < PATIENCE, "{file}: {:?}", started.elapsed());
    ran
}

/// An error names the file; its text is two lines, the second one the next step.
fn check_error(file: &str, name: &str, ran: Ran) {
    let err = ran.refused();
    assert!(err.starts_with("error: ") && err.contains(name), "{file}: {err}");
    assert!(err.lines().any(|line| line.starts_with("help: ")), "{file}: {err}");
    assert!(err.len() < 1000, "{file}: {err}");
}

#[test]
fn containers_are_refused_or_shown() {
    for kind in ["gguf", "safetensors"] {
        let cases = cases(kind);
        assert!(cases.len() >= 17);
        for case in cases {
            let file = case["file"].as_str().unwrap();
            let path = fixture("safety/malformed").join(file);
            let inspected = in_time(file, || run(&["inspect", "--json", str(&path)], ""));
            if case["outcome"] == "container_ok" {
                let shown = inspected.json();
                assert!(!shown["tensors"].as_array().unwrap().is_empty(), "{file}");
                assert_eq!(shown["memory"], Value::Null, "{file}");
            } else if case["level"] != "model" {
                check_error(file, file, inspected);
            }
            let generated = in_time(file, || run(&["generate", "-m", str(&path)], "[1, 2]"));
            check_error(file, file, generated);
        }
    }
}

#[test]
fn an_index_with_paths_in_it_is_refused() {
    for case in cases("safetensors_index") {
        let file = case["file"].as_str().unwrap();
        let path = fixture("safety/malformed").join(file);
        let folder = path.parent().unwrap();
        check_error(file, "index", in_time(file, || run(&["inspect", str(folder)], "")));
    }
}

#[test]
fn templates_are_refused_or_rendered() {
    let cases = cases("jinja");
    assert!(cases.len() >= 13);
    for case in cases {
        let file = case["file"].as_str().unwrap();
        let path = fixture("safety/malformed").join(file);
        let ran = in_time(file, || run(&["render", "--template", str(&path)], case["context"].to_string()));
        match (case["outcome"].as_str().unwrap(), ran.code) {
            ("ok", _) => drop(ran.ok()),
            ("error_or_empty", Some(0)) => assert_eq!(ran.ok().trim(), "", "{file}"),
            ("ok_or_error", Some(0)) => {}
            _ => check_error(file, file, ran),
        }
    }
}

#[test]
fn control_tokens_in_content_are_rendered_as_text() {
    for case in cases("render") {
        let file = case["file"].as_str().unwrap();
        let request = text_fixture(&format!("safety/malformed/{file}"));
        assert!(in_time(file, || run(&["render"], request)).ok().starts_with("<|im_start|>"), "{file}");
    }
}
