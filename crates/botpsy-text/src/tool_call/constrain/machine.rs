//! The machine that walks an answer token by token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use llguidance::Matcher;
use llguidance::toktrie::{SimpleVob, TokTrie};

use super::format::AnswerFormat;
use super::guard::{self, JsonPlace};
use super::tool::{CallRules, ToolRules};
use super::values::JSON_RULE;
use super::vocabulary::{Borders, GrammarError, Grammars};
use crate::tokenizer::Tokenizer;
use crate::tool_call::{FUNCTION_OPEN, PARAMETER_OPEN, Thinking, ToolChoice};

/// Makes what calls are held to; run once, when the first call opens.
pub type MakeRules = Box<dyn FnOnce() -> Result<(Arc<Grammars>, CallRules), GrammarError> + Send>;

/// What holds for one answer, and where in it the machine stands.
pub struct Constraint {
    borders: Borders,
    made: Option<(Arc<Grammars>, CallRules)>,
    make: Option<MakeRules>,
    /// The only tool that may be called.
    named: Option<String>,
    format: Option<AnswerFormat>,
    /// Whether one call is all.
    one_call: bool,
    /// Whether an answer that ends with the thought would not be one.
    must: bool,
    place: Place,
    /// Tokens of the answer that were walked, or that were said to come next.
    walked: usize,
    /// The call that is being written, after its opener, and its tokens.
    call: (Vec<u8>, Vec<u32>),
    /// Who knows how a model writes what is forced; without it nothing is.
    tokenizer: Option<Arc<Tokenizer>>,
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

/// With what the steps of a call end, at the border of a token.
const STEP_END: &str = ">\n";

/// A grammar on its way.
struct Step {
    matcher: Matcher,
    /// What was written in it.
    text: Vec<u8>,
    /// Where in JSON it is, if it is JSON.
    json: Option<JsonPlace>,
    /// Whether it is the answer itself, no step of a call.
    is_answer: bool,
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
        f.debug_struct("Constraint").field("made", &self.made).field("walked", &self.walked).finish_non_exhaustive()
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
        let made = (Arc::clone(grammars), rules.clone());
        let make = Box::new(move || Ok(made));
        Constraint::later(grammars.borders.clone(), make, format, choice, one_call, thinking)
    }

    /// As [`Constraint::new`], with grammars and rules that are made when they are first needed: most answers begin with a
    /// thought, and many hold no call.
    pub fn later(
        borders: Borders,
        make: MakeRules,
        format: Option<AnswerFormat>,
        choice: &ToolChoice,
        one_call: bool,
        thinking: Thinking,
    ) -> Constraint {
        let named = match choice {
            ToolChoice::Named(name) => Some(name.clone()),
            _ => None,
        };
        let mut constraint = Constraint {
            borders,
            make: Some(make),
            made: None,
            one_call: one_call || named.is_some(),
            must: format.is_some() || named.is_some() || *choice == ToolChoice::Required,
            named,
            format,
            place: Place::Thought,
            walked: 0,
            call: Default::default(),
            tokenizer: None,
            broken: Arc::default(),
        };
        if thinking == Thinking::Off {
            constraint.place = constraint.beginning();
        }
        constraint
    }

    /// Lets [`Constraint::forced`] tell what must come next, as `tokenizer` writes it.
    #[must_use]
    pub fn with_tokenizer(self, tokenizer: Arc<Tokenizer>) -> Constraint {
        Constraint { tokenizer: Some(tokenizer), ..self }
    }

    /// Raised when a grammar became too large on the way and the answer was broken off.
    pub fn broken(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.broken)
    }

    /// Tokens that must come after `answer`, which goes on from what was given before: as long as only one text fits the
    /// grammar, the tokens in which the tokenizer writes it. Whoever asks must append them all.
    pub fn forced(&mut self, answer: &[u32]) -> Vec<u32> {
        self.follow(answer);
        let mut forced = Vec::new();
        loop {
            let more = self.forced_in_step();
            if more.is_empty() {
                return forced;
            }
            for id in &more {
                self.walk(*id);
                self.walked += 1;
            }
            forced.extend(more);
        }
    }

    /// What must come next, up to the end of the step.
    fn forced_in_step(&mut self) -> Vec<u32> {
        let (Some(tokenizer), Some(step)) = (&self.tokenizer, self.place.step()) else { return Vec::new() };
        if step.is_answer {
            return Vec::new();
        }
        // A copy: to ask for what is forced moves a matcher on.
        let bytes = step.matcher.deep_clone().compute_ff_bytes();
        // A token that is no text stands there as a byte that no text has.
        let bytes = bytes.split(|byte| *byte == TokTrie::SPECIAL_TOKEN_MARKER).next().unwrap_or_default();
        let (written, ids) = &self.call;
        let (Ok(text), Ok(written)) = (std::str::from_utf8(bytes), std::str::from_utf8(written)) else {
            return Vec::new();
        };
        if text.is_empty() {
            return Vec::new();
        }
        let all = format!("{written}{text}");
        // How the last word is written depends on what follows, unless a step ends there.
        let open =
            if text.ends_with(STEP_END) { "" } else { tokenizer.splitter().words(&all).last().unwrap_or_default() };
        let mut left = all.len() - open.len();
        let encoded = tokenizer.encode_untrusted(&all).into_iter().map_while(|id| {
            left = left.checked_sub(tokenizer.token_bytes(id).len())?;
            Some(id.0)
        });
        let encoded: Vec<u32> = encoded.collect();
        // A model that wrote in other tokens than the tokenizer goes on by itself.
        let mut rest = encoded.strip_prefix(&ids[..]).map(<[u32]>::to_vec).unwrap_or_default();
        let valid = step.matcher.validate_tokens(&rest).unwrap_or(0);
        rest.truncate(valid);
        rest
    }

    fn follow(&mut self, answer: &[u32]) {
        while let Some(id) = answer.get(self.walked) {
            self.walk(*id);
            self.walked += 1;
        }
    }

    /// What may come after `answer`, which goes on from what was given before.
    pub fn allowed(&mut self, answer: &[u32]) -> Allowed<'_> {
        self.follow(answer);
        if let Some(step) = self.place.step() {
            step.mask = step.matcher.compute_mask().ok();
            match step.mask.is_some() {
                true => self.restrict(),
                false => self.place = self.fail(),
            }
        }
        match &mut self.place {
            Place::Over => Allowed::End(&self.borders.eos),
            Place::Thought if self.must => Allowed::NotEnd(&self.borders.eos),
            place => match place.step().and_then(|step| step.mask.as_ref()) {
                Some(mask) => Allowed::Bits(mask.as_slice()),
                None => Allowed::All,
            },
        }
    }

    /// Takes tokens out of the mask that its grammar allows.
    fn restrict(&mut self) {
        let Some((grammars, rules)) = &self.made else { return };
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
            let (is_parameter, is_tool) = (|name: &str| tool.declares(name), |name: &str| rules.knows(name));
            let value =
                guard::Value { text: &step.text, json: step.json, is_parameter: &is_parameter, is_tool: &is_tool };
            value.restrict(&grammars.marked, mask, |id| grammars.bytes(id));
        }
    }

    /// Where an answer stands once it is no thought any more.
    fn beginning(&mut self) -> Place {
        let Some(format) = self.format.clone() else { return Place::Free };
        let matcher = match self.made() {
            Some((grammars, _)) => grammars.json(&format.schema(grammars)),
            None => Err(String::new()),
        };
        self.step(matcher, true, |step| Place::Json(Step { is_answer: true, ..step }))
    }

    /// After the opener of a call.
    fn head(&mut self) -> Place {
        match self.made() {
            Some((_, rules)) if rules.tools.is_empty() => Place::Free,
            Some((grammars, rules)) => {
                let head = grammars.lark(&rules.head());
                self.step(head, false, Place::Head)
            }
            None => self.fail(),
        }
    }

    /// Grammars and rules, made now if they are not yet; `None` where that failed.
    fn made(&mut self) -> Option<&(Arc<Grammars>, CallRules)> {
        if let Some(make) = self.make.take() {
            self.made = make().ok();
            if let (Some((_, rules)), Some(name)) = (&mut self.made, &self.named) {
                *rules = rules.only(name);
            }
        }
        self.made.as_ref()
    }

    fn lark(&self, text: &str) -> Result<Matcher, String> {
        self.made.as_ref().map_or_else(|| Err(String::new()), |(grammars, _)| grammars.lark(text))
    }

    fn bytes(&self, id: u32) -> &[u8] {
        self.made.as_ref().map_or(&[], |(grammars, _)| grammars.bytes(id))
    }

    fn step(&self, matcher: Result<Matcher, String>, is_json: bool, place: impl FnOnce(Step) -> Place) -> Place {
        match matcher {
            Ok(matcher) => {
                let json = is_json.then(JsonPlace::default);
                place(Step { matcher, text: Vec::new(), json, is_answer: false, mask: None })
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
        if id == self.borders.call_open {
            self.call = Default::default();
        } else if matches!(self.place, Place::Head(_) | Place::Next(..) | Place::Value(..)) {
            let bytes = self.bytes(id).to_vec();
            self.call.0.extend(bytes);
            self.call.1.push(id);
        }
        let place = std::mem::replace(&mut self.place, Place::Free);
        self.place = match place {
            Place::Thought if Some(id) == self.borders.think_close => self.beginning(),
            Place::Thought => Place::Thought,
            Place::Free if id == self.borders.call_open => self.head(),
            Place::Free => Place::Free,
            Place::Over => Place::Over,
            Place::Head(step) => self.on(step, id, Place::Head, |this, text| {
                let name = text.trim_start().strip_prefix(FUNCTION_OPEN).unwrap_or_default().trim_end();
                let name = name.strip_suffix('>').unwrap_or(name);
                let mut tools = this.made.iter().flat_map(|(_, rules)| &rules.tools);
                match tools.find(|tool| tool.name == name) {
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
                            this.step(this.lark(&value), is_json, |step| Place::Value(tool, given, step))
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
            Place::Json(step) if step.text.is_empty() && self.bytes(id).iter().all(u8::is_ascii_whitespace) => {
                Place::Json(step)
            }
            Place::Json(mut step) => match step.matcher.consume_token(id) {
                Ok(()) if step.matcher.is_stopped() => Place::Over,
                Ok(()) => {
                    step.take(self.bytes(id));
                    Place::Json(step)
                }
                Err(_) => self.fail(),
            },
        };
    }

    fn next(&self, tool: Arc<ToolRules>, given: Vec<String>) -> Place {
        let next = self.lark(&tool.next(&given, &self.borders));
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
        step.take(self.bytes(id));
        if step.matcher.is_accepting().unwrap_or(false) {
            let text = String::from_utf8_lossy(&step.text).into_owned();
            return then(self, &text);
        }
        again(step)
    }
}
