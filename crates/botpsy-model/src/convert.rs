//! From a Hugging Face folder to a GGUF file.
//!
//! The bytes are those of llama.cpp's converter: norms hold the weight plus one, value heads are tiled over the key heads,
//! and what [`names`](crate::names) calls `NegExp` is computed.

use std::io::Write;

use botpsy_format::{GgufArray, GgufData, GgufValue, GgufWriter};
use botpsy_kernels::delta::Heads;
use botpsy_tensor::{DType, TensorError, TensorView, dequantize_row, quantize};

use crate::names::{Change, LayerWeight, Weight};
use crate::{Checkpoint, Config, LayerKind, ModelError};

/// What the matrices become. Vectors and convolutions are always F32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// As exact as any checkpoint.
    F32,
    /// Half precision.
    F16,
    /// The type in which the family is published: nothing is lost.
    BF16,
    /// Blocks of 32; a matrix whose rows are no whole blocks becomes F16.
    Q8_0,
}

/// A tensor that was written.
#[derive(Clone, Copy, Debug)]
pub struct Converted<'a> {
    /// Its name in the GGUF file.
    pub tensor: &'a str,
    /// Tensors written so far, this one included.
    pub done: usize,
    /// Tensors in all.
    pub total: usize,
}

impl Conversion {
    fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F16 => DType::F16,
            Self::BF16 => DType::BF16,
            Self::Q8_0 => DType::Q8_0,
        }
    }

    /// The number that `general.file_type` has for it.
    fn file_type(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q8_0 => 7,
            Self::BF16 => 32,
        }
    }

    /// The type of one tensor.
    fn dtype_of(self, weight: Weight, shape: &[usize]) -> DType {
        let &[_, cols] = shape else { return DType::F32 };
        match self.dtype() {
            _ if matches!(weight, Weight::Layer(_, LayerWeight::Conv1d)) => DType::F32,
            dtype if dtype.row_bytes(cols).is_none() => DType::F16,
            dtype => dtype,
        }
    }
}

/// Writes a GGUF file to `out` and gives `out` back.
///
/// `metadata` (name, tokenizer, template, sampling) follows the keys that the model's sizes give. No more than a few rows
/// are in memory at a time; `progress` hears of each tensor.
///
/// # Errors
/// If the checkpoint is no Hugging Face folder, a size, tensor or shape is wrong, a value does not fit into the type asked
/// for, `metadata` repeats a key, or `out` refuses.
pub fn to_gguf<W: Write>(
    checkpoint: &Checkpoint,
    metadata: Vec<(String, GgufValue)>,
    conversion: Conversion,
    out: W,
    progress: &mut dyn FnMut(Converted<'_>),
) -> Result<W, ModelError> {
    let Checkpoint::SafeTensors { config: json, .. } = checkpoint else {
        return Err(ModelError::Config {
            file: checkpoint.file().into(),
            field: "format".into(),
            problem: "is GGUF already; a folder with safetensors and config.json is needed".into(),
        });
    };
    let config = checkpoint.config()?;
    let mut writer = GgufWriter::new(checkpoint.file());
    for (key, value) in model_metadata(&config, json.full_attention_interval, conversion).into_iter().chain(metadata) {
        writer.insert(&key, value)?;
    }
    let tensors: Vec<_> = weights(&config).into_iter().map(|weight| (weight, shape(&config, weight))).collect();
    for (weight, shape) in &tensors {
        writer.tensor(&weight.gguf_name(), conversion.dtype_of(*weight, shape), shape)?;
    }
    let mut data = writer.begin(out)?;
    for (i, (weight, shape)) in tensors.iter().enumerate() {
        write_tensor(checkpoint, &config, (*weight, shape), conversion.dtype_of(*weight, shape), &mut data)?;
        checkpoint.release(*weight);
        progress(Converted { tensor: &weight.gguf_name(), done: i + 1, total: tensors.len() });
    }
    Ok(data.finish()?)
}

/// What the sizes and the kind of conversion say.
fn model_metadata(config: &Config, interval: Option<u64>, conversion: Conversion) -> Vec<(String, GgufValue)> {
    let heads = config.linear;
    let is_linear: Vec<bool> = config.layer_kinds.iter().map(|kind| *kind == LayerKind::Linear).collect();
    let first_full = is_linear.iter().position(|linear| !linear).map_or(is_linear.len(), |i| i + 1);
    let interval = interval.map_or(first_full, |n| n as usize);
    let text = |text: &str| GgufValue::String(text.into());
    let mut entries = vec![
        ("general.architecture".into(), text("qwen35")),
        ("general.type".into(), text("model")),
        ("general.file_type".into(), GgufValue::U32(conversion.file_type())),
        ("general.quantization_version".into(), GgufValue::U32(2)),
    ];
    let sizes = [
        ("block_count", config.layer_kinds.len()),
        ("context_length", config.context_length),
        ("embedding_length", config.hidden_size),
        ("feed_forward_length", config.intermediate_size),
        ("attention.head_count", config.n_heads),
        ("attention.head_count_kv", config.n_kv_heads),
        ("attention.key_length", config.head_dim),
        ("attention.value_length", config.head_dim),
        ("rope.dimension_count", config.rotary_dim),
        ("ssm.conv_kernel", config.conv_width),
        ("ssm.state_size", heads.d_k),
        ("ssm.group_count", heads.n_k),
        ("ssm.time_step_rank", heads.n_v),
        ("ssm.inner_size", heads.n_v * heads.d_v),
        ("full_attention_interval", interval),
    ];
    // Sizes are at most 2^20, by the checks of `Config`.
    entries.extend(sizes.map(|(key, size)| (format!("qwen35.{key}"), GgufValue::U32(size as u32))));
    // Text has one position on all three axes, so the split of the frequencies over them has no effect; other readers
    // want to see it.
    let n = (config.rotary_dim / 2) as i32;
    let sections = vec![(n + 2) / 3, (n + 1) / 3, n / 3, 0];
    let more = [
        ("rope.freq_base", GgufValue::F32(config.rope_theta as f32)),
        ("attention.layer_norm_rms_epsilon", GgufValue::F32(config.rms_norm_eps)),
        ("rope.dimension_sections", GgufValue::Array(GgufArray::I32(sections))),
        ("attention.recurrent_layers", GgufValue::Array(GgufArray::Bool(is_linear))),
    ];
    entries.extend(more.map(|(key, value)| (format!("qwen35.{key}"), value)));
    entries
}

/// All tensors of a model, as they follow one another in a file.
fn weights(config: &Config) -> Vec<Weight> {
    use LayerWeight::*;
    const NORMS_AND_MLP: [LayerWeight; 5] = [InputLayernorm, PostAttentionLayernorm, GateProj, UpProj, DownProj];
    const ATTENTION: [LayerWeight; 6] = [QProj, KProj, VProj, OProj, QNorm, KNorm];
    const LINEAR: [LayerWeight; 9] = [InProjQkv, InProjZ, InProjB, InProjA, Conv1d, ALog, DtBias, LinearNorm, OutProj];
    let mut weights = vec![Weight::EmbedTokens];
    for (i, kind) in config.layer_kinds.iter().enumerate() {
        let mixer: &[LayerWeight] = match kind {
            LayerKind::Full => &ATTENTION,
            LayerKind::Linear => &LINEAR,
        };
        weights.extend(NORMS_AND_MLP.iter().chain(mixer).map(|weight| Weight::Layer(i, *weight)));
    }
    weights.push(Weight::Norm);
    if !config.tie_word_embeddings {
        weights.push(Weight::LmHead);
    }
    weights
}

/// A tensor's shape in the GGUF file, outermost first.
fn shape(config: &Config, weight: Weight) -> Vec<usize> {
    use LayerWeight::*;
    let (hidden, mlp, heads) = (config.hidden_size, config.intermediate_size, config.linear);
    let (width, kv_width) = (config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim);
    let values = heads.n_v * heads.d_v;
    let Weight::Layer(_, weight) = weight else {
        return if weight == Weight::Norm { vec![hidden] } else { vec![config.vocab_size, hidden] };
    };
    match weight {
        InputLayernorm | PostAttentionLayernorm => vec![hidden],
        GateProj | UpProj => vec![mlp, hidden],
        DownProj => vec![hidden, mlp],
        QProj => vec![2 * width, hidden],
        KProj | VProj => vec![kv_width, hidden],
        OProj => vec![hidden, width],
        QNorm | KNorm => vec![config.head_dim],
        InProjQkv => vec![config.conv_channels(), hidden],
        InProjZ => vec![values, hidden],
        InProjB | InProjA => vec![heads.n_v, hidden],
        Conv1d => vec![config.conv_channels(), config.conv_width],
        ALog | DtBias => vec![heads.n_v],
        LinearNorm => vec![heads.d_v],
        OutProj => vec![hidden, values],
    }
}

/// Rows that are converted at a time: enough to make the calls cheap, few enough to stay in the cache.
const ROWS_AT_A_TIME: usize = 16;

fn write_tensor<W: Write>(
    checkpoint: &Checkpoint,
    config: &Config,
    (weight, shape): (Weight, &[usize]),
    dtype: DType,
    data: &mut GgufData<W>,
) -> Result<(), ModelError> {
    let view = checkpoint.tensor(weight, shape)?;
    let failed =
        |source| ModelError::Tensor { file: checkpoint.file().into(), tensor: checkpoint.name(weight), source };
    // A vector is taken as rows of one value, so that its heads move like those of a matrix.
    let cols = if shape.len() == 1 { 1 } else { view.cols() };
    let view = TensorView::new(view.dtype(), vec![view.n_values() / cols, cols], view.bytes()).map_err(failed)?;
    let (heads, change) = (config.linear, weight.change());
    let row_order = match change {
        Change::TileRows | Change::NegExp => tiled(0, view.rows(), heads),
        Change::TileValueRows => tiled(2 * heads.n_k * heads.d_k, view.rows(), heads),
        Change::None | Change::PlusOne | Change::TileColumns => (0..view.rows()).collect(),
    };
    let col_order = (change == Change::TileColumns).then(|| tiled(0, cols, heads));
    let (mut row, mut values) = (vec![0.0; cols], Vec::new());
    for (chunk_idx, chunk) in row_order.chunks(ROWS_AT_A_TIME).enumerate() {
        values.clear();
        for i in chunk {
            dequantize_row(view.dtype(), view.row_bytes(*i), &mut row);
            match &col_order {
                Some(order) => values.extend(order.iter().map(|col| row[*col])),
                None => values.extend_from_slice(&row),
            }
        }
        match change {
            Change::PlusOne => values.iter_mut().for_each(|x| *x += 1.0),
            Change::NegExp => values.iter_mut().for_each(|x| *x = -x.exp()),
            Change::None | Change::TileRows | Change::TileValueRows | Change::TileColumns => {}
        }
        let start = chunk_idx * ROWS_AT_A_TIME * cols;
        data.write(&quantize(&values, cols, dtype).map_err(|error| failed(shifted(error, start)))?)?;
    }
    Ok(())
}

/// For each place after the conversion, where it was before: the value heads that fill `first..len` move from grouped by
/// key head to tiled over the key heads.
fn tiled(first: usize, len: usize, heads: Heads) -> Vec<usize> {
    let (group, width) = (heads.n_v / heads.n_k, (len - first) / heads.n_v);
    let head = |place: usize| first + (place % heads.n_k * group + place / heads.n_k) * width;
    (0..first).chain((0..heads.n_v).flat_map(|place| head(place)..head(place) + width)).collect()
}

/// The error with the value's index in the tensor instead of in a piece that begins at `start`.
fn shifted(error: TensorError, start: usize) -> TensorError {
    match error {
        TensorError::Unrepresentable { dtype, index, value } => {
            TensorError::Unrepresentable { dtype, index: start + index, value }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_heads_move_in_whole_heads() {
        // Key heads a, b; value heads a0 a1 a2 b0 b1 b2 of width 2, after three other rows.
        let heads = Heads { n_k: 2, n_v: 6, d_k: 1, d_v: 2 };
        assert_eq!(tiled(3, 15, heads), [0, 1, 2, 3, 4, 9, 10, 5, 6, 11, 12, 7, 8, 13, 14]);
        let heads = Heads { n_k: 4, n_v: 4, d_k: 1, d_v: 1 };
        assert_eq!(tiled(0, 4, heads), [0, 1, 2, 3]);
    }
}
