//! What calls of the offered tools may look like.

use std::sync::Arc;

use serde_json::Value;

use super::values::{self, ValueGrammar, literal};
use super::vocabulary::{Borders, GrammarError, Grammars};
use crate::conversation::ToolSpec;
use crate::schema::Parameters;
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

/// Keywords beside which a text is any text.
const PLAIN_KEYWORDS: [&str; 6] = ["type", "title", "description", "default", "examples", "deprecated"];

/// One tool.
#[derive(Debug)]
pub(super) struct ToolRules {
    pub(super) name: String,
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
        let mut rules = CallRules { tools: Vec::with_capacity(tools.len()), dropped: Vec::new() };
        for (index, tool) in tools.iter().enumerate() {
            let before = rules.dropped.len();
            let made = rules.tool(grammars, tool);
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
        CallRules { tools, dropped: self.dropped.clone() }
    }

    /// How a call begins, after its opener.
    pub(super) fn head(&self) -> String {
        let names: Vec<String> = self.tools.iter().map(|tool| literal(&tool.name)).collect();
        format!("start: {} name \">\\n\"\nname: {}\n", literal(&format!("\n{FUNCTION_OPEN}")), names.join(" | "))
    }

    fn tool(&mut self, grammars: &Grammars, tool: &ToolSpec) -> ToolRules {
        let root = &tool.parameters;
        let declared = Parameters::of(root);
        let mut rules = ToolRules {
            name: tool.name.clone(),
            parameters: Vec::new(),
            required: Vec::new(),
            open: root.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false)),
        };
        self.root(tool, &declared);
        let own = root.get("properties").and_then(Value::as_object);
        for key in declared.names() {
            if key.is_empty() || key.contains(['<', '>', '\n', '\r']) {
                self.drop(tool, format!("properties.{key}"), "the format of calls cannot carry this name");
                continue;
            }
            let value = match own.and_then(|own| own.get(key)) {
                Some(schema) => self.value(grammars, tool, key, schema),
                // Declared by a part of the schema only: typed when it is read.
                None => values::any_text(),
            };
            rules.parameters.push((key.to_owned(), value.lark));
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

    fn value(&mut self, grammars: &Grammars, tool: &ToolSpec, key: &str, schema: &Value) -> ValueGrammar {
        let value = values::value(key, schema, &tool.parameters);
        for keyword in &value.dropped {
            self.drop(tool, format!("properties.{key}.{keyword}"), "strings are not held to it");
        }
        if let Some(path) = values::impossible(schema, 0) {
            let path: String = path.iter().rev().map(|key| format!(".{key}")).collect();
            self.drop(tool, format!("properties.{key}{path}"), "asks for more than can be written");
            return values::of_types(schema, &tool.parameters);
        }
        // A schema that says more than the type of a text may be none at all.
        let is_plain =
            |node: &serde_json::Map<String, Value>| node.keys().all(|key| PLAIN_KEYWORDS.contains(&key.as_str()));
        if value.lark == values::any_text().lark
            && !(schema.as_object().is_some_and(is_plain) && schema["type"] == "string")
            && value.dropped.is_empty()
            && schema.as_object().is_none_or(|node| !node.is_empty())
            && let Err(problem) = grammars.check_json(&values::document(key, &tool.parameters))
        {
            self.drop(tool, format!("properties.{key}"), &problem);
        }
        match grammars.check(&value.lark) {
            Ok(()) => value,
            Err(problem) => {
                self.drop(tool, format!("properties.{key}"), &problem);
                values::of_types(schema, &tool.parameters)
            }
        }
    }

    fn drop(&mut self, tool: &ToolSpec, path: String, why: &str) {
        // One line is enough of what a compiler says.
        let why = why.lines().next().unwrap_or_default().to_owned();
        self.dropped.push(Dropped { tool: tool.name.clone(), path, why });
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
            rules.push_str(&format!("other: {} /[^<>\\n\\r]+/ \">\\n\"\n", literal(PARAMETER_OPEN)));
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
        declared.map_or_else(|| values::any_text().lark, |(_, lark)| lark.clone())
    }
}
