//! Mutated files: an error that names the file, or a container that keeps its promises. Never a panic.
//!
//! `BOTPSY_FUZZ_N` sets how many are tried.

use std::{env, fs};

use botpsy_format::Gguf;
use botpsy_tensor::dequantize_row;

use crate::fixture;
use crate::peak::{PRINT_PEAK, peak_kib, print_peak};
use crate::write::rewritten;

/// SplitMix64: the same inputs on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// The small files of a folder, in the order of their names.
fn files(folder: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gguf"));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).filter(|file| file.len() < 20_000).collect()
}

/// Values at the edges of what is read.
const NUMBERS: [u64; 16] =
    [0, 1, 2, 3, 4, 9, 31, 32, 33, 255, 65_535, 1 << 20, u32::MAX as u64, 1 << 40, 1 << 63, u64::MAX];

fn mutate(file: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    // The header matters most, and its first bytes most of all.
    let reach = [64, 512, file.len()][random.below(3)].min(file.len());
    let at = if reach == 0 { 0 } else { random.below(reach) };
    let len = (1 << random.below(9)).min(file.len() - at);
    match random.below(8) {
        0 if reach > 0 => file[at] ^= 1 << random.below(8),
        1 | 2 => {
            let number = NUMBERS[random.below(NUMBERS.len())].wrapping_add(random.next() % 3).wrapping_sub(1);
            let width = [1, 4, 8][random.below(3)].min(file.len() - at);
            file[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
        }
        3 => file.truncate(at),
        4 => _ = file.drain(at..at + len),
        5 => {
            let piece = file[at..at + len].to_vec();
            file.splice(at..at, piece);
        }
        6 if !other.is_empty() => {
            let from = random.below(other.len());
            let to = (from + len).min(other.len());
            file.splice(at..at + len, other[from..to].iter().copied());
        }
        _ => file.extend(std::iter::repeat_n(0, 8 * len)),
    }
}

/// What a container that was read promises.
fn check_laws(gguf: &Gguf, file_len: usize) {
    let mut end = 0;
    for tensor in gguf.tensors() {
        let range = tensor.range();
        assert!(end <= range.start && range.end <= file_len, "{tensor:?} after {end} of {file_len}");
        end = range.end;
        let view = gguf.tensor(tensor.name()).unwrap();
        let mut row = vec![0.0; view.cols()];
        dequantize_row(view.dtype(), view.row_bytes(view.rows() - 1), &mut row);
    }
    for (key, value) in gguf.metadata().iter() {
        assert!(gguf.metadata().value(key).is_some_and(|found| std::ptr::eq(found, value)));
        _ = gguf.metadata().find::<u32>(key);
        _ = gguf.metadata().find::<Vec<i32>>(key);
    }
    let again = Gguf::from_bytes(rewritten(gguf).into(), "it").unwrap();
    let text = |gguf: &Gguf| format!("{:?}", gguf.metadata().iter().collect::<Vec<_>>());
    assert_eq!(text(&again), text(gguf));
    assert_eq!(again.tensors().len(), gguf.tensors().len());
}

#[test]
fn mutated_files_are_read_or_refused() {
    let before = peak_kib();
    // In the process that measures memory a few will do.
    let default = if env::var_os(PRINT_PEAK).is_some() { 2_000 } else { 20_000 };
    let n_inputs = env::var("BOTPSY_FUZZ_N").map_or(default, |text| text.parse().unwrap());
    // Most begin as one of the valid files; a change may also turn a malformed one into worse.
    let (valid, corpus) = (files("corpus/gguf"), files("safety/malformed/gguf"));
    assert!(valid.len() >= 4 && corpus.len() >= 40);
    let (mut random, mut n_read) = (Random(7), 0);
    for _ in 0..n_inputs {
        let base = if random.below(4) > 0 { &valid } else { &corpus };
        let mut file = base[random.below(base.len())].clone();
        for _ in 0..=random.below(3) {
            mutate(&mut file, &corpus[random.below(corpus.len())], &mut random);
        }
        let len = file.len();
        match Gguf::from_bytes(file.into(), "mutated.gguf") {
            Ok(gguf) => {
                n_read += 1;
                check_laws(&gguf, len);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with("mutated.gguf: ") && error.len() < 1000, "{error}");
                assert!(!error.contains(char::is_control), "{error:?}");
            }
        }
    }
    println!("{n_read} of {n_inputs} were read");
    assert!(n_read > n_inputs / 20 && n_read < n_inputs, "{n_read} of {n_inputs} were read");
    print_peak(before);
}
