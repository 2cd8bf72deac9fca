//! What a tool is: it says what would happen, and never makes it happen.

use botpsy_text::conversation::ToolSpec;
use jiff::Zoned;
use serde_json::{Map, Value};

use crate::Annotation;
use crate::store::{Change, Store};

/// What a tool may look at when it plans.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The owner's data.
    pub store: &'a Store,
    /// The owner's clock and time zone.
    pub now: &'a Zoned,
}

/// A thing that the model may ask for.
pub trait Tool: Send + Sync {
    /// Name, description and schema, as the model is shown them.
    fn spec(&self) -> &ToolSpec;

    /// What the gate must know of it.
    fn annotation(&self) -> &Annotation;

    /// What a call would do. Nothing changes yet, whatever is planned; the arguments fit the schema.
    ///
    /// # Errors
    /// If the call makes no sense; the model is told the error's text.
    fn plan(&self, arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError>;
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Only tells something: the result, as JSON.
    Answer(Value),
    /// Changes the owner's data.
    Change(Change),
}

/// Why a call makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// An argument is wrong.
    #[error("argument `{name}`: {problem}")]
    Argument {
        /// Its name.
        name: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// Only the owner can say what is meant.
    #[error("{question}")]
    Ask {
        /// What to ask the owner, in full sentences.
        question: String,
    },
    /// What the call is about is not there.
    #[error("{0}")]
    Missing(String),
    /// The owner's data cannot be read.
    #[error("{what}: {why}")]
    Store {
        /// Which file or table.
        what: String,
        /// What the system said.
        why: String,
    },
}
