//! The tools that there are, as the gate sees them.

use std::collections::BTreeMap;

use botpsy_text::conversation::{ToolCall, ToolSpec};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Annotation;

/// A SHA-256.
pub type Hash = [u8; 32];

/// The tools that were offered, with what the owner says of them.
#[derive(Clone, Debug, Default)]
pub struct Tools(BTreeMap<String, Entry>);

/// One tool.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) parameters: Value,
    pub(crate) annotation: Annotation,
    hash: Hash,
    approved: Hash,
}

impl Entry {
    pub(crate) fn is_changed(&self) -> bool {
        self.hash != self.approved
    }
}

impl Tools {
    /// A list of tools, all of them approved as they are.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a ToolSpec, &'a Annotation)>) -> Tools {
        let mut list = Tools::default();
        for (spec, annotation) in tools {
            list.put(spec, annotation);
        }
        list
    }

    /// Adds a tool, or takes what its server says of it now; a known one that differs is disabled until [`approve`](Self::approve).
    pub fn put(&mut self, spec: &ToolSpec, annotation: &Annotation) {
        let hash = tool_hash(spec, annotation);
        let approved = self.0.get(&spec.name).map_or(hash, |known| known.approved);
        self.pin(spec, annotation, approved);
    }

    /// Adds a tool that was approved when its hash was this one, in this session or before.
    pub fn pin(&mut self, spec: &ToolSpec, annotation: &Annotation, approved: Hash) {
        let hash = tool_hash(spec, annotation);
        let entry = Entry { parameters: spec.parameters.clone(), annotation: annotation.clone(), hash, approved };
        self.0.insert(spec.name.clone(), entry);
    }

    /// The owner agrees to a tool as it is now; `false` when there is none of that name.
    pub fn approve(&mut self, name: &str) -> bool {
        self.0.get_mut(name).map(|entry| entry.approved = entry.hash).is_some()
    }

    /// The hash of a tool's name, description, schema and annotation, for the log and for [`pin`](Self::pin).
    pub fn hash(&self, name: &str) -> Option<Hash> {
        self.0.get(name).map(|entry| entry.hash)
    }

    /// What the owner says of a tool.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        self.0.get(name).map(|entry| &entry.annotation)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.0.get(name)
    }
}

fn tool_hash(spec: &ToolSpec, annotation: &Annotation) -> Hash {
    let annotation = serde_json::to_value(annotation).unwrap_or_default();
    let parts = serde_json::json!([spec.name, spec.source, spec.parameters, annotation]);
    Sha256::digest(canonical(&parts)).into()
}

/// The SHA-256 of a call in its canonical form: an approval holds for this and nothing else.
pub fn call_hash(call: &ToolCall) -> Hash {
    let arguments = Value::Object(call.arguments.clone());
    Sha256::digest(canonical(&Value::Array(vec![Value::String(call.name.clone()), arguments]))).into()
}

/// JSON with the keys of every object sorted, without blanks; numbers stay as they were written.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            let fields: Vec<String> = sorted
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::String((*key).clone()), canonical(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        plain => plain.to_string(),
    }
}

impl Entry {
    /// A tool that nobody offered.
    pub(crate) fn of_nobody(annotation: Annotation) -> Entry {
        Entry { parameters: Value::Null, annotation, hash: [0; 32], approved: [0; 32] }
    }
}
