//! Answers that are JSON.

use serde_json::{Value, json};

use super::document::{Document, Told};
use super::vocabulary::{GrammarError, Grammars};
use crate::tokenizer::Tokenizer;

/// What the whole content of an answer must be.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that this schema allows.
    JsonSchema(Value),
}

impl AnswerFormat {
    /// What the grammar is made from, and what of the schema it does not hold to.
    fn document(&self, grammars: &Grammars) -> Document {
        match self {
            AnswerFormat::JsonObject => Document::of_answer(grammars, FIELD, &json!({ "type": "object" })),
            AnswerFormat::JsonSchema(schema) => Document::of_answer(grammars, FIELD, schema),
        }
    }

    /// The grammar's schema.
    pub(super) fn schema(&self, grammars: &Grammars) -> Value {
        self.document(grammars).schema
    }

    /// Refuses a schema that cannot be enforced.
    ///
    /// # Errors
    /// With the place and what is wrong there.
    pub fn check(&self, grammars: &Grammars) -> Result<(), GrammarError> {
        let document = self.document(grammars);
        if let Some(Told { path, why }) = document.told.first() {
            let field = if path.starts_with(FIELD) { path.clone() } else { format!("{FIELD}.{path}") };
            // The first lines of a compiler's message may only repeat the pattern.
            let why = why.lines().rfind(|line| line.starts_with("error: ")).unwrap_or(why);
            return Err(GrammarError { field, problem: format!("cannot be enforced: {why}") });
        }
        grammars.check_json(&document.schema).map_err(|problem| {
            // llguidance's word for a rule that leads to itself only.
            let endless = problem.contains("NoExtensionBias");
            let problem = if endless { "refers only to itself".to_owned() } else { problem };
            GrammarError { field: FIELD.to_owned(), problem }
        })
    }

    /// Whether `text` could be written to the end.
    pub fn accepts(&self, grammars: &Grammars, tokenizer: &Tokenizer, text: &str) -> bool {
        let Ok(mut matcher) = grammars.json(&self.schema(grammars)) else { return false };
        let mut ids = tokenizer.encode_untrusted(text).into_iter();
        ids.all(|id| matcher.consume_token(id.0).is_ok()) && matcher.is_accepting().unwrap_or(false)
    }
}

/// Where a request states it.
const FIELD: &str = "response_format.json_schema.schema";
