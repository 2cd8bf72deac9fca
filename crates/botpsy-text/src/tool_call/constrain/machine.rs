//! The machine that walks an answer token by token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;

use super::format::AnswerFormat;
use super::guard::{self, JsonPlace};
use super::tool::{CallRules, ToolRules};
use super::values::JSON_RULE;
use super::vocabulary::Grammars;
use crate::tool_call::{FUNCTION_OPEN, PARAMETER_OPEN, Thinking, ToolChoice};

/// What holds for one answer, and where in it the machine stands.
pub struct Constraint {
    grammars: Arc<Grammars>,
    rules: CallRules,
    format: Option<AnswerFormat>,
    /// Whether one call is all.
    one_call: bool,
    /// Whether an answer that ends with the thought would not be one.
    must: bool,
    place: Place,
    /// Tokens of the answer that were walked.
    walked: usize,
    /// Raised when a grammar became too large on the way.
    broken: Arc<AtomicBool>,
}

/// The tokens that may come next.
#[derive(Debug)]
pub enum Allowed<'a> {
    /// Any.
    All,
    /// Any but those that end the answer.
    NotEnd(&'a [u32]),
    /// One bit per token of the vocabulary, the lowest first.
    Bits(&'a [u32]),
    /// Those that end the answer.
    End(&'a [u32]),
}

enum Place {
    Thought,
    /// Outside of calls.
    Free,
    /// After the opener of a call.
    Head(Step),
    /// Before a parameter or the end.
    Next(Arc<ToolRules>, Vec<String>, Step),
    /// Inside a parameter.
    Value(Arc<ToolRules>, Vec<String>, Step),
    /// Inside an answer of JSON.
    Json(Step),
    /// All is said.
    Over,
}

impl Place {
    fn step(&mut self) -> Option<&mut Step> {
        match self {
            Place::Thought | Place::Free | Place::Over => None,
            Place::Head(step) | Place::Next(_, _, step) | Place::Value(_, _, step) | Place::Json(step) => Some(step),
        }
    }
}

/// Blanks one after the other in JSON, enough for a deep indentation.
const MAX_BLANKS: usize = 24;

/// A grammar on its way.
struct Step {
    matcher: Matcher,
    /// What was written in it.
    text: Vec<u8>,
    /// Where in JSON it is, if it is JSON.
    json: Option<JsonPlace>,
    mask: Option<SimpleVob>,
}

impl Step {
    fn take(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        if let Some(place) = &mut self.json {
            bytes.iter().for_each(|byte| place.feed(*byte));
        }
    }
}

impl std::fmt::Debug for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Constraint").field("rules", &self.rules).field("walked", &self.walked).finish_non_exhaustive()
    }
}

impl Constraint {
    /// A constraint for an answer that begins inside a thought or behind it. With `one_call`, or a named tool, nothing comes
    /// after the first call.
    pub fn new(
        grammars: &Arc<Grammars>,
        rules: &CallRules,
        format: Option<AnswerFormat>,
        choice: &ToolChoice,
        one_call: bool,
        thinking: Thinking,
    ) -> Constraint {
        let (rules, one_call) = match choice {
            ToolChoice::Named(name) => (rules.only(name), true),
            _ => (rules.clone(), one_call),
        };
        let must = format.is_some() || matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
        let grammars = Arc::clone(grammars);
        let mut constraint = Constraint {
            grammars,
            rules,
            format,
            one_call,
            must,
            place: Place::Thought,
            walked: 0,
            broken: Arc::default(),
        };
        if thinking == Thinking::Off {
            constraint.place = constraint.beginning();
        }
        constraint
    }

    /// Raised when a grammar became too large on the way and the answer was broken off.
    pub fn broken(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.broken)
    }

    /// What may come after `answer`, which goes on from what was given before.
    pub fn allowed(&mut self, answer: &[u32]) -> Allowed<'_> {
        while let Some(id) = answer.get(self.walked) {
            self.walk(*id);
            self.walked += 1;
        }
        if let Some(step) = self.place.step() {
            step.mask = step.matcher.compute_mask().ok();
            match step.mask.is_some() {
                true => self.restrict(),
                false => self.place = self.fail(),
            }
        }
        match &mut self.place {
            Place::Over => Allowed::End(&self.grammars.ids.eos),
            Place::Thought if self.must => Allowed::NotEnd(&self.grammars.ids.eos),
            place => match place.step().and_then(|step| step.mask.as_ref()) {
                Some(mask) => Allowed::Bits(mask.as_slice()),
                None => Allowed::All,
            },
        }
    }

    /// Takes tokens out of the mask that its grammar allows.
    fn restrict(&mut self) {
        let grammars = &self.grammars;
        let tool = match &self.place {
            Place::Value(tool, ..) => Some(Arc::clone(tool)),
            _ => None,
        };
        let Some(step) = self.place.step() else { return };
        let Some(mask) = &mut step.mask else { return };
        // Between two signs of JSON any white space is allowed, and a model may not find its way out of it.
        if step.json.is_some()
            && step.text.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count() >= MAX_BLANKS
        {
            // Behind the value a line break is what has to come.
            let before = mask.clone();
            grammars.blanks.iter().for_each(|id| mask.set(*id as usize, false));
            if mask.is_zero() {
                *mask = before;
            }
        }
        if let Some(tool) = tool {
            let (is_parameter, is_tool) = (|name: &str| tool.declares(name), |name: &str| self.rules.knows(name));
            let value =
                guard::Value { text: &step.text, json: step.json, is_parameter: &is_parameter, is_tool: &is_tool };
            value.restrict(&grammars.marked, mask, |id| grammars.bytes(id));
        }
    }

    /// Where an answer stands once it is no thought any more.
    fn beginning(&self) -> Place {
        match &self.format {
            None => Place::Free,
            Some(format) => self.step(self.grammars.json(&format.schema()), true, Place::Json),
        }
    }

    fn step(&self, matcher: Result<Matcher, String>, is_json: bool, place: impl FnOnce(Step) -> Place) -> Place {
        match matcher {
            Ok(matcher) => {
                let json = is_json.then(JsonPlace::default);
                place(Step { matcher, text: Vec::new(), json, mask: None })
            }
            Err(_) => self.fail(),
        }
    }

    /// Better an answer that ends here and says so than one that is held to nothing.
    fn fail(&self) -> Place {
        self.broken.store(true, Ordering::Relaxed);
        Place::Over
    }

    fn walk(&mut self, id: u32) {
        let place = std::mem::replace(&mut self.place, Place::Free);
        self.place = match place {
            Place::Thought if Some(id) == self.grammars.ids.think_close => self.beginning(),
            Place::Thought => Place::Thought,
            Place::Free if id == self.grammars.ids.call_open && !self.rules.tools.is_empty() => {
                self.step(self.grammars.lark(&self.rules.head()), false, Place::Head)
            }
            Place::Free => Place::Free,
            Place::Over => Place::Over,
            Place::Head(step) => self.on(step, id, Place::Head, |this, text| {
                let name = text.trim_start().strip_prefix(FUNCTION_OPEN).unwrap_or_default().trim_end();
                let name = name.strip_suffix('>').unwrap_or(name);
                match this.rules.tools.iter().find(|tool| tool.name == name) {
                    Some(tool) => this.next(Arc::clone(tool), Vec::new()),
                    None => Place::Free,
                }
            }),
            Place::Next(tool, given, step) => {
                let again = (Arc::clone(&tool), given.clone());
                self.on(
                    step,
                    id,
                    |step| Place::Next(again.0, again.1, step),
                    |this, text| match text.strip_prefix(PARAMETER_OPEN) {
                        Some(key) => {
                            let key = key.trim_end().strip_suffix('>').unwrap_or(key).to_owned();
                            let value = tool.value(&key);
                            let given = given.into_iter().chain([key]).collect();
                            let is_json = value.contains(JSON_RULE);
                            this.step(this.grammars.lark(&value), is_json, |step| Place::Value(tool, given, step))
                        }
                        None if this.one_call => Place::Over,
                        None => Place::Free,
                    },
                )
            }
            Place::Value(tool, given, step) => {
                let again = (Arc::clone(&tool), given.clone());
                self.on(step, id, |step| Place::Value(again.0, again.1, step), |this, _| this.next(tool, given))
            }
            // The blank line behind a thought.
            Place::Json(step)
                if step.text.is_empty() && self.grammars.bytes(id).iter().all(u8::is_ascii_whitespace) =>
            {
                Place::Json(step)
            }
            Place::Json(mut step) => match step.matcher.consume_token(id) {
                Ok(()) if step.matcher.is_stopped() => Place::Over,
                Ok(()) => {
                    step.take(self.grammars.bytes(id));
                    Place::Json(step)
                }
                Err(_) => self.fail(),
            },
        };
    }

    fn next(&self, tool: Arc<ToolRules>, given: Vec<String>) -> Place {
        let next = self.grammars.lark(&tool.next(&given, &self.grammars.ids));
        self.step(next, false, |step| Place::Next(tool, given, step))
    }

    /// Takes a token into a step; where that ends, `then` says what comes, given its text.
    fn on(
        &self,
        mut step: Step,
        id: u32,
        again: impl FnOnce(Step) -> Place,
        then: impl FnOnce(&Constraint, &str) -> Place,
    ) -> Place {
        if step.matcher.consume_token(id).is_err() {
            return self.fail();
        }
        step.take(self.grammars.bytes(id));
        if step.matcher.is_accepting().unwrap_or(false) {
            let text = String::from_utf8_lossy(&step.text).into_owned();
            return then(self, &text);
        }
        again(step)
    }
}
