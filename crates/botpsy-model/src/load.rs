//! From a checkpoint to weights that are ready to compute with.

use botpsy_kernels::{Context, PackedMatrix};

use crate::layer::{Attention, GatedDeltaNet, Layer, Mixer, Mlp};
use crate::names::{LayerWeight, Weight};
use crate::{Checkpoint, Config, HeadOrder, LayerKind, ModelError};

/// How products see their input rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activations {
    /// Rounded to what the weights are multiplied with fastest: int8 blocks of 32 with an `f32` scale each for Q8_0, bfloat16
    /// for BF16; other matrices see exact rows. The default.
    #[default]
    Int8,
    /// Exact everywhere.
    F32,
}

/// A loaded model.
pub struct Model {
    pub(crate) config: Config,
    pub(crate) activations: Activations,
    pub(crate) embed_tokens: PackedMatrix,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: Vec<f32>,
    /// Absent when the embedding is the output matrix.
    pub(crate) lm_head: Option<PackedMatrix>,
    /// `theta^(-2 i / rotary_dim)`.
    pub(crate) inv_freq: Vec<f32>,
    head_order: HeadOrder,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Model {
    /// Loads all weights, packing them for this instruction set. `mtp.*` and vision tensors are passed over.
    ///
    /// # Errors
    /// If a size, a tensor or a shape is wrong.
    pub fn load(ctx: &Context, checkpoint: &Checkpoint, activations: Activations) -> Result<Model, ModelError> {
        Model::load_telling(ctx, checkpoint, activations, &|_| ())
    }

    /// As [`Model::load`]; `progress` is told which share of the matrices, 0 to 1, is in memory.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_telling(
        ctx: &Context,
        checkpoint: &Checkpoint,
        activations: Activations,
        progress: &dyn Fn(f64),
    ) -> Result<Model, ModelError> {
        let config = checkpoint.config()?;
        let loader = Loader { ctx, checkpoint, config: &config };
        let (vocab, hidden) = (config.vocab_size, config.hidden_size);
        // The largest matrix first: while one is packed, its pages of the file are in memory as well.
        let embed_tokens = loader.matrix(Weight::EmbedTokens, vocab, hidden)?;
        let lm_head = match config.tie_word_embeddings {
            true => None,
            false => Some(loader.matrix(Weight::LmHead, vocab, hidden)?),
        };
        let n_layers = config.layer_kinds.len();
        // Values of the matrices: those of the vocabulary, and of a layer four of the hidden and three of the inner size.
        let head = (vocab * if config.tie_word_embeddings { 1 } else { 2 }) as f64;
        let layer = (4 * hidden + 3 * config.intermediate_size) as f64;
        let tell = |done: usize| progress((head + layer * done as f64) / (head + layer * n_layers as f64));
        tell(0);
        let load_layer = |i| loader.layer(i).inspect(|_| tell(i + 1));
        let layers = (0..n_layers).map(load_layer).collect::<Result<_, _>>()?;
        let rotary_dim = config.rotary_dim;
        let inv_freq = |i: usize| config.rope_theta.powf(-2.0 * i as f64 / rotary_dim as f64) as f32;
        Ok(Model {
            activations,
            embed_tokens,
            layers,
            norm: checkpoint.values(Weight::Norm, &[hidden])?,
            lm_head,
            inv_freq: (0..rotary_dim / 2).map(inv_freq).collect(),
            head_order: checkpoint.head_order(),
            config,
        })
    }

    /// The model's sizes.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The order in which the file holds value heads.
    pub fn head_order(&self) -> HeadOrder {
        self.head_order
    }
}

struct Loader<'a> {
    ctx: &'a Context,
    checkpoint: &'a Checkpoint,
    config: &'a Config,
}

impl Loader<'_> {
    fn matrix(&self, weight: Weight, rows: usize, cols: usize) -> Result<PackedMatrix, ModelError> {
        let packed = PackedMatrix::pack(self.ctx, &self.checkpoint.tensor(weight, &[rows, cols])?);
        self.checkpoint.release(weight);
        Ok(packed)
    }

    fn layer(&self, i: usize) -> Result<Layer, ModelError> {
        let c = self.config;
        let mixer = match c.layer_kinds[i] {
            LayerKind::Linear => Mixer::GatedDeltaNet(self.gated_delta_net(i)?),
            LayerKind::Full => Mixer::Attention(self.attention(i)?),
        };
        let matrix = |weight, rows, cols| self.matrix(Weight::Layer(i, weight), rows, cols);
        let norm = |weight| self.checkpoint.values(Weight::Layer(i, weight), &[c.hidden_size]);
        Ok(Layer {
            input_layernorm: norm(LayerWeight::InputLayernorm)?,
            mixer,
            post_attention_layernorm: norm(LayerWeight::PostAttentionLayernorm)?,
            mlp: Mlp {
                gate_proj: matrix(LayerWeight::GateProj, c.intermediate_size, c.hidden_size)?,
                up_proj: matrix(LayerWeight::UpProj, c.intermediate_size, c.hidden_size)?,
                down_proj: matrix(LayerWeight::DownProj, c.hidden_size, c.intermediate_size)?,
            },
        })
    }

    fn attention(&self, i: usize) -> Result<Attention, ModelError> {
        let c = self.config;
        let (width, kv_width) = (c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim);
        let matrix = |weight, rows, cols| self.matrix(Weight::Layer(i, weight), rows, cols);
        let norm = |weight| self.checkpoint.values(Weight::Layer(i, weight), &[c.head_dim]);
        Ok(Attention {
            n_heads: c.n_heads,
            head_dim: c.head_dim,
            q_proj: matrix(LayerWeight::QProj, 2 * width, c.hidden_size)?,
            k_proj: matrix(LayerWeight::KProj, kv_width, c.hidden_size)?,
            v_proj: matrix(LayerWeight::VProj, kv_width, c.hidden_size)?,
            q_norm: norm(LayerWeight::QNorm)?,
            k_norm: norm(LayerWeight::KNorm)?,
            o_proj: matrix(LayerWeight::OProj, c.hidden_size, width)?,
        })
    }

    fn gated_delta_net(&self, i: usize) -> Result<GatedDeltaNet, ModelError> {
        let (c, heads) = (self.config, self.config.linear);
        let (channels, values) = (c.conv_channels(), heads.n_v * heads.d_v);
        let order = self.checkpoint.head_order();
        let matrix = |weight, rows, cols| self.matrix(Weight::Layer(i, weight), rows, cols);
        let list = |weight, shape: &[usize]| self.checkpoint.values(Weight::Layer(i, weight), shape);
        let by_channel = list(LayerWeight::Conv1d, &[channels, c.conv_width])?;
        let by_tap = (0..by_channel.len()).map(|j| by_channel[j % channels * c.conv_width + j / channels]);
        Ok(GatedDeltaNet {
            heads,
            key_head: (0..heads.n_v).map(|place| order.key_head(place, heads.n_k, heads.n_v)).collect(),
            in_proj_qkv: matrix(LayerWeight::InProjQkv, channels, c.hidden_size)?,
            in_proj_z: matrix(LayerWeight::InProjZ, values, c.hidden_size)?,
            in_proj_b: matrix(LayerWeight::InProjB, heads.n_v, c.hidden_size)?,
            in_proj_a: matrix(LayerWeight::InProjA, heads.n_v, c.hidden_size)?,
            conv1d: by_tap.collect(),
            neg_exp_a_log: list(LayerWeight::ALog, &[heads.n_v])?,
            dt_bias: list(LayerWeight::DtBias, &[heads.n_v])?,
            norm: list(LayerWeight::LinearNorm, &[heads.d_v])?,
            out_proj: matrix(LayerWeight::OutProj, c.hidden_size, values)?,
        })
    }
}
