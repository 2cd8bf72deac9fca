//! The paths of OpenAI.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod models;
mod sse;
mod writer;
