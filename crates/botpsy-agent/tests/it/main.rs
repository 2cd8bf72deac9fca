//! The assistant, from outside.
#![allow(clippy::unwrap_used)]

mod assistant;
mod calendar;
mod desk;
mod filled;
mod foreign;
mod import;
mod lists;
mod little_tools;
mod memory;
mod notes;
mod policy;
mod reminders;
mod replay;
mod series;
mod store;
mod time;
mod words;
