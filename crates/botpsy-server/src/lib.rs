//! One model behind HTTP, in OpenAI's shape.
//!
//! The JSON of requests and answers exists only here: a body becomes a [`botpsy_chat::Request`], its events become chunks. What
//! is read is read leniently, what is written is exact. Nothing that a model writes is an error.
//!
//! [`Server::bind`] takes the address, [`Server::run`] loads the model beside the requests, which are told so until it is there.

mod app;
mod body;
mod edge;
mod error;
#[cfg(test)]
mod fuzz;
mod half_close;
mod native;
mod openai;
mod openapi;
mod queue;
mod routes;
mod run;
mod serve;
mod stamp;
mod wire;

pub use app::Backend;
pub use serve::{Options, Server, Stop};
