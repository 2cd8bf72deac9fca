//! The tools at hand.

use std::collections::BTreeMap;

use botpsy_text::conversation::ToolSpec;
use serde_json::{Value, json};

use crate::policy::Tools;
use crate::{Annotation, Tool, tools};

/// The tools at hand, as the model sees them and as the gate sees them.
pub struct Toolbox {
    tools: Vec<Box<dyn Tool>>,
    gate: Tools,
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Default for Toolbox {
    fn default() -> Toolbox {
        Toolbox::new(tools::all())
    }
}

impl Toolbox {
    /// These tools.
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Toolbox {
        let gate = Tools::new(tools.iter().map(|tool| (tool.spec(), tool.annotation())));
        Toolbox { tools, gate }
    }

    /// With what the owner says of some of them: this counts more than what a tool brings with it.
    #[must_use]
    pub fn stated(mut self, annotations: &BTreeMap<String, Annotation>) -> Toolbox {
        let annotated = self.tools.iter().map(|tool| {
            let spec = tool.spec();
            (spec, annotations.get(&spec.name).unwrap_or_else(|| tool.annotation()))
        });
        self.gate = Tools::new(annotated);
        self
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name.as_str())
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name).map(|tool| &**tool)
    }

    /// As the gate sees them.
    pub fn gate(&self) -> &Tools {
        &self.gate
    }

    /// The specs of the named ones, in the order of the box.
    pub(super) fn specs<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<ToolSpec> {
        let names: Vec<&str> = names.collect();
        let named = self.tools.iter().map(|tool| tool.spec()).filter(|spec| names.contains(&spec.name.as_str()));
        named.cloned().collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| tool.spec())
    }
}

/// Leaves of a tool what can be told by names and types.
pub(super) fn shorten(spec: &mut ToolSpec) {
    let properties = spec.parameters.get_mut("properties").and_then(Value::as_object_mut);
    for property in
        properties.into_iter().flat_map(|properties| properties.values_mut()).filter_map(Value::as_object_mut)
    {
        property.remove("description");
    }
    // Calls are held to what is required all the same.
    let parameters = json!({ "type": "object", "properties": spec.parameters["properties"], "required": [] });
    let (name, about) = (&spec.name, spec.name.replace('_', " "));
    let function = json!({ "name": name, "description": about, "parameters": parameters });
    spec.source = json!({ "type": "function", "function": function });
}
