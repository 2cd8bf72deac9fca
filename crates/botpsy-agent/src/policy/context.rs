//! What is in a session, and who wrote it.

use std::collections::{BTreeSet, HashMap, HashSet};

use botpsy_text::conversation::ToolCall;
use jiff::Zoned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{Annotation, Effect, Output};

use super::order::is_no_order;
use super::path;
use super::records;
use super::said::Said;
use super::scope::Scope;
use super::secret;
use super::text::{TextIndex, normalize, tokens, words};
use super::tools::{Hash, call_hash};
use super::topic::{Topic, topics_of_request};
use super::url;

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Integrity {
    /// Anybody.
    Third,
    /// A service, about itself.
    Service,
    /// The owner's own account, or the owner's address book.
    Own,
    /// The owner.
    User,
}

/// Whether somebody is there to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// The owner is there.
    #[default]
    There,
    /// Nobody is.
    Nobody,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The owner's words.
    User,
    /// An entry of the owner's address book, by its name.
    AddressBook(String),
    /// The owner's own account.
    OwnAccount,
    /// A text that anybody may have written, by its source: `bill.txt (read_file)`.
    ThirdParty(String),
    /// Nothing that was read: the model made it.
    Model,
}

/// An entry of the address book.
#[derive(Clone, Debug)]
struct Contact {
    name: String,
    addresses: Vec<String>,
}

/// What a record is called.
#[derive(Clone, Debug)]
struct Title {
    plain: String,
    shown: String,
}

/// Counts of one turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) calls: u32,
    pub(crate) side_effects: u32,
    pub(crate) prompts: u32,
    pub(crate) refused: u32,
    pub(crate) tool_ms: u64,
    pub(crate) result_bytes: usize,
    pub(crate) topics: BTreeSet<Topic>,
    /// Whether the owner asks or forbids, and orders nothing.
    pub(crate) is_no_order: bool,
    repeats: HashMap<Hash, (Hash, u32)>,
}

impl Turn {
    /// How often a call ran with one and the same result.
    pub(crate) fn repeats(&self, call: &ToolCall) -> u32 {
        self.repeats.get(&call_hash(call)).map_or(0, |(_, n)| *n)
    }
}

/// What is in a session, and who wrote it. Texts are taken apart once, when they are added.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) now: Zoned,
    pub(crate) user: TextIndex,
    pub(crate) user_urls: HashSet<String>,
    pub(crate) user_hosts: HashSet<String>,
    pub(crate) amounts: Vec<(f64, Option<&'static str>)>,
    pub(crate) said: Said,
    pub(crate) own: TextIndex,
    book: Vec<Contact>,
    sources: Vec<String>,
    others: HashMap<String, Vec<u32>>,
    pub(crate) read_urls: HashSet<String>,
    private: HashSet<String>,
    pub(crate) private_lens: BTreeSet<usize>,
    secret: HashSet<String>,
    records: HashMap<String, Vec<Title>>,
    is_tainted: bool,
    pub(crate) scope: Scope,
    pub(crate) presence: Presence,
    pub(crate) turn: Turn,
    pub(crate) spent_today: f64,
}

impl Context {
    /// An empty session at this moment.
    pub fn new(now: Zoned) -> Context {
        Context {
            now,
            user: TextIndex::default(),
            user_urls: HashSet::new(),
            user_hosts: HashSet::new(),
            amounts: Vec::new(),
            said: Said::default(),
            own: TextIndex::default(),
            book: Vec::new(),
            sources: Vec::new(),
            others: HashMap::new(),
            read_urls: HashSet::new(),
            private: HashSet::new(),
            private_lens: BTreeSet::new(),
            secret: HashSet::new(),
            records: HashMap::new(),
            is_tainted: false,
            scope: Scope::None,
            presence: Presence::There,
            turn: Turn::default(),
            spent_today: 0.0,
        }
    }

    /// A message of the owner: a new turn begins. Lines that begin with `>` and fenced blocks count as written by others.
    pub fn user(&mut self, text: &str) {
        let (own, quoted) = unquoted(text);
        self.turn = Turn { topics: topics_of_request(&own), is_no_order: is_no_order(&own), ..Turn::default() };
        for (_, link) in url::links(&own) {
            self.user_hosts.insert(link.host);
            self.user_urls.insert(link.key);
        }
        let addresses = own.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\'' | '(' | ')'));
        for link in addresses.filter(|piece| piece.contains("://")).filter_map(url::parse) {
            self.user_hosts.insert(link.host);
            self.user_urls.insert(link.key);
        }
        self.amounts.extend(amounts(&own));
        self.said.add(&own, &self.now);
        self.user.add(&own);
        if !quoted.is_empty() {
            self.third_party("quoted text", &quoted, true);
        }
    }

    /// Text that somebody else wrote and that the owner handed over: a file, the clipboard.
    pub fn untrusted(&mut self, source: &str, text: &str) {
        self.third_party(source, text, true);
    }

    /// A memory, with the label of what wrote it then.
    pub fn memory(&mut self, text: &str, label: Integrity) {
        match label {
            Integrity::User | Integrity::Own => self.own.add(text),
            Integrity::Service | Integrity::Third => self.third_party("memory", text, true),
        }
    }

    /// An entry of the address book that the owner wrote.
    pub fn contact(&mut self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| normalize(address)).collect();
        self.book.push(Contact { name: normalize(name), addresses });
    }

    /// What a call gave: it was carried out, and its text is in the session now. Memories are taken for anybody's; see
    /// [`memory`](Self::memory).
    pub fn result(&mut self, annotation: &Annotation, call: &ToolCall, text: &str) {
        self.count(annotation, call, text);
        match annotation.output {
            Output::OwnAccount => {
                self.own.add(text);
                self.note_private(text, false);
            }
            Output::AddressBook => {
                let contacts = records::contacts(text);
                self.book.extend(contacts.into_iter().map(|(name, addresses)| Contact { name, addresses }));
                self.is_tainted = true;
                self.note_private(text, false);
            }
            Output::Service => self.other(&source_name(call), text),
            Output::Memory | Output::ThirdParty => {
                let is_secret = has_secret_path(call);
                let is_private = !matches!(annotation.effect, Effect::OpenRead | Effect::CodeExecution);
                self.third_party(&source_name(call), text, false);
                if is_private {
                    self.note_private(text, is_secret);
                }
            }
        }
        if !matches!(annotation.effect, Effect::OpenRead | Effect::CodeExecution) {
            self.note_records(text);
        }
    }

    fn note_records(&mut self, text: &str) {
        for record in records::read(text).into_iter().filter(|record| !record.id.is_empty()) {
            let titles = record.titles.into_iter().map(|shown| Title { plain: normalize(&shown), shown });
            self.records.entry(record.id).or_default().extend(titles);
        }
    }

    /// What a call gave that looks into the memory: its whole text, and each memory in it with the label of what wrote it then.
    pub fn recalled<'a>(
        &mut self,
        annotation: &Annotation,
        call: &ToolCall,
        text: &str,
        texts: impl IntoIterator<Item = (&'a str, Integrity)>,
    ) {
        for (memory, label) in texts {
            self.memory(memory, label);
        }
        self.count(annotation, call, text);
        self.note_records(text);
    }

    /// What the owner's words in this turn are about, where that calls for care.
    pub fn topics(&self) -> &BTreeSet<Topic> {
        &self.turn.topics
    }

    /// The owner was asked, and said yes or no.
    pub fn answered(&mut self, yes: bool) {
        self.turn.prompts += 1;
        self.turn.refused += u32::from(!yes);
    }

    /// Time that tools took in this turn.
    pub fn took_ms(&mut self, ms: u64) {
        self.turn.tool_ms = self.turn.tool_ms.saturating_add(ms);
    }

    /// What was paid today before the next call.
    pub fn set_spent_today(&mut self, amount: f64) {
        self.spent_today = amount;
    }

    /// What this turn is about; to be set before the first foreign text comes in.
    pub fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    /// Whether somebody is there to be asked.
    pub fn set_presence(&mut self, presence: Presence) {
        self.presence = presence;
    }

    /// The owner's clock.
    pub fn set_now(&mut self, now: Zoned) {
        self.now = now;
    }

    /// Whether text came in that others may have written. It stays so.
    pub fn is_tainted(&self) -> bool {
        self.is_tainted
    }

    fn count(&mut self, annotation: &Annotation, call: &ToolCall, text: &str) {
        self.turn.calls += 1;
        self.turn.side_effects += u32::from(!matches!(annotation.effect, Effect::Read | Effect::OpenRead));
        self.turn.result_bytes = self.turn.result_bytes.saturating_add(text.len());
        let result: Hash = Sha256::digest(text).into();
        let repeat = self.turn.repeats.entry(call_hash(call)).or_insert((result, 0));
        *repeat = (result, if repeat.0 == result { repeat.1 + 1 } else { 1 });
    }

    fn third_party(&mut self, source: &str, text: &str, is_private: bool) {
        self.is_tainted = true;
        self.other(source, text);
        if is_private {
            self.note_private(text, false);
        }
    }

    fn other(&mut self, source: &str, text: &str) {
        let n = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        self.sources.push(source.to_owned());
        let plain = normalize(text);
        for token in tokens(&plain)
            .flat_map(|token| std::iter::once(token).chain(words(token).filter(move |word| *word != token)))
        {
            let at = self.others.entry(token.to_owned()).or_default();
            if at.last() != Some(&n) {
                at.push(n);
            }
        }
        self.read_urls.extend(url::links(text).into_iter().map(|(_, link)| link.key));
    }

    fn note_private(&mut self, text: &str, is_secret: bool) {
        let plain = normalize(text);
        for token in tokens(&plain) {
            if token.contains('@') {
                self.private.insert(token.to_owned());
            }
            for word in words(token).filter(|word| is_telling(word)) {
                self.private_lens.insert(word.len());
                self.private.insert(word.to_owned());
            }
        }
        if is_secret {
            self.secret.extend(tokens(&plain).filter(|token| token.len() >= 6).map(str::to_owned));
        }
        self.secret.extend(secret::find(text));
    }

    /// Where a value comes from; the owner's words count most.
    pub(crate) fn origin(&self, normalized: &str) -> Origin {
        if self.user.has(normalized) {
            return Origin::User;
        }
        if self.own.has(normalized) {
            return Origin::OwnAccount;
        }
        let lists: Option<Vec<&Vec<u32>>> = tokens(normalized).map(|token| self.others.get(token)).collect();
        let lists = lists.unwrap_or_default();
        let all = lists
            .split_first()
            .and_then(|(first, rest)| first.iter().find(|at| rest.iter().all(|list| list.binary_search(at).is_ok())));
        match all.and_then(|at| self.sources.get(*at as usize)) {
            Some(source) => Origin::ThirdParty(source.clone()),
            None => Origin::Model,
        }
    }

    /// The entry of the address book with this whole address that the owner named: by its full name, or by a part of it that no other
    /// entry has.
    pub(crate) fn named_contact(&self, normalized: &str) -> Option<&str> {
        let entries: Vec<&Contact> =
            self.book.iter().filter(|entry| entry.addresses.iter().any(|address| address == normalized)).collect();
        let full = entries.iter().find(|entry| self.user.has(&entry.name));
        if let Some(entry) = full {
            let same_name = |other: &&Contact| {
                other.name == entry.name && !other.addresses.iter().any(|address| address == normalized)
            };
            return (!self.book.iter().any(|other| same_name(&other))).then_some(entry.name.as_str());
        }
        let part = |entry: &Contact| {
            words(&entry.name).any(|word| word.chars().count() >= 3 && !is_plain(word) && self.user.has(word))
        };
        let entry = entries.into_iter().find(|entry| part(entry))?;
        let mut rivals = self.book.iter().filter(|other| part(other));
        rivals.all(|other| other.addresses == entry.addresses).then_some(entry.name.as_str())
    }

    /// Whether the owner named the record with this id by a title of it.
    pub(crate) fn is_named_record(&self, id: &str) -> bool {
        self.records.get(id).is_some_and(|titles| titles.iter().any(|title| self.is_named(&title.plain)))
    }

    /// What the record with this id is called.
    pub(crate) fn title(&self, id: &str) -> Option<&str> {
        self.records.get(id)?.first().map(|title| title.shown.as_str())
    }

    /// Whether the owner's words name a title: whole, every telling word of it, or two thirds of three and more.
    fn is_named(&self, title: &str) -> bool {
        let end = title.rsplit_once('.').filter(|(_, end)| end.len() <= 5 && !end.contains(' '));
        let stem = end.map_or(title, |(stem, _)| stem);
        let telling: Vec<&str> = words(stem).filter(|word| word.chars().count() >= 3 && !is_plain(word)).collect();
        let named = telling.iter().filter(|word| self.user.has_word(word)).count();
        let most = telling.len() >= 3 && 3 * named >= 2 * telling.len();
        !telling.is_empty() && (self.user.has(title) || named == telling.len() || most)
    }

    /// Whether a piece of a text was read from the owner's data and not written by the owner.
    pub(crate) fn is_private(&self, word: &str) -> bool {
        self.private.contains(word) && !self.user.has(word)
    }

    /// Whether a token stood in a result where secrets stand.
    pub(crate) fn is_secret(&self, token: &str) -> bool {
        self.secret.contains(token) && !self.user.has(token)
    }
}

/// Words that carry no name.
pub(crate) fn is_plain(word: &str) -> bool {
    const PLAIN: [&str; 60] = [
        "the", "and", "for", "with", "you", "your", "this", "that", "please", "from", "are", "was", "all", "any",
        "can", "could", "what", "when", "where", "who", "how", "not", "but", "has", "have", "had", "will", "would",
        "should", "mail", "email", "file", "files", "event", "send", "delete", "read", "create", "add", "them", "they",
        "his", "her", "him", "she", "out", "about", "into", "new", "there", "here", "then", "than", "its", "our",
        "one", "two", "also", "name", "document",
    ];
    PLAIN.contains(&word)
}

/// A word that tells something of whoever it was read from: digits that are no year.
fn is_telling(word: &str) -> bool {
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    word.len() >= 4 && word.chars().any(|c| c.is_ascii_digit()) && !is_year
}

fn source_name(call: &ToolCall) -> String {
    let first =
        call.arguments.values().find_map(Value::as_str).filter(|text| !text.is_empty() && text.chars().count() <= 60);
    first.map_or_else(|| call.name.clone(), |text| format!("{text} ({})", call.name))
}

fn has_secret_path(call: &ToolCall) -> bool {
    super::anchor::leaves(&Value::Object(call.arguments.clone())).iter().any(|leaf| path::is_secret(leaf))
}

/// The owner's own lines, and those that are quoted.
fn unquoted(text: &str) -> (String, String) {
    let (mut own, mut quoted, mut fenced) = (String::new(), String::new(), false);
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let is_fence = start.starts_with("```") || start.starts_with("~~~");
        fenced ^= is_fence;
        let target = if fenced || is_fence || start.starts_with('>') { &mut quoted } else { &mut own };
        target.push_str(line);
    }
    (own, quoted)
}

/// The numbers in a text, each with its currency when one stands beside it.
pub(crate) fn amounts(text: &str) -> Vec<(f64, Option<&'static str>)> {
    let text = text.to_lowercase();
    let spaced: String = text
        .chars()
        .flat_map(|c| if matches!(c, '\u{20ac}' | '$' | '\u{a3}') { vec![' ', c, ' '] } else { vec![c] })
        .collect();
    let pieces: Vec<&str> = spaced.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '\'')).collect();
    let pieces: Vec<&str> = pieces
        .iter()
        .map(|piece| piece.trim_end_matches(['.', ',', '!', '?', ';', ':']))
        .filter(|piece| !piece.is_empty())
        .collect();
    let number = |(i, piece): (usize, &&str)| {
        let (digits, unit) = piece.split_at(piece.find(|c: char| c.is_alphabetic()).unwrap_or(piece.len()));
        let value = digits
            .replace([',', '\u{a0}'], "")
            .parse::<f64>()
            .ok()
            .or_else(|| digits.replace(',', ".").parse().ok())?;
        let near = [Some(unit), pieces.get(i + 1).copied(), i.checked_sub(1).and_then(|i| pieces.get(i)).copied()];
        Some((value, near.into_iter().flatten().find_map(currency)))
    };
    pieces.iter().enumerate().filter_map(number).collect()
}

/// The code of a currency, from its code, sign or English name.
pub(crate) fn currency(word: &str) -> Option<&'static str> {
    match word.to_lowercase().trim_end_matches('s') {
        "eur" | "euro" | "\u{20ac}" => Some("EUR"),
        "usd" | "dollar" | "$" | "buck" => Some("USD"),
        "gbp" | "pound" | "\u{a3}" | "quid" => Some("GBP"),
        "chf" | "franc" | "franken" => Some("CHF"),
        "jpy" | "yen" | "\u{a5}" => Some("JPY"),
        _ => None,
    }
}
