//! The chat face, end to end on small models.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod local;
mod providers;
