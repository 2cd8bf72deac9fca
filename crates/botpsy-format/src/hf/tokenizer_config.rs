//! `tokenizer_config.json`.

use std::path::Path;

use serde_json::Value;

use crate::Result;
use crate::json::{self, Fields, read_bytes, wrong_type};

/// What `tokenizer_config.json` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenizerConfig {
    /// The chat template; of several named ones the one called `default`.
    pub chat_template: Option<String>,
    /// The token that ends a text.
    pub eos_token: Option<String>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json`.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON object, or a field has another type.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, bytes) = read_bytes(path)?;
        Self::from_bytes(&bytes, &file)
    }

    /// Reads the text of such a file; `label` stands for its name in errors.
    ///
    /// # Errors
    /// As `open`.
    pub fn from_bytes(bytes: &[u8], label: &str) -> Result<Self> {
        let object = json::object(label, bytes)?;
        let fields = Fields { file: label, prefix: "", object: &object };
        let chat_template = match fields.value("chat_template") {
            Some(Value::Array(list)) => default_template(label, list)?,
            _ => fields.text("chat_template")?.map(str::to_owned),
        };
        let eos_token = match fields.value("eos_token") {
            Some(Value::Object(object)) => Fields { prefix: "eos_token.", object, ..fields }.text("content")?,
            _ => fields.text("eos_token")?,
        };
        Ok(Self { chat_template, eos_token: eos_token.map(str::to_owned) })
    }
}

fn default_template(file: &str, list: &[Value]) -> Result<Option<String>> {
    for (i, value) in list.iter().enumerate() {
        let path = format!("chat_template.{i}");
        let object = value.as_object().ok_or_else(|| wrong_type(file, &path, "an object", value))?;
        let prefix = format!("{path}.");
        let fields = Fields { file, prefix: &prefix, object };
        if fields.text("name")? == Some("default") {
            return Ok(fields.text("template")?.map(str::to_owned));
        }
    }
    Ok(None)
}
