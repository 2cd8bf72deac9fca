//! The scripted day: what the owner says, what the model writes, and how it is played on real stores.
//!
//! The table is `fixtures/agent/day.jsonl`, one request a line: when it is said and in which words, what the model writes round by
//! round, the previews to which an attentive owner says yes, and what it changes, in the words of [`view`](super::view).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use botpsy_agent::assistant::{Assistant, Face, Handed, How, Question, Reply, Session, Toolbox, preview};
use botpsy_agent::journal::{Desk, Event, Step, StepState, What};
use botpsy_agent::policy::Policy;
use botpsy_agent::store::{Change, Folders, Op, Store, Table};
use botpsy_chat::{ChatEvent, Scripted};
use jiff::Zoned;
use serde_json::Value;

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) now: Zoned,
    pub(crate) words: String,
    pub(crate) row: Value,
}

/// Who sits there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Says yes exactly to what the request asks for.
    Attentive,
    /// Says yes to all.
    Careless,
    /// Is not there.
    Nobody,
}

/// What came of one request.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// What was asked about, as its preview begins.
    pub(crate) asked: Vec<String>,
    /// The numbers of the steps that were made without one.
    pub(crate) silent: Vec<i64>,
    /// What could not be done, or why the turn broke off.
    pub(crate) told: Vec<String>,
}

pub(crate) fn requests() -> Vec<Request> {
    let read = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let now = format!("2026-11-30T{}:00[Europe/Berlin]", row["at"].as_str().unwrap());
        Request { now: now.parse().unwrap(), words: row["say"].as_str().unwrap().to_owned(), row }
    };
    fs::read_to_string(fixtures().join("day.jsonl")).unwrap().lines().map(read).collect()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/agent")
}

pub(crate) fn folders(root: &Path) -> Folders {
    Folders { data: root.join("data"), calendar: root.join("calendar"), notes: root.join("notes") }
}

/// The stores as they are in the morning.
pub(crate) fn prepare(root: &Path) {
    let from = fixtures().join("day");
    for folder in ["calendar", "notes"] {
        fs::create_dir_all(root.join(folder)).unwrap();
        for file in fs::read_dir(from.join(folder)).unwrap() {
            let path = file.unwrap().path();
            fs::copy(&path, root.join(folder).join(path.file_name().unwrap())).unwrap();
        }
    }
    let store = Store::open(folders(root)).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&fs::read_to_string(from.join("rows.json")).unwrap()).unwrap();
    for row in rows {
        let table = if row["table"] == "memories" { Table::Memories } else { Table::Reminders };
        let (id, after) = (row["id"].as_str().unwrap().to_owned(), row["row"].as_object().cloned());
        let ops = vec![Op::Row { table, id, before: None, after }];
        let change =
            Change { summary: String::new(), details: Vec::new(), warnings: Vec::new(), ops, result: Value::Null };
        store.apply(&change).unwrap();
    }
}

/// Plays a request. `tick` hears of everything that happens.
pub(crate) fn play(desk: &Desk, request: &Request, owner: Owner, tick: &mut dyn FnMut(&str)) -> Played {
    if let Some(summary) = request.row["undo"].as_str() {
        return take_back(desk, request, summary, owner);
    }
    let done = calls_done(desk, &request.words);
    let model: Vec<String> = script(&request.row["model"], &done);
    let provider = Scripted::new(model.iter().map(String::as_str));
    let (toolbox, policy, how) = (Toolbox::default(), Policy::default(), How::default());
    let assistant = Assistant { provider: &provider, desk, toolbox: &toolbox, policy: &policy, how: &how };
    let pair = |pair: &Value| Handed {
        source: pair[0].as_str().unwrap().to_owned(),
        text: pair[1].as_str().unwrap().to_owned(),
    };
    let handed: Vec<Handed> = request.row["handed"].as_array().into_iter().flatten().map(pair).collect();
    let mut face = Seat { owner, row: &request.row, tick, just_asked: false, played: Played::default() };
    let mut session = Session::new(&request.now);
    let never = AtomicBool::new(false);
    let report = assistant.turn(&mut session, &request.words, &handed, &mut face, &never, &request.now);
    let mut played = face.played;
    match report {
        Ok(report) => {
            let silent = |id: &i64| played.silent.contains(id);
            assert!(report.done.iter().filter(|done| silent(&done.step)).count() == played.silent.len());
            played.told.extend(report.failed);
        }
        Err(error) => played.told.push(error.to_string()),
    }
    played
}

/// Whether a request was played to its end before; `open` are the requests of which the owner was told that they were not.
pub(crate) fn is_played(desk: &Desk, request: &Request, open: &[String]) -> bool {
    if let Some(summary) = request.row["undo"].as_str() {
        let steps = desk.steps(None, usize::MAX).unwrap();
        return steps.iter().any(|step| step.state == StepState::Undone && step.change.summary == summary);
    }
    let rows = desk.log_rows(None).unwrap();
    let turns = turns(desk, &request.words);
    let is_answer =
        |row: &botpsy_agent::journal::audit::Row| row.entry.event == Event::Answer && turns.contains(&row.entry.turn);
    !open.contains(&request.words) && rows.iter().any(is_answer)
}

/// The turns that were about these words.
fn turns(desk: &Desk, words: &str) -> Vec<i64> {
    let rows = desk.log_rows(None).unwrap().into_iter();
    let of_it = rows.filter(|row| row.entry.event == Event::User && row.entry.body["text"] == words);
    of_it.map(|row| row.entry.turn).collect()
}

/// The steps that were made for these words.
pub(crate) fn steps_done(desk: &Desk, words: &str) -> Vec<Step> {
    let turns = turns(desk, words);
    let steps = desk.steps(None, usize::MAX).unwrap().into_iter();
    steps.filter(|step| turns.contains(&step.turn) && step.state == StepState::Done).collect()
}

fn calls_done(desk: &Desk, words: &str) -> Vec<Value> {
    steps_done(desk, words).into_iter().map(|step| step.call).collect()
}

/// What the model writes. Nobody says again what he was told is done.
fn script(rounds: &Value, done: &[Value]) -> Vec<String> {
    let round = |round: &Value| match round.as_str() {
        Some(raw) => raw.to_owned(),
        None => call(round["name"].as_str().unwrap(), &round["arguments"]),
    };
    let rounds = rounds.as_array().unwrap().iter().filter(|call| !done.contains(call));
    rounds.map(round).chain(["Done.\n</think>\n\nThat is all.".to_owned()]).collect()
}

/// What a model writes to make a call.
fn call(name: &str, arguments: &Value) -> String {
    let parameter = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("<parameter={name}>\n{text}\n</parameter>\n")
    };
    let parameters: String = arguments.as_object().unwrap().iter().map(parameter).collect();
    format!("I do it.\n</think>\n\n<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
}

fn take_back(desk: &Desk, request: &Request, summary: &str, owner: Owner) -> Played {
    let mut played = Played::default();
    if owner == Owner::Nobody {
        return played;
    }
    let steps = desk.undoable(&What::Last).unwrap();
    assert_eq!(steps[0].change.summary, summary);
    let (_, error) = desk.undo(&steps, &request.now);
    played.told.extend(error.map(|error| error.to_string()));
    played
}

/// Where the owner sits.
struct Seat<'a> {
    owner: Owner,
    row: &'a Value,
    tick: &'a mut dyn FnMut(&str),
    just_asked: bool,
    played: Played,
}

impl Face for Seat<'_> {
    fn is_there(&self) -> bool {
        self.owner != Owner::Nobody
    }

    fn ask(&mut self, question: &Question) -> Reply {
        (self.tick)("ask");
        self.just_asked = true;
        let shown = question.change.map(preview).unwrap_or_default();
        self.played.asked.extend(shown.lines().next().map(str::to_owned));
        let wanted = self.row["yes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_wanted = wanted.into_iter().any(|wanted| shown.starts_with(wanted));
        match self.owner {
            Owner::Careless => Reply::Yes,
            Owner::Attentive if is_wanted => Reply::Yes,
            _ => Reply::No,
        }
    }

    fn event(&mut self, _: &ChatEvent) {
        (self.tick)("event");
    }

    fn decided(&mut self, _: &botpsy_text::conversation::ToolCall, _: &botpsy_agent::policy::Verdict) {
        self.just_asked = false;
        (self.tick)("decided");
    }

    fn done(&mut self, done: &botpsy_agent::assistant::Done) {
        if !self.just_asked {
            self.played.silent.push(done.step);
        }
        (self.tick)("done");
    }
}

/// Opens the desk and plays what is left of the day, as far as it goes. Gives whether something could not be done: then the owner
/// was told, and it is left to be said again.
pub(crate) fn play_from(root: &Path, from: usize, owner: Owner, tick: &mut dyn FnMut(&str)) -> bool {
    let requests = requests();
    let Some(first) = requests.get(from) else { return false };
    let (desk, recovered) = match Desk::open(folders(root), &first.now) {
        Ok(opened) => opened,
        Err(error) => {
            tick(&format!("Told {error}"));
            return true;
        }
    };
    for note in recovered.notes() {
        tick(&format!("Note {note}"));
    }
    for (i, request) in requests.iter().enumerate().skip(from) {
        tick(&format!("Begin {i}"));
        if !is_played(&desk, request, &recovered.requests) {
            for step in steps_done(&desk, &request.words) {
                tick(&format!("Known {}", step.id));
            }
            let played = play(&desk, request, owner, tick);
            for told in &played.told {
                tick(&format!("Told {told}"));
            }
            if !played.told.is_empty() {
                return true;
            }
        }
        tick(&format!("End {i}"));
    }
    false
}
