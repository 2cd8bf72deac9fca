//! Written files: whatever was put in comes out again, and what a reader would refuse is not written.

use std::fs;

use botpsy_format::SafeTensors;
use botpsy_format::safetensors::{NewTensor, write_file, write_sharded};
use botpsy_tensor::{DType, TensorView};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::{Folder, fixture};

fn tensor<'a>(name: &str, dtype: DType, shape: &[usize], bytes: &'a [u8]) -> NewTensor<'a> {
    NewTensor { name: name.to_owned(), view: TensorView::new(dtype, shape.to_vec(), bytes).unwrap() }
}

pub fn tensors_of(file: &SafeTensors) -> Vec<NewTensor<'_>> {
    let all = file.tensors().iter();
    all.map(|t| NewTensor { name: t.name().to_owned(), view: file.tensor(t.name()).unwrap() }).collect()
}

#[test]
fn reading_and_writing_the_reference_model_gives_the_same_bytes() {
    let path = fixture("reference/tiny-grouped/model.safetensors");
    let model = SafeTensors::open(&path).unwrap();
    let folder = Folder::new("copy");
    let copy = folder.0.join("copy.safetensors");
    write_file(&copy, &tensors_of(&model), model.metadata()).unwrap();
    assert!(fs::read(&copy).unwrap() == fs::read(&path).unwrap());
}

#[test]
fn shards_hold_what_fits() {
    let bytes = [1u8; 8];
    let names = |sizes: &[usize], max: usize| {
        let folder = Folder::new(&format!("sharded-{max}"));
        folder.write("model.safetensors", "what stood there before");
        let tensors: Vec<_> =
            sizes.iter().enumerate().map(|(i, n)| tensor(&i.to_string(), DType::U8, &[*n], &bytes[..*n])).collect();
        write_sharded(&folder.0, &tensors, &[], max).unwrap();
        let read = folder.open().unwrap();
        let found: Vec<_> = read.tensors().iter().map(|tensor| tensor.size_bytes()).collect();
        assert_eq!(found, sizes);
        folder.names()
    };
    let sharded = |n: usize| {
        let mut names: Vec<_> = (1..=n).map(|i| format!("model-{i:05}-of-{n:05}.safetensors")).collect();
        names.push("model.safetensors.index.json".to_owned());
        names
    };
    assert_eq!(names(&[3, 3, 2], 8), ["model.safetensors"]);
    assert_eq!(names(&[3, 3, 2], 7), sharded(2));
    assert_eq!(names(&[3, 3, 2], 5), sharded(2));
    assert_eq!(names(&[3, 3, 2], 1), sharded(3));
    assert_eq!(names(&[8, 0, 0, 1], 4), sharded(2));
    assert_eq!(names(&[], 3), ["model.safetensors"]);
}

#[test]
fn the_index_says_where_tensors_are() {
    let folder = Folder::new("index-of-shards");
    let tensors = [tensor("x", DType::U8, &[2], &[1, 2]), tensor("y", DType::U8, &[1], &[3])];
    let metadata = [("format".to_owned(), "pt".to_owned())];
    write_sharded(&folder.0, &tensors, &metadata, 2).unwrap();
    let index = fs::read_to_string(folder.0.join("model.safetensors.index.json")).unwrap();
    let expected = concat!(
        r#"{"metadata":{"total_size":3},"weight_map":{"x":"model-00001-of-00002.safetensors","#,
        r#""y":"model-00002-of-00002.safetensors"}}"#
    );
    assert_eq!(index, expected);
    assert_eq!(folder.open().unwrap().metadata(), [metadata.clone(), metadata].concat());
}

#[test]
fn what_a_reader_would_refuse_is_not_written() {
    let folder = Folder::new("refused");
    let check = |tensors: &[NewTensor<'_>], metadata: &[(&str, &str)], expected: &str| {
        let metadata: Vec<_> = metadata.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        let path = folder.0.join("it");
        let error = write_file(&path, tensors, &metadata).unwrap_err().to_string();
        assert_eq!(error, format!("{}: {expected}", path.display()));
        assert_eq!(folder.names(), [""; 0]);
    };
    let byte = |name: &str| tensor(name, DType::U8, &[1], &[0]);
    check(&[byte("a"), byte("a")], &[], "tensor a: stands twice");
    check(&[byte("__metadata__")], &[], "tensor __metadata__: the name is taken by the metadata");
    check(&[byte("a\n")], &[], "tensor a\\n: control character '\\n' in the name");
    check(&[tensor("q", DType::Q8_0, &[32], &[0; 34])], &[], "tensor q: type Q8_0 is not supported");
    check(&[tensor("d", DType::U8, &[1; 9], &[0])], &[], "tensor d: dimensions: at most 8 accepted, found 9");
    check(&[], &[("a", ""), ("a", "b")], "__metadata__: a name stands twice");
    let error = write_file(&folder.0.join("no/it"), &[], &[]).unwrap_err().to_string();
    assert!(error.ends_with("no/it: No such file or directory (os error 2)"), "{error}");
    let twice = write_sharded(&folder.0, &[byte("a"), byte("a")], &[], 1).unwrap_err().to_string();
    assert!(twice.ends_with("tensor a: stands twice"), "{twice}");
}

const DTYPES: [DType; 10] = [
    DType::F64,
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U8,
    DType::Bool,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(
        tensors in btree_map("\\PC{0,20}", (0usize..10, vec(0usize..4, 0..4), any::<u8>()), 0..6),
        metadata in btree_map("\\PC{0,9}", any::<String>(), 0..3),
        max_shard_bytes in 0usize..400,
    ) {
        let metadata: Vec<_> = metadata.into_iter().collect();
        let bytes: Vec<Vec<u8>> = tensors.values().map(|(kind, shape, byte)| {
            vec![*byte; shape.iter().product::<usize>() * DTYPES[*kind].block_bytes()]
        }).collect();
        let tensors: Vec<_> = tensors.iter().zip(&bytes).map(|((name, (kind, shape, _)), bytes)| {
            tensor(name, DTYPES[*kind], shape, bytes)
        }).collect();
        let folder = Folder::new("round-trip");
        write_sharded(&folder.0, &tensors, &metadata, max_shard_bytes).unwrap();
        let read = folder.open().unwrap();
        let found: Vec<_> = tensors_of(&read).into_iter().map(|t| (t.name, t.view)).collect();
        prop_assert_eq!(found, tensors.iter().map(|t| (t.name.clone(), t.view.clone())).collect::<Vec<_>>());
        prop_assert!(read.metadata().starts_with(&metadata));
        prop_assert!(folder.names().iter().all(|name| !name.ends_with(".part")));
    }
}
