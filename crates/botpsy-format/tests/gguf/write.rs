//! Written files: the same bytes as the ones read, and whatever was put in comes out again.

use std::fs;
use std::path::Path;

use botpsy_format::gguf::Metadata;
use botpsy_format::{Gguf, GgufArray, GgufValue, GgufWriter, PartFile};
use botpsy_tensor::DType;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::fixture;

/// The file that holds what `gguf` holds.
pub fn rewritten(gguf: &Gguf) -> Vec<u8> {
    let mut writer = GgufWriter::new("copy.gguf");
    for (key, value) in gguf.metadata().iter() {
        writer.insert(key, value.clone()).unwrap();
    }
    for tensor in gguf.tensors() {
        writer.tensor(tensor.name(), tensor.dtype(), tensor.shape()).unwrap();
    }
    let mut data = writer.begin(Vec::new()).unwrap();
    for tensor in gguf.tensors() {
        let bytes = gguf.tensor(tensor.name()).unwrap().bytes();
        bytes.chunks(1000).for_each(|piece| data.write(piece).unwrap());
    }
    data.finish().unwrap()
}

#[test]
fn reading_and_writing_every_reference_file_gives_the_same_bytes() {
    let mut n_files = 0;
    for folder in ["reference/tiny-grouped", "reference/tiny-heads"] {
        for entry in fs::read_dir(fixture(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "gguf") {
                let gguf = Gguf::open(&path).unwrap();
                assert!(rewritten(&gguf) == fs::read(&path).unwrap(), "{} differs", path.display());
                n_files += 1;
            }
        }
    }
    assert_eq!(n_files, 8);
}

#[test]
fn a_file_appears_only_when_committed() {
    let path = std::env::temp_dir().join(format!("botpsy-gguf-{}.gguf", std::process::id()));
    let part = path.with_added_extension("part");
    let begin = || {
        let mut writer = GgufWriter::new("it");
        writer.tensor("x", DType::F32, &[2]).unwrap();
        let mut data = writer.create(&path).unwrap();
        data.write(&[1; 8]).unwrap();
        data
    };
    drop(begin());
    assert!(!part.exists() && !path.exists());
    drop(begin().finish().unwrap());
    assert!(!part.exists() && !path.exists());
    fs::write(&path, "what stood there before").unwrap();
    let data = begin();
    assert!(part.exists());
    PartFile::commit(data.finish().unwrap()).unwrap();
    assert_eq!(Gguf::open(&path).unwrap().tensor("x").unwrap().bytes(), [1; 8]);
    assert!(!part.exists());
    fs::remove_file(&path).unwrap();
    let error = PartFile::create(Path::new("/no/such/folder/x.gguf")).unwrap_err().to_string();
    assert_eq!(error, "/no/such/folder/x.gguf: No such file or directory (os error 2)");
}

#[test]
fn what_a_reader_would_refuse_is_not_written() {
    let check = |fill: &dyn Fn(&mut GgufWriter) -> botpsy_format::Result<()>, expected: &str| {
        let mut writer = GgufWriter::new("it");
        let error = match fill(&mut writer) {
            Err(error) => error,
            Ok(()) => writer.begin(Vec::new()).map(|_| ()).unwrap_err(),
        };
        assert_eq!(error.to_string(), expected);
    };
    check(
        &|writer| {
            writer.insert("k", GgufValue::U8(1))?;
            writer.insert("k", GgufValue::U8(1))
        },
        "it: metadata k: appears twice",
    );
    check(
        &|writer| {
            writer.tensor("a", DType::F32, &[1])?;
            writer.tensor("a", DType::F32, &[1])
        },
        "it: tensor a: appears twice",
    );
    check(&|writer| writer.tensor("a", DType::Bool, &[1]), "it: tensor a: type BOOL is not supported");
    check(
        &|writer| writer.tensor("a", DType::Q8_0, &[33]),
        "it: tensor a: rows of 33 values in Q8_0, whose blocks hold 32",
    );
    check(&|writer| writer.tensor("a", DType::F32, &[2, 0]), "it: tensor a: dimension of 0");
    check(&|writer| writer.tensor("a", DType::F32, &[1; 5]), "it: tensor a: dimensions: at most 4 accepted, found 5");
    check(
        &|writer| writer.insert("general.alignment", GgufValue::U32(48)),
        "it: general.alignment: expected a power of two from 8 to 65536, found 48",
    );
    check(
        &|writer| writer.insert(&"k".repeat(257), GgufValue::U8(1)),
        "it: metadata key 0: bytes: at most 256 accepted, found 257",
    );
}

#[test]
fn tensors_take_exactly_their_bytes() {
    let begin = || {
        let mut writer = GgufWriter::new("it");
        writer.tensor("a", DType::F32, &[2]).unwrap();
        writer.tensor("b", DType::F32, &[1]).unwrap();
        writer.begin(Vec::new()).unwrap()
    };
    let mut data = begin();
    assert_eq!(data.write(&[0; 9]).unwrap_err().to_string(), "it: tensor a: 8 bytes are left to write, found 9");
    data.write(&[0; 8]).unwrap();
    data.write(&[]).unwrap();
    assert_eq!(data.finish().unwrap_err().to_string(), "it: tensor b: 4 bytes were not written");
    let mut data = begin();
    data.write(&[0; 8]).unwrap();
    data.write(&[0; 4]).unwrap();
    let error = data.write(&[0]).unwrap_err().to_string();
    assert_eq!(error, "it: tensor (after the last): 0 bytes are left to write, found 1");
}

fn scalar() -> impl Strategy<Value = GgufValue> {
    prop_oneof![
        any::<u8>().prop_map(GgufValue::U8),
        any::<i8>().prop_map(GgufValue::I8),
        any::<u16>().prop_map(GgufValue::U16),
        any::<i16>().prop_map(GgufValue::I16),
        any::<u32>().prop_map(GgufValue::U32),
        any::<i32>().prop_map(GgufValue::I32),
        any::<f32>().prop_map(GgufValue::F32),
        any::<bool>().prop_map(GgufValue::Bool),
        ".{0,20}".prop_map(GgufValue::String),
        any::<u64>().prop_map(GgufValue::U64),
        any::<i64>().prop_map(GgufValue::I64),
        any::<f64>().prop_map(GgufValue::F64),
    ]
}

fn array() -> impl Strategy<Value = GgufArray> {
    prop_oneof![
        vec(any::<u8>(), 0..9).prop_map(GgufArray::U8),
        vec(any::<i8>(), 0..9).prop_map(GgufArray::I8),
        vec(any::<u16>(), 0..9).prop_map(GgufArray::U16),
        vec(any::<i16>(), 0..9).prop_map(GgufArray::I16),
        vec(any::<u32>(), 0..9).prop_map(GgufArray::U32),
        vec(any::<i32>(), 0..9).prop_map(GgufArray::I32),
        vec(any::<f32>(), 0..9).prop_map(GgufArray::F32),
        vec(any::<bool>(), 0..9).prop_map(GgufArray::Bool),
        vec(".{0,9}", 0..9).prop_map(|strings| GgufArray::String(strings.iter().collect())),
        vec(any::<u64>(), 0..9).prop_map(GgufArray::U64),
        vec(any::<i64>(), 0..9).prop_map(GgufArray::I64),
        vec(any::<f64>(), 0..9).prop_map(GgufArray::F64),
    ]
}

fn value() -> impl Strategy<Value = GgufValue> {
    prop_oneof![scalar(), array().prop_map(GgufValue::Array)]
}

fn tensor() -> impl Strategy<Value = (DType, Vec<usize>, u8)> {
    let dtypes: Vec<DType> = DType::ALL.into_iter().filter(|dtype| dtype.ggml_id().is_some()).collect();
    let outer = vec(1usize..4, 0..4);
    (prop::sample::select(dtypes), outer, 1usize..4, any::<u8>()).prop_map(|(dtype, mut shape, n_blocks, fill)| {
        shape.push(n_blocks * dtype.block_len());
        (dtype, shape, fill)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        values in vec(value(), 0..6),
        tensors in vec(tensor(), 0..6),
        alignment in prop::option::of(3u32..10),
    ) {
        let mut writer = GgufWriter::new("it");
        if let Some(log2) = alignment {
            writer.insert("general.alignment", GgufValue::U32(1 << log2)).unwrap();
        }
        for (i, value) in values.iter().enumerate() {
            writer.insert(&format!("key.{i}"), value.clone()).unwrap();
        }
        for (i, (dtype, shape, _)) in tensors.iter().enumerate() {
            writer.tensor(&format!("tensor {i}"), *dtype, shape).unwrap();
        }
        let mut data = writer.begin(Vec::new()).unwrap();
        let content = |(dtype, shape, fill): &(DType, Vec<usize>, u8)| {
            let n_values: usize = shape.iter().product();
            vec![*fill; n_values / dtype.block_len() * dtype.block_bytes()]
        };
        for tensor in &tensors {
            data.write(&content(tensor)).unwrap();
        }
        let gguf = Gguf::from_bytes(data.finish().unwrap().into(), "it").unwrap();
        prop_assert_eq!(gguf.alignment(), alignment.map_or(32, |log2| 1 << log2));
        let found: Vec<GgufValue> = metadata(gguf.metadata(), "key.");
        // Debug text: NaN differs from itself, and keeps its sign and payload.
        prop_assert_eq!(format!("{found:?}"), format!("{values:?}"));
        prop_assert_eq!(gguf.tensors().len(), tensors.len());
        for (tensor, expected) in gguf.tensors().iter().zip(&tensors) {
            let view = gguf.tensor(tensor.name()).unwrap();
            prop_assert_eq!((view.dtype(), view.shape()), (expected.0, &expected.1[..]));
            prop_assert_eq!(view.bytes(), &content(expected)[..]);
            prop_assert_eq!(tensor.range().start % gguf.alignment(), 0);
        }
        let again = rewritten(&gguf);
        let third = rewritten(&Gguf::from_bytes(again.clone().into(), "it").unwrap());
        prop_assert!(again == third);
    }
}

fn metadata(metadata: &Metadata, prefix: &str) -> Vec<GgufValue> {
    let with_prefix = metadata.iter().filter(|(key, _)| key.starts_with(prefix));
    with_prefix.map(|(_, value)| value.clone()).collect()
}
