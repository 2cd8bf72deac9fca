//! What calls of the offered tools may look like.

use std::sync::Arc;

use serde_json::Value;

use super::values::{self, Place, literal};
use super::vocabulary::{Borders, GrammarError, Grammars};
use crate::conversation::ToolSpec;
use crate::schema::Parameters;
use crate::tool_call::format::MAX_NAME_BYTES;
use crate::tool_call::toolset::tidy;
use crate::tool_call::{FUNCTION_CLOSE, FUNCTION_OPEN, PARAMETER_OPEN};

/// A keyword of a schema that calls are not held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Name of the tool.
    pub tool: String,
    /// Path in its parameters, such as `properties.code.pattern`.
    pub path: String,
    /// Why.
    pub why: String,
}

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tool `{}`: {} is not enforced: {}", self.tool, self.path, self.why)
    }
}

/// The offered tools as grammars.
#[derive(Clone, Debug)]
pub struct CallRules {
    pub(super) tools: Vec<Arc<ToolRules>>,
    /// The names of all tools that the reader knows.
    names: Arc<[String]>,
    dropped: Vec<Dropped>,
}

/// Keywords that say something about the arguments together.
const ROOT_KEYWORDS: [&str; 12] = [
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
];

/// One tool.
#[derive(Debug)]
pub(super) struct ToolRules {
    pub(super) name: String,
    /// What the reader knows of the parameters.
    declared: Parameters,
    /// Declared parameters, each with the grammar of its value.
    pub(super) parameters: Vec<(String, String)>,
    /// Whether each must be given.
    required: Vec<bool>,
    /// Whether others may be given, as any text.
    open: bool,
}

impl CallRules {
    /// Reads the tools. What cannot be enforced is dropped and told, or, of a tool that says `strict`, refused.
    ///
    /// # Errors
    /// A strict tool with a schema that cannot be enforced; the error names its path.
    pub fn new(grammars: &Grammars, tools: &[ToolSpec]) -> Result<CallRules, GrammarError> {
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        let mut rules = CallRules { tools: Vec::with_capacity(tools.len()), names, dropped: Vec::new() };
        for (index, tool) in tools.iter().enumerate() {
            let before = rules.dropped.len();
            let made = rules.tool(grammars, tools, tool);
            rules.tools.push(Arc::new(made));
            if tool.is_strict()
                && let Some(dropped) = rules.dropped.get(before)
            {
                let field = format!("tools[{index}].function.parameters.{}", dropped.path);
                return Err(GrammarError { field, problem: format!("cannot be enforced: {}", dropped.why) });
            }
        }
        Ok(rules)
    }

    /// What was dropped.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Only the tool of this name.
    #[must_use]
    pub fn only(&self, name: &str) -> CallRules {
        let tools = self.tools.iter().filter(|tool| tool.name == name).cloned().collect();
        CallRules { tools, names: Arc::clone(&self.names), dropped: self.dropped.clone() }
    }

    /// Whether the reader takes a written name for that of a tool.
    pub(super) fn knows(&self, written: &str) -> bool {
        self.names.iter().any(|name| name == written || name == tidy(written))
    }

    /// How a call begins, after its opener.
    pub(super) fn head(&self) -> String {
        let names: Vec<String> = self.tools.iter().map(|tool| literal(&tool.name)).collect();
        format!("start: {} name \">\\n\"\nname: {}\n", literal(&format!("\n{FUNCTION_OPEN}")), names.join(" | "))
    }

    fn tool(&mut self, grammars: &Grammars, tools: &[ToolSpec], tool: &ToolSpec) -> ToolRules {
        let root = &tool.parameters;
        let declared = Parameters::of(root);
        let mut rules = ToolRules {
            name: tool.name.clone(),
            declared: declared.clone(),
            parameters: Vec::new(),
            required: Vec::new(),
            open: root.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false)),
        };
        self.root(tool, &declared);
        let own = root.get("properties").and_then(Value::as_object);
        for key in declared.names() {
            let own = own.and_then(|own| own.get(key));
            if key.trim().is_empty() || key.len() >= MAX_NAME_BYTES || key.contains(['<', '>', '\n', '\r']) {
                if own.is_some() {
                    self.drop(tool, format!("properties.{key}"), "the format of calls cannot carry this name");
                }
                continue;
            }
            if own.is_none() && root.get("additionalProperties") == Some(&Value::Bool(false)) {
                continue;
            }
            let types = declared.types(key).unwrap_or_default();
            let lark = match own {
                Some(schema) => {
                    let value = Place { grammars, tools, tool, key, types }.value(schema);
                    value.told.iter().for_each(|told| self.drop(tool, told.path.clone(), &told.why));
                    value.lark
                }
                // Declared by a part of the schema only.
                None => values::of_types(types),
            };
            rules.parameters.push((key.to_owned(), lark));
            rules.required.push(declared.required().iter().any(|required| required == key));
        }
        rules
    }

    /// What the schema says as a whole that the machine does not walk.
    fn root(&mut self, tool: &ToolSpec, declared: &Parameters) {
        let root = &tool.parameters;
        for keyword in ROOT_KEYWORDS.iter().filter(|keyword| root.get(**keyword).is_some()) {
            self.drop(tool, (*keyword).to_owned(), "calls as a whole are not held to it");
        }
        if root.get("type").is_some_and(|kind| kind != "object") {
            self.drop(tool, "type".to_owned(), "arguments are an object");
        }
        if root.get("properties").is_some_and(|properties| !properties.is_object()) {
            self.drop(tool, "properties".to_owned(), "they are no object");
        }
        if root.get("additionalProperties").and_then(Value::as_object).is_some_and(|others| !others.is_empty()) {
            self.drop(tool, "additionalProperties".to_owned(), "others are any text");
        }
        for name in declared.required().iter().filter(|name| !declared.declares(name)) {
            self.drop(tool, "required".to_owned(), &format!("{name} is not among the properties"));
        }
    }

    fn drop(&mut self, tool: &ToolSpec, path: String, why: &str) {
        // One line is enough of what a compiler says.
        let why = why.lines().next().unwrap_or_default().to_owned();
        let dropped = Dropped { tool: tool.name.clone(), path, why };
        // What several parameters refer to is told once.
        if !self.dropped.iter().any(|told| told.tool == dropped.tool && told.path == dropped.path) {
            self.dropped.push(dropped);
        }
    }
}

impl ToolRules {
    /// What may come after the head or a value, when these parameters were given: another one, or the end.
    pub(super) fn next(&self, given: &[String], borders: &Borders) -> String {
        let is_given = |key: &String| given.contains(key);
        let open = |key: &str| literal(&format!("{PARAMETER_OPEN}{key}>\n"));
        let mut ways: Vec<String> =
            self.parameters.iter().filter(|(key, _)| !is_given(key)).map(|(key, _)| open(key)).collect();
        let mut rules = String::new();
        if self.open {
            ways.push("other".to_owned());
            // The reader takes space and quotes off a name that was not declared, and no name may be given twice.
            let taken: Vec<String> = given.iter().map(|key| literal(key)).collect();
            let taken = if taken.is_empty() { String::new() } else { format!(" & ~({})", taken.join(" | ")) };
            let name = r#"/[^<>\s"'\\\x00-\x1f\x7f]([^<>"'\\\x00-\x1f\x7f]{0,200}[^<>\s"'\\\x00-\x1f\x7f])?/"#;
            rules.push_str(&format!("other: {} NAME \">\\n\"\nNAME: {name}{taken}\n", literal(PARAMETER_OPEN)));
        }
        let missing =
            self.parameters.iter().zip(&self.required).any(|((key, _), required)| *required && !is_given(key));
        if !missing {
            ways.push("end".to_owned());
            rules.push_str(&format!("end: {} <[{}]>\n", literal(&format!("{FUNCTION_CLOSE}\n")), borders.call_close));
        }
        format!("start: {}\n{rules}", ways.join(" | "))
    }

    /// The grammar of the value of a parameter.
    pub(super) fn value(&self, key: &str) -> String {
        let declared = self.parameters.iter().find(|(name, _)| name == key);
        declared.map_or_else(values::any_text, |(_, lark)| lark.clone())
    }

    /// Whether the reader takes a written name for that of a parameter.
    pub(super) fn declares(&self, written: &str) -> bool {
        self.declared.declares(written) || self.declared.declares(tidy(written))
    }
}
