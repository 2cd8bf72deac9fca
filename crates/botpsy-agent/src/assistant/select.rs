//! Which tools are offered: all, or where their list would be too long, those that fit the request best.
//!
//! Score: Okapi BM25 over the words of name, description and parameters (k1 = 1.2, b = 0.75; Robertson and Zaragoza, "The Probabilistic
//! Relevance Framework", 2009), words cut to their first five letters so that `reminders` finds `remind`.

use std::collections::{BTreeSet, HashMap};

use botpsy_text::conversation::ToolSpec;
use serde_json::Value;

use super::toolbox::Toolbox;
use crate::store::normalize;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Letters of a word that count.
const STEM: usize = 5;

/// Bytes of JSON that are about one token.
const BYTES_PER_TOKEN: usize = 4;

/// The tools of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// All tools, the best first.
    pub scored: Vec<Scored>,
    /// About how many tokens the offered ones take.
    pub tokens: usize,
}

/// So many tools that fit a request come before those that were offered in earlier turns.
const FIT_FIRST: usize = 3;

/// How well a tool fits a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Its name.
    pub name: String,
    /// Its score; 0 where no word fits.
    pub score: f64,
    /// Whether the model is offered it.
    pub offered: bool,
    /// Whether it was offered before in this session.
    pub sticky: bool,
}

impl Offer {
    /// The names of what is offered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scored.iter().filter(|tool| tool.offered).map(|tool| tool.name.as_str())
    }
}

/// Chooses for a request: what fits it best, then what was offered before, so that the prompt keeps its beginning, then the rest.
pub(super) fn offer(toolbox: &Toolbox, request: &str, before: &BTreeSet<String>, budget_tokens: usize) -> Offer {
    let specs: Vec<&ToolSpec> = toolbox.all().collect();
    let scores = scores(&specs, request);
    let tokens = |spec: &ToolSpec| spec.source.to_string().len().div_ceil(BYTES_PER_TOKEN);
    let all: usize = specs.iter().map(|spec| tokens(spec)).sum();
    let mut order: Vec<usize> = (0..specs.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let is_before = |i: usize| before.contains(&specs[i].name);
    let mut turns = order.clone();
    let fits_best: Vec<usize> = order.iter().copied().filter(|i| scores[*i] > 0.0).take(FIT_FIRST).collect();
    turns.sort_by_key(|i| (!fits_best.contains(i), !is_before(*i)));
    // What came before and what fits now may take twice as much together, so that neither drives out the other.
    let most = if before.is_empty() { budget_tokens } else { 2 * budget_tokens };
    let (mut taken, mut chosen) = (0, BTreeSet::new());
    for i in turns {
        let room = if fits_best.contains(&i) || is_before(i) { most } else { budget_tokens };
        if all <= budget_tokens || taken + tokens(specs[i]) <= room {
            taken += tokens(specs[i]);
            chosen.insert(i);
        }
    }
    let mut offer = Offer::default();
    for i in order {
        let (offered, sticky) = (chosen.contains(&i), is_before(i));
        offer.tokens += if offered { tokens(specs[i]) } else { 0 };
        offer.scored.push(Scored { name: specs[i].name.clone(), score: scores[i], offered, sticky });
    }
    offer
}

fn scores(specs: &[&ToolSpec], request: &str) -> Vec<f64> {
    let documents: Vec<Vec<String>> = specs.iter().map(|spec| words(&about(spec))).collect();
    let mean = documents.iter().map(Vec::len).sum::<usize>() as f64 / documents.len().max(1) as f64;
    let mut holding: HashMap<&str, usize> = HashMap::new();
    for document in &documents {
        document.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().for_each(|word| {
            *holding.entry(word).or_default() += 1;
        });
    }
    let n = documents.len() as f64;
    let asked: BTreeSet<String> = words(request).into_iter().collect();
    let score = |document: &Vec<String>| {
        let of_word = |word: &String| {
            let found = holding.get(word.as_str()).copied().unwrap_or(0) as f64;
            let idf = (1.0 + (n - found + 0.5) / (found + 0.5)).ln();
            let times = document.iter().filter(|other| *other == word).count() as f64;
            idf * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * document.len() as f64 / mean.max(1.0)))
        };
        asked.iter().map(of_word).sum()
    };
    documents.iter().map(score).collect()
}

/// All that is said of a tool; its name counts twice.
fn about(spec: &ToolSpec) -> String {
    let mut text = format!("{0} {0} ", spec.name.replace('_', " "));
    text.push_str(spec.source.pointer("/function/description").and_then(Value::as_str).unwrap_or_default());
    for (name, parameter) in spec.parameters["properties"].as_object().into_iter().flatten() {
        text.push_str(&format!(
            " {} {}",
            name.replace('_', " "),
            parameter["description"].as_str().unwrap_or_default()
        ));
    }
    text
}

fn words(text: &str) -> Vec<String> {
    let words = normalize(text);
    words.split(' ').filter(|word| !word.is_empty()).map(|word| word.chars().take(STEM).collect()).collect()
}
