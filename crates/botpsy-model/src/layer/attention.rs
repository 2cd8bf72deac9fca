use botpsy_kernels::attention::attend;
use botpsy_kernels::norm::rms_norm_in_place;
use botpsy_kernels::{FloatBuffer, PackedMatrix, Product, QuantizedRows, Rows, math, matmul, matmul_many};

use super::{Moving, Span, Step, prepared_rows};
use crate::state::KvCache;
use crate::{Operation, Work};

/// Full attention with a gate on its output.
pub(crate) struct Attention {
    pub(crate) n_heads: usize,
    pub(crate) head_dim: usize,
    /// Rows: per head the query, then the gate.
    pub(crate) q_proj: PackedMatrix,
    pub(crate) k_proj: PackedMatrix,
    pub(crate) v_proj: PackedMatrix,
    pub(crate) q_norm: Vec<f32>,
    pub(crate) k_norm: Vec<f32>,
    pub(crate) o_proj: PackedMatrix,
}

/// Buffers of an attention layer for some rows.
#[derive(Default)]
pub(crate) struct AttentionScratch {
    q_gate: FloatBuffer,
    q: FloatBuffer,
    k: FloatBuffer,
    v: FloatBuffer,
    out: FloatBuffer,
    quantized: QuantizedRows,
}

impl Attention {
    /// `rows` and `out` are `[n, hidden]`; `caches` go with `spans`.
    pub(crate) fn forward(
        &self,
        step: Step<'_>,
        spans: &[Span],
        rows: Rows<'_>,
        caches: &mut [Moving<'_, KvCache>],
        s: &mut AttentionScratch,
        out: &mut [f32],
    ) {
        let (ctx, d, width) = (step.ctx, self.head_dim, self.n_heads * self.head_dim);
        let (n, kv_width) = (rows.n(), self.k_proj.rows());
        let q_gate = s.q_gate.lend(n * 2 * width);
        let (k, v) = (s.k.lend(n * kv_width), s.v.lend(n * kv_width));
        matmul_many(
            ctx,
            rows,
            &mut [
                Product { weights: &self.q_proj, out: q_gate },
                Product { weights: &self.k_proj, out: k },
                Product { weights: &self.v_proj, out: v },
            ],
        );
        step.lap(Operation::AttentionIn, || Work::products(n, &[&self.q_proj, &self.k_proj, &self.v_proj]));
        let half = step.rope.0.len() / n;
        let turn = |t: usize, x: &mut [f32], norm: &[f32]| {
            rms_norm_in_place(ctx, x, norm, step.eps);
            math::rope(x, &step.rope.0[t * half..][..half], &step.rope.1[t * half..][..half]);
        };
        let q = s.q.lend(n * width);
        ctx.pool.for_each_chunk2((q, width), (k, kv_width), |t, q, k| {
            for (q, q_gate) in q.chunks_exact_mut(d).zip(q_gate[2 * t * width..].chunks_exact(2 * d)) {
                q.copy_from_slice(&q_gate[..d]);
                turn(t, q, &self.q_norm);
            }
            k.chunks_exact_mut(d).for_each(|k| turn(t, k, &self.k_norm));
        });
        let attended = s.out.lend(n * width);
        for (span, cache) in spans.iter().zip(caches) {
            for part in span.parts() {
                let pos = span.pos + part.start - span.rows.start;
                let rows = part.start * kv_width..part.end * kv_width;
                cache.now.write(&ctx.pool, pos, &k[rows.clone()], &v[rows]);
                step.lap(Operation::Rope, || Work::NONE);
                let rows = part.start * width..part.end * width;
                let attended = &mut attended[rows.clone()];
                attend(ctx, cache.now.shape, &cache.now.pages, pos, &q[rows], self.n_heads, attended);
                step.lap(Operation::Attend, || {
                    let n = part.len();
                    // Each token sees those before it and itself; a product with the key, and one with the weight of the value.
                    let pairs = n * pos + n * (n + 1) / 2;
                    Work { bytes: cache.now.size_bytes(), f32: 4 * width * pairs, ..Work::NONE }
                });
                if let (Some(keep), true) = (&mut cache.keep, span.cut == Some(part.end)) {
                    keep.pages.clone_from(&cache.now.pages);
                }
            }
        }
        let gate = |t: usize, o: &mut [f32]| {
            for (o, q_gate) in o.chunks_exact_mut(d).zip(q_gate[2 * t * width..].chunks_exact(2 * d)) {
                math::sigmoid_times(ctx, &q_gate[d..], o);
            }
        };
        let rows = prepared_rows(step, Operation::AttentionGate, &self.o_proj, attended, &mut s.quantized, gate);
        matmul(ctx, &self.o_proj, rows, out);
        step.lap(Operation::AttentionOut, || Work::products(n, &[&self.o_proj]));
    }
}
