//! Hostile files: the stated outcome for each, in little memory, on a small stack; and every limit by name.

use std::time::{Duration, Instant};
use std::{fs, thread};

use botpsy_format::Gguf;
use serde_json::Value;

use crate::fixture;
#[cfg(target_os = "linux")]
use crate::peak::peak_growth_of;
use crate::peak::{peak_kib, print_peak};

fn cases() -> Vec<(String, bool)> {
    let manifest = fs::read_to_string(fixture("safety/malformed/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let gguf = manifest["cases"].as_array().unwrap().iter().filter(|case| case["kind"] == "gguf");
    let cases: Vec<(String, bool)> = gguf
        .map(|case| {
            // What is wrong at the level of a model may be a sound container.
            let is_ok = case["outcome"] == "container_ok" || case["level"] == "model";
            (case["file"].as_str().unwrap().to_owned(), is_ok)
        })
        .collect();
    assert_eq!(cases.len(), 46);
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
                let outcome = Gguf::open(&path);
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

/// A version 3 header, piece by piece.
struct Header(Vec<u8>);

impl Header {
    fn new(n_tensors: u64, n_keys: u64) -> Self {
        Self(Vec::from(*b"GGUF")).u32(3).u64(n_tensors).u64(n_keys)
    }

    fn u32(mut self, x: u32) -> Self {
        self.0.extend(x.to_le_bytes());
        self
    }

    fn u64(mut self, x: u64) -> Self {
        self.0.extend(x.to_le_bytes());
        self
    }

    fn string(self, text: &str) -> Self {
        let mut header = self.u64(text.len() as u64);
        header.0.extend(text.as_bytes());
        header
    }

    /// Name, dimensions innermost first, type and offset of a tensor.
    fn tensor(self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Self {
        let header = self.string(name).u32(dims.len() as u32);
        dims.iter().fold(header, |header, dim| header.u64(*dim)).u32(kind).u64(offset)
    }

    fn with_data(mut self) -> Self {
        self.0.resize(self.0.len() + 256, 0);
        self
    }

    fn check(self, expected: &str) {
        let error = Gguf::from_bytes(self.0.into(), "it").map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn every_limit_is_named() {
    let new = Header::new;
    new(65_536, 0).check("it: tensor count: at most 65535 accepted, found 65536");
    new(0, 65_536).check("it: metadata count: at most 65535 accepted, found 65536");
    let long = "k".repeat(257);
    new(0, 1).string(&long).check("it: metadata key 0: bytes: at most 256 accepted, found 257");
    new(1, 0).tensor(&long, &[1], 0, 0).check("it: tensor name 0: bytes: at most 256 accepted, found 257");
    new(0, 1).string("a\u{1b}[2J").check("it: metadata key 0: control character '\\u{1b}'");
    new(1, 0).tensor("a\n", &[1], 0, 0).check("it: tensor name 0: control character '\\n'");
    let text = new(0, 1).string("k").u32(8);
    text.u64((1 << 20) + 1).check("it: metadata k: bytes: at most 1048576 accepted, found 1048577");
    let array = |kind, len| new(0, 1).string("k").u32(9).u32(kind).u64(len);
    array(4, (16 << 20) + 1).check("it: metadata k: items: at most 16777216 accepted, found 16777217");
    array(9, 1).check("it: metadata k: an array of arrays is not read");
    array(13, 1).check("it: metadata k: unknown item type 13");
    array(8, u64::MAX).check("it: metadata k[0]: needs 8 bytes, 0 are left");
    // 64 strings of one MiB and the lengths before them are more than an array may hold.
    let mebibyte = " ".repeat(1 << 20);
    let many = (0..64).fold(array(8, 64), |header, _| header.string(&mebibyte));
    many.check("it: metadata k[63]: bytes of the array: at most 67108864 accepted, found 67109368");
    new(1, 0).tensor("t", &[1; 5], 0, 0).check("it: tensor t: dimensions: at most 4 accepted, found 5");
    new(1, 0).tensor("t", &[4], 39, 0).check("it: tensor t: type MXFP4 is not supported");
    let huge = 1 << 62;
    new(1, 0).tensor("t", &[huge, 4], 0, 0).check("it: tensor t: size of [4, 4611686018427387904] overflows");
}

#[test]
fn tensors_lie_apart_in_order_and_inside() {
    let two = |first: u64, second: u64| Header::new(2, 0).tensor("a", &[8], 0, first).tensor("b", &[8], 0, second);
    two(0, 16).with_data().check("it: tensor b: offset 16 is not a multiple of the alignment 32");
    two(0, 0).with_data().check("it: tensor b: offset 0 lies before the end of the tensor before it, 32");
    two(32, 0).with_data().check("it: tensor b: offset 0 lies before the end of the tensor before it, 64");
    two(0, 32).check("it: tensor a: needs 32 bytes, 0 are left");
    two(0, 1024).with_data().check("it: tensor b: needs 32 bytes, 0 are left");
    two(u64::MAX - 31, 0).check("it: tensor a: needs 32 bytes, 0 are left");
}
