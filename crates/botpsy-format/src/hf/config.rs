//! `config.json` and `generation_config.json`.

use std::path::Path;

use crate::Result;
use crate::json::{self, Fields, read_bytes};

/// What `config.json` says of the text model, flat or under `text_config`.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the fields carry the names of the file")]
pub struct HfConfig {
    /// Of the outermost object that states one.
    pub model_type: String,
    pub hidden_size: Option<u64>,
    pub intermediate_size: Option<u64>,
    pub vocab_size: Option<u64>,
    pub num_hidden_layers: Option<u64>,
    pub num_attention_heads: Option<u64>,
    pub num_key_value_heads: Option<u64>,
    pub head_dim: Option<u64>,
    pub linear_num_key_heads: Option<u64>,
    pub linear_num_value_heads: Option<u64>,
    pub linear_key_head_dim: Option<u64>,
    pub linear_value_head_dim: Option<u64>,
    pub linear_conv_kernel_dim: Option<u64>,
    pub max_position_embeddings: Option<u64>,
    pub full_attention_interval: Option<u64>,
    pub layer_types: Option<Vec<String>>,
    pub rms_norm_eps: Option<f64>,
    /// From `rope_parameters`, or top level as older files have it; so the next.
    pub rope_theta: Option<f64>,
    pub partial_rotary_factor: Option<f64>,
    /// May stand in the outer object as well.
    pub tie_word_embeddings: Option<bool>,
    pub hidden_act: Option<String>,
    pub eos_token_id: Vec<u32>,
    pub pad_token_id: Option<u32>,
}

impl HfConfig {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON object, or a field has another type.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, bytes) = read_bytes(path)?;
        Self::from_bytes(&bytes, &file)
    }

    /// Reads the text of such a file; `label` stands for its name in errors.
    ///
    /// # Errors
    /// As `open`.
    pub fn from_bytes(bytes: &[u8], label: &str) -> Result<Self> {
        let object = json::object(label, bytes)?;
        let outer = Fields { file: label, prefix: "", object: &object };
        let inner = match outer.object("text_config")? {
            Some(object) => Fields { prefix: "text_config.", object, ..outer },
            None => outer,
        };
        let rope_prefix = inner.path("rope_parameters.");
        let rope = match inner.object("rope_parameters")? {
            Some(object) => Fields { prefix: &rope_prefix, object, ..outer },
            None => inner,
        };
        let mut eos_token_id = inner.ids("eos_token_id")?;
        if eos_token_id.is_empty() {
            eos_token_id = outer.ids("eos_token_id")?;
        }
        Ok(Self {
            model_type: outer.text("model_type")?.or(inner.text("model_type")?).unwrap_or_default().to_owned(),
            hidden_size: inner.integer("hidden_size")?,
            intermediate_size: inner.integer("intermediate_size")?,
            vocab_size: inner.integer("vocab_size")?,
            num_hidden_layers: inner.integer("num_hidden_layers")?,
            num_attention_heads: inner.integer("num_attention_heads")?,
            num_key_value_heads: inner.integer("num_key_value_heads")?,
            head_dim: inner.integer("head_dim")?,
            linear_num_key_heads: inner.integer("linear_num_key_heads")?,
            linear_num_value_heads: inner.integer("linear_num_value_heads")?,
            linear_key_head_dim: inner.integer("linear_key_head_dim")?,
            linear_value_head_dim: inner.integer("linear_value_head_dim")?,
            linear_conv_kernel_dim: inner.integer("linear_conv_kernel_dim")?,
            max_position_embeddings: inner.integer("max_position_embeddings")?,
            full_attention_interval: inner.integer("full_attention_interval")?,
            layer_types: inner.texts("layer_types")?,
            rms_norm_eps: inner.number("rms_norm_eps")?,
            rope_theta: rope.number("rope_theta")?.or(inner.number("rope_theta")?),
            partial_rotary_factor: rope.number("partial_rotary_factor")?.or(inner.number("partial_rotary_factor")?),
            tie_word_embeddings: inner.boolean("tie_word_embeddings")?.or(outer.boolean("tie_word_embeddings")?),
            hidden_act: inner.text("hidden_act")?.map(str::to_owned),
            eos_token_id,
            pad_token_id: inner.integer32("pad_token_id")?,
        })
    }
}

/// What `generation_config.json` says.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the fields carry the names of the file")]
pub struct GenerationConfig {
    pub do_sample: Option<bool>,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub top_k: Option<u32>,
    pub min_p: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub repetition_penalty: Option<f32>,
    pub max_new_tokens: Option<u32>,
    pub eos_token_id: Vec<u32>,
}

impl GenerationConfig {
    /// Reads `generation_config.json`.
    ///
    /// # Errors
    /// As [`HfConfig::open`].
    pub fn open(path: &Path) -> Result<Self> {
        let (file, bytes) = read_bytes(path)?;
        Self::from_bytes(&bytes, &file)
    }

    /// Reads the text of such a file; `label` stands for its name in errors.
    ///
    /// # Errors
    /// As `open`.
    pub fn from_bytes(bytes: &[u8], label: &str) -> Result<Self> {
        let object = json::object(label, bytes)?;
        let fields = Fields { file: label, prefix: "", object: &object };
        let number = |name: &str| Ok(fields.number(name)?.map(|x| x as f32));
        Ok(Self {
            do_sample: fields.boolean("do_sample")?,
            temperature: number("temperature")?,
            top_p: number("top_p")?,
            top_k: fields.integer32("top_k")?,
            min_p: number("min_p")?,
            presence_penalty: number("presence_penalty")?,
            repetition_penalty: number("repetition_penalty")?,
            max_new_tokens: fields.integer32("max_new_tokens")?,
            eos_token_id: fields.ids("eos_token_id")?,
        })
    }
}
