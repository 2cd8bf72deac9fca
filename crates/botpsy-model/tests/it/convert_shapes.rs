//! Conversion of a checkpoint whose shapes the reference files do not have: rows that are no whole blocks, three value
//! heads to a key head, an output matrix of its own, nested configuration.

use std::fs;
use std::path::PathBuf;

use botpsy_format::Gguf;
use botpsy_format::safetensors::{NewTensor, write_file};
use botpsy_kernels::Isa;
use botpsy_model::convert::{Conversion, to_gguf};
use botpsy_model::names::{LayerWeight, Weight};
use botpsy_model::reference::Reference;
use botpsy_model::{Activations, Checkpoint, Config, Model, ModelError};
use botpsy_tensor::{DType, TensorView, quantize};

use crate::fixture::{context, distance};

const CONFIG: &str = r#"{"model_type": "qwen3_5", "tie_word_embeddings": false, "text_config": {
    "vocab_size": 512, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2,
    "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 16,
    "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 8, "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 3, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
    "layer_types": ["full_attention", "linear_attention"],
    "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5}}}"#;

/// Every tensor of the model that `CONFIG` describes, with its shape in safetensors.
fn tensors() -> Vec<(Weight, Vec<usize>)> {
    use LayerWeight::*;
    let mut tensors =
        vec![(Weight::EmbedTokens, vec![512, 48]), (Weight::Norm, vec![48]), (Weight::LmHead, vec![512, 48])];
    for i in 0..2 {
        let common: [(LayerWeight, &[usize]); 5] = [
            (InputLayernorm, &[48]),
            (PostAttentionLayernorm, &[48]),
            (GateProj, &[80, 48]),
            (UpProj, &[80, 48]),
            (DownProj, &[48, 80]),
        ];
        tensors.extend(common.map(|(weight, shape)| (Weight::Layer(i, weight), shape.to_vec())));
    }
    let full: [(LayerWeight, &[usize]); 6] = [
        (QProj, &[96, 48]),
        (KProj, &[16, 48]),
        (VProj, &[16, 48]),
        (OProj, &[48, 48]),
        (QNorm, &[16]),
        (KNorm, &[16]),
    ];
    let linear: [(LayerWeight, &[usize]); 9] = [
        (InProjQkv, &[128, 48]),
        (InProjZ, &[96, 48]),
        (InProjB, &[6, 48]),
        (InProjA, &[6, 48]),
        (Conv1d, &[128, 1, 3]),
        (ALog, &[6]),
        (DtBias, &[6]),
        (LinearNorm, &[16]),
        (OutProj, &[48, 96]),
    ];
    tensors.extend(full.map(|(weight, shape)| (Weight::Layer(0, weight), shape.to_vec())));
    tensors.extend(linear.map(|(weight, shape)| (Weight::Layer(1, weight), shape.to_vec())));
    tensors
}

/// A folder that is removed with the value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Writes the checkpoint; `change` may alter a tensor's values.
fn folder(name: &str, change: impl Fn(Weight, &mut [f32])) -> Folder {
    let folder = Folder(std::env::temp_dir().join(format!("botpsy-{name}-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join("config.json"), CONFIG).unwrap();
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let tensors = tensors().into_iter().map(|(weight, shape)| {
        let mut values: Vec<f32> = (0..shape.iter().product()).map(|_| random()).collect();
        change(weight, &mut values);
        (weight.hf_name("model.language_model."), shape, quantize(&values, values.len(), DType::F32).unwrap())
    });
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = tensors.collect();
    let mut list = Vec::new();
    for (name, shape, bytes) in &tensors {
        list.push(NewTensor { name: name.clone(), view: TensorView::new(DType::F32, shape.clone(), bytes).unwrap() });
    }
    write_file(&folder.0.join("model.safetensors"), &list, &[]).unwrap();
    folder
}

fn convert(folder: &Folder, conversion: Conversion) -> Result<Vec<u8>, ModelError> {
    to_gguf(&Checkpoint::open(&folder.0)?, Vec::new(), conversion, Vec::new(), &mut |_| ())
}

fn logits(checkpoint: &Checkpoint) -> Vec<f32> {
    let mut model = Reference::load(checkpoint).unwrap();
    (0..20).flat_map(|token| model.step(token * 25, &mut |_, _, _| ()).unwrap()).collect()
}

#[test]
fn the_converted_model_is_the_same_model() {
    let folder = folder("convert-same", |_, _| ());
    let original = Checkpoint::open(&folder.0).unwrap();
    let expected = logits(&original);
    let bytes = convert(&folder, Conversion::F32).unwrap();
    let converted = Checkpoint::from_bytes(bytes.into(), "converted").unwrap();
    let rounded = |config: Config| Config { rope_theta: f64::from(config.rope_theta as f32), ..config };
    assert_eq!(converted.config().unwrap(), rounded(original.config().unwrap()));
    // The heads are summed in another order.
    let found = distance(&expected, &logits(&converted));
    assert!(found.max < 2e-4, "{found:?}");
    let ctx = context(Isa::detect(), 1);
    Model::load(&ctx, &converted, Activations::F32).unwrap();
}

#[test]
fn rows_that_are_no_whole_blocks_become_f16() {
    let folder = folder("convert-f16", |_, _| ());
    let gguf = Gguf::from_bytes(convert(&folder, Conversion::Q8_0).unwrap().into(), "converted").unwrap();
    let dtype = |name: &str| gguf.find(name).unwrap().dtype();
    assert_eq!(dtype("blk.1.ssm_out.weight"), DType::Q8_0);
    for name in ["token_embd.weight", "output.weight", "blk.0.ffn_down.weight", "blk.1.attn_qkv.weight"] {
        assert_eq!(dtype(name), DType::F16, "{name}");
    }
    for name in ["output_norm.weight", "blk.1.ssm_conv1d.weight", "blk.1.ssm_a", "blk.1.ssm_dt.bias"] {
        assert_eq!(dtype(name), DType::F32, "{name}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_named() {
    let out_proj = Weight::Layer(1, LayerWeight::OutProj);
    let folder = folder("convert-nan", |weight, values| {
        if weight == out_proj {
            // Row 40, in the third piece that is converted; column 3 stays in the first head.
            values[40 * 96 + 3] = f32::NAN;
        }
    });
    let error = convert(&folder, Conversion::Q8_0).unwrap_err().to_string();
    let end = "tensor model.language_model.layers.1.linear_attn.out_proj.weight: value 3843: Q8_0 cannot hold it or its block: NaN";
    assert!(error.ends_with(end), "{error}");
    assert!(convert(&folder, Conversion::F32).is_ok());
}
