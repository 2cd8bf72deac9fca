//! Conversation to prompt: the built-in Qwen3.5 template, templates from files, and what both print.
//!
//! A template sees JSON messages and tools ([`RenderInput`]) and prints one text. [`Template::render`] is the bare
//! function, equal to Jinja under Python. [`Template::prompt`] is what an engine needs: text from outside is guarded
//! (see [`crate::tokenizer::guard`]), so that no content can forge a control token, and the places where a later
//! prompt will still agree are marked.

mod builtin;
mod error;
mod jinja;
mod page;
mod qwen35_prompt;
mod request;
mod whitespace;

use serde_json::{Map, Value};

pub use error::TemplateError;
pub use jinja::ChatTemplate;
pub use request::render_request;

use crate::tokenizer::AddedTokens;
use page::Page;

/// What a template prints from.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// Messages, as objects with `role`, `content` and so on.
    pub messages: &'a [Value],
    /// Tool objects; none at all and an empty list are the same.
    pub tools: &'a [Value],
    /// Further variables, such as `enable_thinking`; they never replace messages or tools.
    pub kwargs: &'a Map<String, Value>,
    /// Whether the text ends where the model's answer begins.
    pub add_generation_prompt: bool,
}

/// A rendered prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The text; guarded when it was rendered with the added tokens of a tokenizer.
    pub text: String,
    /// Ascending positions in `text`, in bytes, up to which later prompts of the same conversation agree with it: the
    /// end of the system turn, of user turns, of tool results.
    pub marks: Vec<usize>,
}

/// A chat template.
#[derive(Clone, Debug, Default)]
pub enum Template {
    /// The template of Qwen3.5, as code.
    #[default]
    Qwen35,
    /// A template from a file.
    Jinja(ChatTemplate),
}

impl Template {
    /// What the template prints, nothing guarded.
    ///
    /// # Errors
    /// When the template refuses the conversation, fails or passes a limit.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<String, TemplateError> {
        match self {
            Template::Qwen35 => {
                let mut page = Page::new(None);
                builtin::print(input, &mut page)?;
                Ok(page.finish().text)
            }
            Template::Jinja(template) => template.render(input),
        }
    }

    /// What an engine reads: the rendering with all text from outside guarded against `added`, and its stable marks.
    ///
    /// [`crate::tokenizer::unguard`] of the text equals [`Template::render`].
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn prompt(&self, input: &RenderInput<'_>, added: &AddedTokens) -> Result<Prompt, TemplateError> {
        match self {
            Template::Qwen35 => {
                let mut page = Page::new(Some(added));
                builtin::print(input, &mut page)?;
                Ok(page.finish())
            }
            Template::Jinja(template) => template.prompt(input, added),
        }
    }
}
