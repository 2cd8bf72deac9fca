//! `model.safetensors.index.json`: which tensor stands in which shard.

use std::path::Path;

use serde::Deserialize;

use super::{SafeTensors, limit};
use crate::json::{Object, Pairs, parse, read_bytes, shown, with_path};
use crate::{FormatError, Result};

/// Tensors and the shards that hold them.
pub(super) struct WeightMap {
    file: String,
    /// Tensor and shard.
    entries: Vec<(String, String)>,
    /// Each shard once, in order of name.
    shards: Vec<String>,
}

#[derive(Deserialize)]
struct RawIndex {
    #[serde(deserialize_with = "weight_map")]
    weight_map: Pairs<String, { limit::TENSORS }>,
}

with_path! { weight_map "weight_map" }

/// Reads the index; every shard is a plain file name.
pub(super) fn read(path: &Path) -> Result<WeightMap> {
    let (file, bytes) = read_bytes(path)?;
    let entries = parse::<Object<RawIndex>>(&file, &bytes)?.0.weight_map.0;
    let mut shards: Vec<String> = entries.iter().map(|(_, shard)| shard.clone()).collect();
    shards.sort_unstable();
    shards.dedup();
    // A path could lead out of the folder.
    let is_plain = |shard: &str| shard.ends_with(".safetensors") && !shard.contains(['/', '\\', ':', '\0']);
    if let Some(shard) = shards.iter().find(|shard| !is_plain(shard)) {
        let problem = format!("`{}` is not the plain name of a .safetensors file", shown(shard));
        return Err(FormatError::malformed(&file, "weight_map", problem));
    }
    Ok(WeightMap { file, entries, shards })
}

impl WeightMap {
    pub(super) fn shards(&self) -> &[String] {
        &self.shards
    }

    /// Refuses an index that names a tensor which its shard does not hold; `all` are the shards' tensors.
    pub(super) fn check(&self, all: &SafeTensors) -> Result<()> {
        let is_there =
            |(name, shard): &&(String, String)| all.find(name).is_some_and(|t| self.shards[t.shard] == *shard);
        match self.entries.iter().find(|entry| !is_there(entry)) {
            Some((name, shard)) => {
                let field = format!("weight_map: {}", shown(name));
                Err(FormatError::malformed(&self.file, field, format!("is not in {}", shown(shard))))
            }
            None => Ok(()),
        }
    }
}
