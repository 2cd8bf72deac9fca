//! What a pass must move through memory at the least: the bound of decode speed.

use botpsy_kernels::PackedMatrix;

use crate::layer::{Attention, GatedDeltaNet, Layer, Mixer};
use crate::{Config, LayerKind, Model};

impl Model {
    /// Bytes of the weights that a pass with logits reads, as they lie in memory: each once, the output matrix included. An
    /// embedding beside an output matrix of its own is not: a pass reads a row of it.
    pub fn pass_bytes(&self) -> usize {
        let head = self.lm_head.as_ref().unwrap_or(&self.embed_tokens);
        let layers = self.layers.iter().map(Layer::pass_bytes);
        matrices(&[head]) + vectors(&[&self.norm]) + layers.sum::<usize>()
    }
}

impl Layer {
    fn pass_bytes(&self) -> usize {
        let mlp = &self.mlp;
        let mixer = match &self.mixer {
            Mixer::GatedDeltaNet(gdn) => gdn.pass_bytes(),
            Mixer::Attention(attention) => attention.pass_bytes(),
        };
        let norms = vectors(&[&self.input_layernorm, &self.post_attention_layernorm]);
        mixer + norms + matrices(&[&mlp.gate_proj, &mlp.up_proj, &mlp.down_proj])
    }
}

impl GatedDeltaNet {
    fn pass_bytes(&self) -> usize {
        matrices(&[&self.in_proj_qkv, &self.in_proj_z, &self.in_proj_b, &self.in_proj_a, &self.out_proj])
            + vectors(&[&self.conv1d, &self.neg_exp_a_log, &self.dt_bias, &self.norm])
    }
}

impl Attention {
    fn pass_bytes(&self) -> usize {
        matrices(&[&self.q_proj, &self.k_proj, &self.v_proj, &self.o_proj]) + vectors(&[&self.q_norm, &self.k_norm])
    }
}

fn matrices(matrices: &[&PackedMatrix]) -> usize {
    matrices.iter().map(|matrix| matrix.size_bytes()).sum()
}

fn vectors(vectors: &[&[f32]]) -> usize {
    vectors.iter().map(|vector| size_of_val(*vector)).sum()
}

impl Config {
    /// Bytes of the recurrent matrices of a sequence: a pass reads and writes all of them.
    pub fn recurrent_bytes(&self) -> usize {
        self.n_layers_of(LayerKind::Linear) * self.linear.state_len() * size_of::<f32>()
    }
}
