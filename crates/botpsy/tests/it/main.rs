//! Runs the built program on the fixtures, and checks the repository itself.

#![allow(clippy::unwrap_used)]

mod act;
mod ask;
mod bench;
mod chat;
mod convert;
mod errors;
mod generate;
mod help;
mod hostile;
mod inspect;
mod layout;
mod log;
mod logits;
mod parse;
mod policy;
mod random_model;
mod random_weights;
mod render;
mod serve;
mod support;
mod time;
mod tokenize;
mod tools;
