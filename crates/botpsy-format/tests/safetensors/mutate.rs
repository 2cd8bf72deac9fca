//! Mutated files: an error that names the file, or tensors that keep their promises. Never a panic.
//!
//! `BOTPSY_FUZZ_N` sets how many are tried.

use std::fs;
use std::path::PathBuf;

use botpsy_format::SafeTensors;
use botpsy_format::safetensors::write_file;

use crate::mutation::{Random, check_error, mutate, n_inputs};
use crate::peak::{peak_kib, print_peak};
use crate::write::tensors_of;
use crate::{Folder, fixture};

/// The small files of a folder, in the order of their names.
fn files(folder: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).filter(|file| file.len() < 20_000).collect()
}

/// Header and data.
fn split(file: &[u8]) -> (&[u8], &[u8]) {
    let (length, rest) = file.split_first_chunk::<8>().unwrap_or((&[0; 8], file));
    rest.split_at((u64::from_le_bytes(*length) as usize).min(rest.len()))
}

fn changed(file: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let (header, data) = split(file);
    let (mut header, mut data) = (header.to_vec(), data.to_vec());
    for _ in 0..random.below(3) {
        mutate(&mut header, split(other).0, random);
    }
    match random.below(8) {
        0 => data.truncate(random.below(data.len() + 1)),
        1 => data.push(0),
        _ => {}
    }
    let length = match random.below(8) {
        0 => *random.pick(&[0, 1, 100 << 20, (100 << 20) + 1, 1 << 63, u64::MAX]),
        1 => (header.len() as u64 + random.next() % 5).saturating_sub(2),
        _ => header.len() as u64,
    };
    [&length.to_le_bytes()[..], &header, &data].concat()
}

/// What a file that was read promises: its tensors cover the data, and a writer makes a file that says the same.
fn check_laws(file: &SafeTensors, bytes: &[u8], folder: &Folder) {
    let tensors = tensors_of(file);
    let data: usize = tensors.iter().map(|tensor| tensor.view.bytes().len()).sum();
    assert_eq!(data, split(bytes).1.len());
    let path = folder.0.join("again.safetensors");
    write_file(&path, &tensors, file.metadata()).unwrap();
    let again = SafeTensors::open(&path).unwrap();
    assert_eq!(again.metadata(), file.metadata());
    let again = tensors_of(&again);
    assert_eq!(again.len(), tensors.len());
    for (a, b) in again.iter().zip(&tensors) {
        assert_eq!((&a.name, &a.view), (&b.name, &b.view));
    }
}

#[test]
fn mutated_files_are_read_or_refused() {
    let before = peak_kib();
    let folder = Folder::new("mutated-files");
    let (valid, malformed) = (files("corpus/safetensors"), files("safety/malformed/st"));
    assert!(valid.len() == 2 && malformed.len() >= 15);
    let (mut random, n_inputs, mut n_read) = (Random(7), n_inputs(), 0);
    for i in 0..n_inputs {
        let base = if random.below(4) > 0 { &valid } else { &malformed };
        let (file, other) = (random.pick(base), random.pick(&malformed));
        let bytes = changed(file, other, &mut random);
        match SafeTensors::from_bytes(bytes.clone().into(), "mutated") {
            Ok(file) => {
                n_read += 1;
                // Writing waits for the disk.
                if i % 256 == 0 {
                    check_laws(&file, &bytes, &folder);
                }
            }
            Err(error) => check_error(&error, "mutated"),
        }
    }
    println!("{n_read} of {n_inputs} were read");
    assert!(n_read > n_inputs / 20 && n_read < n_inputs, "{n_read} of {n_inputs} were read");
    print_peak(before);
}

#[test]
fn mutated_indexes_are_read_or_refused() {
    let folder = Folder::new("mutated-indexes");
    for name in ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] {
        folder.write(name, fs::read(fixture("corpus/safetensors/sharded").join(name)).unwrap());
    }
    let index = |folder: &str| fs::read(fixture(folder).join("model.safetensors.index.json")).unwrap();
    let (valid, malformed) = (index("corpus/safetensors/sharded"), index("safety/malformed/st/index"));
    let (mut random, n_inputs, mut n_read) = (Random(8), n_inputs(), 0);
    for _ in 0..n_inputs {
        let mut text = valid.clone();
        for _ in 0..=random.below(2) {
            mutate(&mut text, &malformed, &mut random);
        }
        // Writing over a file would wait for the disk; a new one does not.
        _ = fs::remove_file(folder.0.join("model.safetensors.index.json"));
        folder.write("model.safetensors.index.json", &text);
        match folder.open() {
            Ok(read) => {
                n_read += 1;
                // Whatever the index says, only the folder's own shards were opened.
                assert!(read.tensors().iter().all(|tensor| ["embed", "b", "norm"].contains(&tensor.name())));
            }
            Err(error) => assert!(error.to_string().starts_with(&format!("{}/", folder.0.display())), "{error}"),
        }
    }
    println!("{n_read} of {n_inputs} were read");
    assert!(n_read > n_inputs / 20 && n_read < n_inputs, "{n_read} of {n_inputs} were read");
}
