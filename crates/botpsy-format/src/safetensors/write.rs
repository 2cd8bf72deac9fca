//! Writing safetensors.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use botpsy_tensor::TensorView;
use serde_json::{Map, Value, json};

use super::header::{METADATA, check_name};
use super::{INDEX, SINGLE, dtype_name, limit};
use crate::{FormatError, PartFile, Result};

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
/// If a tensor's type has no name in safetensors, [`SafeTensors`](crate::SafeTensors) would refuse the file, or the system does.
pub fn write_file(path: &Path, tensors: &[NewTensor<'_>], metadata: &[(String, String)]) -> Result<()> {
    let header = header(&path.display().to_string(), tensors, metadata)?;
    let mut out = PartFile::create(path)?;
    let mut write = || -> io::Result<()> {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        tensors.iter().try_for_each(|tensor| out.write_all(tensor.view.bytes()))
    };
    write().map_err(|source| FormatError::io(path, source))?;
    out.commit()
}

/// Writes the tensors into a folder: one `model.safetensors` when they fit into `max_shard_bytes`, else shards and an index,
/// which replace a `model.safetensors` that stood there. A shard holds at least one tensor.
///
/// # Errors
/// As [`write_file`].
pub fn write_sharded(
    folder: &Path,
    tensors: &[NewTensor<'_>],
    metadata: &[(String, String)],
    max_shard_bytes: usize,
) -> Result<()> {
    let shards = shards(tensors, max_shard_bytes);
    if shards.len() < 2 {
        return write_file(&folder.join(SINGLE), tensors, metadata);
    }
    let path = folder.join(INDEX);
    let mut weight_map = Map::new();
    for (i, shard) in shards.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", i + 1, shards.len());
        for tensor in *shard {
            if weight_map.insert(tensor.name.clone(), Value::from(name.as_str())).is_some() {
                return Err(stands_twice(&path.display().to_string(), &tensor.name));
            }
        }
        write_file(&folder.join(&name), shard, metadata)?;
    }
    let total: usize = tensors.iter().map(|tensor| tensor.view.bytes().len()).sum();
    let index = json!({"metadata": {"total_size": total}, "weight_map": weight_map});
    let mut out = PartFile::create(&path)?;
    out.write_all(index.to_string().as_bytes()).map_err(|source| FormatError::io(&path, source))?;
    out.commit()?;
    // A single file from before would be read instead of the shards.
    match fs::remove_file(folder.join(SINGLE)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FormatError::io(&folder.join(SINGLE), source)),
        _ => Ok(()),
    }
}

/// Cuts the list so that each piece fits into `max_bytes` or is one tensor.
fn shards<'t, 'a>(tensors: &'t [NewTensor<'a>], max_bytes: usize) -> Vec<&'t [NewTensor<'a>]> {
    let mut shards = Vec::new();
    let (mut first, mut size) = (0, 0);
    for (i, tensor) in tensors.iter().enumerate() {
        let len = tensor.view.bytes().len();
        if i > first && size + len > max_bytes {
            shards.push(&tensors[first..i]);
            (first, size) = (i, 0);
        }
        size += len;
    }
    shards.push(&tensors[first..]);
    shards
}

fn header(file: &str, tensors: &[NewTensor<'_>], metadata: &[(String, String)]) -> Result<Vec<u8>> {
    FormatError::check_limit(file, "tensors", limit::TENSORS as u64, tensors.len() as u64)?;
    FormatError::check_limit(file, METADATA, limit::METADATA as u64, metadata.len() as u64)?;
    let strings: Map<_, _> = metadata.iter().map(|(key, text)| (key.clone(), text.as_str().into())).collect();
    if strings.len() < metadata.len() {
        return Err(FormatError::malformed(file, METADATA, "a name stands twice"));
    }
    let mut json = Map::new();
    if !strings.is_empty() {
        json.insert(METADATA.to_owned(), Value::Object(strings));
    }
    let mut offset = 0;
    for NewTensor { name, view } in tensors {
        let field = || format!("tensor {}", crate::json::shown(name));
        check_name(name).map_err(|problem| FormatError::malformed(file, field(), problem))?;
        let dims = view.shape().len() as u64;
        FormatError::check_limit(file, format!("{}: dimensions", field()), limit::DIMS as u64, dims)?;
        let dtype = dtype_name(view.dtype()).ok_or_else(|| FormatError::UnsupportedDType {
            file: file.to_owned(),
            tensor: name.clone(),
            dtype: view.dtype().name().to_owned(),
        })?;
        let end = offset + view.bytes().len();
        let entry = json!({"dtype": dtype, "shape": view.shape(), "data_offsets": [offset, end]});
        if json.insert(name.clone(), entry).is_some() {
            return Err(stands_twice(file, name));
        }
        offset = end;
    }
    let mut bytes = Value::Object(json).to_string().into_bytes();
    // Data starts at a multiple of 8, as the reference writer has it.
    bytes.resize(bytes.len().next_multiple_of(8), b' ');
    FormatError::check_limit(file, "header length", limit::HEADER_BYTES, bytes.len() as u64)?;
    Ok(bytes)
}

fn stands_twice(file: &str, name: &str) -> FormatError {
    FormatError::malformed(file, format!("tensor {name}"), "stands twice")
}
