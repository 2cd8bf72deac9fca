//! Running the program, and finding the fixtures.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output of a run that must have succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        String::from_utf8(self.out).unwrap()
    }

    /// As JSON.
    pub(crate) fn json(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Standard error of a run that must have been refused: exit code 2, nothing on standard output.
    pub(crate) fn refused(self) -> String {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert!(self.out.is_empty(), "{}", String::from_utf8_lossy(&self.out));
        self.err
    }
}

/// The program with these arguments, away from the user's files and settings.
pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_botpsy"));
    command.args(args).env_remove("NO_COLOR").env_remove("BOTPSY_API_KEY").env("BOTPSY_HOME", scratch("home"));
    // The models are tiny: threads would wait for each other more than they compute.
    command.env("BOTPSY_THREADS", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program with this standard input.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(args: &[S], stdin: impl AsRef<[u8]> + Send) -> Ran {
    finish(command(args), stdin)
}

/// Runs a prepared command with this standard input.
pub(crate) fn finish(mut command: Command, stdin: impl AsRef<[u8]> + Send) -> Ran {
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // A program that refuses its flags never reads.
        scope.spawn(move || input.write_all(stdin.as_ref()));
        child.wait_with_output().unwrap()
    });
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked"), "{err}");
    Ran { code: output.status.code(), out: output.stdout, err }
}

/// A path under `fixtures/`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(name)
}

pub(crate) fn text_fixture(name: &str) -> String {
    let path = fixture(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn json_fixture(name: &str) -> Value {
    serde_json::from_str(&text_fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn jsonl_fixture(name: &str) -> Vec<Value> {
    text_fixture(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A path for a file of one test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static USED: AtomicUsize = AtomicUsize::new(0);
    let n = USED.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("{}-{n}-{name}", std::process::id()))
}

/// Writes a file for one test.
pub(crate) fn scratch_file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(crate) fn str(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder beside the repository that not everybody has; says in one line when it is not there.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("left out: ../shared/{name} is not there");
    None
}
