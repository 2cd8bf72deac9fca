//! The chat face, end to end on small models.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod endpoint;
mod local;
mod odd_server;
mod providers;
