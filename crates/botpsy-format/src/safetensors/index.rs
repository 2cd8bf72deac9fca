//! `model.safetensors.index.json`: which tensor stands in which shard.

use std::path::Path;

use serde_json::Value;

use crate::hf::json::{read_object, text};
use crate::{FormatError, Result};

pub(super) struct WeightMap {
    file: String,
    /// Tensor and shard.
    entries: Vec<(String, String)>,
}

pub(super) fn read(path: &Path) -> Result<WeightMap> {
    let (file, json) = read_object(path)?;
    let Some(Value::Object(map)) = json.get("weight_map") else {
        return Err(FormatError::malformed(&file, "weight_map", "expected an object of file names"));
    };
    let mut entries = Vec::new();
    for (name, shard) in map {
        let field = format!("weight_map.{name}");
        let shard = text(&file, &field, shard)?;
        // Only plain names: a path could lead out of the folder.
        let plain = !shard.is_empty() && shard != ".." && shard != "." && !shard.contains(['/', '\\', '\0', ':']);
        if !plain {
            return Err(FormatError::malformed(&file, field, format!("`{shard}` is no plain file name")));
        }
        entries.push((name.clone(), shard.to_owned()));
    }
    Ok(WeightMap { file, entries })
}

impl WeightMap {
    /// Each shard once, in order of name.
    pub(super) fn shards(&self) -> Vec<&str> {
        let mut shards: Vec<&str> = self.entries.iter().map(|(_, shard)| shard.as_str()).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Refuses an index that names a tensor which no shard holds.
    pub(super) fn check(&self, is_there: impl Fn(&str) -> bool) -> Result<()> {
        match self.entries.iter().find(|(name, _)| !is_there(name)) {
            Some((name, shard)) => {
                let problem = format!("is not in {shard}");
                Err(FormatError::malformed(&self.file, format!("weight_map.{name}"), problem))
            }
            None => Ok(()),
        }
    }
}
