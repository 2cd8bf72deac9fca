//! Prefixes of prompts that outlive the program: the system message and the tools, which every start would read again.
//!
//! One file per prefix: the line `botpsy prefix 2`, a line with what the state depends on, the number of tokens and the tokens
//! (u32, little end first), the state, and a digest: the SHA-256 of what stands before the state and of the SHA-256 of each half of it. A file that is not as it should be is no file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use botpsy_engine::{Session, Snapshot};
use sha2::{Digest, Sha256};

/// Prefixes that are worth a file.
const MIN_TOKENS: usize = 128;
/// Files that are kept; of more, those used longest ago go.
const MAX_FILES: usize = 16;

/// After this no run is still writing a part.
const STALE: Duration = Duration::from_secs(3600);

const DIGEST_BYTES: usize = 32;

const MAGIC: &str = "botpsy prefix 2";

/// A folder with such files.
#[derive(Clone, Debug)]
pub(crate) struct Prefixes {
    folder: PathBuf,
    /// Model file, program, instruction set, types: what decides the bits of a state.
    key: String,
}

impl Prefixes {
    /// Prefixes in `folder` of the model at `file`; `None` where the file cannot be told from a later one.
    pub(crate) fn new(folder: &Path, file: &str, how: &str) -> Option<Prefixes> {
        let path = fs::canonicalize(file).ok()?;
        let about = fs::metadata(&path).ok()?;
        let changed = about.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let key = format!(
            "{} {} {} {} {how}",
            env!("CARGO_PKG_VERSION"),
            about.len(),
            changed.as_nanos(),
            path.display().to_string().replace(char::is_control, "?")
        );
        Some(Prefixes { folder: folder.to_owned(), key })
    }

    /// Whether a prefix of so many tokens is worth it.
    pub(crate) fn worth(n_tokens: usize) -> bool {
        n_tokens >= MIN_TOKENS
    }

    /// Whether there is a file for these tokens.
    pub(crate) fn has(&self, tokens: &[u32]) -> bool {
        fs::metadata(self.path(tokens)).is_ok_and(|about| about.is_file())
    }

    /// Gives `take` the state after these tokens, from a file of at most `most_bytes`, and returns what it makes of it.
    pub(crate) fn load<T>(&self, tokens: &[u32], most_bytes: usize, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let path = self.path(tokens);
        // Neither a pipe, which may never end, nor a file of any length.
        let about = fs::metadata(&path).ok()?;
        let bytes = match about.is_file() && about.len() <= most_bytes as u64 {
            true => fs::read(&path).ok()?,
            false => Vec::new(),
        };
        let (written, digest) = bytes.split_at(bytes.len().saturating_sub(DIGEST_BYTES));
        let head = self.head(tokens);
        let state = written.strip_prefix(&head[..]).filter(|state| digest_of(&head, state, true) == digest);
        let Some(state) = state else {
            // Cut, damaged, or of another hash's making: it would only be read again.
            let _ = fs::remove_file(&path);
            return None;
        };
        // Used just now: others go before it.
        let _ = fs::File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(take(state))
    }

    /// Keeps the state after these tokens. What fails is left: nothing depends on it.
    pub(crate) fn save(&self, tokens: &[u32], state: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.path(tokens);
        let part = path.with_extension(format!("{}.part", std::process::id()));
        let head = self.head(tokens);
        let written = private(&part).and_then(|mut file| {
            file.write_all(&head)?;
            file.write_all(state)?;
            file.write_all(&digest_of(&head, state, false))?;
            file.sync_all()
        });
        let kept = written.and_then(|()| fs::rename(&part, &path));
        if kept.is_err() {
            let _ = fs::remove_file(&part);
        }
        self.clear();
        kept
    }

    /// Removes what was used longest ago.
    fn clear(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let dated = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
        let is = |path: &Path, kind: &str| path.extension().is_some_and(|extension| extension == kind);
        let (mut files, rest): (Vec<(SystemTime, PathBuf)>, Vec<_>) =
            entries.flatten().filter_map(dated).partition(|(_, path)| is(path, "state"));
        // What a run that was killed has left, but not what another one is writing.
        let is_old = |changed: &SystemTime| changed.elapsed().is_ok_and(|age| age > STALE);
        let stale = rest.iter().filter(|(changed, path)| is(path, "part") && is_old(changed));
        stale.for_each(|(_, path)| drop(fs::remove_file(path)));
        files.sort();
        let n = files.len().saturating_sub(MAX_FILES);
        files.iter().take(n).for_each(|(_, path)| drop(fs::remove_file(path)));
    }

    fn path(&self, tokens: &[u32]) -> PathBuf {
        let digest = Sha256::digest(self.head(tokens));
        let name: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name + ".state")
    }

    fn head(&self, tokens: &[u32]) -> Vec<u8> {
        let mut head = format!("{MAGIC}\n{}\n{}\n", self.key, tokens.len()).into_bytes();
        head.extend(tokens.iter().flat_map(|id| id.to_le_bytes()));
        head
    }
}

/// Prefixes that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Saving {
    threads: Mutex<Vec<Waiting>>,
    /// Held while one is written, as its bytes are in memory twice.
    writing: Arc<Mutex<()>>,
}

#[derive(Debug)]
struct Waiting {
    tokens: Vec<u32>,
    thread: JoinHandle<()>,
}

impl Saving {
    /// Writes the state that `shelf` has after these tokens, unless it is there already.
    pub(crate) fn keep(&self, prefixes: &Prefixes, shelf: &Session, tokens: &[u32]) {
        if !prefixes.has(tokens)
            && let Some(mark) = shelf.mark(tokens)
        {
            self.start(prefixes.clone(), &mark);
        }
    }

    /// Writes the prefix at `mark` on a thread of its own, if the engine still keeps it when its turn comes.
    fn start(&self, prefixes: Prefixes, mark: &Snapshot) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|waiting| !waiting.thread.is_finished());
        if threads.len() >= MAX_FILES || threads.iter().any(|waiting| waiting.tokens == mark.tokens()) {
            return;
        }
        let (writing, tokens, mark) = (Arc::clone(&self.writing), mark.tokens().to_vec(), mark.downgrade());
        let thread = std::thread::spawn(move || {
            let _one = writing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(mark) = mark.upgrade()
                && !prefixes.has(mark.tokens())
            {
                // What is not kept is read again.
                let _ = prefixes.save(mark.tokens(), &mark.to_bytes());
            }
        });
        threads.push(Waiting { tokens, thread });
    }

    /// Waits for all of them.
    pub(crate) fn settle(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        threads.into_iter().for_each(|waiting| drop(waiting.thread.join()));
    }
}

/// The digest of a file; `at_once` takes two threads for it, where somebody waits.
fn digest_of(head: &[u8], state: &[u8], at_once: bool) -> Vec<u8> {
    let (first, second) = state.split_at(state.len() / 2);
    let (first, second) = if at_once {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| Sha256::digest(first));
            let second = Sha256::digest(second);
            (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
        })
    } else {
        (Sha256::digest(first), Sha256::digest(second))
    };
    Sha256::new().chain_update(head).chain_update(first).chain_update(second).finalize().to_vec()
}

/// A new file that only its owner reads: a state tells of the text that led to it.
fn private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_does_not() {
        let folder = std::env::temp_dir().join(format!("botpsy-prefixes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let prefixes = Prefixes::new(&folder, env!("CARGO_MANIFEST_DIR"), "f16").unwrap();
        let tokens: Vec<u32> = (0..200).collect();
        assert!(prefixes.load(&tokens, 10_000, |_| ()).is_none());
        prefixes.save(&tokens, b"the state").unwrap();
        assert_eq!(prefixes.load(&tokens, 10_000, <[u8]>::to_vec).unwrap(), b"the state");
        assert!(prefixes.load(&tokens[..199], 10_000, |_| ()).is_none());
        let other = Prefixes::new(&folder, env!("CARGO_MANIFEST_DIR"), "f32").unwrap();
        assert!(other.load(&tokens, 10_000, |_| ()).is_none(), "another type of values is another state");

        let whole = fs::read(prefixes.path(&tokens)).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[1..], b"", &[&whole[..], b"x"].concat()] {
            fs::write(prefixes.path(&tokens), damaged).unwrap();
            assert!(prefixes.load(&tokens, 10_000, |_| ()).is_none() && !prefixes.has(&tokens));
        }
        prefixes.save(&tokens, &[7; 10_000]).unwrap();
        assert!(prefixes.load(&tokens, 10_000, |_| ()).is_none(), "longer than any state of these tokens");
        for i in 0..30 {
            prefixes.save(&[i], b"s").unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), MAX_FILES);
        fs::remove_dir_all(&folder).unwrap();
    }
}
