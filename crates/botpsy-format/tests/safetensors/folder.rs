//! Files and folders as the reference library writes them, and indexes that lie.

use std::fs;

use botpsy_format::SafeTensors;
use botpsy_tensor::DType;

use crate::{Folder, file, fixture};

#[test]
fn what_the_reference_library_writes_is_read() {
    let path = fixture("corpus/safetensors/every-dtype.safetensors");
    let file = SafeTensors::open(&path).unwrap();
    assert_eq!(file.file(), path.to_str().unwrap());
    let metadata = [("format", "pt"), ("note", "tiny é \"x\"")].map(|(key, text)| (key.to_owned(), text.to_owned()));
    let mut found = file.metadata().to_vec();
    found.sort();
    assert_eq!(found, metadata);
    let shapes: Vec<_> = file.tensors().iter().map(|t| (t.name(), t.dtype(), t.shape(), t.size_bytes())).collect();
    let six = &[2, 3][..];
    for expected in [
        ("a.bool", DType::Bool, six, 6),
        ("a.float16", DType::F16, six, 12),
        ("a.float32", DType::F32, six, 24),
        ("a.float64", DType::F64, six, 48),
        ("a.int16", DType::I16, six, 12),
        ("a.int32", DType::I32, six, 24),
        ("a.int64", DType::I64, six, 48),
        ("a.int8", DType::I8, six, 6),
        ("a.uint8", DType::U8, six, 6),
        ("five", DType::F32, &[1, 2, 1, 2, 2], 32),
        ("none", DType::F32, &[0, 4], 0),
        ("scalar", DType::F32, &[], 4),
    ] {
        assert!(shapes.contains(&expected), "{expected:?} in {shapes:?}");
    }
    assert_eq!(shapes.len(), 12);
    assert_eq!(file.tensor("scalar").unwrap().bytes(), 1.5f32.to_le_bytes());
    assert_eq!(file.tensor("none").unwrap().n_values(), 0);
    let error = file.tensor("b").unwrap_err().to_string();
    assert_eq!(error, format!("{}: tensor b: missing", path.display()));
    assert!(SafeTensors::open(&fixture("corpus/safetensors/empty.safetensors")).unwrap().tensors().is_empty());
}

#[test]
fn released_tensors_read_the_same_again() {
    let path = fixture("reference/tiny-grouped");
    let (model, bytes) = (SafeTensors::open(&path).unwrap(), fs::read(path.join("model.safetensors")).unwrap());
    assert_eq!(model.file(), path.to_str().unwrap());
    for tensor in model.tensors() {
        let before = model.tensor(tensor.name()).unwrap().bytes().to_vec();
        model.release(tensor.name());
        assert!(model.tensor(tensor.name()).unwrap().bytes() == before, "{}", tensor.name());
    }
    let data: usize = model.tensors().iter().map(|tensor| tensor.size_bytes()).sum();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert_eq!(8 + header + data, bytes.len());
    model.release("no such tensor");
}

#[test]
fn shards_are_one_list_of_tensors() {
    let shards = SafeTensors::open(&fixture("corpus/safetensors/sharded")).unwrap();
    let names: Vec<_> = shards.tensors().iter().map(|tensor| tensor.name()).collect();
    assert_eq!(names, ["b", "embed", "norm"]);
    let second = SafeTensors::open(&fixture("corpus/safetensors/sharded/model-00002-of-00002.safetensors")).unwrap();
    assert_eq!(shards.tensor("norm").unwrap(), second.tensor("norm").unwrap());
}

const ONE: &str = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;

/// What is said of a folder with this index and two shards that both hold `a`.
fn check_index(index: &str, expected: &str) {
    let folder = Folder::new("index");
    folder.write("model.safetensors.index.json", index);
    folder.write("x.safetensors", file(ONE, 1)).write("y.safetensors", file(ONE, 1));
    assert_eq!(folder.error(), expected);
}

#[test]
fn an_index_names_plain_files_and_what_is_in_them() {
    let plain = |shard: &str| {
        let index = serde_json::json!({"weight_map": {"a": "x.safetensors", "b": shard}}).to_string();
        let shard = shard.replace('\0', "\\u{0}");
        let expected =
            format!("model.safetensors.index.json: weight_map: `{shard}` is not the plain name of a .safetensors file");
        check_index(&index, &expected);
    };
    for shard in [
        "../x.safetensors",
        "/etc/x.safetensors",
        "a/../x.safetensors",
        "..\\x.safetensors",
        "C:x.safetensors",
        "x.safetensors\0.safetensors",
        "..",
        "",
        "config.json",
    ] {
        plain(shard);
    }
    let index = "model.safetensors.index.json";
    check_index(r#"{"weight_map":{"b":"x.safetensors"}}"#, &format!("{index}: weight_map: b: is not in x.safetensors"));
    check_index(
        r#"{"weight_map":{"a":"x.safetensors","b":"y.safetensors"}}"#,
        "y.safetensors: tensor a: stands in two shards",
    );
    check_index(r#"{"weight_map":{"a":"z.safetensors"}}"#, "z.safetensors: No such file or directory (os error 2)");
    check_index(
        r#"{"weight_map":{"a":"x.safetensors","a":"y.safetensors"}}"#,
        &format!("{index}: weight_map: a: stands twice at line 1 column 55"),
    );
    check_index(
        r#"{"weight_map":{"a":3}}"#,
        &format!("{index}: weight_map: a: invalid type: integer `3`, expected a string at line 1 column 20"),
    );
    check_index("[]", &format!("{index}: invalid type: sequence, expected an object at line 1 column 0"));
    check_index("{}", &format!("{index}: missing field `weight_map` at line 1 column 2"));
}

#[test]
fn a_single_file_goes_before_an_index() {
    let folder = Folder::new("single");
    assert_eq!(folder.error(), "model.safetensors: No such file or directory (os error 2)");
    folder.write("model.safetensors.index.json", "not read").write("model.safetensors", file(ONE, 1));
    assert_eq!(folder.open().unwrap().tensor("a").unwrap().bytes(), [7]);
}
