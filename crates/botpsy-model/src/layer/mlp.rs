use botpsy_kernels::{PackedMatrix, QuantizedRows, gated_matmul, matmul};

use super::{Step, input_rows};
use crate::forward::lend;
use crate::{Operation, Work};

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
        let up = lend(&mut s.up, n * self.up_proj.rows());
        let rows = input_rows(step, &self.gate_proj, x, &mut s.quantized);
        gated_matmul(step.ctx, rows, &self.gate_proj, &self.up_proj, &mut s.gate, up);
        step.lap(Operation::MlpUp, || Work::products(n, &[&self.gate_proj, &self.up_proj]));
        matmul(step.ctx, &self.down_proj, input_rows(step, &self.down_proj, up, &mut s.quantized), out);
        step.lap(Operation::MlpDown, || Work::products(n, &[&self.down_proj]));
    }
}
