//! Lists: notes with lines such as `- [ ] milk`. Every other line of the file stays as it is.

use serde_json::{Map, Value, json};

use super::args::{line, lines};
use super::notes::candidate;
use super::pick::{self, Candidate};
use super::{BuiltIn, text, texts, tool};
use crate::store::{Change, Note, Op, Place, has_words, normalize};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

pub(super) fn tools() -> Vec<BuiltIn> {
    // Answers name the list and its items, and anybody may have written them.
    let writes = (Effect::Write, Output::ThirdParty, Undo::InverseCall);
    let list = |role| text("list", role, "The name of the list, e.g. shopping.");
    let items = |description| texts("items", Role::Key, description);
    vec![
        tool(
            "add_to_list",
            "Puts items on a list, e.g. the shopping list. A list that is not there is made.",
            writes,
            vec![list(Role::Key), items("What to put on it.")],
            add,
        ),
        tool(
            "show_list",
            "Shows what is on a list.",
            (Effect::Read, Output::ThirdParty, Undo::None),
            vec![list(Role::Selector)],
            show,
        ),
        tool(
            "check_off",
            "Marks items of a list as done.",
            writes,
            vec![list(Role::Object), items("Which items.")],
            check,
        ),
        tool(
            "remove_from_list",
            "Removes items from a list.",
            (Effect::Destructive, Output::ThirdParty, Undo::Trash),
            vec![list(Role::Object), items("Which items.")],
            remove,
        ),
    ]
}

/// An item, and the line that it stands in.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    line: usize,
    text: String,
    is_done: bool,
}

fn add(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let (name, wanted) = (line(arguments, "list")?, lines(arguments, "items")?);
    let list = find_list(&name, world)?;
    let there = list.as_ref().map(|list| items(&list.text)).unwrap_or_default();
    let (mut new, mut warnings) = (Vec::<String>::new(), Vec::new());
    for item in wanted {
        let is_same = |other: &str| normalize(other) == normalize(&item) && !normalize(&item).is_empty();
        if there.iter().any(|other| !other.is_done && is_same(&other.text)) || new.iter().any(|other| is_same(other)) {
            warnings.push(format!("{item} is on the list already"));
        } else {
            new.push(item);
        }
    }
    let title = list.as_ref().map_or(&name, |list| &list.title).clone();
    if new.is_empty() {
        let path = list.map(|list| list.path);
        return Ok(Plan::Answer(json!({ "id": path, "title": title, "added": [], "notes": warnings })));
    }
    let (path, before, after) = match list {
        Some(list) => {
            let after = with_items(&list.text, &there, &new);
            (list.path, Some(list.text), after)
        }
        None => {
            warnings.push(format!("there is no list `{name}` yet; it is made"));
            (world.store.new_note_path(&name)?, None, with_items(&format!("# {name}\n\n"), &[], &new))
        }
    };
    Ok(Plan::Change(Change {
        summary: format!("Put on the list {title}: {}", new.join(", ")),
        details: vec![("file".to_owned(), path.clone())],
        warnings,
        result: json!({ "id": path, "title": title, "added": new }),
        ops: vec![Op::File { place: Place::Notes, path, before, after: Some(after) }],
    }))
}

fn show(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let list = the_list(arguments, world)?;
    let items = items(&list.text);
    let texts = |is_done: bool| {
        let those = items.iter().filter(|item| item.is_done == is_done);
        those.take(200).map(|item| item.text.clone()).collect::<Vec<_>>()
    };
    Ok(Plan::Answer(json!({ "id": list.path, "title": list.title, "open": texts(false), "done": texts(true) })))
}

fn check(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let list = the_list(arguments, world)?;
    let open: Vec<Item> = items(&list.text).into_iter().filter(|item| !item.is_done).collect();
    let picked = pick_items(&lines(arguments, "items")?, &list, &open)?;
    let tick = |i: usize, line: &str| match picked.iter().any(|item| item.line == i) {
        true => Some(line.replacen("[ ]", "[x]", 1)),
        false => Some(line.to_owned()),
    };
    Ok(Plan::Change(edit("Check off on the list", "checked_off", list, &picked, tick)))
}

fn remove(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let list = the_list(arguments, world)?;
    let picked = pick_items(&lines(arguments, "items")?, &list, &items(&list.text))?;
    let drop = |i: usize, line: &str| (!picked.iter().any(|item| item.line == i)).then(|| line.to_owned());
    Ok(Plan::Change(edit("Remove from the list", "removed", list, &picked, drop)))
}

/// The list line by line; a line for which there is nothing goes.
fn edit(verb: &str, done: &str, list: Note, picked: &[Item], line: impl Fn(usize, &str) -> Option<String>) -> Change {
    let after: String = list.text.split_inclusive('\n').enumerate().filter_map(|(i, text)| line(i, text)).collect();
    let names: Vec<&str> = picked.iter().map(|item| item.text.as_str()).collect();
    let mut result = json!({ "id": list.path, "title": list.title });
    result[done] = json!(names);
    Change {
        summary: format!("{verb} {}: {}", list.title, names.join(", ")),
        details: vec![("file".to_owned(), list.path.clone())],
        warnings: Vec::new(),
        result,
        ops: vec![Op::File { place: Place::Notes, path: list.path, before: Some(list.text), after: Some(after) }],
    }
}

fn items(text: &str) -> Vec<Item> {
    let item = |(line, text): (usize, &str)| {
        let rest = text.trim_start().strip_prefix(['-', '*', '+'])?.strip_prefix(' ')?.trim_start();
        let (is_done, rest) = match rest.get(..3)? {
            "[ ]" => (false, &rest[3..]),
            "[x]" | "[X]" => (true, &rest[3..]),
            _ => return None,
        };
        Some(Item { line, text: rest.trim().to_owned(), is_done })
    };
    text.lines().enumerate().filter_map(item).collect()
}

/// New items come after the last one, or at the end.
fn with_items(text: &str, there: &[Item], new: &[String]) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let added: String = new.iter().map(|item| format!("- [ ] {item}{end}")).collect();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = there.last().map_or(lines.len(), |item| item.line + 1);
    let last = at.checked_sub(1).and_then(|i| lines.get_mut(i)).filter(|last| !last.ends_with('\n'));
    if let Some(last) = last {
        last.push_str(end);
    }
    lines.insert(at, added);
    lines.concat()
}

/// The list with this name, if there is one: of the notes with items, else a note with just this title.
fn find_list(name: &str, world: World) -> Result<Option<Note>, ToolError> {
    let (notes, _) = world.store.notes()?;
    let said = normalize(name);
    let core = said.strip_suffix(" list").unwrap_or(&said);
    let mut lists: Vec<Note> = notes.iter().filter(|note| !items(&note.text).is_empty()).cloned().collect();
    let candidates: Vec<Candidate> = lists.iter().map(candidate).collect();
    let places = [name, core].map(|said| pick::best(said, &candidates));
    let places = places.into_iter().find(|places| !places.is_empty()).unwrap_or_default();
    match places[..] {
        [place] => Ok(Some(lists.swap_remove(place))),
        [] => Ok(notes.into_iter().find(|note| [&said[..], core].contains(&&normalize(&note.title)[..]))),
        _ => Err(pick::which("list", name, places.iter().map(|place| &candidates[*place]))),
    }
}

fn the_list(arguments: &Map<String, Value>, world: World) -> Result<Note, ToolError> {
    let name = line(arguments, "list")?;
    if let Some(list) = find_list(&name, world)? {
        return Ok(list);
    }
    let (notes, _) = world.store.notes()?;
    let lists: Vec<Candidate> = notes.iter().filter(|note| !items(&note.text).is_empty()).map(candidate).collect();
    Err(pick::missing("list", &name, &lists))
}

/// The items that are meant: each by its text, or by words of which it is the only one.
fn pick_items(wanted: &[String], list: &Note, there: &[Item]) -> Result<Vec<Item>, ToolError> {
    let mut picked: Vec<Item> = Vec::new();
    for words in wanted {
        let same: Vec<&Item> = there.iter().filter(|item| normalize(&item.text) == normalize(words)).collect();
        let with_words = || there.iter().filter(|item| has_words(&item.text, words)).collect::<Vec<_>>();
        let found = if same.is_empty() { with_words() } else { same };
        let names = |items: &[&Item]| {
            items.iter().take(12).map(|item| format!("`{}`", item.text)).collect::<Vec<_>>().join(", ")
        };
        match found[..] {
            [] => {
                let there: Vec<&Item> = there.iter().collect();
                let text = format!("`{words}` is not on the list {}; there are: {}", list.title, names(&there));
                return Err(ToolError::Missing(text));
            }
            // The same text twice is the same thing: the first one is meant.
            [first, ..] if found.iter().all(|item| item.text == first.text) => {
                if !picked.contains(first) {
                    picked.push(first.clone());
                }
            }
            _ => return Err(ToolError::Ask { question: format!("Which is meant by `{words}`: {}?", names(&found)) }),
        }
    }
    Ok(picked)
}
