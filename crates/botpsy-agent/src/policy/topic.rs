//! What a text is about where an answer by a model needs more care: a life in danger, medicines, the law, investments.
//!
//! Found by sequences of words, which err both ways: who writes around them is not seen, and `fixtures/agent/topics.jsonl`
//! holds sentences that must not be taken for any of it.

use std::sync::LazyLock;

use super::text::{normalize, words};

/// What a text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Somebody may be about to harm themselves.
    Crisis,
    /// Medicines and how much of them.
    Medical,
    /// What the law says of somebody's case.
    Legal,
    /// What to do with money that is to grow.
    Investment,
}

impl Topic {
    /// It in a word, for logs and programs.
    pub fn word(self) -> &'static str {
        match self {
            Topic::Crisis => "crisis",
            Topic::Medical => "medical",
            Topic::Legal => "legal",
            Topic::Investment => "investment",
        }
    }

    /// What the owner is told: in a crisis instead of an answer, else beside it.
    pub fn note(self) -> &'static str {
        match self {
            Topic::Crisis => {
                "It sounds as if you may be in danger, and a program is not the one to help. Please talk to a person now: the emergency \
                 number where you are (112 in Europe, 911 in North America, 999 in the United Kingdom), or a line for people in crisis \
                 (988 in the United States and Canada, 116 123 in the United Kingdom and Ireland; https://findahelpline.com lists others). \
                 If you can, stay with somebody you trust until then."
            }
            Topic::Medical => {
                "This is a small model's text, no medical advice: a wrong dose can harm. Ask a doctor or a pharmacist, in an emergency the emergency number."
            }
            Topic::Legal => {
                "This is a small model's text, no legal advice: laws differ and it may be wrong. Ask a lawyer or an advice center."
            }
            Topic::Investment => {
                "This is a small model's text, no investment advice: money can be lost, and it knows no present prices."
            }
        }
    }
}

/// Sequences of words, one a line: `a|b` is one of these, `a|b?` one of them or nothing, `!a|b` none of them or the end, `..3` up to three
/// words of any kind, `$` the end of the sentence, `DRUG` one of [`DRUGS`], `ASSET` one of [`ASSETS`]. A crisis is only what somebody says of themselves.
const PATTERNS: [(Topic, &str); 4] = [
    (
        Topic::Crisis,
        "i|im|ill|id ..2 want|wanna|going|gonna|plan|planning|decided|ready|need|thinking|intend ..2 kill|hurt|harm|hang|cut myself
        i|im|ill|id ..3 kill|hang myself
        killing|hurting|harming|cutting myself
        end|ending my own? life $|now|tonight|today|because|and|soon
        take|taking my own life
        take|taking my life $
        i ..1 want to die !my|her|his|the|a|it
        i wanna die !my|her|his|the|a|it
        wish i was|were dead
        dont want to live anymore|any|$
        dont want to be alive|here anymore|any|$
        do not want to live|be alive|here|anymore anymore|any|$
        no reason to live !in|at|near|with
        i|im|ive ..2 suicidal
        i|im|ive ..3 commit|committing|attempt|attempting suicide
        i|im|ive ..3 thinking|thought|think about|of suicide $|again|now|a|all|every|and
        suicidal thoughts
        better off without me
        better off dead
        cant|cannot go on living
        overdose on ..2 DRUG",
    ),
    (
        Topic::Medical,
        "how much|many ..3 DRUG ..4 take|safe|safely|dangerous|give|inject|dose|allowed|much
        how much|many ..3 mg|milligrams ..4 take|safe|dose
        dose|dosage|overdose of? ..2 DRUG
        DRUG dose|dosage|overdose
        safe|dangerous|ok|okay ..3 take|mix|combine|give ..4 DRUG
        can|should|may i|we|she|he|they ..1 take|mix|combine|give ..4 DRUG
        mix|mixing|combine|combining ..3 DRUG
        stop|stopping|quit taking ..2 DRUG
        should|do|must i see|need|call ..1 doctor about|for|with|because
        is|are this|my|these ..2 rash|lump|mole|symptoms|tumor|infection
        diagnose me|my
        how do|can|to i? treat|cure ..2 infection|fever|burn|wound|cancer|depression|rash|migraine",
    ),
    (
        Topic::Legal,
        "can|could|should|may i|we|he|she|they|landlord ..1 sue|evict|fire|arrest|deport|divorce him|her|them|me|us|my|for|someone|somebody|a|the
        can my landlord|boss|employer|ex ..2 evict|fire|sue|enter|keep|deduct|read
        is it legal|illegal|lawful to|for|if|that
        am i legally|liable
        what are my legal? rights $|if|as|when|at|under|in|about
        do i need a lawyer
        is my|this|the contract|will|lease valid|binding|enforceable|legal
        plead guilty
        how do|can i sue|contest|appeal|press ..3 landlord|employer|ticket|will|verdict|charges|fine|company|neighbor|neighbour
        statute of limitations",
    ),
    (
        Topic::Investment,
        "should|shall|can i|we ..1 buy|sell|invest|short|hold !chicken|vegetable ..3 stock|stocks|shares|bitcoin|crypto|ethereum|bonds|etf|etfs|fund|funds|gold
        should|shall i|we invest
        what|which ..1 stock|stocks|shares|crypto|etf|etfs|funds should|to|will|would
        how should|do|can i|we invest
        where should|can|to i|we? invest
        is ..3 a good|safe investment
        good|right time to buy|sell|invest ..3 ASSET
        will ..3 stock|stocks|shares|bitcoin|crypto|ethereum|gold ..1 go|rise|fall|crash|drop
        invest my|all|our ..2 savings|pension|money|inheritance
        pick|recommend ..3 stocks|etf|etfs|shares|crypto",
    ),
];

const DRUGS: &str = "ibuprofen|paracetamol|acetaminophen|tylenol|aspirin|codeine|morphine|oxycodone|tramadol|xanax|valium|diazepam|insulin\
    |metformin|warfarin|sertraline|prozac|melatonin|antibiotics|amoxicillin|painkillers|pills|tablets|medication|medicine|meds|drops|benadryl\
    |naproxen|prednisone";

const ASSETS: &str = "stock|stocks|shares|bitcoin|crypto|ethereum|bonds|etf|etfs|funds|fund|gold|options|securities";

/// One piece of a pattern.
#[derive(Debug)]
enum Piece {
    /// One of these words; with `$` among them also the end.
    Any(Vec<&'static str>),
    /// One of these words, or nothing.
    May(Vec<&'static str>),
    /// None of these words, or the end.
    Not(Vec<&'static str>),
    /// Up to so many words of any kind.
    Gap(usize),
}

/// The patterns taken apart, in the order of the topics.
static PIECES: LazyLock<Vec<(Topic, Vec<Vec<Piece>>)>> = LazyLock::new(|| {
    let read = |line: &'static str| line.split_whitespace().map(Piece::read).collect();
    PATTERNS.iter().map(|(topic, text)| (*topic, text.lines().map(read).collect())).collect()
});

impl Piece {
    fn read(text: &'static str) -> Piece {
        let list = |words: &'static str| match words {
            "DRUG" => DRUGS.split('|').collect(),
            "ASSET" => ASSETS.split('|').collect(),
            words => words.split('|').collect(),
        };
        if let Some(most) = text.strip_prefix("..") {
            return Piece::Gap(most.parse().unwrap_or(0));
        }
        match (text.strip_prefix('!'), text.strip_suffix('?')) {
            (Some(words), _) => Piece::Not(list(words)),
            (_, Some(words)) => Piece::May(list(words)),
            _ => Piece::Any(list(text)),
        }
    }
}

/// The first topic that a text of the owner or of a model is about.
pub fn topic(text: &str) -> Option<Topic> {
    // `don't` is one word in the patterns.
    let text = normalize(text).replace(['\'', '\u{2019}'], "");
    // What stands in two sentences is said by none.
    let sentences: Vec<Vec<&str>> =
        text.split(['.', '!', '?', ';', ':']).map(|sentence| words(sentence).collect()).collect();
    let stands = |pattern: &Vec<Piece>| {
        sentences.iter().any(|words| (0..words.len()).any(|at| fits(pattern, words.get(at..).unwrap_or_default())))
    };
    PIECES.iter().find(|(_, patterns)| patterns.iter().any(stands)).map(|(topic, _)| *topic)
}

/// Whether the words begin as a pattern says.
fn fits(pattern: &[Piece], words: &[&str]) -> bool {
    let Some((piece, rest)) = pattern.split_first() else { return true };
    let behind = words.get(1..).unwrap_or_default();
    let is_one = |list: &[&str]| words.first().is_some_and(|word| list.contains(word));
    match piece {
        Piece::Any(list) => (is_one(list) && fits(rest, behind)) || (words.is_empty() && list.contains(&"$")),
        Piece::May(list) => (is_one(list) && fits(rest, behind)) || fits(rest, words),
        Piece::Not(list) => !is_one(list) && fits(rest, words),
        Piece::Gap(most) => {
            (0..=(*most).min(words.len())).any(|skipped| fits(rest, words.get(skipped..).unwrap_or_default()))
        }
    }
}
