//! Notes and lists as files.

use super::words::{has_words, normalize};
use super::{Broken, Place, Store, StoreError, files};

/// Endings of files that are notes.
pub(super) const ENDINGS: [&str; 3] = ["md", "markdown", "txt"];

/// No file name that is made from a title is longer, its ending left out.
const MAX_NAME: usize = 100;

/// A note: a file of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its path in the notes folder, which is its id too.
    pub path: String,
    /// Its first heading, or the name of its file.
    pub title: String,
    /// The whole file.
    pub text: String,
}

impl Store {
    /// All notes by their paths, and what cannot be read.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn notes(&self) -> Result<(Vec<Note>, Vec<Broken>), StoreError> {
        let root = self.root(Place::Notes);
        let paths = files::list(root, &ENDINGS).map_err(|source| StoreError::File { path: root.into(), source })?;
        let (mut notes, mut broken) = (Vec::new(), Vec::new());
        for path in paths {
            let read = files::read(&root.join(&path)).map_err(|error| error.to_string());
            match read.map(|bytes| bytes.map(String::from_utf8)) {
                Ok(Some(Ok(text))) => notes.push(Note { title: title(&path, &text), path, text }),
                Ok(None) => {}
                Ok(Some(Err(_))) => broken.push(Broken { path, why: "not UTF-8".to_owned() }),
                Err(why) => broken.push(Broken { path, why }),
            }
        }
        Ok((notes, broken))
    }

    /// The notes that have all the words, those with all of them in the title first.
    ///
    /// # Errors
    /// As [`Store::notes`].
    pub fn find_notes(&self, words: &str) -> Result<Vec<Note>, StoreError> {
        let (mut notes, _) = self.notes()?;
        notes.retain(|note| has_words(&format!("{} {} {}", note.title, note.path, note.text), words));
        notes.sort_by_key(|note| !has_words(&note.title, words));
        Ok(notes)
    }

    /// A path for a new note with this title that no file has yet.
    ///
    /// # Errors
    /// As [`Store::notes`].
    pub fn new_note_path(&self, title: &str) -> Result<String, StoreError> {
        let root = self.root(Place::Notes);
        let taken = files::list(root, &ENDINGS).map_err(|source| StoreError::File { path: root.into(), source })?;
        // Some disks do not tell capitals from small letters.
        let is_taken = |path: &String| taken.iter().any(|other| normalize(other) == normalize(path));
        let name = file_name(title);
        let mut paths = (1_u32..).map(|i| if i == 1 { format!("{name}.md") } else { format!("{name} {i}.md") });
        Ok(paths.find(|path| !is_taken(path)).unwrap_or_default())
    }
}

fn title(path: &str, text: &str) -> String {
    let heading = text.lines().take(20).find_map(|line| line.strip_prefix("# "));
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    heading.map(str::trim).filter(|heading| !heading.is_empty()).unwrap_or(stem).to_owned()
}

fn file_name(title: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || " -_()'&+,".contains(c) { c } else { ' ' };
    let words = title.chars().map(plain).collect::<String>();
    let mut name = String::new();
    for c in words.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if name.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        name.push(c);
    }
    if name.trim().is_empty() { "note".to_owned() } else { name.trim().to_owned() }
}
