//! The forward pass: tokens in, logits out, states moved on.

use botpsy_kernels::norm::{rms_norm, rms_norm_in_place};
use botpsy_kernels::{Context, FloatBuffer, PackedMatrix, QuantizedRows, Rows, math, matmul};

use crate::config::Config;
use crate::layer::{
    AttentionScratch, GatedDeltaNetScratch, Mixer, MlpScratch, Moving, Span, Step, input_rows, prepared_rows2,
};
use crate::load::Model;
use crate::state::{LayerState, State};
use crate::{LayerKind, ModelError, Operation, Profile, Work};

/// For which tokens of a segment logits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logits {
    /// For none: the segment is only read.
    None,
    /// For the last token.
    Last,
    /// For every token.
    All,
}

/// The next tokens of one sequence.
#[derive(Debug)]
pub struct Segment<'a> {
    /// The sequence so far; moved on by `tokens`.
    pub state: &'a mut State,
    /// What comes next.
    pub tokens: &'a [u32],
    /// Which logits to compute.
    pub logits: Logits,
    /// A point on the way whose state is wanted too.
    pub keep: Option<Keep<'a>>,
}

/// A point inside a segment.
#[derive(Debug)]
pub struct Keep<'a> {
    /// Tokens of the segment before it; from 1 up to one less than there are.
    pub after: usize,
    /// A state of the same model, as [`State::new`] gives it: becomes that after these tokens.
    pub state: &'a mut State,
}

/// Buffers of the forward pass, made once and lent down.
#[derive(Default)]
pub struct Scratch {
    x: FloatBuffer,
    normed: FloatBuffer,
    mixed: FloatBuffer,
    cos: FloatBuffer,
    sin: FloatBuffer,
    delta: GatedDeltaNetScratch,
    attention: AttentionScratch,
    mlp: MlpScratch,
    quantized: QuantizedRows,
    profile: Option<Profile>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scratch({} values per row buffer)", self.x.len())
    }
}

impl Scratch {
    /// Buffers for up to `max_rows` tokens in one pass; more make them grow.
    pub fn new(model: &Model, max_rows: usize) -> Scratch {
        let row = || FloatBuffer::zeros(max_rows * model.config().hidden_size);
        Scratch { x: row(), normed: row(), mixed: row(), ..Scratch::default() }
    }

    /// From here on, passes with these buffers record where their time goes.
    pub fn start_profile(&mut self) {
        self.profile = Some(Profile::new());
    }

    /// Ends that: what was recorded.
    pub fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }
}

impl Model {
    /// Reads the tokens of all segments in one pass and moves their states on. `logits` is filled with one row
    /// `[vocab_size]` per wanted token, in the order of segments and tokens.
    ///
    /// A sequence's results do not depend on the other segments, nor on how its tokens were divided among calls.
    ///
    /// # Errors
    /// If a token is not in the vocabulary; no state has changed then.
    pub fn forward(
        &self,
        ctx: &Context,
        segments: &mut [Segment<'_>],
        scratch: &mut Scratch,
        logits: &mut Vec<f32>,
    ) -> Result<(), ModelError> {
        logits.clear();
        let (config, s) = (&self.config, scratch);
        let spans = spans(config, segments)?;
        let n: usize = segments.iter().map(|segment| segment.tokens.len()).sum();
        if n == 0 {
            return Ok(());
        }
        let hidden = config.hidden_size;
        let profile = s.profile.as_ref();
        profile.inspect(|profile| profile.start());
        let (x, normed, mixed) = (s.x.lend(n * hidden), s.normed.lend(n * hidden), s.mixed.lend(n * hidden));
        for (token, x) in segments.iter().flat_map(|segment| segment.tokens).zip(x.chunks_exact_mut(hidden)) {
            self.embed_tokens.row(*token as usize, x);
        }
        let half = config.rotary_dim / 2;
        let (cos, sin) = (s.cos.lend(n * half), s.sin.lend(n * half));
        self.rotations(&spans, cos, sin);
        let step = Step { ctx, activations: self.activations, eps: config.rms_norm_eps, rope: (cos, sin), profile };
        step.lap(Operation::Residual, || Work::NONE);

        let mut stream = Stream { x: &mut *x, normed: &mut *normed, rounded: &mut s.quantized };
        for (layer_idx, layer) in self.layers.iter().enumerate() {
            let out = (layer_idx > 0).then_some(&*mixed);
            let rows = stream.add_norm(step, out, &layer.input_layernorm, layer.mixer_in());
            match &layer.mixer {
                Mixer::GatedDeltaNet(gdn) => {
                    let mut states = layer_states(segments, layer_idx, LayerState::delta);
                    gdn.forward(step, &spans, rows, &mut states, &mut s.delta, mixed);
                }
                Mixer::Attention(attention) => {
                    let mut caches = layer_states(segments, layer_idx, LayerState::kv);
                    attention.forward(step, &spans, rows, &mut caches, &mut s.attention, mixed);
                }
            }
            let rows = stream.add_norm(step, Some(mixed), &layer.post_attention_layernorm, &layer.mlp.gate_proj);
            layer.mlp.forward(step, rows, &mut s.mlp, mixed);
        }
        math::add(x, mixed);
        step.lap(Operation::Residual, || Work::NONE);

        for (segment, span) in segments.iter_mut().zip(&spans) {
            if let Some(keep) = &mut segment.keep {
                keep.state.pos = segment.state.pos + keep.after;
            }
            segment.state.pos += span.rows.len();
        }
        let wanted = gather_wanted(segments, &spans, x, mixed, hidden);
        let (wanted, normed) = (&mixed[..wanted * hidden], &mut normed[..wanted * hidden]);
        rms_norm(ctx, wanted, &self.norm, step.eps, normed);
        step.lap(Operation::Norm, || Work::NONE);
        let head = self.lm_head.as_ref().unwrap_or(&self.embed_tokens);
        logits.resize(normed.len() / hidden * config.vocab_size, 0.0);
        if !logits.is_empty() {
            matmul(ctx, head, input_rows(step, head, normed, &mut s.quantized), logits);
            step.lap(Operation::LmHead, || Work::products(wanted.len() / hidden, &[head]));
        }
        Ok(())
    }

    /// Cosines and sines of each row's position: the product of position and frequency in `f32` as the reference takes
    /// it, its cosine and sine exact.
    fn rotations(&self, spans: &[Span], cos: &mut [f32], sin: &mut [f32]) {
        let half = self.inv_freq.len();
        for span in spans {
            for (i, row) in span.rows.clone().enumerate() {
                for (j, inv_freq) in self.inv_freq.iter().enumerate() {
                    let angle = f64::from((span.pos + i) as f32 * inv_freq);
                    cos[row * half + j] = angle.cos() as f32;
                    sin[row * half + j] = angle.sin() as f32;
                }
            }
        }
    }
}

/// The residual stream, `[n, hidden]`, and buffers for its norm.
struct Stream<'a> {
    x: &'a mut [f32],
    normed: &'a mut [f32],
    rounded: &'a mut QuantizedRows,
}

impl Stream<'_> {
    /// Adds `out` when there is one; the norm of the sum as input rows of `weights`.
    fn add_norm(&mut self, step: Step<'_>, out: Option<&[f32]>, norm: &[f32], weights: &PackedMatrix) -> Rows<'_> {
        let hidden = norm.len();
        let x = (&mut *self.x, hidden);
        prepared_rows2(step, Operation::Norm, weights, self.normed, x, self.rounded, |t, normed, x| {
            if let Some(out) = out {
                math::add(x, &out[t * hidden..][..hidden]);
            }
            normed.copy_from_slice(x);
            rms_norm_in_place(step.ctx, normed, norm, step.eps);
        })
    }
}

/// The states of one layer, and those to keep.
fn layer_states<'a, T>(
    segments: &'a mut [Segment<'_>],
    layer_idx: usize,
    of: fn(&mut LayerState) -> Option<&mut T>,
) -> Vec<Moving<'a, T>> {
    let moving = |segment: &'a mut Segment<'_>| {
        let keep = segment.keep.as_mut().and_then(|keep| of(&mut keep.state.layers[layer_idx]));
        Some(Moving { now: of(&mut segment.state.layers[layer_idx])?, keep })
    };
    segments.iter_mut().filter_map(moving).collect()
}

/// Which rows belong to which segment, with all tokens checked.
fn spans(config: &Config, segments: &[Segment<'_>]) -> Result<Vec<Span>, ModelError> {
    let mut start = 0;
    let span = |segment: &Segment<'_>| {
        assert_eq!(segment.state.layers.len(), config.layer_kinds.len(), "a state of another model");
        for id in segment.tokens {
            if *id as usize >= config.vocab_size {
                return Err(ModelError::Token { id: *id, vocab_size: config.vocab_size });
            }
        }
        let rows = start..start + segment.tokens.len();
        start = rows.end;
        let cut = segment.keep.as_ref().map(|keep| rows.start + keep.after);
        assert!(cut.is_none_or(|cut| rows.start < cut && cut < rows.end), "no point inside the segment");
        Ok(Span { rows, cut, pos: segment.state.pos })
    };
    segments.iter().map(span).collect()
}

/// Copies the rows whose logits are wanted to the front of `out`; how many there are.
fn gather_wanted(segments: &[Segment<'_>], spans: &[Span], x: &[f32], out: &mut [f32], hidden: usize) -> usize {
    let mut n = 0;
    for (segment, span) in segments.iter().zip(spans) {
        let rows = match segment.logits {
            Logits::None => span.rows.end..span.rows.end,
            Logits::Last => span.rows.end.saturating_sub(1).max(span.rows.start)..span.rows.end,
            Logits::All => span.rows.clone(),
        };
        let len = rows.len() * hidden;
        out[n * hidden..][..len].copy_from_slice(&x[rows.start * hidden..][..len]);
        n += rows.len();
    }
    n
}

impl Config {
    /// How many layers are of one kind.
    pub fn n_layers_of(&self, kind: LayerKind) -> usize {
        self.layer_kinds.iter().filter(|k| **k == kind).count()
    }
}
