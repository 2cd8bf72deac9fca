//! The loop: ask the model, put its calls before the gate, carry out what may be, tell the model, ask again.

mod call;
mod face;
mod language;
mod replay;
mod report;
mod select;
mod session;
mod toolbox;

use std::sync::atomic::AtomicBool;

use botpsy_chat::{ChatError, Completion, Overrides, Provider, Request};
use botpsy_text::conversation::{Conversation, Message, Role, ToolCall};
use jiff::Zoned;
use serde_json::{Map, Value, json};

use crate::Effect;
use crate::journal::{Desk, Entry, Event, Turn};
use crate::policy::{Policy, Presence, Topic, check_answer, lexical, topics_of_answer};
use crate::store::StoreError;

use language::untested;

pub use face::{Face, Nobody, Question, Reply, one_line, preview};
pub use replay::{Replayed, replay};
pub use report::{Decided, Done, End, Note, Report};
pub use select::{Offer, Scored};
pub use session::Session;
pub use toolbox::Toolbox;

/// Rounds of model and tools in one turn; the gate counts calls too.
const MAX_ROUNDS: usize = 12;

/// Tokens that the list of tools may take, by [`Offer`]'s rough count: beyond, the most fitting ones are offered.
pub const TOOL_TOKENS: usize = 1200;

/// Who answers, what there is, and what may be done.
#[derive(Clone, Copy)]
pub struct Assistant<'a> {
    /// The model.
    pub provider: &'a dyn Provider,
    /// The owner's data and the journal.
    pub desk: &'a Desk,
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// What may happen.
    pub policy: &'a Policy,
    /// How the model is asked.
    pub how: &'a How,
}

/// How the model is asked.
#[derive(Clone, Debug)]
pub struct How {
    /// Sampling, limits, thinking.
    pub overrides: Overrides,
    /// Whether calls are not held to the tools' schemas while they are written.
    pub free_calls: bool,
    /// Only reads are carried out; of the rest it is told what would happen.
    pub dry_run: bool,
    /// Tokens that the list of tools may take.
    pub tool_tokens: usize,
    /// For a model that was made for short prompts and one call: it is shown names and types of tools without descriptions, is told
    /// nothing of itself, and once it has made a call that does more than read, the turn ends.
    pub brief: bool,
}

impl Default for How {
    fn default() -> How {
        let overrides = Overrides::default();
        How { overrides, free_calls: false, dry_run: false, tool_tokens: TOOL_TOKENS, brief: false }
    }
}

/// Text by others that the owner hands over with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Where it comes from.
    pub source: String,
    /// The text.
    pub text: String,
}

/// Why a turn ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssistantError {
    /// The model could not be asked.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// The journal could not be written: without it nothing is done.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One turn that is being worked on.
struct Work<'a> {
    of: Assistant<'a>,
    session: &'a mut Session,
    face: &'a mut dyn Face,
    turn: Turn,
    now: &'a Zoned,
    report: Report,
}

impl Assistant<'_> {
    /// Works on a request of the owner until there is an answer. What others wrote comes in `handed`, never in `request`.
    ///
    /// # Errors
    /// If the model cannot be asked, or the journal not be written. What was done until then is in the journal.
    pub fn turn(
        self,
        session: &mut Session,
        request: &str,
        handed: &[Handed],
        face: &mut dyn Face,
        cancel: &AtomicBool,
        now: &Zoned,
    ) -> Result<Report, AssistantError> {
        self.desk.save_session(&session.id, request, now)?;
        let turn = self.desk.begin_turn(&session.id, request, now)?;
        let before = session.messages.len();
        let mut work = Work { of: self, session, face, turn, now, report: Report::default() };
        let worked = work.begin(request, handed).and_then(|()| work.rounds(request, cancel));
        // Whatever happened, the turn is over: what it did stands in its steps.
        work.of.desk.end_turn(&work.turn)?;
        if let Err(error) = worked {
            // What could not be answered would make each later turn fail too. What the gate learned of it stays.
            work.session.messages.truncate(before);
            work.of.desk.cut_session(&work.session.id, before)?;
            return Err(error);
        }
        work.report.log_head = work.of.desk.log_head()?;
        Ok(work.report)
    }
}

impl Work<'_> {
    fn begin(&mut self, request: &str, handed: &[Handed]) -> Result<(), AssistantError> {
        let context = &mut self.session.context;
        context.set_now(self.now.clone());
        context.set_presence(if self.face.is_there() { Presence::There } else { Presence::Nobody });
        context.user(request);
        context.set_scope(lexical(request, self.of.toolbox.gate()));
        let presence = if self.face.is_there() { "there" } else { "nobody" };
        let begin = json!({
            "text": request, "now": self.now.to_string(), "presence": presence,
            "demonstration": self.of.policy.demonstration_model, "dry_run": self.of.how.dry_run,
        });
        self.log(Event::User, begin)?;
        self.say(Message::new(Role::User, request))?;
        if let Some(language) = untested(request).filter(|_| !self.session.told_language) {
            self.session.told_language = true;
            self.report.notes.push(Note { about: "language", text: language.note() });
        }
        for text in handed {
            self.session.context.untrusted(&text.source, &text.text);
            self.log(Event::Untrusted, json!({ "source": text.source, "text": text.text }))?;
            let arguments = Map::from_iter([("source".to_owned(), Value::from(text.source.as_str()))]);
            let mut reading = Message::new(Role::Assistant, "");
            reading.tool_calls.push(ToolCall { name: session::READ_TEXT.to_owned(), arguments });
            self.say(reading)?;
            self.say(Message::new(Role::Tool, text.text.clone()))?;
        }
        Ok(())
    }

    fn rounds(&mut self, request: &str, cancel: &AtomicBool) -> Result<(), AssistantError> {
        if self.session.context.topics().contains(&Topic::Crisis) {
            return self.finish(End::Help, Topic::Crisis.note().to_owned());
        }
        let offer = select::offer(self.of.toolbox, request, &self.session.offered, self.of.how.tool_tokens);
        self.session.offered.extend(offer.names().map(str::to_owned));
        self.report.offer = offer;
        let mut before = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let completion = self.ask_model(cancel)?;
            let (message, cancelled) = (completion.message.clone(), completion.cancelled);
            self.report.completions.push(completion);
            if cancelled {
                return self.finish(End::Cancelled, message.content.unwrap_or_default());
            }
            if message.tool_calls.is_empty() {
                return self.finish(End::Answered, message.content.unwrap_or_default());
            }
            let mut said = Message::new(Role::Assistant, "");
            said.content = message.content;
            said.reasoning_content = message.reasoning_content;
            said.tool_calls = message.tool_calls.clone();
            self.say(said)?;
            let mut results = Vec::new();
            let mut question = None;
            for call in &message.tool_calls {
                let (result, asked) = self.call(call)?;
                self.say(Message::new(Role::Tool, result.clone()))?;
                results.push((call.clone(), result));
                question = question.or(asked);
            }
            if let Some(question) = question {
                return self.finish(End::Question, question);
            }
            if self.of.how.brief && self.report.decisions.iter().any(|decided| decided.verdict.effect != Effect::Read) {
                return self.finish(End::Answered, String::new());
            }
            if results == before {
                let circles = "The same calls were made again with the same results, so this stops here.";
                return self.finish(End::NoProgress, circles.to_owned());
            }
            before = results;
        }
        self.finish(End::TooLong, "This took too many steps, so it stops here.".to_owned())
    }

    fn ask_model(&mut self, cancel: &AtomicBool) -> Result<Completion, AssistantError> {
        let mut tools = self.of.toolbox.specs(self.report.offer.names());
        let mut messages = vec![Message::new(Role::System, session::system(self.now))];
        if self.of.how.brief {
            tools.iter_mut().for_each(toolbox::shorten);
            messages.clear();
        }
        messages.extend(self.session.messages.iter().cloned());
        let request = Request {
            conversation: Conversation { messages, tools },
            overrides: self.of.how.overrides.clone(),
            free_calls: self.of.how.free_calls,
            ..Request::default()
        };
        let face = &mut *self.face;
        Ok(self.of.provider.chat(&request, cancel, &mut |event| face.event(&event))?)
    }

    fn finish(&mut self, end: End, answer: String) -> Result<(), AssistantError> {
        // What talks somebody into harming themselves is not shown.
        let said = topics_of_answer(&answer);
        let is_help = end == End::Help || said.contains(&Topic::Crisis);
        let (answer, end) = match is_help {
            true => (Topic::Crisis.note().to_owned(), End::Help),
            false => (check_answer(&answer, &self.session.context, &self.of.policy.secrets), end),
        };
        if !is_help && !answer.is_empty() {
            let topics = self.session.context.topics().union(&said);
            let note = |topic: &Topic| Note { about: topic.word(), text: topic.note().to_owned() };
            self.report.notes.extend(topics.map(note));
        }
        let notes: Value = self.report.notes.iter().map(|note| Value::from(note.about)).collect();
        self.say(Message::new(Role::Assistant, answer.clone()))?;
        self.log(Event::Answer, json!({ "answer": answer, "end": end.word(), "notes": notes }))?;
        (self.report.answer, self.report.end) = (answer, end);
        Ok(())
    }

    /// Adds a message to the session, on disk too.
    fn say(&mut self, message: Message) -> Result<(), AssistantError> {
        self.of.desk.save_message(&self.session.id, &message, self.now)?;
        self.session.messages.push(message);
        Ok(())
    }

    fn log(&self, event: Event, body: Value) -> Result<(), AssistantError> {
        let (session, turn) = (self.turn.session.clone(), self.turn.id);
        Ok(self.of.desk.log(&Entry { time: self.now.timestamp().to_string(), session, turn, event, body })?)
    }
}
