//! Reading the files of a data folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

/// A JSON file.
///
/// # Errors
/// If it is not there or has another shape; the message names file and place.
pub(crate) fn json<T: DeserializeOwned>(folder: &Path, name: &str) -> anyhow::Result<T> {
    let path = folder.join(name);
    if !path.exists() {
        bail!("{}: there is no such file", path.display());
    }
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}
