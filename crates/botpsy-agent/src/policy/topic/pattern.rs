//! Sequences of words, and texts taken apart so that they can be looked for.
//!
//! A pattern is a row of elements: `kill|hurt` one of several words, `want_to|wanna` words that belong together, `so?` a word that may be
//! missing, `~2` up to two words whatever they are, `#` a number, `^` and `$` the begin and the end of a clause.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::policy::text::normalize;

/// A sequence of words.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Element>);

#[derive(Debug)]
enum Element {
    OneOf { alternatives: Vec<Vec<Word>>, optional: bool },
    Gap(usize),
}

#[derive(Debug)]
enum Word {
    Is(String),
    Number,
    Begin,
    End,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Pattern {
        Pattern(text.split_whitespace().map(element).collect())
    }

    /// Whether it stands anywhere among these words.
    pub(super) fn stands_in(&self, words: &[String]) -> bool {
        (0..=words.len()).any(|at| follows(&self.0, words, at))
    }
}

fn element(text: &str) -> Element {
    if let Some(most) = text.strip_prefix('~') {
        return Element::Gap(most.parse().unwrap_or(0));
    }
    let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
    let word = |text: &str| match text {
        "#" => Word::Number,
        "^" => Word::Begin,
        "$" => Word::End,
        word => Word::Is(word.to_owned()),
    };
    Element::OneOf { alternatives: text.split('|').map(|one| one.split('_').map(word).collect()).collect(), optional }
}

fn follows(elements: &[Element], words: &[String], at: usize) -> bool {
    let Some((first, rest)) = elements.split_first() else { return true };
    match first {
        Element::Gap(most) => (at..=(at + most).min(words.len())).any(|at| follows(rest, words, at)),
        Element::OneOf { alternatives, optional } => {
            let after = alternatives.iter().filter_map(|alternative| end_of(alternative, words, at));
            after.into_iter().any(|at| follows(rest, words, at)) || (*optional && follows(rest, words, at))
        }
    }
}

/// Where these words end when they stand here.
fn end_of(wanted: &[Word], words: &[String], at: usize) -> Option<usize> {
    wanted.iter().try_fold(at, |at, wanted| {
        let here = words.get(at);
        match wanted {
            Word::Begin => (at == 0).then_some(at),
            Word::End => here.is_none().then_some(at),
            Word::Number => here.is_some_and(|word| is_number(word)).then_some(at + 1),
            Word::Is(word) => here.is_some_and(|here| here == word).then_some(at + 1),
        }
    })
}

fn is_number(word: &str) -> bool {
    const WORDS: [&str; 13] =
        ["a", "one", "two", "three", "four", "five", "six", "eight", "ten", "twelve", "twenty", "half", "several"];
    word.chars().all(|c| c.is_ascii_digit()) || WORDS.contains(&word)
}

/// A piece of a text between commas and the like.
#[derive(Debug)]
pub(super) struct Clause {
    /// Lower case, without accents and apostrophes, short forms written out.
    pub(super) words: Vec<String>,
    /// Whether its sentence sends the assistant on an errand, or tells of one: what it names is not asked about.
    pub(super) is_errand: bool,
}

/// Takes a text apart.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let mut clauses = Vec::new();
    for line in text.lines() {
        let plain: String = normalize(line).nfd().filter(|c| !is_combining_mark(*c)).collect();
        let chars: Vec<char> = plain.chars().collect();
        let (mut sentence, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
        for (i, c) in chars.iter().copied().enumerate() {
            let beside = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
            if matches!(c, '\'' | '\u{2019}' | '\u{2018}' | '`' | '\u{b4}')
                || (matches!(c, '.' | ',') && beside(i.checked_sub(1)) && beside(Some(i + 1)))
            {
                continue;
            }
            let turns = word.chars().last().is_some_and(|last| last.is_ascii_digit() != c.is_ascii_digit());
            if !c.is_alphanumeric() || turns {
                put(&mut words, &mut word);
            }
            if c.is_alphanumeric() {
                word.push(c);
            } else if !(words.is_empty() || c.is_whitespace() || matches!(c, '-' | '/' | '&' | '*' | '_' | '$' | '%')) {
                sentence.push(std::mem::take(&mut words));
            }
            if matches!(c, '.' | '!' | '?' | ';') {
                end_sentence(&mut clauses, &mut sentence);
            }
        }
        put(&mut words, &mut word);
        sentence.push(words);
        end_sentence(&mut clauses, &mut sentence);
    }
    clauses
}

/// Ends a word; short forms are written out.
fn put(words: &mut Vec<String>, word: &mut String) {
    let word = std::mem::take(word);
    let long = match word.as_str() {
        "" => return,
        "im" => "i am",
        "ive" => "i have",
        "dont" => "do not",
        "doesnt" => "does not",
        "isnt" => "is not",
        "arent" => "are not",
        "cant" | "cannot" => "can not",
        "wont" => "will not",
        "whats" => "what is",
        "youre" => "you are",
        "wanna" => "want to",
        "gonna" => "going to",
        word => word,
    };
    words.extend(long.split(' ').map(str::to_owned));
}

fn end_sentence(clauses: &mut Vec<Clause>, sentence: &mut Vec<Vec<String>>) {
    let is_errand = sentence.first().is_some_and(|words| is_errand(words));
    clauses.extend(sentence.drain(..).map(|words| Clause { words, is_errand }));
}

/// Whether a sentence that begins so sends somebody on an errand, or tells that it was run.
fn is_errand(words: &[String]) -> bool {
    const BEFORE: [&str; 20] = [
        "please", "hey", "hi", "hello", "ok", "okay", "and", "then", "also", "now", "so", "just", "can", "could",
        "would", "will", "you", "i", "have", "botpsy",
    ];
    const VERBS: [&str; 60] = [
        "add",
        "added",
        "append",
        "remind",
        "reminder",
        "reminded",
        "set",
        "create",
        "created",
        "put",
        "make",
        "note",
        "noted",
        "write",
        "find",
        "schedule",
        "scheduled",
        "book",
        "move",
        "moved",
        "reschedule",
        "delete",
        "deleted",
        "remove",
        "removed",
        "cancel",
        "save",
        "saved",
        "remember",
        "list",
        "show",
        "read",
        "call",
        "text",
        "send",
        "email",
        "mail",
        "message",
        "open",
        "wake",
        "rename",
        "mark",
        "order",
        "play",
        "start",
        "cross",
        "clear",
        "copy",
        "invite",
        "log",
        "record",
        "change",
        "update",
        "edit",
        "postpone",
        "push",
        "done",
        "forget",
        "plan",
        "search",
    ];
    let first = words.iter().map(String::as_str).find(|word| !BEFORE.contains(word));
    first.is_some_and(|word| VERBS.contains(&word))
}
