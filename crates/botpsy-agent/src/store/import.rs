//! Events and notes from elsewhere.

use std::path::Path;

use serde_json::json;

use super::calendar::file_name;
use super::{Broken, Change, Op, Place, Store, StoreError, files, ics, notes};

/// What would be taken over. Anybody may have written it.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// What is done; it can be taken back as a whole.
    pub change: Change,
    /// What is left out, and why.
    pub skipped: Vec<Broken>,
}

impl Store {
    /// The events of an `.ics` file, one file each. What the calendar has already is left as it is.
    ///
    /// # Errors
    /// If the file or the calendar cannot be read.
    pub fn import_ics(&self, path: &Path) -> Result<Import, StoreError> {
        let bytes = read(path)?;
        let name = path.display().to_string();
        let (texts, odd) = match ics::decode(&bytes) {
            Some((text, _)) => ics::split(&text),
            None => (Default::default(), vec!["not UTF-8".to_owned()]),
        };
        let mut skipped: Vec<Broken> = odd.into_iter().map(|why| Broken { path: name.clone(), why }).collect();
        let (stored, _) = self.stored_events()?;
        let mut ops = Vec::new();
        for (uid, text) in texts {
            let path = file_name(&uid);
            if stored.iter().any(|event| event.uid == uid || event.path == path) {
                skipped
                    .push(Broken { path: name.clone(), why: format!("the event `{uid}` is in the calendar already") });
                continue;
            }
            ops.push(Op::File { place: Place::Calendar, path, before: None, after: Some(text) });
        }
        Ok(Import { change: change("events", &name, ops), skipped })
    }

    /// The notes of a folder and of the folders in it. What the notes have already is left as it is.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn import_notes(&self, folder: &Path) -> Result<Import, StoreError> {
        let file_error = |source| StoreError::File { path: folder.into(), source };
        let paths = files::list(folder, &notes::ENDINGS).map_err(file_error)?;
        let (mut ops, mut skipped) = (Vec::new(), Vec::new());
        for path in paths {
            let mut skip = |why: &str| skipped.push(Broken { path: path.clone(), why: why.to_owned() });
            let there = match files::resolve(self.root(Place::Notes), &path).map(|path| files::read(&path)) {
                Ok(Ok(there)) => there,
                Ok(Err(error)) => {
                    skip(&error.to_string());
                    continue;
                }
                Err(why) => {
                    skip(&why);
                    continue;
                }
            };
            match (there, files::read(&folder.join(&path)).map(|bytes| bytes.map(String::from_utf8))) {
                (Some(_), _) => skip("a note with this name is there already"),
                (None, Ok(Some(Ok(text)))) => {
                    ops.push(Op::File { place: Place::Notes, path: path.clone(), before: None, after: Some(text) });
                }
                (None, Ok(Some(Err(_)))) => skip("not UTF-8"),
                (None, Ok(None)) => {}
                (None, Err(error)) => skip(&error.to_string()),
            }
        }
        Ok(Import { change: change("notes", &folder.display().to_string(), ops), skipped })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let error = |source| StoreError::File { path: path.into(), source };
    files::read(path).map_err(error)?.ok_or_else(|| error(std::io::ErrorKind::NotFound.into()))
}

fn change(what: &str, from: &str, ops: Vec<Op>) -> Change {
    Change {
        summary: format!("Import {} {what} from {from}", ops.len()),
        details: vec![("number".to_owned(), ops.len().to_string())],
        warnings: Vec::new(),
        result: json!({ "imported": ops.len(), "what": what }),
        ops,
    }
}
