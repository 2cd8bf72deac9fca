//! Runs the built program on the fixtures, and checks the repository itself.

#![allow(clippy::unwrap_used)]

mod act;
mod agenda;
mod ask;
mod bench;
mod chat;
mod config;
mod convert;
mod daemon;
mod doctor;
mod endpoint;
mod errors;
mod generate;
mod help;
mod hostile;
mod import;
mod inspect;
mod layout;
mod log;
mod logits;
mod owner;
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
