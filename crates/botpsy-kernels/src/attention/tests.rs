use half::f16;

use super::*;
use crate::{Isa, ThreadPool};

fn value(i: usize) -> f32 {
    ((i.wrapping_mul(7919) % 2003) as f32 - 1001.0) / 500.0
}

/// Keys and values of `n` positions, pages filled up with what must not be read.
fn pages(shape: KvShape, kv: KvType, n: usize) -> Vec<Arc<KvPage>> {
    let row = shape.n_heads * shape.head_dim;
    let mut pages = vec![KvPage::new(shape, kv); n.div_ceil(PAGE)];
    for j in 0..pages.len() * PAGE {
        let (key, value): (Vec<f32>, Vec<f32>) = (0..row).map(|i| (value(j * row + i), value(j * row + i + 5))).unzip();
        let poison = vec![f32::INFINITY; row];
        let (key, value) = if j < n { (&key, &value) } else { (&poison, &poison) };
        pages[j / PAGE].write(j % PAGE, key, value);
    }
    pages.into_iter().map(Arc::new).collect()
}

#[test]
fn every_isa_is_near_scalar_and_pieces_equal_the_whole() {
    for (n_heads, group, head_dim, n) in [
        (1, 1, 1, 1),
        (2, 4, 32, 70),
        (1, 3, 24, 129),
        (2, 5, 16, 64),
        (1, 2, 10, 65),
        (1, 4, 80, 150),
        (2, 2, 144, 40),
    ] {
        let shape = KvShape { n_heads, head_dim };
        let heads = n_heads * group;
        let q: Vec<f32> = (0..n * heads * head_dim).map(|i| value(3 * i + 1)).collect();
        for kv in [KvType::F16, KvType::F32] {
            let pages = pages(shape, kv, n);
            let mut expected: Option<Vec<f32>> = None;
            for isa in Isa::available() {
                let ctx = Context { isa, pool: ThreadPool::new(2) };
                let mut whole = vec![f32::NAN; q.len()];
                attend(&ctx, shape, &pages, 0, &q, heads, &mut whole);
                let mut pieces = vec![f32::NAN; q.len()];
                let row = heads * head_dim;
                for (t, (q, out)) in q.chunks(row).zip(pieces.chunks_mut(row)).enumerate() {
                    attend(&ctx, shape, &pages, t, q, heads, out);
                }
                assert_eq!(whole, pieces, "pieces on {}", isa.name());
                let expected = expected.get_or_insert_with(|| whole.clone());
                for (out, expected) in whole.iter().zip(expected) {
                    assert!((out - *expected).abs() <= 2e-5, "{out} for {expected} on {}", isa.name());
                }
            }
        }
    }
}

#[test]
fn the_cache_type_rounds_and_nothing_else() {
    let shape = KvShape { n_heads: 2, head_dim: 3 };
    let (key, value): (Vec<f32>, Vec<f32>) =
        ((0..6).map(|i| i as f32 + 0.1).collect(), (0..6).map(|i| -0.3 * i as f32).collect());
    for kv in [KvType::F16, KvType::F32] {
        let mut page = KvPage::new(shape, kv);
        page.write(7, &key, &value);
        let read = |of: fn(&KvPage, usize, usize, usize) -> f32| (0..6).map(|i| of(&page, i / 3, 7, i % 3)).collect();
        let (k, v): (Vec<f32>, Vec<f32>) = (read(KvPage::key), read(KvPage::value));
        let kept = |x: &f32| {
            if kv == KvType::F32 { *x } else { f16::from_f32(*x).to_f32() }
        };
        assert_eq!((k, v), (key.iter().map(kept).collect(), value.iter().map(kept).collect()));
    }
}
