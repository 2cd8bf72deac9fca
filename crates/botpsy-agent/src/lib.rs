//! The assistant: a loop that asks a model, and a gate between what the model wants and what happens.
//!
//! The model is never trusted: a [`Tool`] only *plans*, the gate in [`policy`] decides about the plan, and what was allowed is
//! carried out by the [`store`], which writes down what it does before and after. It knows nothing of the HTTP server.

mod annotation;
pub mod assistant;
pub mod journal;
pub mod policy;
pub mod store;
pub mod time;
mod tool;
pub mod tools;

pub use annotation::{Annotation, Effect, Output, Role, Undo};
pub use tool::{Plan, Tool, ToolError, World};
