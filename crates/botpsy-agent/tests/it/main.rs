//! The assistant, from outside.
#![allow(clippy::unwrap_used)]

mod assistant;
mod calendar;
mod day;
mod desk;
mod filled;
mod firing;
mod foreign;
mod honest;
mod import;
mod killed;
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
mod topics;
mod words;
