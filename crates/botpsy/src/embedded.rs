//! The model inside the program: small, there at once, and no more than a demonstration.

use botpsy_chat::ModelSource;

/// A GGUF file in Q8_0, made by `botpsy convert`; the script in the tests says how.
const MODEL: &[u8] = include_bytes!("../assets/nano.gguf");

/// The embedded model.
pub(crate) fn source() -> ModelSource {
    ModelSource::Embedded(MODEL, "embedded")
}

/// Its bytes.
pub(crate) fn bytes() -> &'static [u8] {
    MODEL
}
