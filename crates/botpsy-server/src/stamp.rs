//! What all pieces of one answer have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::app::{App, hex};
use crate::error::ApiError;

/// The head of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) id: String,
    /// Seconds since 1970.
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) fingerprint: String,
}

impl Stamp {
    /// `kind` begins the id, as in `chatcmpl-`; `asked` is the model name of the request, which is echoed.
    pub(crate) fn new(app: &App, kind: &str, asked: Option<&str>) -> Result<Stamp, ApiError> {
        let model = match asked {
            None | Some("") => app.name.clone(),
            Some(name) if name.len() > 256 || name.split(['/', '\\']).any(|part| part == "..") => {
                let message = format!("model: `{}` is no name of a model", name.chars().take(64).collect::<String>());
                return Err(ApiError::field("model", message).with_code("model_not_found"));
            }
            Some(name) => name.to_owned(),
        };
        Ok(Stamp { id: new_id(kind), created: now(), model, fingerprint: app.fingerprint().to_owned() })
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An id that no other answer of this or another run has.
pub(crate) fn new_id(kind: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let seed = format!("{}-{now}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let digest = Sha256::digest(seed.as_bytes());
    format!("{kind}{}", hex(&digest[..12]))
}
