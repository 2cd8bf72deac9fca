//! `botpsy tokenize`.

use serde_json::Value;

use crate::args::TokenizeArgs;
use crate::failure::Exit;
use crate::{input, model_flags, output};

pub(crate) fn run(args: &TokenizeArgs) -> anyhow::Result<Exit> {
    let vocabulary = model_flags::vocabulary(&args.model)?;
    let (text, tokenizer) = (input::stdin_text()?, &vocabulary.tokenizer);
    let ids = if args.untrusted { tokenizer.encode_untrusted(&text) } else { tokenizer.encode(&text) };
    output::json(&ids.into_iter().map(|id| Value::from(id.0)).collect())?;
    Ok(Exit::Done)
}
