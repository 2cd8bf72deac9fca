//! `botpsy detokenize`.

use anyhow::anyhow;
use botpsy_text::tokenizer::TokenId;

use crate::args::DetokenizeArgs;
use crate::failure::{Exit, bad_input};
use crate::{input, model_flags, output};

pub(crate) fn run(args: &DetokenizeArgs) -> anyhow::Result<Exit> {
    let vocabulary = model_flags::vocabulary(&args.model)?;
    let tokenizer = &vocabulary.tokenizer;
    let ids: Vec<TokenId> = input::stdin_ids()?.into_iter().map(TokenId).collect();
    if let Some(i) = ids.iter().position(|id| tokenizer.kind(*id).is_none()) {
        let (id, n_tokens) = (ids[i].0, tokenizer.n_tokens());
        let error = anyhow!("standard input: item {i}: token {id} is outside the vocabulary of {n_tokens}");
        return Err(bad_input(error, "name with -m the model that the ids come from"));
    }
    output::result(&tokenizer.decode(&ids))?;
    Ok(Exit::Done)
}
