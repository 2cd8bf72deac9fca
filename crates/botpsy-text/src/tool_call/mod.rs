//! The tool-call format, in one room.

pub mod python;
