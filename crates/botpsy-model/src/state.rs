//! One sequence so far.

use std::collections::HashSet;
use std::sync::Arc;

use botpsy_kernels::attention::{KvPage, KvShape, KvType, PAGE};
use botpsy_kernels::delta::Heads;
use botpsy_kernels::{FloatBuffer, ThreadPool};

use crate::config::{Config, LayerKind};
use crate::{HeadOrder, Model};

/// A page of keys and values, while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageId(usize);

/// Everything the model remembers of the tokens it has read: per linear-attention layer a recurrent matrix per head and the
/// last inputs of the convolution, per full-attention layer pages of keys and values.
///
/// A clone is a snapshot, or a fork: full pages are shared, the constant-size rest is copied. A state only grows; to drop
/// tokens, go back to an earlier clone.
#[derive(Debug)]
pub struct State {
    pub(crate) pos: usize,
    pub(crate) layers: Vec<LayerState>,
    kv_type: KvType,
}

#[derive(Debug)]
pub(crate) enum LayerState {
    Delta(DeltaState),
    Kv(KvCache),
}

impl LayerState {
    pub(crate) fn delta(&mut self) -> Option<&mut DeltaState> {
        if let LayerState::Delta(delta) = self { Some(delta) } else { None }
    }

    pub(crate) fn kv(&mut self) -> Option<&mut KvCache> {
        if let LayerState::Kv(kv) = self { Some(kv) } else { None }
    }
}

#[derive(Debug)]
pub(crate) struct DeltaState {
    /// As [`Heads`] lays it out.
    pub(crate) recurrent: FloatBuffer,
    /// `[conv_width - 1, channels]`, oldest first, before the activation.
    pub(crate) conv: FloatBuffer,
    heads: Heads,
}

#[derive(Clone, Debug)]
pub(crate) struct KvCache {
    pub(crate) pages: Vec<Arc<KvPage>>,
    pub(crate) shape: KvShape,
    kv_type: KvType,
}

impl KvCache {
    /// Bytes of its pages.
    pub(crate) fn size_bytes(&self) -> usize {
        self.pages.len() * self.shape.page_bytes(self.kv_type)
    }

    /// Writes the key and value rows `[n, n_heads, head_dim]` of the positions from `pos` on, the next ones.
    pub(crate) fn write(&mut self, pool: &ThreadPool, pos: usize, keys: &[f32], values: &[f32]) {
        let width = self.shape.n_heads * self.shape.head_dim;
        let (first, end) = (pos / PAGE, pos + keys.len() / width);
        let (shape, kv_type) = (self.shape, self.kv_type);
        self.pages.resize_with(end.div_ceil(PAGE), || Arc::new(KvPage::new(shape, kv_type)));
        pool.for_each_chunk(&mut self.pages[first..], 1, |i, page| {
            // A page that a snapshot shares is copied before it changes.
            let page = Arc::make_mut(&mut page[0]);
            let start = (first + i) * PAGE;
            for at in pos.max(start)..end.min(start + PAGE) {
                let row = (at - pos) * width..(at - pos + 1) * width;
                page.write(at - start, &keys[row.clone()], &values[row]);
            }
        });
    }
}

impl Clone for State {
    fn clone(&self) -> State {
        let deltas = self.layers.iter().filter_map(|layer| match layer {
            LayerState::Delta(delta) => Some([&*delta.recurrent, &*delta.conv]),
            LayerState::Kv(_) => None,
        });
        let from: Vec<&[f32]> = deltas.flatten().collect();
        let mut copies = FloatBuffer::zeros_together(from.iter().map(|from| from.len()));
        copies.iter_mut().zip(from).for_each(|(copy, from)| copy.copy_from_slice(from));
        let mut copies = copies.into_iter();
        let mut copy = || copies.next().expect("two for each linear layer");
        let layer = |layer: &LayerState| match layer {
            LayerState::Delta(delta) => {
                LayerState::Delta(DeltaState { recurrent: copy(), conv: copy(), heads: delta.heads })
            }
            LayerState::Kv(kv) => LayerState::Kv(kv.clone()),
        };
        State { pos: self.pos, layers: self.layers.iter().map(layer).collect(), kv_type: self.kv_type }
    }
}

impl State {
    /// The state before the first token.
    pub fn new(model: &Model, kv_type: KvType) -> State {
        let config = model.config();
        let lens = [config.linear.state_len(), (config.conv_width - 1) * config.conv_channels()];
        let n_linear = config.n_layers_of(LayerKind::Linear);
        let mut buffers = FloatBuffer::zeros_together(lens.repeat(n_linear)).into_iter();
        let mut zeros = || buffers.next().expect("two for each linear layer");
        let layer = |kind: &LayerKind| match kind {
            LayerKind::Linear => {
                LayerState::Delta(DeltaState { recurrent: zeros(), conv: zeros(), heads: config.linear })
            }
            LayerKind::Full => LayerState::Kv(KvCache { pages: Vec::new(), shape: config.kv_shape(), kv_type }),
        };
        State { pos: 0, layers: config.layer_kinds.iter().map(layer).collect(), kv_type }
    }

    /// The state, leaving one without layers in its place, good for nothing but to be replaced.
    #[must_use]
    pub fn take(&mut self) -> State {
        let empty = State { pos: 0, layers: Vec::new(), kv_type: self.kv_type };
        std::mem::replace(self, empty)
    }

    /// How many tokens it has read: the position of the next one.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// The type of its keys and values.
    pub fn kv_type(&self) -> KvType {
        self.kv_type
    }

    /// Bytes that it holds; pages shared with other states count in each.
    pub fn size_bytes(&self) -> usize {
        let layer = |layer: &LayerState| match layer {
            LayerState::Delta(delta) => size_of_val(&delta.recurrent[..]) + size_of_val(&delta.conv[..]),
            LayerState::Kv(kv) => kv.size_bytes(),
        };
        self.layers.iter().map(layer).sum()
    }

    /// Bytes that it holds beside the pages in `seen`, to which its own are added: states that are counted one after the other
    /// count the pages that they share once.
    pub fn own_bytes(&self, seen: &mut HashSet<PageId>) -> usize {
        let kv = |layer: &LayerState| match layer {
            LayerState::Kv(kv) => {
                let is_shared = |page: &&Arc<KvPage>| !seen.insert(PageId(Arc::as_ptr(page).addr()));
                kv.pages.iter().filter(is_shared).count() * kv.shape.page_bytes(self.kv_type)
            }
            LayerState::Delta(_) => 0,
        };
        let shared: usize = self.layers.iter().map(kv).sum();
        self.size_bytes() - shared
    }

    /// All that it holds, as bytes that [`State::from_bytes`] reads with the same model on the same instruction set.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size_bytes());
        for layer in &self.layers {
            match layer {
                LayerState::Delta(delta) => {
                    bytes.extend(delta.recurrent.iter().chain(&*delta.conv).flat_map(|x| x.to_le_bytes()));
                }
                LayerState::Kv(kv) => kv.pages.iter().for_each(|page| page.append_to(&mut bytes)),
            }
        }
        bytes
    }

    /// The state after `pos` tokens from such bytes; `None` unless they are as many as it has.
    pub fn from_bytes(model: &Model, kv_type: KvType, pos: usize, mut bytes: &[u8]) -> Option<State> {
        let mut state = State::new(model, kv_type);
        state.pos = pos;
        for layer in &mut state.layers {
            match layer {
                LayerState::Delta(delta) => {
                    for values in [&mut delta.recurrent, &mut delta.conv] {
                        let (head, rest) = bytes.split_at_checked(size_of_val(&values[..]))?;
                        let floats = head.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x));
                        values.iter_mut().zip(floats).for_each(|(value, x)| *value = x);
                        bytes = rest;
                    }
                }
                LayerState::Kv(kv) => {
                    for _ in 0..pos.div_ceil(PAGE) {
                        let (head, rest) = bytes.split_at_checked(kv.shape.page_bytes(kv_type))?;
                        kv.pages.push(Arc::new(KvPage::from_bytes(kv.shape, kv_type, head)?));
                        bytes = rest;
                    }
                }
            }
        }
        bytes.is_empty().then_some(state)
    }

    /// The recurrent matrices `[n_v, d_k, d_v]` and conv inputs `[channels, conv_width - 1]` (oldest first) of a
    /// linear-attention layer, value heads grouped by key head as in a Hugging Face checkpoint; `None` for other layers.
    pub fn linear_layer(&self, model: &Model, layer_idx: usize) -> Option<(Vec<f32>, Vec<f32>)> {
        let LayerState::Delta(delta) = self.layers.get(layer_idx)? else {
            return None;
        };
        let (config, heads) = (model.config(), delta.heads);
        let file_head = |head: usize| model.head_order().file_head(head, heads.n_k, heads.n_v);
        let (per_head, unpacked) = (heads.d_k * heads.d_v, heads.unpack_state(&delta.recurrent));
        let recurrent =
            (0..heads.n_v).flat_map(|head| unpacked[file_head(head) * per_head..][..per_head].iter().copied());
        let first_value = 2 * heads.n_k * heads.d_k;
        let channel = |c: usize| match c.checked_sub(first_value) {
            Some(v) => first_value + file_head(v / heads.d_v) * heads.d_v + v % heads.d_v,
            None => c,
        };
        let (channels, width) = (config.conv_channels(), config.conv_width - 1);
        let conv = (0..channels * width).map(|i| delta.conv[i % width * channels + channel(i / width)]);
        Some((recurrent.collect(), conv.collect()))
    }
}

impl Config {
    /// Bytes of keys and values per token over all layers, pages filled.
    pub fn kv_bytes_per_token(&self, kv_type: KvType) -> usize {
        self.n_layers_of(LayerKind::Full) * self.kv_shape().page_bytes(kv_type) / PAGE
    }

    /// Bytes of a state that do not grow: recurrent matrices and conv inputs.
    pub fn state_bytes(&self) -> usize {
        let per_layer = self.linear.state_len() + (self.conv_width - 1) * self.conv_channels();
        self.n_layers_of(LayerKind::Linear) * per_layer * size_of::<f32>()
    }
}

impl HeadOrder {
    /// Where value head `head` of the grouped order stands in this order.
    pub fn file_head(self, head: usize, n_k: usize, n_v: usize) -> usize {
        let group = n_v / n_k;
        match self {
            HeadOrder::Grouped => head,
            HeadOrder::Tiled => head % group * n_k + head / group,
        }
    }

    /// The key head that the value head at place `place` of this order reads.
    pub fn key_head(self, place: usize, n_k: usize, n_v: usize) -> usize {
        match self {
            HeadOrder::Grouped => place / (n_v / n_k),
            HeadOrder::Tiled => place % n_k,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_pair_the_same_heads() {
        for (n_k, n_v) in [(1, 1), (2, 4), (3, 9), (4, 4)] {
            for order in [HeadOrder::Grouped, HeadOrder::Tiled] {
                let mut places: Vec<_> = (0..n_v).map(|head| order.file_head(head, n_k, n_v)).collect();
                for (head, place) in places.iter().enumerate() {
                    assert_eq!(
                        order.key_head(*place, n_k, n_v),
                        head / (n_v / n_k),
                        "head {head} of {n_k}/{n_v} {order:?}"
                    );
                }
                places.sort_unstable();
                assert_eq!(places, (0..n_v).collect::<Vec<_>>());
            }
        }
    }
}
