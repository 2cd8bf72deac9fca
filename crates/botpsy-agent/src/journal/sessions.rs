//! Conversations that outlive a run.

use botpsy_text::conversation::{Message, Role, ToolCall};
use jiff::{Timestamp, Zoned};
use rusqlite::OptionalExtension;
use serde_json::{Map, Value, json};

use super::Desk;
use crate::store::StoreError;

/// A saved conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its name.
    pub id: String,
    /// The first words of it.
    pub title: String,
    /// When it was begun, RFC 3339.
    pub made: String,
    /// When something was said in it last, RFC 3339.
    pub used: String,
    /// How many messages it has.
    pub messages: usize,
}

/// One message of a saved conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedMessage {
    /// What was said.
    pub message: Message,
    /// When.
    pub made: Timestamp,
}

/// Characters of a title.
const TITLE: usize = 60;

impl Desk {
    /// Begins a conversation, or does nothing if it has begun.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_session(&self, id: &str, first_words: &str, now: &Zoned) -> Result<(), StoreError> {
        let title: String = first_words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE).collect();
        let time = now.timestamp().to_string();
        self.write(|transaction| {
            let query = "INSERT INTO sessions (id, title, made, used) VALUES (?1, ?2, ?3, ?3) ON CONFLICT (id) DO UPDATE SET used = ?3";
            transaction.execute(query, (id, title, time)).map(drop)
        })
    }

    /// Adds a message to the end of a conversation.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_message(&self, session: &str, message: &Message, now: &Zoned) -> Result<(), StoreError> {
        let time = now.timestamp().to_string();
        let text = to_json(message).to_string();
        self.write(|transaction| {
            let query = "INSERT INTO messages (session, place, message, made)
                SELECT ?1, coalesce(max(place), 0) + 1, ?2, ?3 FROM messages WHERE session = ?1";
            transaction.execute(query, (session, text, time)).map(drop)
        })
    }

    /// All conversations, the latest first.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<Saved>, StoreError> {
        self.store.read_rows(|connection| {
            let query = "SELECT id, title, made, used, (SELECT count(*) FROM messages WHERE session = sessions.id)
                FROM sessions ORDER BY used DESC, id";
            let mut statement = connection.prepare(query)?;
            let rows = statement.query_map([], |row| {
                let messages: i64 = row.get(4)?;
                let (id, title, made, used) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                Ok(Saved { id, title, made, used, messages: usize::try_from(messages).unwrap_or(0) })
            })?;
            rows.collect()
        })
    }

    /// The messages of a conversation, in order; `None` if there is no such conversation.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn messages(&self, session: &str) -> Result<Option<Vec<SavedMessage>>, StoreError> {
        let rows = self.store.read_rows(|connection| {
            let known =
                connection.query_row("SELECT 1 FROM sessions WHERE id = ?", [session], |_| Ok(())).optional()?;
            let mut statement =
                connection.prepare("SELECT message, made FROM messages WHERE session = ? ORDER BY place")?;
            let rows =
                statement.query_map([session], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(known.map(|()| rows))
        })?;
        let message = |(text, made): (String, String)| {
            let message = from_json(&serde_json::from_str(&text).ok()?)?;
            Some(SavedMessage { message, made: made.parse().ok()? })
        };
        Ok(rows.map(|rows| rows.into_iter().filter_map(message).collect()))
    }

    /// Removes all but the first messages of a conversation, and the conversation when none is left.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn cut_session(&self, session: &str, keep: usize) -> Result<(), StoreError> {
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        self.write(|transaction| {
            transaction.execute("DELETE FROM messages WHERE session = ? AND place > ?", (session, keep))?;
            let query = "DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE session = ?1)";
            transaction.execute(query, [session]).map(drop)
        })
    }

    /// Removes a conversation; `false` if there is none of that name. What it changed, and the log, stay.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn delete_session(&self, session: &str) -> Result<bool, StoreError> {
        self.write(|transaction| Ok(transaction.execute("DELETE FROM sessions WHERE id = ?", [session])? > 0))
    }
}

/// A message in OpenAI's form, arguments as an object.
pub(crate) fn to_json(message: &Message) -> Value {
    let call =
        |call: &ToolCall| json!({ "type": "function", "function": { "name": call.name, "arguments": call.arguments } });
    let mut object = Map::new();
    object.insert("role".to_owned(), json!(message.role.as_str()));
    object.insert("content".to_owned(), json!(message.content));
    if let Some(reasoning) = &message.reasoning_content {
        object.insert("reasoning_content".to_owned(), json!(reasoning));
    }
    if !message.tool_calls.is_empty() {
        object.insert("tool_calls".to_owned(), message.tool_calls.iter().map(call).collect());
    }
    if let Some(name) = &message.name {
        object.insert("name".to_owned(), json!(name));
    }
    Value::Object(object)
}

fn from_json(value: &Value) -> Option<Message> {
    // One message alone may break rules about the order of messages, so each is put together by hand.
    let role = [Role::System, Role::User, Role::Assistant, Role::Tool].into_iter();
    let role = role.into_iter().find(|role| Some(role.as_str()) == value["role"].as_str())?;
    let mut message = Message::new(role, value["content"].as_str().unwrap_or_default());
    if value["content"].is_null() {
        message.content = None;
    }
    message.reasoning_content = value["reasoning_content"].as_str().map(str::to_owned);
    message.name = value["name"].as_str().map(str::to_owned);
    for call in value["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let arguments = function["arguments"].as_object().cloned().unwrap_or_default();
        message.tool_calls.push(ToolCall { name: function["name"].as_str()?.to_owned(), arguments });
    }
    Some(message)
}

/// A conversation as it is sent elsewhere.
pub fn export(messages: &[SavedMessage]) -> Value {
    messages.iter().map(|saved| to_json(&saved.message)).collect()
}
