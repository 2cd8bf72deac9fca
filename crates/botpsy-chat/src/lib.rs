//! The face that others use: a model file becomes a tokenizer, a template and an engine; a conversation becomes deltas.
//!
//! It serves nothing and takes no decision about what may be done with a call. Its main types are [`ChatModel`]
//! (a loaded file), [`Request`] (what is asked) and [`Provider`] (whoever answers: a model in this process, one behind
//! somebody's server, a script, or a recording).
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use botpsy_chat::{Provider, Request, Scripted};
//!
//! let provider = Scripted::new(["They greet me.\n</think>\n\nHello!"]);
//! let reply = provider.chat(&Request::user("Hi"), &AtomicBool::new(false), &mut |_| ())?;
//! assert_eq!(reply.message.content.as_deref(), Some("Hello!"));
//! # Ok::<(), botpsy_chat::ChatError>(())
//! ```

mod ahead;
mod answer;
mod constrain;
mod endpoint;
mod error;
mod memory;
mod model;
mod plain;
mod prefixes;
mod provider;
mod replay;
mod request;
mod scripted;
mod settings;
mod source;
mod vocabulary;

pub use answer::{ChatEvent, Completion, Notice};
pub use endpoint::{BaseUrl, Endpoint, EndpointError, EndpointOptions, Key};
pub use error::ChatError;
pub use model::{ChatModel, LoadOptions, Prompted};
pub use plain::TextRequest;
pub use provider::Provider;
pub use replay::{Recorder, Replay};
pub use request::Request;
pub use scripted::{Script, Scripted};
pub use settings::{Overrides, Settings};
pub use source::ModelSource;
pub use vocabulary::Vocabulary;
