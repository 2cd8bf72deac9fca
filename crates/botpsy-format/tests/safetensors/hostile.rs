//! Hostile files: the stated outcome for each, in little memory, on a small stack; and every rule by name.

use std::time::{Duration, Instant};
use std::{fs, thread};

use botpsy_format::SafeTensors;
use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::peak::peak_growth_of;
use crate::peak::{peak_kib, print_peak};
use crate::{file, fixture};

/// Paths to open, and whether they can be.
fn cases() -> Vec<(String, bool)> {
    let manifest = fs::read_to_string(fixture("safety/malformed/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let mut cases = Vec::new();
    for case in manifest["cases"].as_array().unwrap() {
        let (file, outcome) = (case["file"].as_str().unwrap(), case["outcome"].as_str().unwrap());
        match case["kind"].as_str().unwrap() {
            "safetensors" => cases.push((file.to_owned(), outcome == "container_ok")),
            "safetensors_index" => {
                cases.push((file.strip_suffix("/model.safetensors.index.json").unwrap().to_owned(), outcome == "ok"));
            }
            _ => {}
        }
    }
    assert_eq!(cases.len(), 18);
    cases
}

#[test]
fn every_case_has_its_outcome() {
    let before = peak_kib();
    for stack_size in [2 << 20, 8 << 20] {
        let run = || {
            for (file, is_ok) in cases() {
                let path = fixture("safety/malformed").join(&file);
                let start = Instant::now();
                let outcome = SafeTensors::open(&path);
                assert!(start.elapsed() < Duration::from_secs(2), "{file}: {:?}", start.elapsed());
                match outcome {
                    Ok(_) => assert!(is_ok, "{file} was read"),
                    Err(error) => {
                        let error = error.to_string();
                        assert!(!is_ok, "{error}");
                        assert!(error.starts_with(path.to_str().unwrap()) && error.len() < 1000, "{error}");
                    }
                }
            }
        };
        thread::Builder::new().stack_size(stack_size).spawn(run).unwrap().join().unwrap();
    }
    print_peak(before);
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_makes_the_reader_large() {
    for test in ["hostile::every_case_has_its_outcome", "mutate::mutated_files_are_read_or_refused"] {
        let kib = peak_growth_of(test).unwrap();
        assert!(kib < 32 << 10, "{test}: {kib} KiB");
    }
}

fn check_bytes(bytes: Vec<u8>, expected: &str) {
    let error = SafeTensors::from_bytes(bytes.into(), "it").map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn check(header: &str, data_len: usize, expected: &str) {
    check_bytes(file(header, data_len), expected);
}

/// A header with this one tensor, and four bytes.
fn check_tensor(entry: &str, expected: &str) {
    check(&format!(r#"{{"t":{entry}}}"#), 4, expected);
}

#[test]
fn the_header_is_an_object_inside_the_file() {
    check_bytes(vec![], "it: header length: needs 8 bytes, 0 are left");
    check_bytes([0xff; 16].into(), "it: header length: at most 104857600 accepted, found 18446744073709551615");
    check_bytes([3, 0, 0, 0, 0, 0, 0, 0, b'{'].into(), "it: header: needs 11 bytes, 9 are left");
    check("", 0, "it: header: does not begin with `{`");
    check(" {}", 0, "it: header: does not begin with `{`");
    check("[]", 0, "it: header: does not begin with `{`");
    check("{} x", 0, "it: trailing characters at line 1 column 4");
    check("{", 0, "it: EOF while parsing an object at line 1 column 1");
    check(
        r#"{"__metadata__":{"a":1}}"#,
        0,
        "it: __metadata__: a: invalid type: integer `1`, expected a string at line 1 column 22",
    );
    let twice = r#"{"__metadata__":{},"__metadata__":{}}"#;
    check(twice, 0, "it: __metadata__: stands twice at line 1 column 37");
    let twice = r#"{"__metadata__":{"a":"","a":""}}"#;
    check(twice, 0, "it: __metadata__: a: stands twice at line 1 column 31");
    check("{}", 1, "it: data: 1 bytes, the tensors take 0");
}

#[test]
fn each_error_names_the_tensor() {
    let of = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}"#)
    };
    check_tensor(&of("F8_E4M3", "[4]", "[0,4]"), "it: tensor t: type F8_E4M3 is not supported");
    check_tensor(&of("F32", "[2]", "[0,4]"), "it: tensor t: F32 [2]: expected 8 bytes, found 4");
    check_tensor(
        &of("U8", "[4294967296,4294967296,0]", "[0,0]"),
        "it: tensor t: U8 [4294967296, 4294967296, 0]: size overflows",
    );
    check_tensor(&of("U8", "[4]", "[4,0]"), "it: tensor t: data_offsets 4..0 do not lie in the 4 bytes of data");
    check_tensor(&of("U8", "[5]", "[0,5]"), "it: tensor t: data_offsets 0..5 do not lie in the 4 bytes of data");
    let past = "it: tensor t: data_offsets 0..18446744073709551615 do not lie in the 4 bytes of data";
    check_tensor(&of("U8", "[5]", "[0,18446744073709551615]"), past);
    let eight = "it: tensor t: shape: more than 8 are not accepted at line 1 column 46";
    check_tensor(&of("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), eight);
    check_tensor(r#"{"dtype":"U8","shape":[4]}"#, "it: tensor t: missing field `data_offsets` at line 1 column 31");
    check_tensor("5", "it: tensor t: invalid type: integer `5`, expected an object at line 1 column 6");
    check_tensor(r#"["U8",[4],[0,4]]"#, "it: tensor t: invalid type: sequence, expected an object at line 1 column 5");
    check_tensor(
        r#"{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}"#,
        "it: tensor t: duplicate field `dtype` at line 1 column 26",
    );
    let long = format!(r#"{{"dtype":"U8","shape":"{}"}}"#, "s".repeat(1000));
    let error = SafeTensors::from_bytes(file(&format!(r#"{{"t":{long}}}"#), 4).into(), "it").unwrap_err().to_string();
    assert!(error.starts_with("it: tensor t: shape: invalid type: string \"sss") && error.len() < 250, "{error}");
}

#[test]
fn names_are_short_and_visible() {
    let named = |name: &str| format!(r#"{{"{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}}}"#);
    assert!(SafeTensors::from_bytes(file(&named(&"n".repeat(256)), 0).into(), "it").is_ok());
    let long = SafeTensors::from_bytes(file(&named(&"n".repeat(257)), 0).into(), "it").unwrap_err().to_string();
    assert!(long.contains("bytes of the name: at most 256 accepted, found 257"), "{long}");
    let escape = "it: tensor a\\u{1b}[2J: control character '\\u{1b}' in the name at line 1 column 13";
    check(&named("a\\u001b[2J"), 0, escape);
    let half = SafeTensors::from_bytes(file(&named("\\ud800"), 0).into(), "it").unwrap_err().to_string();
    assert!(half.starts_with("it: "), "{half}");
}

#[test]
fn tensors_cover_the_data_one_after_another() {
    let two = |a: (u64, u64), b: (u64, u64)| {
        let entry = |(from, to): (u64, u64)| {
            format!(r#"{{"dtype":"U8","shape":[{}],"data_offsets":[{from},{to}]}}"#, to - from)
        };
        format!(r#"{{"b":{},"a":{}}}"#, entry(b), entry(a))
    };
    let read = SafeTensors::from_bytes(file(&two((0, 4), (4, 8)), 8).into(), "it").unwrap();
    assert_eq!(read.tensors().iter().map(|tensor| tensor.name()).collect::<Vec<_>>(), ["b", "a"]);
    check(&two((0, 4), (3, 7)), 8, "it: tensor b: starts at 3, expected 4: overlap");
    check(&two((0, 3), (4, 8)), 8, "it: tensor b: starts at 4, expected 3: a gap");
    check(&two((1, 4), (4, 8)), 8, "it: tensor a: starts at 1, expected 0: a gap");
    check(&two((0, 4), (4, 7)), 8, "it: data: 8 bytes, the tensors take 7");
    check(&two((0, 4), (0, 4)), 4, "it: tensor a: starts at 0, expected 4: overlap");
    let twice = two((0, 4), (4, 8)).replace("\"b\"", "\"a\"");
    check(&twice, 8, "it: tensor a: stands twice at line 1 column 105");
}

#[test]
fn no_more_tensors_than_the_limit() {
    let entries: Vec<_> =
        (0..65_536).map(|i| format!(r#""{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#)).collect();
    let all = |n: usize| SafeTensors::from_bytes(file(&format!("{{{}}}", entries[..n].join(",")), 0).into(), "it");
    assert_eq!(all(65_535).unwrap().tensors().len(), 65_535);
    let error = all(65_536).unwrap_err().to_string();
    assert!(error.starts_with("it: tensors: at most 65535 accepted"), "{error}");
}
