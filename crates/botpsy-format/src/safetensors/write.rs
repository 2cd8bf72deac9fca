//! Writing safetensors.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use botpsy_tensor::TensorView;
use serde_json::{Map, Value, json};

use super::{INDEX, SINGLE, dtype_name};
use crate::{FormatError, Result};

/// A tensor to be written.
#[derive(Debug, Clone)]
pub struct NewTensor<'a> {
    /// Its name.
    pub name: String,
    /// Type, shape and bytes.
    pub view: TensorView<'a>,
}

/// Writes all tensors to one file, in this order. The file appears under its name only once it is complete.
///
/// # Errors
/// If a tensor's type has no name in safetensors, two have the same name, or the system refuses.
pub fn write_file(path: &Path, tensors: &[NewTensor<'_>], metadata: &[(String, String)]) -> Result<()> {
    let header = header(&path.display().to_string(), tensors, metadata)?;
    let io = |source| FormatError::io(path, source);
    let part = path.with_added_extension("part");
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(&part)?);
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for tensor in tensors {
            out.write_all(tensor.view.bytes())?;
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&part, path)
    };
    write().map_err(|source| {
        // What was begun is of no use; that it cannot be removed either adds nothing to the error.
        let _ = std::fs::remove_file(&part);
        io(source)
    })
}

fn header(file: &str, tensors: &[NewTensor<'_>], metadata: &[(String, String)]) -> Result<Vec<u8>> {
    let mut json = Map::new();
    if !metadata.is_empty() {
        let strings = metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
        json.insert("__metadata__".into(), Value::Object(strings.collect()));
    }
    let mut offset = 0;
    for NewTensor { name, view } in tensors {
        let dtype = dtype_name(view.dtype()).ok_or_else(|| FormatError::UnsupportedDType {
            file: file.to_owned(),
            tensor: name.clone(),
            dtype: view.dtype().name().to_owned(),
        })?;
        let end = offset + view.bytes().len();
        let entry = json!({"dtype": dtype, "shape": view.shape(), "data_offsets": [offset, end]});
        if json.insert(name.clone(), entry).is_some() {
            return Err(FormatError::malformed(file, format!("tensor {name}"), "stands twice"));
        }
        offset = end;
    }
    let mut bytes = Value::Object(json).to_string().into_bytes();
    // Data starts at a multiple of 8, as the reference writer has it.
    bytes.resize(bytes.len().next_multiple_of(8), b' ');
    Ok(bytes)
}

/// Writes the tensors into a folder: one `model.safetensors` when they fit into `max_shard_bytes`, else shards and an index.
/// A shard holds at least one tensor.
///
/// # Errors
/// As [`write_file`].
pub fn write_sharded(
    folder: &Path,
    tensors: &[NewTensor<'_>],
    metadata: &[(String, String)],
    max_shard_bytes: usize,
) -> Result<()> {
    let mut shards: Vec<Vec<NewTensor<'_>>> = vec![Vec::new()];
    let (mut size, mut total) = (0, 0);
    for tensor in tensors {
        let len = tensor.view.bytes().len();
        if size + len > max_shard_bytes && size > 0 {
            shards.push(Vec::new());
            size = 0;
        }
        size += len;
        total += len;
        shards.last_mut().expect("there is always a shard").push(tensor.clone());
    }
    if let [only] = &shards[..] {
        return write_file(&folder.join(SINGLE), only, metadata);
    }
    let mut weight_map = Map::new();
    for (i, shard) in shards.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", i + 1, shards.len());
        write_file(&folder.join(&name), shard, metadata)?;
        weight_map.extend(shard.iter().map(|tensor| (tensor.name.clone(), Value::from(name.as_str()))));
    }
    let index = json!({"metadata": {"total_size": total}, "weight_map": weight_map});
    let path = folder.join(INDEX);
    let part = path.with_added_extension("part");
    let written = std::fs::write(&part, index.to_string()).and_then(|()| std::fs::rename(&part, &path));
    written.map_err(|source| FormatError::io(&path, source))
}
