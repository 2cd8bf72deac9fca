//! Where this program keeps what outlives a run.

use std::env;
use std::path::PathBuf;

/// `BOTPSY_HOME`, or the user's data folder; `None` where the system says neither.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("BOTPSY_HOME")
        .or_else(|| Some(variable("XDG_DATA_HOME")?.join("botpsy")))
        .or_else(|| Some(variable("HOME")?.join(".local/share/botpsy")))
}
