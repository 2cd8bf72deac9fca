//! What outlives the server.

use std::path::{Path, PathBuf};

use botpsy_chat::LoadOptions;
use serde_json::{Value, json};

use crate::support::{Served, model, options, serve};

fn server(folder: &Path) -> Served {
    let load = LoadOptions { prefix_folder: Some(folder.to_owned()), ..LoadOptions::default() };
    let served = serve(options(), || model(load).into());
    served.wait();
    served
}

/// A conversation whose system message is worth a file.
fn body() -> Value {
    let system = "You are careful with everything that you are told. ".repeat(30);
    json!({ "messages": [{ "role": "system", "content": system }, { "role": "user", "content": "Hello" }], "max_tokens": 24,
        "temperature": 1.0, "seed": 5 })
}

/// The answer, and how many tokens of the prompt were known.
fn ask(served: &Served) -> (Value, u64) {
    let reply = served.chat(&body()).ok();
    let cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    (reply["choices"][0]["message"].clone(), cached)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "state")).collect()
}

#[test]
fn a_restart_reads_system_and_tools_from_disk_and_answers_alike() {
    let folder = std::env::temp_dir().join(format!("botpsy-restart-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let (first, cached) = ask(&server(&folder));
    assert_eq!(cached, 0);
    assert_eq!(files(&folder).len(), 1, "a server that ends writes what it has begun to keep");
    let (again, cached) = ask(&server(&folder));
    assert_eq!(again, first);
    assert!(cached > 128, "{cached}");

    // A damaged file is read around.
    let file = files(&folder).remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (damaged, cached) = ask(&server(&folder));
    assert_eq!((damaged, cached), (first, 0));
    std::fs::remove_dir_all(&folder).unwrap();
}
