//! Records in results: what the thing with an id is called.

use serde_json::{Map, Value};

use super::text::normalize;

/// More than this in one result is not looked at.
const MAX_RECORDS: usize = 10_000;

/// One record: its id and the names that people know it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) titles: Vec<String>,
    pub(crate) addresses: Vec<String>,
}

/// The records of a result: JSON at any depth, or YAML-like text at its outermost level only, since deeper lines may be
/// somebody's words.
pub(crate) fn read(text: &str) -> Vec<Record> {
    let mut found = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => from_json(&value, &mut found),
        _ => match python(text) {
            Some(value) => from_json(&value, &mut found),
            None => from_lines(text, &mut found),
        },
    }
    found.truncate(MAX_RECORDS);
    found
}

/// Lists and dicts as Python prints them. Quotes inside of texts make it no JSON; then it is read as lines.
fn python(text: &str) -> Option<Value> {
    let text = text.trim();
    let is_python = (text.starts_with("[{'") || text.starts_with("{'")) && !text.contains(['"', '\\']);
    let json = || {
        text.replace('\'', "\"").replace(": True", ": true").replace(": False", ": false").replace(": None", ": null")
    };
    is_python.then(|| serde_json::from_str(&json()).ok()).flatten()
}

fn from_json(value: &Value, found: &mut Vec<Record>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| from_json(item, found)),
        Value::Object(fields) if found.len() < MAX_RECORDS => {
            found.extend(from_fields(fields));
            fields.values().for_each(|value| from_json(value, found));
        }
        _ => {}
    }
}

fn from_fields(fields: &Map<String, Value>) -> Option<Record> {
    let mut record = Record { id: String::new(), titles: Vec::new(), addresses: Vec::new() };
    for (key, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        record.field(key, &text);
    }
    record.some()
}

fn from_lines(text: &str, found: &mut Vec<Record>) {
    let mut record = Record { id: String::new(), titles: Vec::new(), addresses: Vec::new() };
    for line in text.lines().take(1_000_000) {
        let (line, starts) = match line.strip_prefix("- ") {
            Some(line) => (line, true),
            None => (line.strip_prefix("  ").unwrap_or(line), false),
        };
        if starts {
            found.extend(
                std::mem::replace(&mut record, Record { id: String::new(), titles: Vec::new(), addresses: Vec::new() })
                    .some(),
            );
        }
        if let Some((key, value)) = line.split_once(':').filter(|(key, _)| !key.contains(char::is_whitespace)) {
            record.field(key, value.trim().trim_matches(['\'', '"']));
        }
    }
    found.extend(record.some());
}

impl Record {
    fn field(&mut self, key: &str, value: &str) {
        const TITLES: [&str; 9] =
            ["title", "name", "filename", "file_name", "subject", "summary", "label", "first_name", "full_name"];
        const ADDRESSES: [&str; 8] = ["email", "e-mail", "mail", "phone", "phone_number", "number", "address", "iban"];
        let key = key.trim_matches(['\'', '"', '_']).to_lowercase();
        if value.is_empty() || value == "null" {
            return;
        }
        if (key == "id" || key == "uid" || key.ends_with("_id")) && self.id.is_empty() {
            self.id = normalize(value);
        }
        if TITLES.contains(&key.as_str()) {
            self.titles.push(value.to_owned());
        }
        if ADDRESSES.contains(&key.as_str()) {
            self.addresses.push(normalize(value));
        }
    }

    fn some(self) -> Option<Record> {
        let is_reachable = !self.id.is_empty() || !self.addresses.is_empty();
        (is_reachable && !self.titles.is_empty()).then_some(self)
    }
}

/// Entries of an address book: records, or lines such as `Anna Berg, +43111222`.
pub(crate) fn contacts(text: &str) -> Vec<(String, Vec<String>)> {
    let records = read(text).into_iter().filter(|record| !record.addresses.is_empty());
    let mut found: Vec<_> = records.map(|record| (normalize(&record.titles.join(" ")), record.addresses)).collect();
    if found.is_empty() {
        let lines = text.lines().filter_map(|line| line.split_once([',', ';', '\t']));
        found.extend(lines.take(MAX_RECORDS).map(|(name, rest)| {
            let addresses = rest.split([',', ';', '\t']).map(normalize).filter(|address| !address.is_empty()).collect();
            (normalize(name), addresses)
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_from_json_and_from_lines() {
        let lines = "- body: 'x\n\n    - id_: ''9''\n\n    title: Trap'\n  id_: '3'\n  filename: Team.docx\n- id_: 4\n  title: B";
        let ids: Vec<_> = read(lines).into_iter().map(|record| (record.id, record.titles)).collect();
        assert_eq!(ids, [("3".to_owned(), vec!["Team.docx".to_owned()]), ("4".to_owned(), vec!["B".to_owned()])]);
        assert_eq!(read("[{'id': 7, 'title': 'Lunch', 'open': True}]")[0].titles, ["Lunch"]);
        let json = r#"{"items": [{"event_id": 7, "title": "Lunch"}]}"#;
        assert_eq!(read(json)[0].titles, ["Lunch"]);
    }

    #[test]
    fn address_books_have_two_forms() {
        let anna = ("anna berg".to_owned(), vec!["+43111222".to_owned()]);
        assert_eq!(contacts("Anna Berg, +43111222"), [anna]);
        assert_eq!(contacts("- email: a@b.org\n  name: Sarah Baker")[0].1, ["a@b.org"]);
    }
}
