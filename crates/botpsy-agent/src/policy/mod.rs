//! The gate: what a call may do.
//!
//! It stands between the model and the tools and trusts neither. [`Context`] knows who wrote each text of the session, [`Policy`] what
//! the owner allows, and [`decide`] says allow, ask or deny, with the rule and with where every value comes from. Nothing here reads,
//! writes, asks or waits; no model is asked either.

mod anchor;
mod answer;
mod config;
mod confirm;
mod context;
mod decide;
mod hard;
mod order;
mod path;
mod records;
mod rule;
mod said;
mod schema;
mod scope;
mod secret;
mod show;
mod text;
mod tools;
mod topic;
mod url;

pub use anchor::Finding;
pub use answer::check_answer;
pub use config::{Choice, Grant, Limits, OwnRule, Policy, PolicyError, Profile};
pub use confirm::{Approval, Confirmation};
pub use context::{Context, Integrity, Origin, Presence};
pub use decide::{Decision, OUTBOX_SECONDS, Verdict, decide};
pub use rule::Rule;
pub use scope::{Scope, lexical};
pub use secret::Secrets;
pub(crate) use text::escaped;
pub use text::normalize;
pub use tools::{Hash, Tools, call_hash};
pub use topic::{Topic, topics_of_answer, topics_of_request};
