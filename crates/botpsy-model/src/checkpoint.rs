//! A checkpoint on disk, of either format, behind one face.

use std::path::Path;

use botpsy_format::{FileBytes, Gguf, HfConfig, SafeTensors};
use botpsy_tensor::{TensorView, dequantize};

use crate::names::{Change, Weight};
use crate::{Config, ModelError};

/// In which order a checkpoint holds the value heads of its linear-attention layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOrder {
    /// Grouped by key head: value head `j` reads key head `j / (n_v / n_k)`. Hugging Face.
    Grouped,
    /// Tiled over the key heads: value head `j` reads key head `j % n_k`. GGUF.
    Tiled,
}

/// An open checkpoint: tensors by role.
#[derive(Debug)]
pub enum Checkpoint {
    /// A GGUF file.
    Gguf(Gguf),
    /// A folder with safetensors and a `config.json`.
    SafeTensors {
        /// The tensors.
        tensors: SafeTensors,
        /// What `config.json` says.
        config: Box<HfConfig>,
        /// What the names of the text model start with.
        prefix: &'static str,
    },
}

impl Checkpoint {
    /// Opens a GGUF file or a safetensors folder.
    ///
    /// # Errors
    /// If it cannot be read or is neither.
    pub fn open(path: &Path) -> Result<Checkpoint, ModelError> {
        if !path.is_dir() {
            return Ok(Checkpoint::Gguf(Gguf::open(path)?));
        }
        let config = Box::new(HfConfig::open(&path.join("config.json"))?);
        let tensors = SafeTensors::open(path)?;
        let prefix = ["model.language_model.", "model."];
        let prefix =
            prefix.into_iter().find(|p| tensors.find(&Weight::EmbedTokens.hf_name(p)).is_some()).unwrap_or("model.");
        Ok(Checkpoint::SafeTensors { tensors, config, prefix })
    }

    /// A GGUF file that is already in memory; `label` names it in errors.
    ///
    /// # Errors
    /// If it is no sound GGUF file.
    pub fn from_bytes(bytes: FileBytes, label: &str) -> Result<Checkpoint, ModelError> {
        Ok(Checkpoint::Gguf(Gguf::from_bytes(bytes, label)?))
    }

    /// The file or folder, for messages.
    pub fn file(&self) -> &str {
        match self {
            Checkpoint::Gguf(gguf) => gguf.file(),
            Checkpoint::SafeTensors { tensors, .. } => tensors.file(),
        }
    }

    /// The model's sizes.
    ///
    /// # Errors
    /// As [`Config::from_gguf`].
    pub fn config(&self) -> Result<Config, ModelError> {
        match self {
            Checkpoint::Gguf(gguf) => Config::from_gguf(gguf),
            Checkpoint::SafeTensors { config, tensors, .. } => {
                Config::from_hf(config, &format!("{}/config.json", tensors.file()))
            }
        }
    }

    /// The order of value heads in this format.
    pub fn head_order(&self) -> HeadOrder {
        match self {
            Checkpoint::Gguf(_) => HeadOrder::Tiled,
            Checkpoint::SafeTensors { .. } => HeadOrder::Grouped,
        }
    }

    /// The name of a tensor in this file.
    pub fn name(&self, weight: Weight) -> String {
        match self {
            Checkpoint::Gguf(_) => weight.gguf_name(),
            Checkpoint::SafeTensors { prefix, .. } => weight.hf_name(prefix),
        }
    }

    /// A tensor's bytes, its shape checked.
    ///
    /// # Errors
    /// If it is missing or has another shape.
    pub fn tensor(&self, weight: Weight, shape: &[usize]) -> Result<TensorView<'_>, ModelError> {
        let name = self.name(weight);
        let (found, file) = match self {
            Checkpoint::Gguf(gguf) => (gguf.find(&name).map(|_| gguf.tensor(&name)), gguf.file()),
            Checkpoint::SafeTensors { tensors, .. } => {
                (tensors.find(&name).map(|_| tensors.tensor(&name)), tensors.file())
            }
        };
        let view = found.ok_or_else(|| ModelError::MissingTensor { file: file.into(), tensor: name.clone() })??;
        // Hugging Face keeps the convolution as [channels, 1, width]; a GGUF may carry trailing dimensions of 1.
        let is_same = view.shape().iter().filter(|d| **d != 1).eq(shape.iter().filter(|d| **d != 1));
        if !is_same || !(view.dtype().is_float() || view.dtype().is_quantized()) {
            return Err(ModelError::Shape {
                file: file.into(),
                tensor: name,
                expected: shape.to_vec(),
                found: view.shape().to_vec(),
            });
        }
        TensorView::new(view.dtype(), shape.to_vec(), view.bytes()).map_err(|source| ModelError::Tensor {
            file: file.into(),
            tensor: name,
            source,
        })
    }

    /// A tensor's values as the engine uses them: norm weights with the one added, `-exp(A_log)`; value heads stay in the
    /// order of the file.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub fn values(&self, weight: Weight, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let view = self.tensor(weight, shape)?;
        let mut values = dequantize(&view).map_err(|source| ModelError::Tensor {
            file: self.file().into(),
            tensor: self.name(weight),
            source,
        })?;
        if let Checkpoint::SafeTensors { .. } = self {
            match weight.change() {
                Change::PlusOne => values.iter_mut().for_each(|x| *x += 1.0),
                Change::NegExp => values.iter_mut().for_each(|x| *x = -x.exp()),
                Change::None | Change::TileRows | Change::TileValueRows | Change::TileColumns => {}
            }
        }
        Ok(values)
    }

    /// Says that a tensor's bytes were copied and its pages need not stay in memory.
    pub fn release(&self, weight: Weight) {
        match self {
            Checkpoint::Gguf(gguf) => gguf.release(&self.name(weight)),
            Checkpoint::SafeTensors { tensors, .. } => tensors.release(&self.name(weight)),
        }
    }
}
