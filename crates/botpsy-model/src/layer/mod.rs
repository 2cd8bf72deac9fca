//! The layers, each a straight list of the formula's steps.

mod attention;
mod gated_delta_net;
mod mlp;

pub(crate) use attention::{Attention, AttentionScratch};
pub(crate) use gated_delta_net::{GatedDeltaNet, GatedDeltaNetScratch};
pub(crate) use mlp::{Mlp, MlpScratch};

use std::ops::Range;

use botpsy_kernels::{Context, PackedMatrix, QuantizedRows, Rows};

use crate::load::Activations;
use crate::{Operation, Profile, Work};

/// One block: a mixer over the sequence, then an MLP, each behind a norm.
pub(crate) struct Layer {
    pub(crate) input_layernorm: Vec<f32>,
    pub(crate) mixer: Mixer,
    pub(crate) post_attention_layernorm: Vec<f32>,
    pub(crate) mlp: Mlp,
}

pub(crate) enum Mixer {
    GatedDeltaNet(GatedDeltaNet),
    Attention(Attention),
}

/// What a layer needs beside its weights and input.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) activations: Activations,
    pub(crate) eps: f32,
    /// Cosines and sines `[n, rotary_dim / 2]` of each row's position.
    pub(crate) rope: (&'a [f32], &'a [f32]),
    /// Where the time goes, when somebody asks.
    pub(crate) profile: Option<&'a Profile>,
}

impl Step<'_> {
    /// Says that a step of the pass has ended.
    pub(crate) fn lap(&self, operation: Operation, work: impl FnOnce() -> Work) {
        if let Some(profile) = self.profile {
            profile.lap(operation, work());
        }
    }
}

/// The rows of one sequence, and the position of the first of them.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) rows: Range<usize>,
    /// The row before which the state is kept.
    pub(crate) cut: Option<usize>,
    pub(crate) pos: usize,
}

impl Span {
    /// Its rows up to where the state is kept, and those behind; or all.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let cut = self.cut.unwrap_or(self.rows.start);
        [self.rows.start..cut, cut..self.rows.end].into_iter().filter(|part| !part.is_empty())
    }
}

/// The state of a sequence in a layer, and where it is kept on the way.
pub(crate) struct Moving<'a, T> {
    pub(crate) now: &'a mut T,
    pub(crate) keep: Option<&'a mut T>,
}

impl Layer {
    /// A matrix that the mixer multiplies its input with; the others take its form of rows or the exact ones.
    pub(crate) fn mixer_in(&self) -> &PackedMatrix {
        match &self.mixer {
            Mixer::GatedDeltaNet(gdn) => &gdn.in_proj_qkv,
            Mixer::Attention(attention) => &attention.q_proj,
        }
    }
}

/// [`input_rows`] of rows that `prepare(t, row)` makes first, a step of the pass by itself.
pub(crate) fn prepared_rows<'a>(
    step: Step<'_>,
    operation: Operation,
    weights: &PackedMatrix,
    values: &'a mut [f32],
    buffer: &'a mut QuantizedRows,
    prepare: impl Fn(usize, &mut [f32]) + Sync,
) -> Rows<'a> {
    let mut alone = vec![(); values.len() / weights.cols()];
    prepared_rows2(step, operation, weights, values, (&mut alone, 1), buffer, |t, row, _| prepare(t, row))
}

/// As [`prepared_rows`] with `prepare(t, row, chunk)`, `other` being a slice of as many chunks and their length.
pub(crate) fn prepared_rows2<'a, B: Send>(
    step: Step<'_>,
    operation: Operation,
    weights: &PackedMatrix,
    values: &'a mut [f32],
    other: (&mut [B], usize),
    buffer: &'a mut QuantizedRows,
    prepare: impl Fn(usize, &mut [f32], &mut [B]) + Sync,
) -> Rows<'a> {
    let cols = weights.cols();
    if step.activations == Activations::Int8 && weights.takes_int8() {
        let rows = Rows::prepared(step.ctx, (values, cols), other, buffer, prepare);
        step.lap(operation, || Work::NONE);
        return rows;
    }
    step.ctx.pool.for_each_chunk2((&mut *values, cols), other, prepare);
    step.lap(operation, || Work::NONE);
    input_rows(step, weights, values, buffer)
}

/// `values` as input rows of `weights`: exact, or rounded to what such weights are multiplied with when the mode says so.
pub(crate) fn input_rows<'a>(
    step: Step<'_>,
    weights: &PackedMatrix,
    values: &'a [f32],
    buffer: &'a mut QuantizedRows,
) -> Rows<'a> {
    let rows = match step.activations {
        Activations::Int8 if weights.takes_int8() => Rows::quantized(values, weights.cols(), step.ctx, buffer),
        Activations::Int8 if weights.takes_bf16() => Rows::bf16(values, weights.cols(), step.ctx, buffer),
        _ => Rows::exact(values, weights.cols()),
    };
    step.lap(Operation::Round, || Work::NONE);
    rows
}
