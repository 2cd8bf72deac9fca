//! Notes.

use serde_json::{Map, Value, json};

use super::args::{block, line};
use super::pick::{self, Candidate};
use super::{BuiltIn, text, tool};
use crate::store::{Change, Note, Op, Place, normalize};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

/// So much of a note is shown to a model.
const MAX_SHOWN: usize = 8_000;

/// No answer names more notes.
const MAX_LISTED: usize = 20;

pub(super) fn tools() -> Vec<BuiltIn> {
    let writes = (Effect::Write, Output::Service, Undo::InverseCall);
    // The answer names the note, and anybody may have written its title.
    let edits = (Effect::Write, Output::ThirdParty, Undo::InverseCall);
    let reads = (Effect::Read, Output::ThirdParty, Undo::None);
    let note = |role| text("note", role, "Its id, or words of its title.");
    vec![
        tool(
            "create_note",
            "Writes a new note.",
            writes,
            vec![text("title", Role::Key, "A short title."), text("text", Role::Content, "What the note says.")],
            create,
        ),
        tool(
            "find_notes",
            "Searches the notes by words.",
            reads,
            vec![text("query", Role::Selector, "Words of the title or the text.")],
            find,
        ),
        tool("read_note", "Shows a whole note.", reads, vec![note(Role::Selector)], read),
        tool(
            "append_note",
            "Adds text at the end of a note.",
            edits,
            vec![note(Role::Object), text("text", Role::Content, "What to add.")],
            append,
        ),
        tool(
            "delete_note",
            "Deletes a note.",
            (Effect::Destructive, Output::ThirdParty, Undo::Trash),
            vec![note(Role::Object)],
            delete,
        ),
    ]
}

fn create(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let title = line(arguments, "title")?;
    let body = block(arguments, "text")?;
    let path = world.store.new_note_path(&title)?;
    let (notes, _) = world.store.notes()?;
    let is_same = |note: &&Note| normalize(&note.title) == normalize(&title);
    let warnings = notes.iter().find(is_same).map(|note| format!("there is a note `{}` already", note.title));
    let text = format!("# {title}\n\n{}\n", body.trim_end());
    Ok(Plan::Change(Change {
        summary: format!("Write a note: {title}"),
        details: vec![("text".to_owned(), body.trim_end().to_owned()), ("file".to_owned(), path.clone())],
        warnings: warnings.into_iter().collect(),
        result: json!({ "id": path, "title": title }),
        ops: vec![Op::File { place: Place::Notes, path, before: None, after: Some(text) }],
    }))
}

fn find(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let query = line(arguments, "query")?;
    let notes = world.store.find_notes(&query)?;
    let words = normalize(&query);
    let shown = |note: &Note| {
        let holds = |line: &&str| words.split(' ').any(|word| normalize(line).contains(word));
        let line = note.text.lines().filter(|line| !line.starts_with("# ")).find(holds).unwrap_or_default();
        json!({ "id": note.path, "title": note.title, "line": line.chars().take(200).collect::<String>() })
    };
    let listed: Vec<Value> = notes.iter().take(MAX_LISTED).map(shown).collect();
    Ok(Plan::Answer(json!({ "notes": listed, "more": notes.len().saturating_sub(MAX_LISTED) })))
}

fn read(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let note = pick_note(&line(arguments, "note")?, world)?;
    let shown: String = note.text.chars().take(MAX_SHOWN).collect();
    let more = note.text.chars().count().saturating_sub(MAX_SHOWN);
    let mut answer = json!({ "id": note.path, "title": note.title, "text": shown });
    if more > 0 {
        answer["left_out"] = json!(format!("{more} more letters"));
    }
    Ok(Plan::Answer(answer))
}

fn append(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let note = pick_note(&line(arguments, "note")?, world)?;
    let body = block(arguments, "text")?;
    let end = if note.text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if note.text.is_empty() || note.text.ends_with('\n') { "" } else { end };
    let added = body.trim_end().replace('\n', end);
    let text = format!("{}{gap}{added}{end}", note.text);
    Ok(Plan::Change(Change {
        summary: format!("Add to the note: {}", note.title),
        details: vec![("text".to_owned(), body.trim_end().to_owned()), ("file".to_owned(), note.path.clone())],
        warnings: Vec::new(),
        result: json!({ "id": note.path, "title": note.title }),
        ops: vec![Op::File { place: Place::Notes, path: note.path, before: Some(note.text), after: Some(text) }],
    }))
}

fn delete(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let note = pick_note(&line(arguments, "note")?, world)?;
    let n_lines = note.text.lines().count();
    Ok(Plan::Change(Change {
        summary: format!("Delete the note: {}", note.title),
        details: vec![("file".to_owned(), note.path.clone()), ("lines".to_owned(), n_lines.to_string())],
        warnings: Vec::new(),
        result: json!({ "id": note.path, "title": note.title, "deleted": true }),
        ops: vec![Op::File { place: Place::Notes, path: note.path, before: Some(note.text), after: None }],
    }))
}

fn pick_note(said: &str, world: World) -> Result<Note, ToolError> {
    let (mut notes, _) = world.store.notes()?;
    let candidates: Vec<Candidate> = notes.iter().map(candidate).collect();
    let place = pick::one("note", said, &candidates)?;
    Ok(notes.swap_remove(place))
}

/// A note as something that may be meant.
pub(super) fn candidate(note: &Note) -> Candidate {
    Candidate { id: note.path.clone(), title: note.title.clone(), hint: String::new() }
}
