//! A day with the assistant, on real stores: what each request changes, and what nothing changes.

pub(crate) mod plot;
pub(crate) mod view;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use botpsy_agent::journal::{Desk, Recovered, What};
use botpsy_agent::store::{Op, Place};
use serde_json::Value;

use crate::desk::folder;
use plot::{Owner, Request};
use view::{difference, view};

/// All that the stores hold, to the byte: files by their paths, rows by their ids.
type Bytes = BTreeMap<String, String>;

fn bytes(root: &Path) -> Bytes {
    let mut found = Bytes::new();
    for place in ["calendar", "notes"] {
        found.extend(view::files(&root.join(place)).into_iter().map(|(name, text)| (format!("{place}/{name}"), text)));
    }
    let database = rusqlite::Connection::open(root.join("data/botpsy.db")).unwrap();
    for (table, columns) in [
        (
            "reminders",
            "kind || '|' || text || '|' || due || '|' || zone || '|' || coalesce(rrule, '') || '|' || state || made",
        ),
        ("memories", "text || '|' || origin || '|' || made"),
    ] {
        let mut statement = database.prepare(&format!("SELECT id, {columns} FROM {table}")).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
        found.extend(rows.map(Result::unwrap));
    }
    found
}

/// Opens the desk at the time of a request.
pub(crate) fn open(root: &Path, request: &Request) -> (Desk, Recovered) {
    Desk::open(plot::folders(root), &request.now).unwrap()
}

/// What is to be changed for an owner, sorted.
fn expected(request: &Request, owner: Owner) -> Vec<String> {
    let field = match owner {
        Owner::Nobody => return Vec::new(),
        Owner::Careless if !request.row["careless"].is_null() => "careless",
        _ => "effects",
    };
    let mut lines: Vec<String> =
        request.row[field].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect();
    lines.sort();
    lines
}

fn unlike(of: &str, found: &[String], expected: &[String]) -> Option<String> {
    (found != expected).then(|| format!("{of}: {found:#?}, not {expected:#?}"))
}

fn changed(before: &Bytes, after: &Bytes) -> Vec<String> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

fn place_of(op: &Op) -> String {
    match op {
        Op::File { place: Place::Calendar, path, .. } => format!("calendar/{path}"),
        Op::File { place: Place::Notes, path, .. } => format!("notes/{path}"),
        Op::Row { id, .. } => id.clone(),
    }
}

/// Plays the day; checks each request, then takes all of it back, the last first.
fn check(owner: Owner) {
    let root = folder();
    plot::prepare(&root);
    let morning = bytes(&root);
    let requests = plot::requests();
    let (desk, recovered) = open(&root, &requests[0]);
    assert!(recovered.is_empty());
    let (mut states, mut wrong) = (BTreeMap::new(), Vec::new());
    for request in &requests {
        let (lines, before) = (view(&root), bytes(&root));
        let known = desk.steps(None, 1).unwrap().first().map_or(0, |step| step.id);
        let mut at = before.clone();
        let mut seen = Vec::new();
        let played = plot::play(&desk, request, owner, &mut |what| {
            if what == "done" {
                seen.push(std::mem::replace(&mut at, bytes(&root)));
            }
        });
        let mut new = desk.steps(None, 20).unwrap();
        new.retain(|step| step.id > known);
        new.reverse();
        let of = format!("{owner:?}: {}", request.words);
        wrong.extend(unlike(&of, &difference(&lines, &view(&root)), &expected(request, owner)));
        let mut places: Vec<String> = new.iter().flat_map(|step| &step.change.ops).map(place_of).collect();
        places.sort();
        places.dedup();
        assert_eq!(changed(&before, &bytes(&root)), places, "{of}: nothing else");
        assert_eq!(played.told, Vec::<String>::new(), "{of}");
        if owner == Owner::Attentive {
            let asked: Vec<String> = request.row["asked"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|it| it.as_str().unwrap().to_owned())
                .collect();
            wrong.extend(unlike(&format!("{of}: questions"), &played.asked, &asked));
        }
        states.extend(new.iter().filter(|step| step.undoes.is_none()).map(|step| step.id).zip(seen));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    take_all_back(&desk, &requests, &states, &root);
    assert_eq!(bytes(&root), morning);
    assert_eq!(desk.verify_log().unwrap().unwrap().1, desk.log_head().unwrap());
    fs::remove_dir_all(&root).unwrap();
}

fn take_all_back(desk: &Desk, requests: &[Request], states: &BTreeMap<i64, Bytes>, root: &Path) {
    let now = &requests.last().unwrap().now;
    while let Ok(steps) = desk.undoable(&What::Last) {
        let (undone, error) = desk.undo(&steps, now);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(bytes(root), states[&undone[0].id], "taken back: {}", undone[0].summary);
    }
}

#[test]
fn an_attentive_owner_gets_what_was_asked_for_and_nothing_else() {
    check(Owner::Attentive);
}

#[test]
fn a_careless_owner_gets_what_was_agreed_to_and_nothing_else() {
    check(Owner::Careless);
}

#[test]
fn without_an_owner_nothing_changes() {
    check(Owner::Nobody);
}

#[test]
fn every_tool_is_called_in_the_day() {
    let called: Vec<String> = plot::requests()
        .iter()
        .flat_map(|request| request.row["model"].as_array().cloned().unwrap_or_default())
        .filter_map(|call| call["name"].as_str().map(str::to_owned))
        .collect();
    let toolbox = botpsy_agent::assistant::Toolbox::default();
    let left: Vec<&str> = toolbox.names().filter(|name| !called.iter().any(|called| called == name)).collect();
    assert_eq!(left, Vec::<&str>::new());
    assert!(plot::requests().len() >= 40 && plot::requests().iter().all(|request| request.row["say"] != Value::Null));
}
