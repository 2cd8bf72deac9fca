//! `botpsy render`.

use anyhow::Context;
use botpsy_text::template::{Template, TemplateError, render_request};
use serde_json::Value;

use crate::args::RenderArgs;
use crate::failure::{Exit, OrFail};
use crate::{input, model_flags, output};

const REQUEST: &str = "give {\"messages\": [{\"role\": \"user\", \"content\": \"..\"}], \"tools\": [..]}";

pub(crate) fn run(args: &RenderArgs) -> anyhow::Result<Exit> {
    let (name, template) = match (&args.template, &args.model) {
        (Some(path), _) => (path.display().to_string(), input::chat_template(path)?),
        (None, Some(model)) => (model.display().to_string(), model_flags::vocabulary(model)?.template),
        (None, None) => ("built-in template".to_owned(), Template::Qwen35),
    };
    let request: Value = serde_json::from_slice(&input::stdin_bytes("a request in JSON")?)
        .context("standard input: expected a request in JSON")
        .or_bad_input(REQUEST)?;
    let prompt = render_request(&request, &template).map_err(|error| {
        // What is wrong with the request is told without the template's name.
        let is_request = matches!(error, TemplateError::Request { .. } | TemplateError::Conversation(_));
        let place = if is_request { "standard input" } else { &name };
        anyhow::Error::from(error).context(place.to_owned())
    });
    output::result(prompt.or_bad_input(REQUEST)?.as_bytes())?;
    Ok(Exit::Done)
}
