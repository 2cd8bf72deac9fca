//! Conversations that are kept: listed, printed, removed.

use anyhow::anyhow;
use botpsy_agent::journal::{Saved, SavedMessage, export as as_json};
use botpsy_text::conversation::Role;
use serde_json::{Value, json};

use crate::failure::{Exit, bad_input};
use crate::output;
use crate::owner::{Home, store_error};

pub(crate) fn list(json: bool) -> anyhow::Result<Exit> {
    let sessions = Home::open(true)?.desk.sessions().map_err(store_error)?;
    let line = |saved: &Saved| {
        let Saved { id, title, made, used, messages, .. } = saved;
        match json {
            true => {
                let object = json!({ "id": id, "title": title, "made": made, "used": used, "messages": messages });
                format!("{object}\n")
            }
            false => format!("{id}  {}  {messages:>4}  {title}\n", minute(used)),
        }
    };
    output::result(sessions.iter().map(line).collect::<String>().as_bytes())?;
    if sessions.is_empty() && !json {
        output::note("no conversation is kept yet");
    }
    Ok(Exit::Done)
}

/// `2026-11-30 12:00` of an RFC 3339 time.
fn minute(time: &str) -> String {
    time.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

pub(crate) fn export(id: &str, json: bool) -> anyhow::Result<Exit> {
    let messages = Home::open(true)?.desk.messages(id).map_err(store_error)?;
    let messages = messages.ok_or_else(|| unknown("--export", id))?;
    match json {
        true => output::json(&as_json(&messages))?,
        false => output::result(markdown(&messages).as_bytes())?,
    }
    Ok(Exit::Done)
}

fn markdown(messages: &[SavedMessage]) -> String {
    messages.iter().map(|saved| block(&saved.message)).collect::<Vec<_>>().join("\n")
}

fn block(message: &botpsy_text::conversation::Message) -> String {
    let content = message.content.as_deref().unwrap_or_default().trim_end();
    let who = match message.role {
        Role::User => "You",
        Role::Assistant => "BotPsy",
        Role::Tool => return format!("```\n{}\n```\n", content.replace("```", "'''")),
        Role::System => "System",
    };
    let mut text = format!("**{who}**\n");
    if !content.is_empty() {
        text.push_str(&format!("\n{content}\n"));
    }
    for call in &message.tool_calls {
        text.push_str(&format!("\n`{} {}`\n", call.name, Value::Object(call.arguments.clone())));
    }
    text
}

pub(crate) fn delete(id: &str) -> anyhow::Result<Exit> {
    match Home::open(true)?.desk.delete_session(id).map_err(store_error)? {
        true => output::result(format!("removed: {id}\n").as_bytes()).map(|()| Exit::Done),
        false => Err(unknown("--delete", id)),
    }
}

/// There is no such conversation.
pub(super) fn unknown(flag: &str, id: &str) -> anyhow::Error {
    bad_input(anyhow!("{flag}: no conversation has the name {id}"), "`botpsy chat --list` shows those that there are")
}
