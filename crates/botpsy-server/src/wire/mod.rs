//! The JSON of requests and answers. Lenient in what is read, exact in what is written.

mod chat_request;
mod chat_response;
mod completion;
mod counts;
mod lenient;
mod sampling;

pub(crate) use chat_request::{ChatRequest, StreamOptions};
pub(crate) use chat_response::{
    AssistantMessage, ChatCompletion, Choice, ChoiceLogprobs, Chunk, ChunkChoice, TokenLogprob,
};
pub(crate) use completion::{CompletionRequest, PromptLogprobs, TextChoice, TextCompletion};
pub(crate) use counts::{Timings, Usage};
pub(crate) use sampling::{Least, SamplingFields};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::ApiError;

/// Reads a body as an endpoint's own fields, of the names `known`, and those about sampling. Unknown fields are logged,
/// known ones that cannot be honoured refused by name.
fn read_fields<T: DeserializeOwned>(body: &[u8], known: &[&str]) -> Result<(T, SamplingFields), ApiError> {
    let mut fields = object(body)?;
    refuse_unhonoured(&fields)?;
    let is_known = |name: &str| {
        let lists = [known, SamplingFields::NAMES, HARMLESS];
        lists.iter().any(|names| names.contains(&name)) || UNHONOURED.iter().any(|(unhonoured, _)| *unhonoured == name)
    };
    let mut unknown = fields.keys().filter(|name| !is_known(name));
    if let Some(name) = unknown.next() {
        // One line, whatever is in the body: what a client sends must not fill a disk.
        let (first, more) = (name.chars().take(64).collect::<String>(), unknown.count());
        tracing::warn!(field = %first.escape_debug(), more, "an unknown field of the request is ignored");
    }
    // Taken apart, not copied: a body may be large.
    let sampling = SamplingFields::NAMES.iter().filter_map(|name| fields.shift_remove_entry(*name)).collect();
    Ok((typed(Value::Object(fields))?, typed(Value::Object(sampling))?))
}

/// A body that is a JSON object.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::invalid(format!("the body is no JSON object: {error}")))
}

/// Fields as a type; what does not fit is refused by its path.
pub(crate) fn typed<T: DeserializeOwned>(fields: Value) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(fields).map_err(|error| {
        let problem = error.inner().to_string();
        // Of a field that is missing the path ends above it.
        let missing = problem.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let path = match (error.path().to_string(), missing) {
            (path, Some(field)) if path == "." => field.to_owned(),
            (path, _) => path,
        };
        let message = format!("{path}: {problem}");
        ApiError::field(path, message)
    })
}

/// Fields that say nothing about the answer.
const HARMLESS: &[&str] = &[
    "user",
    "metadata",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "verbosity",
    "cache_prompt",
    "id_slot",
];

/// Fields that ask for something that is not done here, with the values that ask for nothing.
const UNHONOURED: &[(&str, &[&str])] = &[
    ("store", &["false"]),
    ("background", &["false"]),
    ("audio", &[]),
    ("modalities", &[r#"["text"]"#]),
    ("web_search_options", &[]),
    ("prediction", &[]),
    ("functions", &["[]"]),
    ("function_call", &[r#""none""#, r#""auto""#]),
    ("best_of", &["1"]),
    ("suffix", &[r#""""#]),
    ("use_beam_search", &["false"]),
    ("structured_outputs", &[]),
    ("guided_json", &[]),
    ("guided_regex", &[]),
    ("guided_choice", &[]),
    ("guided_grammar", &[]),
    ("grammar", &[r#""""#]),
    ("chat_template", &[]),
];

fn refuse_unhonoured(fields: &Map<String, Value>) -> Result<(), ApiError> {
    for (name, nothing) in UNHONOURED {
        let Some(value) = fields.get(*name).filter(|value| !value.is_null()) else { continue };
        if !nothing.contains(&value.to_string().as_str()) {
            let message = format!("{name} is not supported here: leave it out");
            return Err(ApiError::field(*name, message).with_code("unsupported_parameter"));
        }
    }
    Ok(())
}
