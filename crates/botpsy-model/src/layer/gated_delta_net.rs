use botpsy_kernels::conv::conv_silu;
use botpsy_kernels::delta::{Heads, Inputs, delta_rule};
use botpsy_kernels::norm::{gated_norm, l2_norm};
use botpsy_kernels::{FloatBuffer, PackedMatrix, Product, QuantizedRows, Rows, math, matmul, matmul_many};

use super::{Moving, Span, Step, prepared_rows};
use crate::state::DeltaState;
use crate::{Operation, Work};

/// What the reference adds under the root when it normalises queries and keys.
const L2_EPS: f32 = 1e-6;

/// Linear attention by the gated delta rule. Value heads stand in the order of the file.
pub(crate) struct GatedDeltaNet {
    pub(crate) heads: Heads,
    /// The key head that each value head reads.
    pub(crate) key_head: Vec<usize>,
    /// Rows: queries, keys, values.
    pub(crate) in_proj_qkv: PackedMatrix,
    pub(crate) in_proj_z: PackedMatrix,
    pub(crate) in_proj_b: PackedMatrix,
    pub(crate) in_proj_a: PackedMatrix,
    /// `[conv_width, channels]`.
    pub(crate) conv1d: FloatBuffer,
    /// `-exp(A_log)` per value head.
    pub(crate) neg_exp_a_log: Vec<f32>,
    pub(crate) dt_bias: Vec<f32>,
    pub(crate) norm: Vec<f32>,
    pub(crate) out_proj: PackedMatrix,
}

/// Buffers of a linear-attention layer for some rows.
#[derive(Default)]
pub(crate) struct GatedDeltaNetScratch {
    qkv: FloatBuffer,
    z: FloatBuffer,
    b: FloatBuffer,
    a: FloatBuffer,
    mixed: FloatBuffer,
    gated: FloatBuffer,
    quantized: QuantizedRows,
}

impl GatedDeltaNet {
    /// `rows` and `out` are `[n, hidden]`; `states` go with `spans`.
    pub(crate) fn forward(
        &self,
        step: Step<'_>,
        spans: &[Span],
        rows: Rows<'_>,
        states: &mut [Moving<'_, DeltaState>],
        s: &mut GatedDeltaNetScratch,
        out: &mut [f32],
    ) {
        let (ctx, heads) = (step.ctx, self.heads);
        let n = rows.n();
        let (channels, values) = (self.in_proj_qkv.rows(), self.in_proj_z.rows());
        let (qkv, z) = (s.qkv.lend(n * channels), s.z.lend(n * values));
        let (b, a) = (s.b.lend(n * heads.n_v), s.a.lend(n * heads.n_v));
        matmul_many(
            ctx,
            rows,
            &mut [
                Product { weights: &self.in_proj_qkv, out: qkv },
                Product { weights: &self.in_proj_z, out: z },
                Product { weights: &self.in_proj_b, out: b },
                Product { weights: &self.in_proj_a, out: a },
            ],
        );
        let matrices = [&self.in_proj_qkv, &self.in_proj_z, &self.in_proj_b, &self.in_proj_a];
        step.lap(Operation::LinearIn, || Work::products(n, &matrices));
        ctx.pool.for_each_chunk2((b, heads.n_v), (a, heads.n_v), |_, b, a| self.gates(b, a));
        step.lap(Operation::LinearGate, || Work::NONE);
        let (beta, decay) = (&*b, &*a);

        let keys = heads.n_k * heads.d_k;
        let mixed = s.mixed.lend(n * channels);
        let gated = s.gated.lend(n * values);
        for (span, state) in spans.iter().zip(states) {
            for rows in span.parts() {
                let (first, last) = (rows.start, rows.end);
                let mixed = &mut mixed[first * channels..last * channels];
                let qkv = &qkv[first * channels..last * channels];
                conv_silu(ctx, channels, &self.conv1d, &mut state.now.conv, qkv, mixed, |_, row| {
                    l2_norm(ctx, &mut row[..keys], heads.d_k, 1.0 / (heads.d_k as f32).sqrt(), L2_EPS);
                    l2_norm(ctx, &mut row[keys..2 * keys], heads.d_k, 1.0, L2_EPS);
                });
                step.lap(Operation::Conv, || Work {
                    bytes: 2 * size_of_val(qkv),
                    f32: 2 * qkv.len() * self.conv1d.len() / channels,
                    ..Work::NONE
                });
                let inputs = Inputs {
                    q: mixed,
                    k: &mixed[keys..],
                    v: &mixed[2 * keys..],
                    stride: channels,
                    decay: &decay[first * heads.n_v..last * heads.n_v],
                    beta: &beta[first * heads.n_v..last * heads.n_v],
                    key_head: &self.key_head,
                };
                delta_rule(ctx, heads, &mut state.now.recurrent, inputs, &mut gated[first * values..last * values]);
                // Per value of the state and token: a product with the key, one with the query, and the update.
                step.lap(Operation::DeltaRule, || Work {
                    bytes: 2 * size_of_val(&state.now.recurrent[..]),
                    f32: 6 * (last - first) * state.now.recurrent.len(),
                    ..Work::NONE
                });
                if let (Some(keep), true) = (&mut state.keep, span.cut == Some(last)) {
                    keep.recurrent.copy_from_slice(&state.now.recurrent);
                    keep.conv.copy_from_slice(&state.now.conv);
                }
            }
        }
        let norm = |t: usize, row: &mut [f32]| {
            let z = z[t * values..][..values].chunks_exact(heads.d_v);
            for (out, z) in row.chunks_exact_mut(heads.d_v).zip(z) {
                gated_norm(ctx, out, &self.norm, z, step.eps);
            }
        };
        let rows = prepared_rows(step, Operation::LinearGate, &self.out_proj, gated, &mut s.quantized, norm);
        matmul(ctx, &self.out_proj, rows, out);
        step.lap(Operation::LinearOut, || Work::products(n, &[&self.out_proj]));
    }

    /// One row: `b` becomes `beta = sigmoid(b)`, `a` becomes `exp(g)`, `g = -exp(A_log) * softplus(a + dt_bias)`.
    fn gates(&self, b: &mut [f32], a: &mut [f32]) {
        b.iter_mut().for_each(|b| *b = math::sigmoid(*b));
        for ((a, dt), rate) in a.iter_mut().zip(&self.dt_bias).zip(&self.neg_exp_a_log) {
            *a = (rate * math::softplus(*a + dt)).exp();
        }
    }
}
