//! The tools on offer, as the reader needs them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::conversation::ToolSpec;
use crate::schema::Parameters;

/// The names of the offered tools, each with what its schema says about its parameters.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: HashMap<String, Arc<Parameters>>,
}

impl Toolset {
    /// Reads the schemas once; of two tools with the same name the last counts.
    pub fn new(tools: &[ToolSpec]) -> Toolset {
        let read = |tool: &ToolSpec| (tool.name.clone(), Arc::new(Parameters::of(&tool.parameters)));
        Toolset { tools: tools.iter().map(read).collect() }
    }

    /// The offered tool that a written name means.
    pub(super) fn find(&self, written: &str) -> Option<(&str, &Arc<Parameters>)> {
        let found = self.tools.get_key_value(written).or_else(|| self.tools.get_key_value(tidy(written)));
        found.map(|(name, parameters)| (name.as_str(), parameters))
    }
}

/// A written name without the white space and the quotes that models put around it.
pub(super) fn tidy(written: &str) -> &str {
    let name = written.trim();
    ['"', '\'']
        .into_iter()
        .find_map(|quote| name.strip_prefix(quote)?.strip_suffix(quote).filter(|name| !name.is_empty()))
        .unwrap_or(name)
}
