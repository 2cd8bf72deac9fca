//! What came of a turn.

use botpsy_chat::Completion;
use botpsy_text::conversation::ToolCall;
use serde_json::{Value, json};

use super::call::origin_word;
use super::select::Offer;
use crate::journal::call_json;
use crate::policy::Verdict;
use crate::store::Change;

/// What came of a turn.
#[derive(Debug, Default)]
pub struct Report {
    /// What the model wrote, round by round.
    pub completions: Vec<Completion>,
    /// What the owner is shown at the end.
    pub answer: String,
    /// Why it ended.
    pub end: End,
    /// The tools that were offered.
    pub offer: Offer,
    /// What the gate decided, call by call.
    pub decisions: Vec<Decided>,
    /// What was changed.
    pub done: Vec<Done>,
    /// What was agreed to and could not be changed, with the reason.
    pub failed: Vec<String>,
    /// In a dry run, what would be changed.
    pub would: Vec<Change>,
    /// What to know about the answer.
    pub notes: Vec<Note>,
    /// The hash of the log's last row.
    pub log_head: String,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The model answered.
    #[default]
    Answered,
    /// Only the owner can say what is meant.
    Question,
    /// The same calls gave the same results again.
    NoProgress,
    /// There were too many rounds.
    TooLong,
    /// The owner broke it off.
    Cancelled,
    /// The owner may be in danger, or the model talked of harming oneself: there is where to find help instead of an answer.
    Help,
}

/// What the owner is told beside an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is about, in a word: a topic, or `language`.
    pub about: &'static str,
    /// The note, in a sentence or two.
    pub text: String,
}

impl Note {
    /// As JSON: `about`, `text`.
    pub fn to_json(&self) -> Value {
        json!({ "about": self.about, "text": self.text })
    }
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The call.
    pub call: ToolCall,
    /// The decision.
    pub verdict: Verdict,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Its number, for undo.
    pub step: i64,
    /// What it is, in words.
    pub summary: String,
    /// What else there is to know.
    pub details: Vec<(String, String)>,
    /// What speaks against it, such as events at the same time.
    pub warnings: Vec<String>,
}

impl End {
    /// It in a word.
    pub fn word(self) -> &'static str {
        match self {
            End::Answered => "answered",
            End::Question => "question",
            End::NoProgress => "no_progress",
            End::TooLong => "too_long",
            End::Cancelled => "cancelled",
            End::Help => "help",
        }
    }
}

impl Decided {
    pub(super) fn new(call: &ToolCall, verdict: &Verdict) -> Decided {
        Decided { call: call.clone(), verdict: verdict.clone() }
    }

    /// As JSON: `call`, `decision`, `rule`, `reason`, `origins` (argument, value, where it comes from).
    pub fn to_json(&self) -> Value {
        let Verdict { decision, rule, reason, origins, .. } = &self.verdict;
        let origin = |finding: &crate::policy::Finding| json!({ "argument": finding.argument, "value": finding.value, "origin": origin_word(&finding.origin) });
        json!({
            "call": call_json(&self.call), "decision": decision.word(), "rule": rule, "reason": reason,
            "origins": origins.iter().map(origin).collect::<Value>(),
        })
    }
}

impl Done {
    /// As JSON: `step`, `summary`, `details`, `warnings`.
    pub fn to_json(&self) -> Value {
        let details: serde_json::Map<String, Value> =
            self.details.iter().map(|(name, what)| (name.clone(), json!(what))).collect();
        json!({ "step": self.step, "summary": self.summary, "details": details, "warnings": self.warnings })
    }
}
