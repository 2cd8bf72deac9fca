//! The owner's data on disk, and the one way to change it.
//!
//! A change is planned as a list of [`Op`]s, each with what is there before and what is there afterwards. So a preview, the change
//! itself, what repairs it after a kill, and undo are the same list, read in different ways.

mod change;

pub use change::{Change, Op, Place, Table};

/// The owner's data: a database, a folder of events, a folder of notes.
#[derive(Debug)]
pub struct Store {}
