use botpsy_kernels::{PackedMatrix, Product, QuantizedRows, math, matmul, matmul_many};

use super::{Step, input_rows};
use crate::forward::lend;

/// `down(silu(gate x) * (up x))`.
pub(crate) struct Mlp {
    pub(crate) gate_proj: PackedMatrix,
    pub(crate) up_proj: PackedMatrix,
    pub(crate) down_proj: PackedMatrix,
}

/// Buffers of an MLP for some rows.
#[derive(Default)]
pub(crate) struct MlpScratch {
    gate: Vec<f32>,
    up: Vec<f32>,
    quantized: QuantizedRows,
}

impl Mlp {
    /// `x` and `out` are `[n, hidden]`.
    pub(crate) fn forward(&self, step: Step<'_>, x: &[f32], s: &mut MlpScratch, out: &mut [f32]) {
        let n = x.len() / self.gate_proj.cols();
        let gate = lend(&mut s.gate, n * self.gate_proj.rows());
        let up = lend(&mut s.up, n * self.up_proj.rows());
        let rows = input_rows(step, &self.gate_proj, x, &mut s.quantized);
        matmul_many(
            step.ctx,
            rows,
            &mut [Product { weights: &self.gate_proj, out: gate }, Product { weights: &self.up_proj, out: up }],
        );
        math::silu_times(step.ctx, gate, up, self.up_proj.rows());
        matmul(step.ctx, &self.down_proj, input_rows(step, &self.down_proj, up, &mut s.quantized), out);
    }
}
