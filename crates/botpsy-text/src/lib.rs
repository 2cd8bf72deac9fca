//! Text to tokens to conversation, both ways.

pub mod conversation;
pub mod schema;
pub mod template;
pub mod tokenizer;
pub mod tool_call;
