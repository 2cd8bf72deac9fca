//! Reading ahead, while nobody asks for anything.
//!
//! In the history an answer stands otherwise than it was written: its thought is gone once the user speaks again, its calls are
//! written anew. So the next turn could go on only from the end of the last one, and would have to read the answer again.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use botpsy_text::conversation::{Message, Role};
use botpsy_text::tool_call::ParsedMessage;

use crate::model::TURN_START;
use crate::{ChatError, ChatModel, Request};

/// Tokens between two looks at whether somebody has come: a tenth of a second on a laptop.
const PIECE: usize = 64;

/// Stands where the next turn will.
const NEXT: &str = "next";

impl ChatModel {
    /// The tokens with which the next turn begins if it goes on from `reply`, up to the message that nobody knows yet.
    fn next_prefix(&self, request: &Request, reply: &ParsedMessage) -> Result<Vec<u32>, ChatError> {
        let mut next = Request { continues: false, ..request.clone() };
        let messages = &mut next.conversation.messages;
        messages.push(Message {
            reasoning_content: reply.reasoning_content.clone(),
            tool_calls: reply.tool_calls.clone(),
            content: reply.content.clone(),
            ..Message::new(Role::Assistant, "")
        });
        messages.push(Message::new(if reply.tool_calls.is_empty() { Role::User } else { Role::Tool }, NEXT));
        let text = self.page(&next)?.text;
        let known = text.rfind(NEXT).and_then(|at| text[..at].rfind(TURN_START)).map_or("", |at| &text[..at]);
        Ok(self.tokenizer().encode_template(known).into_iter().map(|id| id.0).collect())
    }

    /// As [`crate::Provider::read_ahead`].
    pub(crate) fn read_next(
        &self,
        request: &Request,
        reply: &ParsedMessage,
        go_on: &dyn Fn() -> bool,
    ) -> Result<usize, ChatError> {
        let tokens = self.next_prefix(request, reply)?;
        if request.continues || tokens.is_empty() || tokens.len() >= self.engine().options().context_tokens {
            return Ok(0);
        }
        let mut session = self.lease(&tokens);
        let started = session.sync(&tokens)?.kept;
        let mut end = started;
        while end < tokens.len() && go_on() {
            end = tokens.len().min(end + PIECE);
            let marks = if end == tokens.len() { &[end][..] } else { &[] };
            session.prefill(&tokens[..end], marks, &AtomicBool::new(false), &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(end - started)
    }
}
