//! The stores as lines, read from the files themselves: what a request changes is lines that come and lines that go.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use rusqlite::Connection;

/// How often each line is there.
pub(crate) type View = BTreeMap<String, usize>;

pub(crate) fn view(root: &Path) -> View {
    let mut lines = View::new();
    let mut add = |line: String| *lines.entry(line).or_default() += 1;
    for (_, text) in files(&root.join("calendar")) {
        events(&text).into_iter().for_each(&mut add);
    }
    for (name, text) in files(&root.join("notes")) {
        text.lines().for_each(|line| add(format!("note {name} | {line}")));
    }
    let database = Connection::open(root.join("data/botpsy.db")).unwrap();
    let query = "SELECT kind, text, due, coalesce(rrule, '-'), state FROM reminders";
    for [kind, text, due, rule, state] in rows::<5>(&database, query) {
        add(format!("{kind} {text} | {} | {rule} | {state}", local(&due)));
    }
    for [text, origin] in rows::<2>(&database, "SELECT text, origin FROM memories") {
        add(format!("memory {text} | {origin}"));
    }
    lines
}

/// What leads from one view to another: `+ line` and `- line`, sorted.
pub(crate) fn difference(before: &View, after: &View) -> Vec<String> {
    let mut found = Vec::new();
    for (line, n) in after {
        let had = before.get(line).copied().unwrap_or(0);
        found.extend((had..*n).map(|_| format!("+ {line}")));
    }
    for (line, n) in before {
        let has = after.get(line).copied().unwrap_or(0);
        found.extend((has..*n).map(|_| format!("- {line}")));
    }
    found.sort();
    found
}

pub(crate) fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn rows<const N: usize>(database: &Connection, query: &str) -> Vec<[String; N]> {
    let mut statement = database.prepare(query).unwrap();
    let row = |row: &rusqlite::Row| {
        let cells: Vec<String> = (0..N).map(|i| row.get(i)).collect::<rusqlite::Result<_>>()?;
        Ok(cells.try_into().unwrap())
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

/// The events of a file, a line each.
fn events(text: &str) -> Vec<String> {
    let unfolded = text.replace("\r\n ", "");
    let mut found = Vec::new();
    let mut fields: Option<BTreeMap<String, String>> = None;
    for line in unfolded.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, parameters) = name.split_once(';').unwrap_or((name, ""));
        match (name, value) {
            ("BEGIN", "VEVENT") => fields = Some(BTreeMap::new()),
            ("END", "VEVENT") => found.extend(fields.take().map(|fields| event(&fields))),
            _ => {
                if let Some(fields) = &mut fields {
                    let zone = parameters.strip_prefix("TZID=").unwrap_or("UTC");
                    let is_time = ["DTSTART", "DTEND", "EXDATE"].contains(&name);
                    let value = if is_time { stamp(value, zone) } else { value.replace('\\', "") };
                    fields.insert(name.to_owned(), value);
                }
            }
        }
    }
    found
}

fn event(fields: &BTreeMap<String, String>) -> String {
    let field = |name: &str| fields.get(name).map_or("-", String::as_str);
    let shown = ["SUMMARY", "DTSTART", "DTEND", "RRULE", "LOCATION"].map(field).join(" | ");
    let left_out = fields.get("EXDATE").map(|day| format!(" | not {day}")).unwrap_or_default();
    format!("event {shown}{left_out}")
}

fn stamp(value: &str, zone: &str) -> String {
    let moment = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", value.trim_end_matches('Z')).unwrap();
    let moment = moment.to_zoned(TimeZone::get(zone).unwrap()).unwrap();
    local(&moment.timestamp().to_string())
}

fn local(moment: &str) -> String {
    let moment: jiff::Timestamp = moment.parse().unwrap();
    moment.in_tz("Europe/Berlin").unwrap().strftime("%Y-%m-%d %H:%M").to_string()
}
