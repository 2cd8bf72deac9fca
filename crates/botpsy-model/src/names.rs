//! The one table between Hugging Face and GGUF tensor names, with what a conversion changes.

use std::fmt;

/// A tensor of the model, by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Token embeddings `[vocab, hidden]`; also the output matrix when that is tied.
    EmbedTokens,
    /// The final norm `[hidden]`.
    Norm,
    /// The output matrix `[vocab, hidden]`, absent when tied.
    LmHead,
    /// A tensor of one layer.
    Layer(usize, LayerWeight),
}

/// A tensor of a layer, by its Hugging Face name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the names in the table")]
pub enum LayerWeight {
    InputLayernorm,
    PostAttentionLayernorm,
    GateProj,
    UpProj,
    DownProj,
    QProj,
    KProj,
    VProj,
    OProj,
    QNorm,
    KNorm,
    InProjQkv,
    InProjZ,
    InProjB,
    InProjA,
    Conv1d,
    ALog,
    DtBias,
    LinearNorm,
    OutProj,
}

/// How the values in a GGUF differ from those in a Hugging Face checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Not at all.
    None,
    /// GGUF holds the weight plus one.
    PlusOne,
    /// Value heads along the first dimension are tiled over the key heads.
    TileRows,
    /// The same, for the value part that follows the queries and keys.
    TileValueRows,
    /// Value heads along the last dimension are tiled.
    TileColumns,
    /// GGUF holds `-exp(x)`, tiled.
    NegExp,
}

use Change::{NegExp, None as Unchanged, PlusOne, TileColumns, TileRows, TileValueRows};
use LayerWeight::*;

/// Role, Hugging Face name, GGUF name, change.
const LAYER_TABLE: [(LayerWeight, &str, &str, Change); 20] = [
    (InputLayernorm, "input_layernorm.weight", "attn_norm.weight", PlusOne),
    (PostAttentionLayernorm, "post_attention_layernorm.weight", "post_attention_norm.weight", PlusOne),
    (GateProj, "mlp.gate_proj.weight", "ffn_gate.weight", Unchanged),
    (UpProj, "mlp.up_proj.weight", "ffn_up.weight", Unchanged),
    (DownProj, "mlp.down_proj.weight", "ffn_down.weight", Unchanged),
    (QProj, "self_attn.q_proj.weight", "attn_q.weight", Unchanged),
    (KProj, "self_attn.k_proj.weight", "attn_k.weight", Unchanged),
    (VProj, "self_attn.v_proj.weight", "attn_v.weight", Unchanged),
    (OProj, "self_attn.o_proj.weight", "attn_output.weight", Unchanged),
    (QNorm, "self_attn.q_norm.weight", "attn_q_norm.weight", PlusOne),
    (KNorm, "self_attn.k_norm.weight", "attn_k_norm.weight", PlusOne),
    (InProjQkv, "linear_attn.in_proj_qkv.weight", "attn_qkv.weight", TileValueRows),
    (InProjZ, "linear_attn.in_proj_z.weight", "attn_gate.weight", TileRows),
    (InProjB, "linear_attn.in_proj_b.weight", "ssm_beta.weight", TileRows),
    (InProjA, "linear_attn.in_proj_a.weight", "ssm_alpha.weight", TileRows),
    (Conv1d, "linear_attn.conv1d.weight", "ssm_conv1d.weight", TileValueRows),
    (ALog, "linear_attn.A_log", "ssm_a", NegExp),
    (DtBias, "linear_attn.dt_bias", "ssm_dt.bias", TileRows),
    (LinearNorm, "linear_attn.norm.weight", "ssm_norm.weight", Unchanged),
    (OutProj, "linear_attn.out_proj.weight", "ssm_out.weight", TileColumns),
];

impl LayerWeight {
    fn row(self) -> (&'static str, &'static str, Change) {
        let row = LAYER_TABLE.iter().find(|row| row.0 == self).expect("the table has every role");
        (row.1, row.2, row.3)
    }
}

impl Weight {
    /// The name in a Hugging Face checkpoint whose text model stands under `prefix` (such as `model.`).
    pub fn hf_name(self, prefix: &str) -> String {
        match self {
            Weight::EmbedTokens => format!("{prefix}embed_tokens.weight"),
            Weight::Norm => format!("{prefix}norm.weight"),
            Weight::LmHead => "lm_head.weight".into(),
            Weight::Layer(i, weight) => format!("{prefix}layers.{i}.{}", weight.row().0),
        }
    }

    /// The name in a GGUF file.
    pub fn gguf_name(self) -> String {
        match self {
            Weight::EmbedTokens => "token_embd.weight".into(),
            Weight::Norm => "output_norm.weight".into(),
            Weight::LmHead => "output.weight".into(),
            Weight::Layer(i, weight) => format!("blk.{i}.{}", weight.row().1),
        }
    }

    /// What a conversion to GGUF changes.
    pub fn change(self) -> Change {
        match self {
            Weight::EmbedTokens | Weight::LmHead => Change::None,
            Weight::Norm => Change::PlusOne,
            Weight::Layer(_, weight) => weight.row().2,
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hf_name("model."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_in_both_columns() {
        for (i, a) in LAYER_TABLE.iter().enumerate() {
            for b in &LAYER_TABLE[..i] {
                assert!(a.0 != b.0 && a.1 != b.1 && a.2 != b.2, "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn one_name_of_each_kind() {
        let weight = Weight::Layer(3, InProjQkv);
        assert_eq!(
            weight.hf_name("model.language_model."),
            "model.language_model.layers.3.linear_attn.in_proj_qkv.weight"
        );
        assert_eq!(weight.gguf_name(), "blk.3.attn_qkv.weight");
        assert_eq!(
            (Weight::LmHead.hf_name("model."), Weight::Norm.change()),
            ("lm_head.weight".into(), Change::PlusOne)
        );
    }
}
