//! What the owner has settled once and for all: one TOML file, and where each value comes from.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use botpsy_agent::policy::Policy;
use botpsy_agent::store::Folders;
use botpsy_chat::BaseUrl;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::failure::{OrFail, bad_input};
use crate::home;

/// A value, and who said so.
#[derive(Clone, Debug)]
pub(crate) struct Stated<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody.
    Default,
    /// The settings file.
    File,
    /// An environment variable.
    Environment(&'static str),
}

/// What is in force, flags left out.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The settings file, whether it is there or not.
    pub(crate) file: PathBuf,
    /// The policy file, whether it is there or not.
    pub(crate) policy_file: PathBuf,
    /// The model: a path, or `embedded`.
    pub(crate) model: Stated<PathBuf>,
    /// The address of a server that answers instead of the model.
    pub(crate) endpoint: Stated<Option<String>>,
    /// Which of the endpoint's models.
    pub(crate) model_name: Stated<Option<String>>,
    /// A file with the endpoint's key, and nothing else.
    pub(crate) key_file: Stated<Option<PathBuf>>,
    /// What only this program reads: database, log, saved prefixes.
    pub(crate) data: Stated<PathBuf>,
    /// Events, one `.ics` file each.
    pub(crate) calendar: Stated<PathBuf>,
    /// Notes and lists, Markdown.
    pub(crate) notes: Stated<PathBuf>,
    /// The time zone, an IANA name; the system's unless stated.
    pub(crate) zone: Stated<TimeZone>,
}

impl Origin {
    /// In one word, or as the variable is called.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::File => "file",
            Origin::Environment(variable) => variable,
        }
    }
}

/// The file as it is written.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    model: Option<PathBuf>,
    endpoint: Option<String>,
    model_name: Option<String>,
    key_file: Option<PathBuf>,
    calendar: Option<PathBuf>,
    notes: Option<PathBuf>,
    timezone: Option<String>,
}

impl Settings {
    /// Reads what is settled; a missing file settles nothing.
    pub(crate) fn load() -> anyhow::Result<Settings> {
        let folder = home::config_folder().ok_or_else(no_home).or_bad_input(NO_HOME_HELP)?;
        let data = home::data_folder().ok_or_else(no_home).or_bad_input(NO_HOME_HELP)?;
        let path = folder.join("config.toml");
        let file = read(&path)?;
        let data_origin =
            if env::var_os("BOTPSY_HOME").is_some() { Origin::Environment("BOTPSY_HOME") } else { Origin::Default };
        let or = |stated: Option<PathBuf>, default: PathBuf| match stated {
            Some(value) => Stated { value: home::expand(&value), origin: Origin::File },
            None => Stated { value: default, origin: Origin::Default },
        };
        for (key, folder) in [("calendar", &file.calendar), ("notes", &file.notes)] {
            // A folder that depends on where a command is typed is several folders.
            if folder.as_ref().is_some_and(|folder| !home::expand(folder).is_absolute()) {
                let error = anyhow!("{}: {key}: it is not an absolute path", path.display());
                return Err(bad_input(error, "write the whole path, or one that begins with ~/"));
            }
        }
        let zone = match file.timezone {
            Some(name) => {
                let zone = TimeZone::get(&name).with_context(|| format!("{}: timezone: {name:?}", path.display()));
                let zone = zone.or_bad_input("give an IANA name such as \"Europe/Berlin\"")?;
                Stated { value: zone, origin: Origin::File }
            }
            None if env::var_os("TZ").is_some() => {
                Stated { value: TimeZone::system(), origin: Origin::Environment("TZ") }
            }
            None => Stated { value: TimeZone::system(), origin: Origin::Default },
        };
        Ok(Settings {
            policy_file: folder.join("policy.toml"),
            model: or(file.model, PathBuf::from("embedded")),
            endpoint: if_stated(file.endpoint),
            model_name: if_stated(file.model_name),
            key_file: if_stated(file.key_file.map(|path| home::expand(&path))),
            calendar: or(file.calendar, data.join("calendar")),
            notes: or(file.notes, data.join("notes")),
            data: Stated { value: data, origin: data_origin },
            zone,
            file: path,
        })
    }

    /// Where the owner's data lies.
    pub(crate) fn folders(&self) -> Folders {
        let (data, calendar, notes) = (self.data.value.clone(), self.calendar.value.clone(), self.notes.value.clone());
        Folders { data, calendar, notes }
    }

    /// Now, where the owner is.
    pub(crate) fn now(&self) -> Zoned {
        Timestamp::now().to_zoned(self.zone.value.clone())
    }

    /// The owner's policy; without a file the standard one.
    pub(crate) fn policy(&self) -> anyhow::Result<Policy> {
        let text = match fs::read_to_string(&self.policy_file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Policy::default()),
            Err(error) => {
                return Err(error)
                    .with_context(|| self.policy_file.display().to_string())
                    .or_bad_input("make it readable, or remove it");
            }
        };
        let policy = Policy::from_toml(&text).with_context(|| self.policy_file.display().to_string());
        policy.or_bad_input("correct it; `botpsy policy show --built-in` prints a whole policy with comments")
    }
}

/// What is wrong with a text as the settings file.
///
/// # Errors
/// In words, with the line.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    if let Some(endpoint) = &file.endpoint {
        BaseUrl::parse(endpoint).map_err(|error| format!("endpoint: {error}"))?;
    }
    match file.timezone.map(|name| TimeZone::get(&name)) {
        Some(Err(error)) => Err(format!("timezone: {error}")),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// A setting that is in force only where the file has it.
fn if_stated<T>(value: Option<T>) -> Stated<Option<T>> {
    let origin = if value.is_some() { Origin::File } else { Origin::Default };
    Stated { value, origin }
}

const NO_HOME_HELP: &str = "set HOME, or BOTPSY_HOME to a folder for this program";

fn no_home() -> anyhow::Error {
    anyhow!("neither BOTPSY_HOME nor HOME says where this user's files are")
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => {
            return Err(error)
                .with_context(|| path.display().to_string())
                .or_bad_input("make it readable, or remove it");
        }
    };
    let file = toml::from_str(&text).map_err(|error| anyhow!("{}: {}", path.display(), error.to_string().trim_end()));
    file.or_bad_input("known keys: model, endpoint, model_name, key_file, calendar, notes, timezone")
}
