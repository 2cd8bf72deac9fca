//! Files of the owner: which paths are allowed, what lies there, and how several are replaced together.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of temporary files begin with; no file of the owner does.
const TEMPORARY: &str = ".botpsy-";

/// No file that is larger is read.
const MAX_BYTES: u64 = 16_000_000;

/// No folder is searched deeper, and no more files are listed.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 100_000;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Makes a folder that only its owner may read, if there is none, and resolves its links.
pub(super) fn make_folder(path: &Path) -> io::Result<PathBuf> {
    builder().create(path)?;
    path.canonicalize()
}

fn builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The place of `path` inside `root`.
///
/// # Errors
/// In words, if it leads elsewhere or to something that is not a plain file.
pub(super) fn resolve(root: &Path, path: &str) -> Result<PathBuf, String> {
    if path.contains('\0') || path.len() > 1000 {
        return Err("not a name of a file".to_owned());
    }
    let mut at = root.to_owned();
    let parts: Vec<&str> = path.split('/').collect();
    for (i, part) in parts.iter().enumerate() {
        if part.is_empty() || part.starts_with('.') || part.contains('\\') || part.len() > 255 {
            return Err("a path must stay in its folder and name no hidden file".to_owned());
        }
        at.push(part);
        let is_last = i + 1 == parts.len();
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => return Err("a link is not followed".to_owned()),
            Ok(found) if is_last && !found.is_file() => return Err("not a plain file".to_owned()),
            Ok(found) if !is_last && !found.is_dir() => return Err("not in a folder".to_owned()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(at)
}

/// What lies there, if anything.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Ok(found) if found.len() > MAX_BYTES => return Err(io::Error::other("the file is too large")),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// The files under `root` whose names end in one of `endings`, as paths with `/`, sorted. Hidden ones and links are left out.
pub(super) fn list(root: &Path, endings: &[&str]) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    walk(root, "", 0, &mut |name| {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        if endings.iter().any(|wanted| ending.eq_ignore_ascii_case(wanted)) {
            found.push(name.to_owned());
        }
        found.len() < MAX_FILES
    })?;
    found.sort();
    Ok(found)
}

/// The temporary files that a killed process left behind.
pub(super) fn leftovers(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk(root, "", 0, &mut |name| {
        if name.rsplit('/').next().is_some_and(|name| name.starts_with(TEMPORARY)) {
            found.push(root.join(name));
        }
        true
    })?;
    Ok(found)
}

fn walk(root: &Path, under: &str, depth: usize, file: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(root.join(under))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (path, kind) =
            (if under.is_empty() { name.clone() } else { format!("{under}/{name}") }, entry.file_type()?);
        if name.starts_with('.') && !name.starts_with(TEMPORARY) {
            continue;
        }
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(root, &path, depth + 1, file)?;
        } else if kind.is_file() && !file(&path) {
            break;
        }
    }
    Ok(())
}

/// One file that is about to be replaced, or was.
#[derive(Debug)]
pub(super) struct Swap {
    path: PathBuf,
    /// The new text, if there is to be one, until it is in place.
    new: Option<PathBuf>,
    removes: bool,
    /// The former file, once it is out of its place.
    old: Option<PathBuf>,
    is_done: bool,
    /// Folders that were made for it, the outermost first.
    made: Vec<PathBuf>,
}

impl Swap {
    /// Writes the new text beside its place. Nothing that the owner sees has changed yet.
    pub(super) fn stage(root: &Path, path: PathBuf, after: Option<&str>) -> io::Result<Swap> {
        let mut swap = Swap { path, new: None, removes: after.is_none(), old: None, is_done: false, made: Vec::new() };
        let staged = after.map_or(Ok(()), |text| swap.write_new(root, text));
        match staged {
            Ok(()) => Ok(swap),
            Err(error) => {
                swap.put_back();
                Err(error)
            }
        }
    }

    fn write_new(&mut self, root: &Path, text: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(root).to_owned();
        let missing = folder.ancestors().take_while(|folder| folder.starts_with(root) && !folder.exists());
        self.made = missing.map(Path::to_owned).collect();
        self.made.reverse();
        builder().create(&folder)?;
        let new = temporary(&self.path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        self.new = Some(new);
        if let Ok(there) = fs::metadata(&self.path) {
            file.set_permissions(there.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Puts the new file in its place; the former one is kept beside it.
    pub(super) fn swap(&mut self) -> io::Result<()> {
        let old = temporary(&self.path);
        match &self.new {
            None => {
                fs::rename(&self.path, &old)?;
                self.old = Some(old);
            }
            Some(new) => {
                if self.path.exists() {
                    // A second name costs no space, so that putting back works on a full disk too.
                    fs::hard_link(&self.path, &old).or_else(|_| fs::copy(&self.path, &old).map(drop))?;
                    self.old = Some(old);
                }
                fs::rename(new, &self.path)?;
                self.new = None;
            }
        }
        self.is_done = true;
        sync_folder(&self.path);
        Ok(())
    }

    /// As if nothing had happened.
    pub(super) fn put_back(&mut self) {
        // The system may refuse; nobody is left who could do better, and repair finishes or reports it.
        match (self.old.take(), self.is_done) {
            (Some(old), true) => drop(fs::rename(old, &self.path)),
            (Some(old), false) => drop(fs::remove_file(old)),
            (None, true) => drop(fs::remove_file(&self.path)),
            (None, false) => {}
        }
        self.is_done = false;
        if let Some(new) = self.new.take() {
            let _ = fs::remove_file(new);
        }
        for folder in self.made.drain(..).rev() {
            let _ = fs::remove_dir(folder);
        }
        sync_folder(&self.path);
    }

    /// Forgets the former file, and the folders that it leaves empty.
    pub(super) fn keep(&mut self, root: &Path) {
        if let Some(old) = self.old.take() {
            let _ = fs::remove_file(old);
        }
        self.is_done = false;
        if self.removes {
            for folder in self.path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root))
            {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
    }
}

fn temporary(path: &Path) -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!("{TEMPORARY}{}-{number}", process::id()))
}

/// Renames are on disk only after this; where folders cannot be opened, the system does it in its own time.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}
