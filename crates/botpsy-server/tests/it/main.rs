//! The server as clients meet it: a real socket, a real HTTP client, the small demonstration model or a script behind it.

#![allow(clippy::unwrap_used)]

mod cases;
mod chat;
mod completions;
mod constrained;
mod edge;
mod laws;
mod malformed;
mod native;
mod parallel;
#[path = "../../../botpsy/tests/it/random_model.rs"]
mod random_model;
mod restart;
mod support;
mod turns;
