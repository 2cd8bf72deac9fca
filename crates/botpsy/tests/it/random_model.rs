//! The embedded model with other weights.

use botpsy_format::gguf::Gguf;
use botpsy_format::{FileBytes, GgufWriter};
use botpsy_tensor::DType;

const EMBEDDED: &[u8] = include_bytes!("../../assets/nano.gguf");

/// The embedded model's metadata and shapes; matrices of random bytes under their own scales, vectors shuffled.
pub(crate) fn with_random_weights(seed: u64) -> Vec<u8> {
    let gguf = Gguf::from_bytes(FileBytes::from(EMBEDDED), "embedded").unwrap();
    let mut writer = GgufWriter::new("random");
    for (key, value) in gguf.metadata().iter() {
        writer.insert(key, value.clone()).unwrap();
    }
    for tensor in gguf.tensors() {
        writer.tensor(tensor.name(), tensor.dtype(), tensor.shape()).unwrap();
    }
    let mut data = writer.begin(Vec::new()).unwrap();
    let mut state = seed;
    let mut next = || {
        // xorshift64*.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize
    };
    for tensor in gguf.tensors() {
        let mut bytes = gguf.tensor(tensor.name()).unwrap().bytes().to_vec();
        match tensor.dtype() {
            DType::Q8_0 => bytes.chunks_exact_mut(34).for_each(|block| {
                block[2..].iter_mut().for_each(|byte| *byte = next() as u8);
            }),
            DType::F32 => {
                let values = bytes.as_chunks_mut::<4>().0;
                (1..values.len()).rev().for_each(|i| values.swap(i, next() % (i + 1)));
            }
            other => panic!("{other:?} in the embedded model"),
        }
        data.write(&bytes).unwrap();
    }
    data.finish().unwrap()
}
