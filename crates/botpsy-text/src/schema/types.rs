//! The JSON types that a schema allows, found through references and combinations.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::number;

/// Longest chain of references and combinators that is followed.
const MAX_DEPTH: usize = 64;
/// Most schema nodes that are read for one parameter, or for the list of parameters: references may fan out.
const MAX_NODES: usize = 10_000;

/// One of the seven types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Type {
    /// `null`.
    Null = 1,
    /// A number without a fraction.
    Integer = 1 << 1,
    /// Any number.
    Number = 1 << 2,
    /// `true` or `false`.
    Boolean = 1 << 3,
    /// An object.
    Object = 1 << 4,
    /// A list.
    Array = 1 << 5,
    /// A string.
    String = 1 << 6,
}

/// The types that a schema allows. The empty set means that the schema does not say.
///
/// A set that has `number` also has `integer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeSet(u8);

impl TypeSet {
    /// The types that `schema` allows; references are looked up in `root`.
    ///
    /// `type` (a name or a list) wins over `enum` and `const`, whose values count as their types. A branch of `anyOf` or
    /// `oneOf` that does not say counts as a string, unless what stands around it says the types already. References that lead outside, nowhere, or in a circle say nothing.
    pub fn of(schema: &Value, root: &Value) -> TypeSet {
        Walk::new(root).types(schema, 0)
    }

    /// Whether `kind` is among them.
    pub fn allows(self, kind: Type) -> bool {
        self.0 & kind as u8 != 0
    }

    /// Whether the schema does not say.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the value's type is among them, or the schema does not say.
    pub fn allows_value(self, value: &Value) -> bool {
        self.is_empty() || self.allows(type_of(value))
    }

    /// These types and `kind`.
    #[must_use]
    pub fn with(self, kind: Type) -> TypeSet {
        let implied = if kind == Type::Number { Type::Integer as u8 } else { 0 };
        TypeSet(self.0 | kind as u8 | implied)
    }

    fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// What both allow; a side that does not say does not count, and a contradiction is read as "either".
    fn both(self, other: TypeSet) -> TypeSet {
        match self.0 & other.0 {
            0 => self.union(other),
            common => TypeSet(common),
        }
    }

    fn of_name(name: &str) -> TypeSet {
        let kind = match name {
            "null" => Type::Null,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            _ => return TypeSet::default(),
        };
        TypeSet::default().with(kind)
    }
}

/// The narrowest type of a value.
fn type_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Boolean,
        Value::Number(number) if number::integer(number.as_str()).is_some() => Type::Integer,
        Value::Number(_) => Type::Number,
        Value::String(_) => Type::String,
        Value::Array(_) => Type::Array,
        Value::Object(_) => Type::Object,
    }
}

impl FromIterator<Type> for TypeSet {
    fn from_iter<I: IntoIterator<Item = Type>>(kinds: I) -> TypeSet {
        kinds.into_iter().fold(TypeSet::default(), TypeSet::with)
    }
}

/// The parameters that a tool declares: their types, and which must be given.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    types: HashMap<String, TypeSet>,
    /// Those whose types hold for every call.
    always: HashSet<String>,
    order: Vec<String>,
    required: Vec<String>,
}

impl Parameters {
    /// Reads the schema of a tool's arguments. What it does not declare in a form that can be followed is unknown.
    pub fn of(schema: &Value) -> Parameters {
        let mut parameters = Parameters::default();
        Walk::new(schema).parameters(schema, Presence::Always, 0, &mut parameters);
        parameters
    }

    /// The types of a declared parameter; `None` when it is not declared.
    pub fn types(&self, name: &str) -> Option<TypeSet> {
        self.types.get(name).copied()
    }

    /// The declared names, those of the schema's own properties in its order first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    /// Whether the parameter is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }

    /// The names that every call must give, in the order of the schema.
    pub fn required(&self) -> &[String] {
        &self.required
    }
}

/// Whether a part of the schema holds for every call, or for some.
#[derive(Clone, Copy)]
enum Presence {
    Always,
    Sometimes,
}

/// A walk over a schema: the root for references, and how many nodes may still be read.
struct Walk<'a> {
    root: &'a Value,
    nodes_left: usize,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Value) -> Walk<'a> {
        Walk { root, nodes_left: MAX_NODES }
    }

    /// Counts a node; `None` when it is not an object or a limit is reached.
    fn enter(&mut self, schema: &'a Value, depth: usize) -> Option<&'a Map<String, Value>> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.nodes_left = self.nodes_left.checked_sub(1)?;
        schema.as_object()
    }

    fn types(&mut self, schema: &'a Value, depth: usize) -> TypeSet {
        let Some(node) = self.enter(schema, depth) else {
            return TypeSet::default();
        };
        let mut types = own_types(node);
        if let Some(target) = node.get("$ref").and_then(|reference| resolve(self.root, reference)) {
            types = types.both(self.types(target, depth + 1));
        }
        for part in branches(node, "allOf") {
            types = types.both(self.types(part, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            let each: Vec<TypeSet> = branches(node, key).iter().map(|branch| self.types(branch, depth + 1)).collect();
            if types.is_empty() || !each.contains(&TypeSet::default()) {
                let or_string = |branch: TypeSet| if branch.is_empty() { branch.with(Type::String) } else { branch };
                let either = each.into_iter().map(or_string).fold(TypeSet::default(), TypeSet::union);
                types = types.both(either);
            }
        }
        types
    }

    fn parameters(&mut self, schema: &'a Value, presence: Presence, depth: usize, into: &mut Parameters) {
        let Some(node) = self.enter(schema, depth) else {
            return;
        };
        for (name, property) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let types = Walk::new(self.root).types(property, 0);
            if !into.types.contains_key(name) {
                into.order.push(name.clone());
            }
            let holds = into.always.contains(name);
            let known = into.types.entry(name.clone()).or_insert(types);
            match presence {
                Presence::Always if holds => *known = known.both(types),
                Presence::Always => {
                    *known = if types.is_empty() { *known } else { types };
                    into.always.insert(name.clone());
                }
                // What holds for every call is not widened by what holds for some.
                Presence::Sometimes if holds && !known.is_empty() => {}
                // Anything may stand there; what some say of it only helps to read it.
                Presence::Sometimes if holds => *known = types.with(Type::String),
                Presence::Sometimes => *known = known.union(types),
            }
        }
        if let Presence::Always = presence {
            for name in node.get("required").and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = name.as_str().filter(|name| !into.required.iter().any(|known| known == name)) {
                    into.required.push(name.to_owned());
                }
            }
        }
        if let Some(target) = node.get("$ref").and_then(|reference| resolve(self.root, reference)) {
            self.parameters(target, presence, depth + 1, into);
        }
        for part in branches(node, "allOf") {
            self.parameters(part, presence, depth + 1, into);
        }
        for part in branches(node, "anyOf").iter().chain(branches(node, "oneOf")) {
            self.parameters(part, Presence::Sometimes, depth + 1, into);
        }
    }
}

/// What `type`, or else `enum` and `const`, say.
fn own_types(node: &Map<String, Value>) -> TypeSet {
    let named = match node.get("type") {
        Some(Value::String(name)) => TypeSet::of_name(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            names.map(TypeSet::of_name).fold(TypeSet::default(), TypeSet::union)
        }
        _ => TypeSet::default(),
    };
    if !named.is_empty() {
        return named;
    }
    let values = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    let values = values.chain(node.get("const"));
    values.map(type_of).collect()
}

fn branches<'a>(node: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    node.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The target of a local reference: `#` or `#/a/0/b`, with `~0`, `~1` and percent escapes.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &Value) -> Option<&'a Value> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    root.pointer(&percent_decode(pointer)?)
}

pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let (digits, tail) = rest.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
