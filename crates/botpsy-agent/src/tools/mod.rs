//! The tools that come with the program: calendar, alarms and reminders, notes and lists, memory, and little ones that only compute.
//!
//! Whatever a tool answers from the owner's calendar or notes counts as written by anybody: events are sent by others, and notes
//! hold what was pasted into them.

mod args;
mod calculate;
mod calendar;
mod change_event;
mod clock;
mod lists;
mod memory;
mod notes;
mod number;
mod pick;
mod reminders;
mod units;
mod wake;
mod when;

use std::collections::BTreeMap;

use botpsy_text::conversation::ToolSpec;
use serde_json::{Map, Value, json};

use crate::store::StoreError;
use crate::{Annotation, Effect, Output, Plan, Role, Tool, ToolError, Undo, World};

pub use memory::label_memories;
pub(crate) use memory::recalled;
pub use when::{say, say_rule, say_span};

/// All of them.
pub fn all() -> Vec<Box<dyn Tool>> {
    let groups = [
        calendar::tools(),
        change_event::tools(),
        reminders::tools(),
        notes::tools(),
        lists::tools(),
        memory::tools(),
        calculate::tools(),
        units::tools(),
        clock::tools(),
    ];
    groups.into_iter().flatten().map(|tool| Box::new(tool) as Box<dyn Tool>).collect()
}

/// What a built-in tool does with its arguments.
type PlanFn = fn(&Map<String, Value>, World) -> Result<Plan, ToolError>;

/// A tool that is a function.
struct BuiltIn {
    spec: ToolSpec,
    annotation: Annotation,
    plan: PlanFn,
}

impl Tool for BuiltIn {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn annotation(&self) -> &Annotation {
        &self.annotation
    }

    fn plan(&self, arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
        (self.plan)(arguments, world)
    }
}

/// A parameter: its name, what it is, whether it must be given, and its role.
struct Param {
    name: &'static str,
    schema: Value,
    is_required: bool,
    role: Role,
}

fn text(name: &'static str, role: Role, description: &str) -> Param {
    Param { name, schema: json!({ "type": "string", "description": description }), is_required: true, role }
}

fn texts(name: &'static str, role: Role, description: &str) -> Param {
    let schema = json!({ "type": "array", "items": { "type": "string" }, "description": description });
    Param { name, schema, is_required: true, role }
}

fn number(name: &'static str, role: Role, description: &str) -> Param {
    Param { name, schema: json!({ "type": "number", "description": description }), is_required: true, role }
}

fn optional(param: Param) -> Param {
    Param { is_required: false, ..param }
}

fn tool(
    name: &'static str,
    description: &str,
    (effect, output, undo): (Effect, Output, Undo),
    params: Vec<Param>,
    plan: PlanFn,
) -> BuiltIn {
    let required: Vec<&str> = params.iter().filter(|param| param.is_required).map(|param| param.name).collect();
    let args: BTreeMap<String, Role> = params.iter().map(|param| (param.name.to_owned(), param.role)).collect();
    let properties: Map<String, Value> =
        params.iter().map(|param| (param.name.to_owned(), param.schema.clone())).collect();
    let parameters = json!({ "type": "object", "properties": properties, "required": required });
    let source = json!({
        "type": "function",
        "function": { "name": name, "description": description, "parameters": parameters },
    });
    let spec = ToolSpec { name: name.to_owned(), parameters, source };
    BuiltIn { spec, annotation: Annotation { effect, output, args, undo }, plan }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> ToolError {
        let (what, why) = match &error {
            StoreError::File { path, source } => (path.display().to_string(), source.to_string()),
            StoreError::Database { path, source } => (path.display().to_string(), source.to_string()),
            StoreError::Later { path, .. } => (path.display().to_string(), error.to_string()),
        };
        ToolError::Store { what, why }
    }
}
