//! The suites, on the shared data.
#![allow(clippy::unwrap_used)]

mod guardrail;
