//! The database file: its versions, and rows as maps.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, ToSql, Transaction, TransactionBehavior, params_from_iter};
use serde_json::{Map, Value};

use super::{StoreError, Table};

/// Step `i` leads from version `i` to version `i + 1`.
const MIGRATIONS: [&str; 2] = [
    "
    CREATE TABLE reminders (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (kind IN ('alarm', 'timer', 'reminder')),
        text TEXT NOT NULL,
        due TEXT NOT NULL,
        zone TEXT NOT NULL,
        rrule TEXT,
        state TEXT NOT NULL CHECK (state IN ('waiting', 'fired', 'missed', 'dismissed', 'cancelled')),
        made TEXT NOT NULL
    );
    CREATE INDEX reminders_due ON reminders (state, due);
    CREATE TABLE memories (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        text TEXT NOT NULL,
        origin TEXT NOT NULL,
        made TEXT NOT NULL
    );
    CREATE VIRTUAL TABLE memories_index USING fts5 (
        text, content = 'memories', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
        INSERT INTO memories_index (rowid, text) VALUES (new.key, new.text);
    END;
    CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
        INSERT INTO memories_index (memories_index, rowid, text) VALUES ('delete', old.key, old.text);
    END;
    CREATE TRIGGER memories_changed AFTER UPDATE ON memories BEGIN
        INSERT INTO memories_index (memories_index, rowid, text) VALUES ('delete', old.key, old.text);
        INSERT INTO memories_index (rowid, text) VALUES (new.key, new.text);
    END;
",
    "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        made TEXT NOT NULL,
        used TEXT NOT NULL
    );
    CREATE TABLE messages (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        message TEXT NOT NULL,
        made TEXT NOT NULL,
        PRIMARY KEY (session, place)
    );
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        run TEXT NOT NULL,
        request TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'ended', 'broken')),
        made TEXT NOT NULL
    );
    CREATE INDEX turns_open ON turns (state);
    CREATE TABLE steps (
        id INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL REFERENCES turns (id),
        call TEXT NOT NULL,
        change TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'failed', 'undone')),
        undoes INTEGER REFERENCES steps (id),
        made TEXT NOT NULL
    );
    CREATE INDEX steps_of_turns ON steps (turn);
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        time TEXT NOT NULL,
        session TEXT NOT NULL,
        turn INTEGER NOT NULL,
        event TEXT NOT NULL,
        body TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    );
",
];

/// How often one process asks whether another one has finished its change: about half a minute.
const TRIES: i32 = 15_000;

/// Between two times. Short, as one that changes much is between two changes for a moment only.
const BETWEEN: Duration = Duration::from_millis(2);

/// Opens the file, or makes it, readable by its owner only, and brings it to this version.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| StoreError::File { path: path.into(), source })?;
    let database_error = |source| StoreError::Database { path: path.into(), source };
    let mut connection = Connection::open(path).map_err(database_error)?;
    prepare(&mut connection).map_err(database_error)?;
    let found = migrate(&mut connection).map_err(database_error)?;
    let known = MIGRATIONS.len() as i64;
    if found > known { Err(StoreError::Later { path: path.into(), found, known }) } else { Ok(connection) }
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(|tried| {
        std::thread::sleep(BETWEEN);
        tried < TRIES
    }))?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Takes the missing steps, and gives the version that the file has now.
fn migrate(connection: &mut Connection) -> rusqlite::Result<i64> {
    let version =
        |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(connection)? == MIGRATIONS.len() as i64 {
        return version(connection);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let mut at = version(&transaction)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(at).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step)?;
        at += 1;
    }
    transaction.pragma_update(None, "user_version", at)?;
    transaction.commit()?;
    Ok(at)
}

impl Table {
    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Table::Reminders => "reminders",
            Table::Memories => "memories",
        }
    }

    /// Its columns, `id` left out.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Table::Reminders => &["kind", "text", "due", "zone", "rrule", "state", "made"],
            Table::Memories => &["text", "origin", "made"],
        }
    }
}

/// The row with this id, `id` left out.
pub(super) fn get(transaction: &Transaction, table: Table, id: &str) -> rusqlite::Result<Option<Map<String, Value>>> {
    let columns = table.columns();
    let query = format!("SELECT {} FROM {} WHERE id = ?", columns.join(", "), table.name());
    let row = |row: &rusqlite::Row| {
        let cell = |(i, name): (usize, &&str)| Ok(((*name).to_owned(), json(row.get_ref(i)?)));
        columns.iter().enumerate().map(cell).collect::<rusqlite::Result<Map<_, _>>>()
    };
    transaction.query_row(&query, [id], row).optional()
}

/// Makes the row with this id what `after` says.
pub(super) fn put(
    transaction: &Transaction,
    table: Table,
    id: &str,
    after: Option<&Map<String, Value>>,
) -> rusqlite::Result<()> {
    let (name, columns) = (table.name(), table.columns());
    let Some(row) = after else {
        return transaction.execute(&format!("DELETE FROM {name} WHERE id = ?"), [id]).map(drop);
    };
    let values = columns.iter().map(|column| row.get(*column).and_then(Value::as_str));
    let values: Vec<Option<&str>> = std::iter::once(Some(id)).chain(values).collect();
    let sets: Vec<String> = columns.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let query = format!(
        "INSERT INTO {name} (id, {}) VALUES (?{}) ON CONFLICT (id) DO UPDATE SET {}",
        columns.join(", "),
        ", ?".repeat(columns.len()),
        sets.join(", ")
    );
    transaction.execute(&query, params_from_iter(values.iter().map(|value| value as &dyn ToSql))).map(drop)
}

/// What is wrong with a row, if anything.
pub(super) fn check(table: Table, row: &Map<String, Value>) -> Result<(), String> {
    let columns = table.columns();
    if let Some(name) = row.keys().find(|name| !columns.contains(&name.as_str())) {
        return Err(format!("no column `{name}`"));
    }
    for column in columns {
        match row.get(*column) {
            Some(Value::String(_)) => {}
            Some(Value::Null) if *column == "rrule" => {}
            _ => return Err(format!("column `{column}`: a text is missing")),
        }
    }
    Ok(())
}

fn json(cell: ValueRef) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => Value::from(String::from_utf8_lossy(text)),
    }
}
