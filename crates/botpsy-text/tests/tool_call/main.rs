//! The tool-call format against the reference cases, and its laws: pieces and cuts change nothing, what is rendered can
//! be read, and no input breaks it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod cases;
mod constrain;
mod fuzz;
mod laws;
mod random_calls;
mod round_trip;
mod stops;
mod support;
mod types;
mod walker;
