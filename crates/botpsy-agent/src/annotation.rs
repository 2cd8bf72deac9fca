//! What the owner says of a tool. A server's own word counts for nothing here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a tool does, who wrote what it answers, and what its arguments are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Annotation {
    /// What a call does to the world.
    pub effect: Effect,
    /// Who wrote the text of its results.
    pub output: Output,
    /// The part that each argument plays; an argument that is not named here is [`Role::Other`].
    #[serde(default)]
    pub args: BTreeMap<String, Role>,
    /// How a call is taken back.
    #[serde(default)]
    pub undo: Undo,
}

impl Annotation {
    /// A tool of which nobody said anything: as dangerous as can be.
    pub fn unknown() -> Annotation {
        let (effect, output) = (Effect::CodeExecution, Output::ThirdParty);
        Annotation { effect, output, args: BTreeMap::new(), undo: Undo::None }
    }

    /// A call of which nothing came: what is said then are our own words, and nothing changed.
    pub(crate) fn of_refusals() -> Annotation {
        let (effect, output) = (Effect::Read, Output::Service);
        Annotation { effect, output, args: BTreeMap::new(), undo: Undo::None }
    }
}

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads the owner's own data.
    Read,
    /// Reads from outside, which tells the outside what is read.
    OpenRead,
    /// Changes the owner's own data.
    Write,
    /// Changes what is remembered over sessions.
    MemoryWrite,
    /// Sends text to others.
    ExternalMessage,
    /// Lets others at the owner's data.
    GrantAccess,
    /// Changes who the owner is to others.
    Identity,
    /// Touches passwords and keys.
    Credential,
    /// Removes.
    Destructive,
    /// Moves money.
    Money,
    /// Touches health records.
    HealthRecord,
    /// Acts on the world outside of computers.
    Physical,
    /// Runs code.
    CodeExecution,
}

/// Who wrote the text of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// The owner, or a service about the owner's account.
    OwnAccount,
    /// Entries of an address book: names and addresses.
    AddressBook,
    /// The service itself: ids, sizes, times.
    Service,
    /// What was remembered, with the label of what wrote it.
    Memory,
    /// Anybody.
    ThirdParty,
}

/// The part that an argument plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whom it reaches: an address, account, host or URL.
    Destination,
    /// The record that it is about.
    Object,
    /// Words that say what is done.
    Key,
    /// When.
    KeyTime,
    /// How much.
    Amount,
    /// A path of a file.
    Path,
    /// Text that is passed on.
    Content,
    /// A file that is passed on.
    Attachment,
    /// Words that say what is read.
    Selector,
    /// Anything else.
    #[default]
    Other,
}

/// How a call is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// It is not.
    #[default]
    None,
    /// What was removed is kept.
    Trash,
    /// By the opposite call.
    InverseCall,
    /// It happens only after a delay.
    OutboxDelay,
}
