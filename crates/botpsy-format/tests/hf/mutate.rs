//! Mutated files: an error that names the file, or lists that fit together. Never a panic.
//!
//! `BOTPSY_FUZZ_N` sets how many are tried of each file.

use std::fs;

use botpsy_format::{GenerationConfig, HfConfig, Result, TokenizerConfig, TokenizerFile};

use crate::fixture;
use crate::mutation::{Random, check_error, mutate, n_inputs};
use crate::peak::{peak_kib, print_peak};

const FILE: &str = "mutated.json";

/// Reads `n_inputs` variants of the seeds; `read` checks what was read.
fn check(seeds: &[&str], read: fn(&[u8]) -> Result<()>) {
    let before = peak_kib();
    let seeds: Vec<_> = seeds.iter().map(|name| fs::read(fixture("corpus/hf").join(name)).unwrap()).collect();
    let (mut random, n_inputs, mut n_read) = (Random(9), n_inputs(), 0);
    for _ in 0..n_inputs {
        let mut text = random.pick(&seeds).clone();
        for _ in 0..=random.below(2) {
            let other = random.pick(&seeds);
            mutate(&mut text, other, &mut random);
        }
        match read(&text) {
            Ok(()) => n_read += 1,
            Err(error) => check_error(&error, FILE),
        }
    }
    println!("{n_read} of {n_inputs} were read");
    assert!(n_read > n_inputs / 20 && n_read < n_inputs, "{n_read} of {n_inputs} were read");
    print_peak(before);
}

#[test]
fn mutated_configs() {
    check(&["config-flat.json", "config-nested.json"], |text| {
        let config = HfConfig::from_bytes(text, FILE)?;
        assert!(config.rope_theta.is_none_or(f64::is_finite) && config.rms_norm_eps.is_none_or(f64::is_finite));
        Ok(())
    });
}

#[test]
fn mutated_generation_configs() {
    check(&["generation_config.json"], |text| GenerationConfig::from_bytes(text, FILE).map(|_| ()));
}

#[test]
fn mutated_tokenizer_configs() {
    check(&["tokenizer_config.json"], |text| TokenizerConfig::from_bytes(text, FILE).map(|_| ()));
}

#[test]
fn mutated_tokenizers() {
    check(&["tokenizer-pairs.json", "tokenizer-lines.json"], |text| {
        let file = TokenizerFile::from_bytes(text, FILE)?;
        assert_eq!(file.tokens.len(), file.kinds.len());
        assert!(file.tokens.len() < 10_000, "{} tokens from a small file", file.tokens.len());
        Ok(())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_makes_the_reader_large() {
    for test in ["mutate::mutated_configs", "mutate::mutated_tokenizers", "mutate::mutated_tokenizer_configs"] {
        let kib = crate::peak::peak_growth_of(test).unwrap();
        assert!(kib < 32 << 10, "{test}: {kib} KiB");
    }
}
