//! The sizes of a model, from its file and checked.

use botpsy_format::{Gguf, HfConfig};
use botpsy_kernels::attention::KvShape;
use botpsy_kernels::conv::MAX_WIDTH;
use botpsy_kernels::delta::Heads;

use crate::ModelError;

/// What a layer mixes the sequence with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Gated DeltaNet.
    Linear,
    /// Gated attention.
    Full,
}

/// The sizes of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside an MLP.
    pub intermediate_size: usize,
    /// Rows of the embedding, padding included.
    pub vocab_size: usize,
    /// Query heads of a full-attention layer.
    pub n_heads: usize,
    /// Key and value heads of a full-attention layer.
    pub n_kv_heads: usize,
    /// Width of these heads.
    pub head_dim: usize,
    /// Leading values of a head that the rotary embedding turns.
    pub rotary_dim: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Heads of a linear-attention layer.
    pub linear: Heads,
    /// Width of its convolution.
    pub conv_width: usize,
    /// What is added to the mean square in a norm.
    pub rms_norm_eps: f32,
    /// One kind per layer.
    pub layer_kinds: Vec<LayerKind>,
    /// Whether the output matrix is the embedding.
    pub tie_word_embeddings: bool,
    /// The longest sequence that the model was made for.
    pub context_length: usize,
}

/// No dimension of a model is larger: a bound for hostile files.
const MAX_DIM: usize = 1 << 20;
const MAX_LAYERS: usize = 1024;
/// Values of one layer's recurrent state: sixteen times what the largest model of the family has.
const MAX_STATE: usize = 1 << 24;

impl Config {
    /// Channels of the convolution: queries, keys and values of a linear-attention layer.
    pub fn conv_channels(&self) -> usize {
        2 * self.linear.n_k * self.linear.d_k + self.linear.n_v * self.linear.d_v
    }

    /// Shape of the keys and values of a full-attention layer.
    pub fn kv_shape(&self) -> KvShape {
        KvShape { n_heads: self.n_kv_heads, head_dim: self.head_dim }
    }

    /// Reads the sizes from a GGUF file's metadata.
    ///
    /// # Errors
    /// If the architecture is another one, or a size is missing, out of range or at odds with another.
    pub fn from_gguf(gguf: &Gguf) -> Result<Config, ModelError> {
        let (meta, file) = (gguf.metadata(), gguf.file());
        let architecture: &str = meta.get("general.architecture")?;
        if architecture != "qwen35" {
            return Err(ModelError::Architecture {
                file: file.into(),
                field: "general.architecture",
                expected: "qwen35",
                found: architecture.into(),
            });
        }
        let key = |name: &str| format!("qwen35.{name}");
        let size = |name: &str| -> Result<usize, ModelError> {
            let value: u32 = meta.get(&key(name))?;
            in_range(file, &key(name), value as usize, MAX_DIM)
        };
        let n_blocks =
            in_range(file, "qwen35.block_count", meta.get::<u32>("qwen35.block_count")? as usize, MAX_LAYERS)?;
        let n_draft = meta.find::<u32>("qwen35.nextn_predict_layers")?.unwrap_or(0) as usize;
        let n_layers = n_blocks.checked_sub(n_draft).filter(|n| *n > 0).ok_or_else(|| {
            problem(file, "qwen35.nextn_predict_layers", format!("{n_draft} of {n_blocks} blocks leave no layer"))
        })?;
        let interval = size("full_attention_interval");
        let layer_kinds = match meta.find::<&[bool]>("qwen35.attention.recurrent_layers")? {
            Some(recurrent) if recurrent.len() < n_layers => {
                let found = format!("{} entries for {n_layers} layers", recurrent.len());
                return Err(problem(file, "qwen35.attention.recurrent_layers", found));
            }
            Some(recurrent) => {
                recurrent[..n_layers].iter().map(|r| if *r { LayerKind::Linear } else { LayerKind::Full }).collect()
            }
            None => by_interval(n_layers, interval?),
        };
        let (n_v, inner) = (size("ssm.time_step_rank")?, size("ssm.inner_size")?);
        if !inner.is_multiple_of(n_v) {
            return Err(problem(file, "qwen35.ssm.inner_size", format!("{inner} is no multiple of the {n_v} heads")));
        }
        let (head_dim, value_dim) = (size("attention.key_length")?, size("attention.value_length")?);
        if head_dim != value_dim {
            return Err(problem(
                file,
                "qwen35.attention.value_length",
                format!("{value_dim} differs from key_length {head_dim}"),
            ));
        }
        let embedding = gguf.tensor("token_embd.weight")?;
        let eps: f32 = meta.get("qwen35.attention.layer_norm_rms_epsilon")?;
        let config = Config {
            hidden_size: size("embedding_length")?,
            intermediate_size: size("feed_forward_length")?,
            vocab_size: in_range(file, "token_embd.weight rows", embedding.rows(), MAX_DIM)?,
            n_heads: size("attention.head_count")?,
            n_kv_heads: size("attention.head_count_kv")?,
            head_dim,
            rotary_dim: size("rope.dimension_count")?,
            rope_theta: f64::from(meta.get::<f32>("qwen35.rope.freq_base")?),
            linear: Heads { n_k: size("ssm.group_count")?, n_v, d_k: size("ssm.state_size")?, d_v: inner / n_v },
            conv_width: size("ssm.conv_kernel")?,
            rms_norm_eps: eps,
            layer_kinds,
            tie_word_embeddings: gguf.find("output.weight").is_none(),
            context_length: in_range(
                file,
                "qwen35.context_length",
                meta.get::<u32>("qwen35.context_length")? as usize,
                usize::MAX,
            )?,
        };
        config.checked(file)
    }

    /// Takes the sizes from a `config.json` that was read from `file`.
    ///
    /// # Errors
    /// As [`from_gguf`](Self::from_gguf).
    pub fn from_hf(json: &HfConfig, file: &str) -> Result<Config, ModelError> {
        if !matches!(json.model_type.as_str(), "qwen3_5_text" | "qwen3_5") {
            return Err(ModelError::Architecture {
                file: file.into(),
                field: "model_type",
                expected: "qwen3_5_text",
                found: json.model_type.clone(),
            });
        }
        let size = |name: &str, value: Option<u64>| -> Result<usize, ModelError> {
            let value = value.ok_or_else(|| problem(file, name, "is missing".into()))?;
            in_range(file, name, usize::try_from(value).unwrap_or(usize::MAX), MAX_DIM)
        };
        let n_layers =
            in_range(file, "num_hidden_layers", size("num_hidden_layers", json.num_hidden_layers)?, MAX_LAYERS)?;
        let layer_kinds = match &json.layer_types {
            Some(types) if types.len() != n_layers => {
                return Err(problem(file, "layer_types", format!("{} entries for {n_layers} layers", types.len())));
            }
            Some(types) => types.iter().map(|name| layer_kind(file, name)).collect::<Result<_, _>>()?,
            None => by_interval(n_layers, size("full_attention_interval", json.full_attention_interval.or(Some(4)))?),
        };
        let n_heads = size("num_attention_heads", json.num_attention_heads)?;
        let hidden_size = size("hidden_size", json.hidden_size)?;
        let head_dim = size("head_dim", json.head_dim.or(Some((hidden_size / n_heads) as u64)))?;
        let factor = json.partial_rotary_factor.unwrap_or(0.25);
        if !(factor > 0.0 && factor <= 1.0) {
            return Err(problem(file, "partial_rotary_factor", format!("{factor} is not in (0, 1]")));
        }
        let config = Config {
            hidden_size,
            intermediate_size: size("intermediate_size", json.intermediate_size)?,
            vocab_size: size("vocab_size", json.vocab_size)?,
            n_heads,
            n_kv_heads: size("num_key_value_heads", json.num_key_value_heads)?,
            head_dim,
            rotary_dim: (head_dim as f64 * factor) as usize,
            rope_theta: json.rope_theta.ok_or_else(|| problem(file, "rope_theta", "is missing".into()))?,
            linear: Heads {
                n_k: size("linear_num_key_heads", json.linear_num_key_heads)?,
                n_v: size("linear_num_value_heads", json.linear_num_value_heads)?,
                d_k: size("linear_key_head_dim", json.linear_key_head_dim)?,
                d_v: size("linear_value_head_dim", json.linear_value_head_dim)?,
            },
            conv_width: size("linear_conv_kernel_dim", json.linear_conv_kernel_dim)?,
            rms_norm_eps: json.rms_norm_eps.unwrap_or(1e-6) as f32,
            layer_kinds,
            tie_word_embeddings: json.tie_word_embeddings.unwrap_or(true),
            context_length: size("max_position_embeddings", json.max_position_embeddings)?,
        };
        config.checked(file)
    }

    /// The checks between sizes that hold for both formats.
    fn checked(self, file: &str) -> Result<Config, ModelError> {
        let Heads { n_k, n_v, d_k, d_v } = self.linear;
        let products = [
            ("heads x head width", self.n_heads.checked_mul(2 * self.head_dim)),
            (
                "linear heads x head width",
                n_v.checked_mul(d_v).zip(n_k.checked_mul(2 * d_k)).map(|(v, k)| v.saturating_add(k)),
            ),
        ];
        for (field, product) in products {
            if product.is_none_or(|p| p > MAX_DIM) {
                return Err(problem(file, field, format!("is larger than {MAX_DIM}")));
            }
        }
        let state = n_v.checked_mul(d_v).and_then(|values| values.checked_mul(d_k)).unwrap_or(usize::MAX);
        let checks = [
            (state <= MAX_STATE, "recurrent state", format!("of {state} values per layer is larger than {MAX_STATE}")),
            (
                self.n_heads.is_multiple_of(self.n_kv_heads),
                "attention heads",
                format!("{} are no multiple of the {} KV heads", self.n_heads, self.n_kv_heads),
            ),
            (n_v.is_multiple_of(n_k), "linear value heads", format!("{n_v} are no multiple of the {n_k} key heads")),
            (
                self.rotary_dim.is_multiple_of(2) && self.rotary_dim <= self.head_dim,
                "rotary dimensions",
                format!("{} must be even and at most {}", self.rotary_dim, self.head_dim),
            ),
            (
                self.conv_width <= MAX_WIDTH,
                "convolution width",
                format!("{} is larger than {MAX_WIDTH}", self.conv_width),
            ),
            (
                self.rms_norm_eps > 0.0 && self.rms_norm_eps < 1.0,
                "norm epsilon",
                format!("{} is not in (0, 1)", self.rms_norm_eps),
            ),
            (
                self.rope_theta >= 1.0 && self.rope_theta.is_finite(),
                "rope base",
                format!("{} is not at least 1", self.rope_theta),
            ),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, field, found)) => Err(problem(file, field, found)),
            None => Ok(self),
        }
    }
}

fn problem(file: &str, field: &str, problem: String) -> ModelError {
    ModelError::Config { file: file.into(), field: field.into(), problem }
}

fn in_range(file: &str, field: &str, value: usize, max: usize) -> Result<usize, ModelError> {
    match value {
        0 => Err(problem(file, field, "must not be 0".into())),
        n if n > max => Err(problem(file, field, format!("{n} is larger than {max}"))),
        n => Ok(n),
    }
}

/// Every `interval`-th layer is a full-attention layer.
fn by_interval(n_layers: usize, interval: usize) -> Vec<LayerKind> {
    (1..=n_layers).map(|i| if i.is_multiple_of(interval) { LayerKind::Full } else { LayerKind::Linear }).collect()
}

fn layer_kind(file: &str, name: &str) -> Result<LayerKind, ModelError> {
    match name {
        "linear_attention" => Ok(LayerKind::Linear),
        "full_attention" => Ok(LayerKind::Full),
        other => Err(problem(file, "layer_types", format!("`{other}` is neither linear_attention nor full_attention"))),
    }
}
