//! What a file says beside its weights: vocabulary, template, defaults, tokens that end an answer.

use std::path::Path;
use std::sync::Arc;

use botpsy_format::{GenerationConfig, Gguf, StringArray, TokenizerConfig, TokenizerEntry, TokenizerFile};
use botpsy_model::Checkpoint;
use botpsy_text::template::{ChatTemplate, Template};
use botpsy_text::tokenizer::{MergeList, QWEN35_PATTERN, Splitter, TokenKind, Tokenizer, TokenizerSpec};

use crate::{ChatError, Overrides};

/// What stands beside the weights; reading it loads none of them.
#[derive(Debug)]
pub struct Vocabulary {
    /// Text to tokens and back.
    pub tokenizer: Arc<Tokenizer>,
    /// The file's chat template, or the built-in one when it has none.
    pub template: Template,
    /// The file's own settings.
    pub defaults: Overrides,
    /// Tokens that end an answer.
    pub eos: Vec<u32>,
    /// What the file says about itself for people, such as that it is a demonstration.
    pub remark: Option<String>,
}

impl Vocabulary {
    /// Reads it from an open checkpoint: a GGUF file's metadata, or the JSON files in the folder of the safetensors.
    ///
    /// # Errors
    /// If a part is missing, contradicts itself or is of a kind that this program does not read.
    pub fn read(checkpoint: &Checkpoint) -> Result<Vocabulary, ChatError> {
        match checkpoint {
            Checkpoint::Gguf(gguf) => from_gguf(gguf),
            Checkpoint::SafeTensors { tensors, config, .. } => {
                let file = Path::new(tensors.file());
                let folder = if file.is_dir() { file } else { file.parent().unwrap_or(Path::new(".")) };
                from_folder(folder, &config.eos_token_id)
            }
        }
    }
}

fn from_gguf(gguf: &Gguf) -> Result<Vocabulary, ChatError> {
    let (meta, file) = (gguf.metadata(), gguf.file());
    let wrong = |problem: String| ChatError::Vocabulary { file: file.into(), problem };
    let refused = |source| ChatError::Tokenizer { file: file.into(), source };
    let model: &str = meta.get("tokenizer.ggml.model")?;
    if model != "gpt2" {
        return Err(wrong(format!("tokenizer.ggml.model is `{model}`; this program reads `gpt2` (byte-level BPE)")));
    }
    let tokens: &StringArray = meta.get("tokenizer.ggml.tokens")?;
    let kinds: Vec<i32> = meta.find("tokenizer.ggml.token_type")?.unwrap_or_default();
    let kinds: Option<Vec<TokenKind>> =
        kinds.into_iter().map(|number| TokenKind::from_gguf(u32::try_from(number).ok()?)).collect();
    let merges: &StringArray = meta.get("tokenizer.ggml.merges")?;
    let spec = TokenizerSpec {
        tokens: tokens.iter().map(str::to_owned).collect(),
        kinds: kinds.ok_or_else(|| wrong("tokenizer.ggml.token_type holds a number that is no token type".into()))?,
        merges: MergeList::Lines(merges.iter().map(str::to_owned).collect()),
        splitter: Splitter::from_pre(meta.get("tokenizer.ggml.pre")?).map_err(refused)?,
    };
    let tokenizer = Tokenizer::new(spec).map_err(refused)?;
    let mut eos: Vec<u32> = meta.find("tokenizer.ggml.eos_token_id")?.into_iter().collect();
    eos.extend(meta.find::<u32>("tokenizer.ggml.eot_token_id")?);
    Ok(Vocabulary {
        eos: stop_tokens(&tokenizer, eos).map_err(wrong)?,
        tokenizer: Arc::new(tokenizer),
        template: template(meta.find("tokenizer.chat_template")?)?,
        defaults: Overrides {
            temperature: meta.find("general.sampling.temp")?,
            top_p: meta.find("general.sampling.top_p")?,
            top_k: meta.find("general.sampling.top_k")?,
            min_p: meta.find("general.sampling.min_p")?,
            repetition_penalty: meta.find("general.sampling.penalty_repeat")?,
            presence_penalty: meta.find("botpsy.sampling.presence_penalty")?,
            max_tokens: meta.find("botpsy.sampling.max_tokens")?,
            ..Overrides::default()
        },
        remark: meta.find::<&str>("botpsy.remark")?.map(str::to_owned),
    })
}

fn from_folder(folder: &Path, config_eos: &[u32]) -> Result<Vocabulary, ChatError> {
    let path = folder.join("tokenizer.json");
    let file = path.display().to_string();
    let wrong = |problem: String| ChatError::Vocabulary { file: file.clone(), problem };
    let refused = |source| ChatError::Tokenizer { file: file.clone(), source };
    let TokenizerFile { tokens, kinds, merges, pattern, .. } = TokenizerFile::open(&path)?;
    let pattern =
        pattern.ok_or_else(|| wrong(format!("pre_tokenizer: no pattern; this program reads {QWEN35_PATTERN}")))?;
    let spec = TokenizerSpec {
        tokens,
        kinds: kinds.into_iter().map(kind).collect(),
        merges: MergeList::Lines(merges),
        splitter: Splitter::from_pattern(&pattern).map_err(refused)?,
    };
    let tokenizer = Tokenizer::new(spec).map_err(refused)?;
    let generation = match folder.join("generation_config.json") {
        path if path.exists() => GenerationConfig::open(&path)?,
        _ => GenerationConfig::default(),
    };
    let beside = match folder.join("tokenizer_config.json") {
        path if path.exists() => TokenizerConfig::open(&path)?,
        _ => TokenizerConfig::default(),
    };
    let template_file = folder.join("chat_template.jinja");
    let source = match template_file.exists() {
        true => Some(
            std::fs::read_to_string(&template_file)
                .map_err(|source| ChatError::Io { file: template_file.display().to_string(), source })?,
        ),
        false => beside.chat_template,
    };
    let mut eos = config_eos.to_vec();
    eos.extend(&generation.eos_token_id);
    eos.extend(beside.eos_token.and_then(|token| tokenizer.id_of(&token)).map(|id| id.0));
    Ok(Vocabulary {
        eos: stop_tokens(&tokenizer, eos).map_err(wrong)?,
        tokenizer: Arc::new(tokenizer),
        template: template(source.as_deref())?,
        defaults: Overrides {
            temperature: if generation.do_sample == Some(false) { Some(0.0) } else { generation.temperature },
            top_p: generation.top_p,
            top_k: generation.top_k,
            min_p: generation.min_p,
            presence_penalty: generation.presence_penalty,
            repetition_penalty: generation.repetition_penalty,
            max_tokens: generation.max_new_tokens,
            ..Overrides::default()
        },
        remark: None,
    })
}

/// A template from the file, or the built-in one when the file has none.
fn template(source: Option<&str>) -> Result<Template, ChatError> {
    Ok(match source {
        Some(source) => Template::Jinja(ChatTemplate::compile(source)?),
        None => Template::Qwen35,
    })
}

fn kind(entry: TokenizerEntry) -> TokenKind {
    match entry {
        TokenizerEntry::Normal => TokenKind::Normal,
        TokenizerEntry::Special => TokenKind::Control,
        TokenizerEntry::Added => TokenKind::UserDefined,
        TokenizerEntry::Unused => TokenKind::Unused,
    }
}

/// The stated ids, and those of the two tokens that end a turn or a text in this family.
fn stop_tokens(tokenizer: &Tokenizer, stated: Vec<u32>) -> Result<Vec<u32>, String> {
    if let Some(id) = stated.iter().find(|id| **id as usize >= tokenizer.n_tokens()) {
        return Err(format!("end-of-text token {id} is not in the vocabulary of {}", tokenizer.n_tokens()));
    }
    let mut ids = stated;
    ids.extend(["<|im_end|>", "<|endoftext|>"].iter().filter_map(|token| tokenizer.id_of(token)).map(|id| id.0));
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
