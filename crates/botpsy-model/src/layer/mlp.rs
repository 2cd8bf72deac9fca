use botpsy_kernels::math::silu_times;
use botpsy_kernels::{FloatBuffer, PackedMatrix, Product, QuantizedRows, Rows, gated_matmul_int8, matmul, matmul_many};

use super::{Step, input_rows};
use crate::load::Activations;
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
    gate: FloatBuffer,
    up: FloatBuffer,
    inner: QuantizedRows,
}

impl Mlp {
    /// `rows` and `out` are `[n, hidden]`.
    pub(crate) fn forward(&self, step: Step<'_>, rows: Rows<'_>, s: &mut MlpScratch, out: &mut [f32]) {
        let n = rows.n();
        let lap = || step.lap(Operation::MlpUp, || Work::products(n, &[&self.gate_proj, &self.up_proj]));
        let inner = match self.inner_int8(step, rows, &mut s.inner) {
            Some(inner) => {
                lap();
                inner
            }
            None => {
                let (gate, up) = (s.gate.lend(n * self.gate_proj.rows()), s.up.lend(n * self.up_proj.rows()));
                let products = &mut [
                    Product { weights: &self.gate_proj, out: &mut *gate },
                    Product { weights: &self.up_proj, out: &mut *up },
                ];
                matmul_many(step.ctx, rows, products);
                silu_times(step.ctx, gate, up, self.up_proj.rows());
                lap();
                input_rows(step, &self.down_proj, up, &mut s.inner)
            }
        };
        matmul(step.ctx, &self.down_proj, inner, out);
        step.lap(Operation::MlpDown, || Work::products(n, &[&self.down_proj]));
    }

    /// `silu(gate x) * (up x)` as the input rows of `down`, where it can be made at once.
    fn inner_int8<'a>(&self, step: Step<'_>, rows: Rows<'_>, gated: &'a mut QuantizedRows) -> Option<Rows<'a>> {
        if step.activations != Activations::Int8 || !self.down_proj.takes_int8() {
            return None;
        }
        gated_matmul_int8(step.ctx, rows, &self.gate_proj, &self.up_proj, gated)
    }
}
