//! What the calendar says.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use sha2::{Digest, Sha256};

use super::ics::{self, Event, Occurrence};
use super::words::has_words;
use super::{Place, Store, StoreError, files};

/// What happens in some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agenda {
    /// By their starts.
    pub occurrences: Vec<Occurrence>,
    /// What could not be read; it was left alone.
    pub broken: Vec<Broken>,
}

/// A file that cannot be read, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its path inside its folder.
    pub path: String,
    /// In words.
    pub why: String,
}

/// An event with all its exceptions, and the file that holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its name.
    pub uid: String,
    /// Its file.
    pub path: String,
    /// The text of the file; `None` if it is written so that it can be read but not changed.
    pub text: Option<String>,
    /// The event and what became of some of its occurrences.
    pub events: Vec<Event>,
}

impl Store {
    /// What overlaps with the time from `from` up to `to`. Times that name no zone are on the clocks of `from`.
    ///
    /// # Errors
    /// If the folder cannot be read; a broken file is no error.
    pub fn events(&self, from: &Zoned, to: &Zoned) -> Result<Agenda, StoreError> {
        let (stored, broken) = self.stored_events()?;
        let mut agenda = Agenda { occurrences: Vec::new(), broken };
        for event in stored {
            let (occurrences, odd) = ics::occurrences(&event.events, from, to);
            agenda.occurrences.extend(occurrences);
            agenda.broken.extend(odd.into_iter().map(|why| Broken { path: event.path.clone(), why }));
        }
        agenda.occurrences.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| a.id.cmp(&b.id)));
        Ok(agenda)
    }

    /// What has all the words, in its title, place or notes, and overlaps with the time from `from` up to `to`.
    ///
    /// # Errors
    /// As [`Store::events`].
    pub fn find_events(&self, words: &str, from: &Zoned, to: &Zoned) -> Result<Agenda, StoreError> {
        let mut agenda = self.events(from, to)?;
        agenda.occurrences.retain(|occurrence| {
            let text = [Some(&occurrence.title), occurrence.place.as_ref(), occurrence.notes.as_ref()];
            has_words(&text.into_iter().flatten().cloned().collect::<Vec<_>>().join(" "), words)
        });
        Ok(agenda)
    }

    /// The event with this id, of all of it or of one occurrence.
    ///
    /// # Errors
    /// As [`Store::events`].
    pub fn event(&self, id: &str) -> Result<Option<StoredEvent>, StoreError> {
        let (stored, _) = self.stored_events()?;
        let uid = if stored.iter().any(|event| event.uid == id) { id } else { split_id(id).0 };
        Ok(stored.into_iter().find(|event| event.uid == uid))
    }

    /// All events by file and `UID`, and what cannot be read.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn stored_events(&self) -> Result<(Vec<StoredEvent>, Vec<Broken>), StoreError> {
        let root = self.root(Place::Calendar);
        let paths = files::list(root, &["ics"]).map_err(|source| StoreError::File { path: root.into(), source })?;
        let (mut stored, mut broken) = (Vec::new(), Vec::new());
        for path in paths {
            let mut report = |why: String| broken.push(Broken { path: path.clone(), why });
            let bytes = match files::read(&root.join(&path)) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(error) => {
                    report(error.to_string());
                    continue;
                }
            };
            let Some((text, is_editable)) = ics::decode(&bytes) else {
                report("not UTF-8".to_owned());
                continue;
            };
            let (events, odd) = ics::events(&text);
            odd.into_iter().for_each(report);
            for (uid, events) in by_uid(&path, events) {
                let text = is_editable.then(|| text.clone());
                stored.push(StoredEvent { uid, path: path.clone(), text, events });
            }
        }
        Ok((stored, broken))
    }
}

impl StoredEvent {
    /// The event itself, without its exceptions; an exception where the file has nothing else.
    pub fn master(&self) -> &Event {
        self.events.iter().find(|event| event.replaces.is_none()).unwrap_or(&self.events[0])
    }

    /// The occurrence that an id names.
    pub fn occurrence(&self, id: &str, local: &TimeZone) -> Option<Occurrence> {
        let day = match split_id(id).1 {
            Some(key) => jiff::civil::Date::strptime("%Y%m%d", key.get(..8)?).ok()?,
            None => self.master().start.civil().date(),
        };
        let middle = day.to_zoned(local.clone()).ok()?;
        let reach = Span::new().days(400);
        let (from, to) = (middle.checked_sub(reach).ok()?, middle.checked_add(reach).ok()?);
        let (occurrences, _) = ics::occurrences(&self.events, &from, &to);
        occurrences.into_iter().find(|occurrence| occurrence.id == id)
    }

    /// What happens between two moments.
    pub fn between(&self, from: &Zoned, to: &Zoned) -> Vec<Occurrence> {
        ics::occurrences(&self.events, from, to).0
    }
}

/// The name of the file of an event.
pub(super) fn file_name(uid: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_@+={}.".contains(c);
    if !uid.is_empty() && uid.len() <= 200 && uid.chars().all(is_plain) && !uid.starts_with('.') {
        return format!("{uid}.ics");
    }
    let hash = Sha256::digest(uid.as_bytes());
    let mut name = hash.iter().take(16).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    });
    name.push_str(".ics");
    name
}

/// The name of an event, and which occurrence of it an id names.
fn split_id(id: &str) -> (&str, Option<&str>) {
    let is_key = |key: &str| {
        let is_day = key.len() == 8 || (key.len() == 15 && key.as_bytes()[8] == b'T');
        is_day && key.bytes().all(|byte| byte.is_ascii_digit() || byte == b'T')
    };
    match id.rsplit_once('#') {
        Some((uid, key)) if is_key(key) => (uid, Some(key)),
        _ => (id, None),
    }
}

/// An event that lacks a name has that of its file.
fn by_uid(path: &str, events: Vec<Event>) -> BTreeMap<String, Vec<Event>> {
    let mut groups: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for mut event in events {
        let uid = if event.uid.is_empty() { path.trim_end_matches(".ics").to_owned() } else { event.uid.clone() };
        event.uid.clone_from(&uid);
        groups.entry(uid).or_default().push(event);
    }
    groups
}
