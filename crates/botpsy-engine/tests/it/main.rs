//! The engine's face on the small reference models.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod benches;
mod fixture;
mod jobs;
mod sessions;
