//! Where this program keeps what outlives a run.

use std::env;
use std::path::{Path, PathBuf};

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `BOTPSY_HOME`, or the user's data folder; `None` where the system says neither.
pub(crate) fn data_folder() -> Option<PathBuf> {
    variable("BOTPSY_HOME")
        .or_else(|| Some(variable("XDG_DATA_HOME")?.join("botpsy")))
        .or_else(|| Some(variable("HOME")?.join(".local/share/botpsy")))
}

/// `BOTPSY_HOME`, or the user's folder of settings; `None` where the system says neither.
pub(crate) fn config_folder() -> Option<PathBuf> {
    variable("BOTPSY_HOME")
        .or_else(|| Some(variable("XDG_CONFIG_HOME")?.join("botpsy")))
        .or_else(|| Some(variable("HOME")?.join(".config/botpsy")))
}

/// A path with `~/` at its beginning as the user's home.
pub(crate) fn expand(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), variable("HOME")) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
