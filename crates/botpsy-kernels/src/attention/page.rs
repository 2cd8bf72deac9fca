//! Pages of keys and values, as attention reads them.

use half::f16;

use crate::lanes::LANES;

/// Positions in a page.
pub const PAGE: usize = 64;

/// The type in which keys and values are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KvType {
    /// Half precision, the default.
    #[default]
    F16,
    /// Exact.
    F32,
}

impl KvType {
    /// Bytes of one value.
    pub fn size_bytes(self) -> usize {
        match self {
            KvType::F16 => 2,
            KvType::F32 => 4,
        }
    }
}

/// Shape of the keys and values of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Number of key and value heads.
    pub n_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

impl KvShape {
    /// Width of a value row in a page: the head's, filled up to whole lanes.
    pub(super) fn padded(&self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    /// Where the values of `head` for dims `16 chunk ..` begin, and how far apart those of two positions are.
    pub(super) fn value_at(&self, head: usize, chunk: usize) -> (usize, usize) {
        let (padded, tile) = (self.padded(), chunk / TILE);
        let width = (padded - tile * TILE * LANES).min(TILE * LANES);
        (head * PAGE * padded + tile * TILE * LANES * PAGE + chunk % TILE * LANES, width)
    }

    /// Bytes of a page.
    pub fn page_bytes(&self, kv: KvType) -> usize {
        self.n_heads * (self.head_dim + self.padded()) * PAGE * kv.size_bytes()
    }
}

/// Registers of values that are summed side by side.
pub(super) const TILE: usize = 4;

/// Keys and values of [`PAGE`] positions of one layer.
///
/// Keys are `[head][dim][position]`, so that scores of sixteen positions fill the lanes. Values are
/// `[head][dim / 64][position][64 dims]`, dims padded to a multiple of sixteen. Both are read from front to back.
#[derive(Clone, Debug)]
pub struct KvPage {
    pub(super) shape: KvShape,
    pub(super) data: Data,
}

#[derive(Clone, Debug)]
pub(super) enum Data {
    F16 { k: Vec<u16>, v: Vec<u16> },
    F32 { k: Vec<f32>, v: Vec<f32> },
}

impl KvPage {
    /// A page of zeros.
    pub fn new(shape: KvShape, kv: KvType) -> KvPage {
        let (k, v) = (shape.n_heads * shape.head_dim * PAGE, shape.n_heads * shape.padded() * PAGE);
        let data = match kv {
            KvType::F16 => Data::F16 { k: vec![0; k], v: vec![0; v] },
            KvType::F32 => Data::F32 { k: vec![0.0; k], v: vec![0.0; v] },
        };
        KvPage { shape, data }
    }

    /// Writes the key and value rows `[n_heads, head_dim]` of one position.
    ///
    /// # Panics
    /// If `slot` is no position of a page, or the lengths disagree.
    pub fn write(&mut self, slot: usize, key: &[f32], value: &[f32]) {
        let len = self.shape.n_heads * self.shape.head_dim;
        assert!(slot < PAGE && key.len() == len && value.len() == len, "key and value of one position");
        match &mut self.data {
            Data::F16 { k, v } => scatter(self.shape, slot, (key, k), (value, v), |x| f16::from_f32(x).to_bits()),
            Data::F32 { k, v } => scatter(self.shape, slot, (key, k), (value, v), |x| x),
        }
    }

    /// Its values as bytes, keys first, little end first.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        match &self.data {
            Data::F16 { k, v } => bytes.extend(k.iter().chain(v).flat_map(|x| x.to_le_bytes())),
            Data::F32 { k, v } => bytes.extend(k.iter().chain(v).flat_map(|x| x.to_le_bytes())),
        }
    }

    /// A page of these bytes; `None` unless they are as many as it has.
    pub fn from_bytes(shape: KvShape, kv: KvType, bytes: &[u8]) -> Option<KvPage> {
        if bytes.len() != shape.page_bytes(kv) {
            return None;
        }
        let (k, v) = bytes.split_at(shape.n_heads * shape.head_dim * PAGE * kv.size_bytes());
        let halves = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|x| u16::from_le_bytes(*x)).collect();
        let floats = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
        let data = match kv {
            KvType::F16 => Data::F16 { k: halves(k), v: halves(v) },
            KvType::F32 => Data::F32 { k: floats(k), v: floats(v) },
        };
        Some(KvPage { shape, data })
    }

    /// Value `i` of a head's key at `slot`, as it is kept.
    pub(super) fn key(&self, head: usize, slot: usize, i: usize) -> f32 {
        let at = (head * self.shape.head_dim + i) * PAGE + slot;
        match &self.data {
            Data::F16 { k, .. } => f16::from_bits(k[at]).to_f32(),
            Data::F32 { k, .. } => k[at],
        }
    }

    /// Value `i` of a head's value at `slot`, as it is kept.
    pub(super) fn value(&self, head: usize, slot: usize, i: usize) -> f32 {
        let (start, step) = self.shape.value_at(head, i / LANES);
        let at = start + slot * step + i % LANES;
        match &self.data {
            Data::F16 { v, .. } => f16::from_bits(v[at]).to_f32(),
            Data::F32 { v, .. } => v[at],
        }
    }
}

fn scatter<T>(
    shape: KvShape,
    slot: usize,
    (key, k): (&[f32], &mut [T]),
    (value, v): (&[f32], &mut [T]),
    to: impl Fn(f32) -> T,
) {
    for (i, x) in key.iter().enumerate() {
        k[i * PAGE + slot] = to(*x);
    }
    for (head, row) in value.chunks_exact(shape.head_dim).enumerate() {
        for (chunk, row) in row.chunks(LANES).enumerate() {
            let (start, step) = shape.value_at(head, chunk);
            for (out, x) in v[start + slot * step..].iter_mut().zip(row) {
                *out = to(*x);
            }
        }
    }
}
