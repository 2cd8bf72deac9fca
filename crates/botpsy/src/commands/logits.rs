//! `botpsy logits`.

use std::iter;

use anyhow::anyhow;
use botpsy_chat::ChatError;
use botpsy_format::safetensors::{NewTensor, write_file};
use botpsy_kernels::Context;
use botpsy_model::{Logits, Model, Scratch, Segment, State};
use botpsy_tensor::{DType, TensorView};

use crate::args::LogitsArgs;
use crate::failure::{Exit, OrFail, bad_input};
use crate::{input, model_flags};

pub(crate) fn run(args: &LogitsArgs) -> anyhow::Result<Exit> {
    let ids = input::stdin_ids()?;
    if ids.is_empty() {
        return Err(bad_input(anyhow!("standard input: the array of token ids is empty"), "give at least one id"));
    }
    let flags = &args.model;
    let file = model_flags::file(flags)?;
    let options = model_flags::load_options(flags, &file);
    if let (Ok(out), Ok(model)) = (args.out.canonicalize(), file.canonicalize())
        && out.starts_with(&model)
    {
        let error = anyhow!("{}: is the model itself", args.out.display());
        return Err(bad_input(error, "give --out another name"));
    }
    let load = || -> Result<(Context, Model), ChatError> {
        let ctx = options.compute_context()?;
        let checkpoint = model_flags::source(&file).open()?;
        let model = Model::load(&ctx, &checkpoint, options.activations)?;
        Ok((ctx, model))
    };
    let (ctx, model) = load().map_err(model_flags::model_error)?;
    let mut state = State::new(&model, options.kv_type);
    let logits = logits(&ctx, &model, &mut state, &ids, &args.pieces).map_err(model_flags::model_error)?;

    let vocab = model.config().vocab_size;
    let mut tensors = vec![Values::new("logits".into(), vec![logits.len() / vocab, vocab], &logits)];
    if args.states {
        tensors.extend(states(&model, &state));
    }
    let tensors: Vec<NewTensor<'_>> = tensors.iter().map(Values::tensor).collect::<anyhow::Result<_>>()?;
    write_file(&args.out, &tensors, &[]).or_failed("check that --out names a place that can be written")?;
    Ok(Exit::Done)
}

/// The logits of every id, `[ids, vocabulary]`, computed in pieces of these lengths, the last one repeated.
fn logits(ctx: &Context, model: &Model, state: &mut State, ids: &[u32], pieces: &[u32]) -> Result<Vec<f32>, ChatError> {
    let last = pieces.last().map_or(ids.len(), |n| *n as usize);
    let lengths = pieces.iter().map(|n| *n as usize).chain(iter::repeat(last));
    let mut scratch = Scratch::new(model, last.min(ids.len()));
    let (mut all, mut some, mut rest) = (Vec::new(), Vec::new(), ids);
    for len in lengths {
        let (tokens, after) = rest.split_at(len.min(rest.len()));
        let mut segments = [Segment { state: &mut *state, tokens, logits: Logits::All, keep: None }];
        model.forward(ctx, &mut segments, &mut scratch, &mut some)?;
        all.extend_from_slice(&some);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    Ok(all)
}

fn states(model: &Model, state: &State) -> Vec<Values> {
    let config = model.config();
    let (heads, conv) = (config.linear, vec![config.conv_channels(), config.conv_width - 1]);
    let layer = |i: usize| {
        let (recurrent, inputs) = state.linear_layer(model, i)?;
        let matrices = vec![heads.n_v, heads.d_k, heads.d_v];
        Some([
            Values::new(format!("layer{i}.recurrent"), matrices, &recurrent),
            Values::new(format!("layer{i}.conv"), conv.clone(), &inputs),
        ])
    };
    (0..config.layer_kinds.len()).filter_map(layer).flatten().collect()
}

/// A tensor of values as bytes.
struct Values {
    name: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Values {
    fn new(name: String, shape: Vec<usize>, values: &[f32]) -> Values {
        Values { name, shape, bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect() }
    }

    fn tensor(&self) -> anyhow::Result<NewTensor<'_>> {
        let view = TensorView::new(DType::F32, self.shape.clone(), &self.bytes)?;
        Ok(NewTensor { name: self.name.clone(), view })
    }
}
