//! The network in plain `f32`, one token at a time, as the papers write it.
//!
//! It shares no code with the kernels and keeps value heads in the order of Hugging Face, so it checks both the arithmetic
//! and the reading of files. It is slow on purpose.

use crate::names::{Change, LayerWeight, Weight};
use crate::{Checkpoint, Config, HeadOrder, LayerKind, ModelError};

/// What a tap receives: the layer (or `None` outside the layers), the name of the value, the value.
pub type Tap<'a> = dyn FnMut(Option<usize>, &str, &[f32]) + 'a;

/// The model with all weights as `f32`, and one sequence.
#[derive(Debug)]
pub struct Reference {
    config: Config,
    embed_tokens: Vec<f32>,
    norm: Vec<f32>,
    lm_head: Option<Vec<f32>>,
    layers: Vec<Layer>,
    pos: usize,
}

#[derive(Debug)]
struct Layer {
    input_layernorm: Vec<f32>,
    post_attention_layernorm: Vec<f32>,
    gate_proj: Vec<f32>,
    up_proj: Vec<f32>,
    down_proj: Vec<f32>,
    mixer: Mixer,
}

#[derive(Debug)]
enum Mixer {
    Linear(Box<Linear>),
    Full(Box<Full>),
}

#[derive(Debug)]
struct Linear {
    in_proj_qkv: Vec<f32>,
    in_proj_z: Vec<f32>,
    in_proj_b: Vec<f32>,
    in_proj_a: Vec<f32>,
    conv1d: Vec<f32>,
    neg_exp_a_log: Vec<f32>,
    dt_bias: Vec<f32>,
    norm: Vec<f32>,
    out_proj: Vec<f32>,
    /// `[n_v, d_k, d_v]`.
    state: Vec<f32>,
    /// `[channels, conv_width - 1]`, oldest first.
    conv: Vec<f32>,
}

#[derive(Debug)]
struct Full {
    q_proj: Vec<f32>,
    k_proj: Vec<f32>,
    v_proj: Vec<f32>,
    o_proj: Vec<f32>,
    q_norm: Vec<f32>,
    k_norm: Vec<f32>,
    /// One row per position.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
}

impl Reference {
    /// Decodes all weights to `f32`, value heads grouped by key head.
    ///
    /// # Errors
    /// If a size, a tensor or a shape is wrong.
    pub fn load(checkpoint: &Checkpoint) -> Result<Reference, ModelError> {
        let config = checkpoint.config()?;
        let reader = Reader { checkpoint, config: &config };
        let (vocab, hidden) = (config.vocab_size, config.hidden_size);
        let layers = (0..config.layer_kinds.len()).map(|i| reader.layer(i)).collect::<Result<_, _>>()?;
        let lm_head = match config.tie_word_embeddings {
            true => None,
            false => Some(checkpoint.values(Weight::LmHead, &[vocab, hidden])?),
        };
        Ok(Reference {
            embed_tokens: checkpoint.values(Weight::EmbedTokens, &[vocab, hidden])?,
            norm: checkpoint.values(Weight::Norm, &[hidden])?,
            lm_head,
            layers,
            pos: 0,
            config,
        })
    }

    /// Reads one token; the logits `[vocab_size]` of the next one. `tap` sees the values on the way.
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn step(&mut self, token: u32, tap: &mut Tap<'_>) -> Result<Vec<f32>, ModelError> {
        let c = &self.config;
        if token as usize >= c.vocab_size {
            return Err(ModelError::Token { id: token, vocab_size: c.vocab_size });
        }
        let mut x = self.embed_tokens[token as usize * c.hidden_size..][..c.hidden_size].to_vec();
        tap(None, "embed", &x);
        for (i, layer) in self.layers.iter_mut().enumerate() {
            let h = norm(&x, &layer.input_layernorm, c.rms_norm_eps);
            let mut tap_here = |name: &str, value: &[f32]| tap(Some(i), name, value);
            let mixed = match &mut layer.mixer {
                Mixer::Linear(linear) => linear.step(c, &h, &mut tap_here),
                Mixer::Full(full) => full.step(c, self.pos, &h, &mut tap_here),
            };
            x = add(&x, &mixed);
            let h = norm(&x, &layer.post_attention_layernorm, c.rms_norm_eps);
            let gate = matvec(&layer.gate_proj, &h);
            let up = matvec(&layer.up_proj, &h);
            let inner: Vec<f32> = gate.iter().zip(&up).map(|(g, u)| silu(*g) * u).collect();
            x = add(&x, &matvec(&layer.down_proj, &inner));
            tap(Some(i), "hidden", &x);
        }
        let x = norm(&x, &self.norm, c.rms_norm_eps);
        tap(None, "final_norm", &x);
        self.pos += 1;
        Ok(matvec(self.lm_head.as_ref().unwrap_or(&self.embed_tokens), &x))
    }

    /// The recurrent matrices `[n_v, d_k, d_v]` and conv inputs `[channels, conv_width - 1]` of a linear-attention layer.
    pub fn linear_layer(&self, layer_idx: usize) -> Option<(&[f32], &[f32])> {
        match &self.layers.get(layer_idx)?.mixer {
            Mixer::Linear(linear) => Some((&linear.state, &linear.conv)),
            Mixer::Full(_) => None,
        }
    }
}

impl Linear {
    fn step(&mut self, c: &Config, h: &[f32], tap: &mut dyn FnMut(&str, &[f32])) -> Vec<f32> {
        let heads = c.linear;
        let (n_k, n_v, d_k, d_v) = (heads.n_k, heads.n_v, heads.d_k, heads.d_v);
        let m = matvec(&self.in_proj_qkv, h);
        let z = matvec(&self.in_proj_z, h);
        let b = matvec(&self.in_proj_b, h);
        let a = matvec(&self.in_proj_a, h);

        // The window of channel ch is its last conv_width inputs, this one included.
        let width = c.conv_width;
        let mut y = Vec::with_capacity(m.len());
        for (ch, input) in m.iter().enumerate() {
            let mut window = self.conv[ch * (width - 1)..][..width - 1].to_vec();
            window.push(*input);
            y.push(silu(dot(&window, &self.conv1d[ch * width..][..width])));
            self.conv[ch * (width - 1)..][..width - 1].copy_from_slice(&window[1..]);
        }
        let (q, rest) = y.split_at(n_k * d_k);
        let (k, v) = rest.split_at(n_k * d_k);
        let q: Vec<f32> = q.chunks(d_k).flat_map(l2).collect();
        let k: Vec<f32> = k.chunks(d_k).flat_map(l2).collect();
        let beta: Vec<f32> = b.iter().map(|b| sigmoid(*b)).collect();
        let g: Vec<f32> = (0..n_v).map(|j| self.neg_exp_a_log[j] * softplus(a[j] + self.dt_bias[j])).collect();

        let mut core = Vec::with_capacity(n_v * d_v);
        for j in 0..n_v {
            let head = j / (n_v / n_k);
            let (q, k, v) = (&q[head * d_k..][..d_k], &k[head * d_k..][..d_k], &v[j * d_v..][..d_v]);
            let s = &mut self.state[j * d_k * d_v..][..d_k * d_v];
            // S <- S exp(g);  u = beta (v - S^T k);  S <- S + k u^T;  o = S^T q / sqrt(d_k)
            s.iter_mut().for_each(|s| *s *= g[j].exp());
            let read = transposed_matvec(s, k);
            let u: Vec<f32> = v.iter().zip(&read).map(|(v, r)| beta[j] * (v - r)).collect();
            for (row, k) in s.chunks_mut(d_v).zip(k) {
                row.iter_mut().zip(&u).for_each(|(s, u)| *s += k * u);
            }
            let scaled: Vec<f32> = q.iter().map(|q| q / (d_k as f32).sqrt()).collect();
            core.extend(transposed_matvec(s, &scaled));
        }
        let normed: Vec<f32> = core.chunks(d_v).flat_map(|o| norm(o, &self.norm, c.rms_norm_eps)).collect();
        let gated: Vec<f32> = normed.iter().zip(&z).map(|(n, z)| n * silu(*z)).collect();
        let out = matvec(&self.out_proj, &gated);
        let taps: [(&str, &[f32]); 12] = [
            ("qkv", &m),
            ("z", &z),
            ("b", &b),
            ("a", &a),
            ("conv_silu", &y),
            ("q_l2", &q),
            ("k_l2", &k),
            ("beta", &beta),
            ("g", &g),
            ("core", &core),
            ("gated", &gated),
            ("out", &out),
        ];
        taps.into_iter().for_each(|(name, value)| tap(name, value));
        out
    }
}

impl Full {
    fn step(&mut self, c: &Config, pos: usize, h: &[f32], tap: &mut dyn FnMut(&str, &[f32])) -> Vec<f32> {
        let d = c.head_dim;
        let q_gate = matvec(&self.q_proj, h);
        let query = |row: &[f32]| rope(c, pos, norm(&row[..d], &self.q_norm, c.rms_norm_eps));
        let q: Vec<f32> = q_gate.chunks(2 * d).flat_map(query).collect();
        let gate: Vec<f32> = q_gate.chunks(2 * d).flat_map(|row| row[d..].to_vec()).collect();
        let k = matvec(&self.k_proj, h);
        let k: Vec<f32> = k.chunks(d).flat_map(|row| rope(c, pos, norm(row, &self.k_norm, c.rms_norm_eps))).collect();
        let v = matvec(&self.v_proj, h);
        tap("k_rope", &k);
        tap("v", &v);
        self.keys.push(k);
        self.values.push(v);

        let mut core = Vec::with_capacity(q.len());
        for (i, q) in q.chunks(d).enumerate() {
            let head = i / (c.n_heads / c.n_kv_heads);
            let scores: Vec<f32> = self.keys.iter().map(|k| dot(q, &k[head * d..][..d]) / (d as f32).sqrt()).collect();
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights: Vec<f32> = scores.iter().map(|s| (s - largest).exp()).collect();
            let total: f32 = weights.iter().sum();
            let value =
                |i: usize| weights.iter().zip(&self.values).map(|(w, v)| w / total * v[head * d + i]).sum::<f32>();
            core.extend((0..d).map(value));
        }
        let gated: Vec<f32> = core.iter().zip(&gate).map(|(o, g)| o * sigmoid(*g)).collect();
        let out = matvec(&self.o_proj, &gated);
        let taps: [(&str, &[f32]); 5] =
            [("q_rope", &q), ("gate", &gate), ("core", &core), ("gated", &gated), ("out", &out)];
        taps.into_iter().for_each(|(name, value)| tap(name, value));
        out
    }
}

/// Reads tensors, with value heads brought into grouped order.
struct Reader<'a> {
    checkpoint: &'a Checkpoint,
    config: &'a Config,
}

impl Reader<'_> {
    fn layer(&self, i: usize) -> Result<Layer, ModelError> {
        let c = self.config;
        let (hidden, inner) = (c.hidden_size, c.intermediate_size);
        let get = |weight, shape: &[usize]| self.values(Weight::Layer(i, weight), shape);
        let mixer = match c.layer_kinds[i] {
            LayerKind::Linear => {
                let (heads, channels) = (c.linear, c.conv_channels());
                let values = heads.n_v * heads.d_v;
                Mixer::Linear(Box::new(Linear {
                    in_proj_qkv: get(LayerWeight::InProjQkv, &[channels, hidden])?,
                    in_proj_z: get(LayerWeight::InProjZ, &[values, hidden])?,
                    in_proj_b: get(LayerWeight::InProjB, &[heads.n_v, hidden])?,
                    in_proj_a: get(LayerWeight::InProjA, &[heads.n_v, hidden])?,
                    conv1d: get(LayerWeight::Conv1d, &[channels, c.conv_width])?,
                    neg_exp_a_log: get(LayerWeight::ALog, &[heads.n_v])?,
                    dt_bias: get(LayerWeight::DtBias, &[heads.n_v])?,
                    norm: get(LayerWeight::LinearNorm, &[heads.d_v])?,
                    out_proj: get(LayerWeight::OutProj, &[hidden, values])?,
                    state: vec![0.0; values * heads.d_k],
                    conv: vec![0.0; channels * (c.conv_width - 1)],
                }))
            }
            LayerKind::Full => {
                let (width, kv_width) = (c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim);
                Mixer::Full(Box::new(Full {
                    q_proj: get(LayerWeight::QProj, &[2 * width, hidden])?,
                    k_proj: get(LayerWeight::KProj, &[kv_width, hidden])?,
                    v_proj: get(LayerWeight::VProj, &[kv_width, hidden])?,
                    o_proj: get(LayerWeight::OProj, &[hidden, width])?,
                    q_norm: get(LayerWeight::QNorm, &[c.head_dim])?,
                    k_norm: get(LayerWeight::KNorm, &[c.head_dim])?,
                    keys: Vec::new(),
                    values: Vec::new(),
                }))
            }
        };
        Ok(Layer {
            input_layernorm: get(LayerWeight::InputLayernorm, &[hidden])?,
            post_attention_layernorm: get(LayerWeight::PostAttentionLayernorm, &[hidden])?,
            gate_proj: get(LayerWeight::GateProj, &[inner, hidden])?,
            up_proj: get(LayerWeight::UpProj, &[inner, hidden])?,
            down_proj: get(LayerWeight::DownProj, &[hidden, inner])?,
            mixer,
        })
    }

    fn values(&self, weight: Weight, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let values = self.checkpoint.values(weight, shape)?;
        if self.checkpoint.head_order() == HeadOrder::Grouped {
            return Ok(values);
        }
        let heads = self.config.linear;
        let cols = shape.get(1).copied().unwrap_or(1);
        Ok(match weight.change() {
            Change::None | Change::PlusOne => values,
            Change::TileRows | Change::NegExp => self.untile(&values, values.len() / heads.n_v),
            Change::TileValueRows => {
                let (keys, values) = values.split_at(2 * heads.n_k * heads.d_k * cols);
                [keys, &self.untile(values, heads.d_v * cols)].concat()
            }
            Change::TileColumns => values.chunks(cols).flat_map(|row| self.untile(row, heads.d_v)).collect(),
        })
    }

    /// Pieces of `len` values per head: tiled as (s, key head) in, grouped as (key head, s) out.
    fn untile(&self, values: &[f32], len: usize) -> Vec<f32> {
        let (n_k, group) = (self.config.linear.n_k, self.config.linear.n_v / self.config.linear.n_k);
        let piece = |head: usize, s: usize| &values[(s * n_k + head) * len..][..len];
        (0..n_k).flat_map(|head| (0..group).flat_map(move |s| piece(head, s))).copied().collect()
    }
}

/// Turns the first `rotary_dim` values in half-split pairs.
fn rope(c: &Config, pos: usize, x: Vec<f32>) -> Vec<f32> {
    let half = c.rotary_dim / 2;
    let mut y = x.clone();
    for i in 0..half {
        let inv_freq = c.rope_theta.powf(-2.0 * i as f64 / c.rotary_dim as f64) as f32;
        let angle = f64::from(pos as f32 * inv_freq);
        let (cos, sin) = (angle.cos() as f32, angle.sin() as f32);
        y[i] = x[i] * cos - x[i + half] * sin;
        y[i + half] = x[i + half] * cos + x[i] * sin;
    }
    y
}

fn norm(x: &[f32], w: &[f32], eps: f32) -> Vec<f32> {
    let root = (dot(x, x) / x.len() as f32 + eps).sqrt();
    x.iter().zip(w).map(|(x, w)| x / root * w).collect()
}

fn l2(x: &[f32]) -> Vec<f32> {
    let root = (dot(x, x) + 1e-6).sqrt();
    x.iter().map(|x| x / root).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `W x`, `W` row-major with rows as long as `x`.
fn matvec(w: &[f32], x: &[f32]) -> Vec<f32> {
    w.chunks(x.len()).map(|row| dot(row, x)).collect()
}

/// `W^T x`, `W` row-major with one row per value of `x`.
fn transposed_matvec(w: &[f32], x: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; w.len() / x.len()];
    for (row, x) in w.chunks(out.len()).zip(x) {
        out.iter_mut().zip(row).for_each(|(o, w)| *o += w * x);
    }
    out
}

fn add(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

fn softplus(x: f32) -> f32 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}
