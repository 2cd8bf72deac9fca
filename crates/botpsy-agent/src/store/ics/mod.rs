//! Events as RFC 5545 writes them.
//!
//! A file is read as content lines that remember how they were written: what a change does not touch stays as it was, byte for
//! byte, whoever wrote it. Nesting is counted, never recursed into, so that no file can exhaust the stack.

mod edit;
mod event;
mod lines;
mod recur;
mod stamp;
mod vtimezone;
mod zone;

pub use edit::{Amend, NewEvent, amend, compose, exclude, remove, split};
pub use event::{Event, events};
pub use recur::{Occurrence, check_rule, next_after, occurrences};
pub use stamp::Stamp;
pub use zone::find_zone;

pub(crate) use lines::decode;
