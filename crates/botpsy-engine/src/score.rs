//! How likely a given text is.

use std::sync::atomic::{AtomicBool, Ordering};

use botpsy_model::{Logits, State};

use crate::{Engine, Error, Logprobs, SamplerScratch, Sampling, SamplingSettings, TokenId, raw_logprobs};

/// Tokens whose logits are held at once.
const PIECE: usize = 32;

impl Engine {
    /// The log-probabilities of all `tokens` but the first, each after those before it, with the `n_top` best in its place.
    /// `None` if the cancel flag, which is looked at before each piece, was raised.
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`], [`Error::ContextFull`], [`Error::UnknownToken`], and [`Error::Setting`] if `n_top` is more than
    /// [`MAX_TOP_LOGPROBS`](crate::MAX_TOP_LOGPROBS).
    pub fn score(&self, tokens: &[TokenId], n_top: u32, cancel: &AtomicBool) -> Result<Option<Vec<Logprobs>>, Error> {
        let context_tokens = self.options().context_tokens;
        if tokens.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        if tokens.len() > context_tokens {
            return Err(Error::ContextFull { tokens: tokens.len(), context_tokens });
        }
        self.check_tokens("prompt", tokens)?;
        let sampling = SamplingSettings { top_logprobs: Some(n_top), ..SamplingSettings::default() }.validate()?;
        let mut state = State::new(self.model(), self.options().kv_type);
        let mut scratch = SamplerScratch::default();
        let (mut logits, mut scores) = (Vec::new(), Vec::with_capacity(tokens.len() - 1));
        // The last token is only asked for.
        let piece = PIECE.min(self.options().prefill_chunk);
        for (i, read) in tokens[..tokens.len() - 1].chunks(piece).enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return Ok(None);
            }
            self.forward(&mut state, read, Logits::All, &mut logits, None)?;
            let next = &tokens[i * piece + 1..];
            let of = |(logits, id): (&[f32], &TokenId)| log_softmax(logits, &sampling, *id, &mut scratch);
            scores.extend(logits.chunks_exact(self.vocab_size()).zip(next).map(of));
        }
        Ok(Some(scores))
    }
}

fn log_softmax(logits: &[f32], sampling: &Sampling, id: TokenId, scratch: &mut SamplerScratch) -> Logprobs {
    raw_logprobs(logits, sampling, id, scratch).expect("they are asked for")
}
