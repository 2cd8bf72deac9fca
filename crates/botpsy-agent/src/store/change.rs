//! What a change is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A change that somebody may agree to: what it does in words, and as operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What happens, in a sentence that begins with a verb and names the true object, without a full stop:
    /// `Add to the calendar: Dentist`.
    pub summary: String,
    /// What else is to be known before one agrees, line by line: a name (`when`, `where`), and what it is.
    pub details: Vec<(String, String)>,
    /// What speaks against it: `overlaps with Yoga (15:30 to 16:30)`.
    pub warnings: Vec<String>,
    /// What is done, in order.
    pub ops: Vec<Op>,
    /// What the model is told when it is done, as JSON.
    pub result: Value,
}

/// One step of a change. Whoever applies it compares what is there with `before`; when it is already as `after` says, nothing
/// remains to be done; when it is neither, somebody else was there first and nothing is overwritten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// A whole file; `None` means that there is none.
    File {
        /// Which folder.
        place: Place,
        /// Its path inside the folder, with `/`, never with `..`.
        path: String,
        /// Its text now.
        before: Option<String>,
        /// Its text then.
        after: Option<String>,
    },
    /// A row; `None` means that there is none.
    Row {
        /// Which table.
        table: Table,
        /// Its key.
        id: String,
        /// Its columns now, `id` left out.
        before: Option<Map<String, Value>>,
        /// Its columns then.
        after: Option<Map<String, Value>>,
    },
}

/// A folder of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Events, one `.ics` file each.
    Calendar,
    /// Notes and lists, one Markdown file each.
    Notes,
}

/// A table of the owner's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Alarms, timers and reminders.
    Reminders,
    /// What is remembered.
    Memories,
}

impl Change {
    /// What takes it back: the opposite steps in the opposite order.
    pub fn inverse(&self) -> Change {
        Change {
            summary: format!("Take back: {}", self.summary),
            details: self.details.clone(),
            warnings: Vec::new(),
            ops: self.ops.iter().rev().map(Op::inverse).collect(),
            result: Value::Null,
        }
    }
}

impl Op {
    /// The step back.
    pub fn inverse(&self) -> Op {
        match self.clone() {
            Op::File { place, path, before, after } => Op::File { place, path, before: after, after: before },
            Op::Row { table, id, before, after } => Op::Row { table, id, before: after, after: before },
        }
    }
}
