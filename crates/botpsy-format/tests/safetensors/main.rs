//! Safetensors files: written, read, hostile.

#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

mod folder;
mod hostile;
mod mutate;
#[path = "../hf/mutation.rs"]
mod mutation;
#[path = "../gguf/peak.rs"]
mod peak;
mod write;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use botpsy_format::SafeTensors;

/// A file or folder under `fixtures/`.
fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(name)
}

/// A folder of one test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = env::temp_dir().join(format!("botpsy-safetensors-{test}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.0.join(name), bytes).unwrap();
        self
    }

    /// The names of the files, sorted.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn open(&self) -> botpsy_format::Result<SafeTensors> {
        SafeTensors::open(&self.0)
    }

    /// The error of opening the folder, its path left out.
    fn error(&self) -> String {
        let error = self.open().map(|_| ()).unwrap_err().to_string();
        error.strip_prefix(&format!("{}/", self.0.display())).unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A file with this header.
fn file(header: &str, data_len: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + data_len, 7);
    file
}
