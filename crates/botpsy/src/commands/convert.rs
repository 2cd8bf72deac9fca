//! `botpsy convert`.

use std::path::Path;

use anyhow::anyhow;
use botpsy_chat::{ModelSource, Vocabulary};
use botpsy_format::{GgufArray, GgufValue, PartFile, TokenizerConfig, TokenizerFile};
use botpsy_model::Checkpoint;
use botpsy_model::convert::{Conversion, to_gguf};
use botpsy_text::tokenizer::{TokenId, TokenKind};

use crate::args::{ConvertArgs, FileType};
use crate::failure::{Exit, OrFail, bad_input};
use crate::{model_flags, output};

const FOLDER: &str = "give a folder with safetensors, config.json and tokenizer.json";

type Metadata = Vec<(String, GgufValue)>;

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<Exit> {
    if !args.folder.is_dir() {
        let error = anyhow!("{}: expected a folder", args.folder.display());
        return Err(bad_input(error, FOLDER));
    }
    let source = ModelSource::Path(args.folder.clone());
    let checkpoint = source.open().map_err(model_flags::model_error)?;
    let metadata = metadata(args, &checkpoint)?;
    let conversion = match args.file_type {
        FileType::F32 => Conversion::F32,
        FileType::Bf16 => Conversion::BF16,
        FileType::F16 => Conversion::F16,
        FileType::Q8_0 => Conversion::Q8_0,
    };
    let place = "check that --out names a place that can be written";
    if let (Ok(out), Ok(folder)) = (args.out.canonicalize(), args.folder.canonicalize())
        && out.starts_with(&folder)
        && out.extension().is_none_or(|extension| extension != "gguf")
    {
        let error = anyhow!("{}: is one of the files to be converted", args.out.display());
        return Err(bad_input(error, "give --out a name that ends in .gguf"));
    }
    let out = PartFile::create(&args.out).or_failed(place)?;
    let bar = output::progress("converting", 0);
    let written = to_gguf(&checkpoint, metadata, conversion, out, &mut |tensor| {
        bar.set_length(tensor.total as u64);
        bar.set_position(tensor.done as u64);
    });
    bar.finish_and_clear();
    written.or_bad_input(FOLDER)?.commit().or_failed(place)?;
    Ok(Exit::Done)
}

/// What follows the sizes: name, tokenizer, template, sampling, and the texts that the user sets.
fn metadata(args: &ConvertArgs, checkpoint: &Checkpoint) -> anyhow::Result<Metadata> {
    // Reading it proves that what is written can be read again.
    let vocabulary = Vocabulary::read(checkpoint).map_err(model_flags::model_error)?;
    let n_rows = checkpoint.config().map_err(|error| model_flags::model_error(error.into()))?.vocab_size;
    let mut metadata = stated(&args.meta)?;
    let has = |key: &str, metadata: &Metadata| metadata.iter().any(|(name, _)| name == key);
    if !has("general.name", &metadata) {
        let name =
            args.folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        metadata.extend(name.map(|name| ("general.name".to_owned(), GgufValue::String(name))));
    }
    metadata.extend(sampling(&vocabulary));
    metadata.extend(tokenizer(&args.folder, &vocabulary, n_rows).or_bad_input(FOLDER)?);
    metadata.extend(template(&args.folder)?);
    Ok(metadata)
}

fn stated(texts: &[String]) -> anyhow::Result<Metadata> {
    let entry = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), GgufValue::String(value.to_owned()))),
        _ => {
            Err(bad_input(anyhow!("--meta {text}: expected KEY=TEXT"), "for example --meta general.license=Apache-2.0"))
        }
    };
    texts.iter().map(entry).collect()
}

fn sampling(vocabulary: &Vocabulary) -> Metadata {
    let defaults = &vocabulary.defaults;
    let numbers = [
        ("general.sampling.temp", defaults.temperature.map(GgufValue::F32)),
        ("general.sampling.top_p", defaults.top_p.map(GgufValue::F32)),
        ("general.sampling.top_k", defaults.top_k.map(GgufValue::U32)),
        ("general.sampling.min_p", defaults.min_p.map(GgufValue::F32)),
        ("general.sampling.penalty_repeat", defaults.repetition_penalty.map(GgufValue::F32)),
        ("botpsy.sampling.presence_penalty", defaults.presence_penalty.map(GgufValue::F32)),
        ("botpsy.sampling.max_tokens", defaults.max_tokens.map(GgufValue::U32)),
    ];
    numbers.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The vocabulary, filled up to the rows of the embedding, as other readers expect it.
fn tokenizer(folder: &Path, vocabulary: &Vocabulary, n_rows: usize) -> anyhow::Result<Metadata> {
    let file = TokenizerFile::open(&folder.join("tokenizer.json"))?;
    let mut tokens = file.tokens;
    tokens.extend((tokens.len()..n_rows).map(|id| format!("[PAD{id}]")));
    let kind = |id| vocabulary.tokenizer.kind(TokenId(id)).unwrap_or(TokenKind::Unused) as i32;
    let kinds = (0..).take(tokens.len()).map(kind).collect();
    let id_of = |token: &str| vocabulary.tokenizer.id_of(token).map(|id| id.0);
    let special = [
        ("eos_token_id", id_of("<|im_end|>").or(vocabulary.eos.first().copied())),
        ("padding_token_id", id_of("<|endoftext|>")),
    ];
    let text = |text: &str| GgufValue::String(text.to_owned());
    let strings = |items: Vec<String>| GgufValue::Array(GgufArray::String(items.into_iter().collect()));
    let mut metadata = vec![
        ("tokenizer.ggml.model".to_owned(), text("gpt2")),
        ("tokenizer.ggml.pre".to_owned(), text("qwen35")),
        ("tokenizer.ggml.tokens".to_owned(), strings(tokens)),
        ("tokenizer.ggml.token_type".to_owned(), GgufValue::Array(GgufArray::I32(kinds))),
        ("tokenizer.ggml.merges".to_owned(), strings(file.merges)),
        ("tokenizer.ggml.add_bos_token".to_owned(), GgufValue::Bool(false)),
    ];
    metadata.extend(
        special.into_iter().filter_map(|(key, id)| Some((format!("tokenizer.ggml.{key}"), GgufValue::U32(id?)))),
    );
    Ok(metadata)
}

/// The chat template, if the folder has one.
fn template(folder: &Path) -> anyhow::Result<Option<(String, GgufValue)>> {
    let file = folder.join("chat_template.jinja");
    let config = folder.join("tokenizer_config.json");
    let source = if file.exists() {
        Some(crate::input::file_text(&file)?)
    } else if config.exists() {
        TokenizerConfig::open(&config).or_bad_input("mend the file, or remove it")?.chat_template
    } else {
        None
    };
    Ok(source.map(|source| ("tokenizer.chat_template".to_owned(), GgufValue::String(source))))
}
