//! A model behind somebody's HTTP server that speaks as OpenAI's does.
//!
//! A request is sent as JSON and its answer read as a stream of events, or as one object where a server does not stream. Nothing that
//! a server sends is believed further than that it is an answer: it is limited in size, a call that cannot be read is text, and an
//! answer without an end is an error, so that half of it is never acted on. Redirects are not followed.

mod answer;
mod body;
mod connection;
mod error;
mod key;
mod sse;
mod url;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

use crate::{ChatError, ChatEvent, Completion, Overrides, Provider, Request};
use answer::{Answer, Refused};
use connection::{Connection, MAX_BYTES, Next};

pub use error::EndpointError;
pub use key::Key;
pub use url::BaseUrl;

/// How long the rest of a stream is waited for, once the answer in it is complete: its counts, and its end.
const AFTER_FINISH: Duration = Duration::from_secs(1);
/// The name that is sent where a server has no list of models.
const ANY_MODEL: &str = "default";

/// Where an endpoint is, and how it is asked.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Its address.
    pub base: BaseUrl,
    /// The model; else the only one that it has.
    pub model: Option<String>,
    /// What it knows its user by.
    pub key: Option<Key>,
    /// Settings of all requests, unless a request states its own.
    pub overrides: Overrides,
    /// Certificates in PEM that are trusted instead of the usual authorities.
    pub certificates: Option<Vec<u8>>,
    /// How long it may say nothing: a large prompt on a slow machine takes minutes.
    pub silence: Duration,
}

impl EndpointOptions {
    /// This address, with nothing stated.
    pub fn new(base: BaseUrl) -> EndpointOptions {
        let silence = Duration::from_secs(600);
        EndpointOptions { base, model: None, key: None, overrides: Overrides::default(), certificates: None, silence }
    }
}

/// A model behind an OpenAI-compatible server.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    name: String,
    /// The only model of the server, once it was asked for.
    only_model: OnceLock<String>,
    /// A client whose connection may still be open. Whoever asks takes it; whoever finds none makes one.
    idle: Mutex<Option<Agent>>,
}

impl Endpoint {
    /// An endpoint; nothing is sent yet.
    ///
    /// # Errors
    /// If the certificates are none.
    pub fn new(options: EndpointOptions) -> Result<Endpoint, EndpointError> {
        let agent = connection::agent(&options)?;
        let name = options.base.to_string();
        Ok(Endpoint { options, name, only_model: OnceLock::new(), idle: Mutex::new(Some(agent)) })
    }

    /// How it is asked.
    pub fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// The names of its models; `None` if it has no list. Nothing but an empty list once `cancel` is raised.
    ///
    /// # Errors
    /// If it does not answer, or not with a list.
    pub fn models(&self, cancel: &AtomicBool) -> Result<Option<Vec<String>>, EndpointError> {
        let names = |models: Vec<Value>| models.iter().filter_map(name_of).map(str::to_owned).collect();
        Ok(self.listed(cancel)?.map(names))
    }

    /// What the server says of its model that a person should know, such as that it is a demonstration; `botpsy serve` does.
    ///
    /// # Errors
    /// As [`Endpoint::models`].
    pub fn remark(&self, cancel: &AtomicBool) -> Result<Option<String>, EndpointError> {
        let models = self.listed(cancel)?.unwrap_or_default();
        let stated = self.options.model.as_deref();
        let is_asked = |model: &&Value| models.len() == 1 || name_of(model) == stated;
        let remark = models.iter().find(is_asked).and_then(|model| model["remark"].as_str());
        Ok(remark.map(str::to_owned))
    }

    /// Its models as it lists them.
    fn listed(&self, cancel: &AtomicBool) -> Result<Option<Vec<Value>>, EndpointError> {
        let opened = match self.open("models", None, cancel) {
            Err(EndpointError::Status { status: 404 | 405 | 501, .. }) => return Ok(None),
            opened => opened?,
        };
        let Some(mut connection) = opened else { return Ok(Some(Vec::new())) };
        let body = connection.read(cancel, MAX_BYTES)?;
        if cancel.load(Ordering::Relaxed) {
            return Ok(Some(Vec::new()));
        }
        let value: Result<Value, _> = serde_json::from_slice(&body);
        let value = value.map_err(|_| connection.unreadable("the list of models is no JSON"))?;
        let list = value["data"].as_array().or(value["models"].as_array());
        let list = list.ok_or_else(|| connection.unreadable("the list of models is none"))?;
        let list = list.clone();
        self.put_back(connection);
        Ok(Some(list))
    }

    fn open(
        &self,
        path: &str,
        body: Option<String>,
        cancel: &AtomicBool,
    ) -> Result<Option<Connection<'_>>, EndpointError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let agent = match idle {
            Some(agent) => agent,
            None => connection::agent(&self.options)?,
        };
        Connection::open(&self.options, agent, path, body, cancel)
    }

    fn put_back(&self, connection: Connection<'_>) {
        if let Some(agent) = connection.close() {
            *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent);
        }
    }

    /// The model that was named, or the only one that there is.
    fn model(&self, cancel: &AtomicBool) -> Result<String, EndpointError> {
        if let Some(model) = self.options.model.as_ref().or(self.only_model.get()) {
            return Ok(model.clone());
        }
        let model = match self.models(cancel)?.as_deref() {
            None => ANY_MODEL.to_owned(),
            Some([]) => return Ok(ANY_MODEL.to_owned()),
            Some([only]) => only.clone(),
            Some(several) => {
                let some: Vec<&str> = several.iter().take(8).map(String::as_str).collect();
                let rest = if several.len() > some.len() {
                    format!(" and {} more", several.len() - some.len())
                } else {
                    String::new()
                };
                let names = key::told(&some.join(", "), self.options.key.as_ref()) + &rest;
                return Err(EndpointError::Models { url: self.options.base.at("models"), names });
            }
        };
        Ok(self.only_model.get_or_init(|| model).clone())
    }

    fn ask(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, EndpointError> {
        let overrides = request.overrides.or(&self.options.overrides);
        // What cannot be asked is refused before anything is sent.
        body::body(request, &overrides, ANY_MODEL)?;
        let body = body::body(request, &overrides, &self.model(cancel)?)?;
        let mut answer = Answer::new(request.one_call, on);
        let Some(mut connection) = self.open("chat/completions", Some(body.to_string()), cancel)? else {
            return Ok(answer.end(true));
        };
        let is_complete = Incoming::default().read(&mut connection, &mut answer, cancel)?;
        if is_complete {
            self.put_back(connection);
        }
        Ok(answer.end(!is_complete))
    }
}

impl Provider for Endpoint {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        Ok(self.ask(request, cancel, on)?)
    }
}

/// What comes in: a stream of events, or one object.
#[derive(Default)]
struct Incoming {
    events: sse::Events,
    /// The answer of a server that does not stream.
    object: Option<Vec<u8>>,
    begun: bool,
    n_taken: usize,
}

impl Incoming {
    /// Reads all of an answer; whether it is complete, which it is not when the flag was raised.
    fn read(
        mut self,
        connection: &mut Connection<'_>,
        answer: &mut Answer<'_>,
        cancel: &AtomicBool,
    ) -> Result<bool, EndpointError> {
        let mut until = None;
        loop {
            let bytes = match connection.next(cancel, until) {
                Ok(Next::Bytes(bytes)) => bytes,
                Ok(Next::End) => break,
                // Who has waited long enough for the rest has not been told to stop.
                Ok(Next::Nothing) if answer.is_finished() => return Ok(true),
                Ok(Next::Nothing) => return Ok(false),
                Err(_) if answer.is_finished() => return Ok(true),
                Err(error) => return Err(error),
            };
            if self.push(&bytes, connection, answer)? {
                return Ok(true);
            }
            if answer.is_finished() {
                until = until.or_else(|| Some(Instant::now() + AFTER_FINISH));
            }
        }
        self.end(connection, answer)?;
        match answer.is_finished() {
            true => Ok(true),
            false => Err(EndpointError::Cut {
                url: connection.url().to_owned(),
                problem: "the connection ended before the answer did".to_owned(),
            }),
        }
    }

    /// Takes more bytes; whether the stream says that this was all.
    fn push(
        &mut self,
        bytes: &[u8],
        connection: &Connection<'_>,
        answer: &mut Answer<'_>,
    ) -> Result<bool, EndpointError> {
        if !self.begun
            && let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace())
        {
            self.begun = true;
            self.object = (*first == b'{').then(Vec::new);
        }
        if let Some(object) = &mut self.object {
            object.extend(bytes);
            return Ok(false);
        }
        for data in self.events.push(bytes) {
            if data.trim() == "[DONE]" {
                return match self.n_taken {
                    0 => Err(connection.unreadable("it is empty")),
                    _ => Ok(true),
                };
            }
            let value = serde_json::from_str(&data);
            let value: Value = value.map_err(|_| connection.unreadable(&not_json(connection, &data)))?;
            take(&value, connection, answer)?;
            self.n_taken += 1;
        }
        Ok(false)
    }

    /// What is left when the connection has ended.
    fn end(self, connection: &Connection<'_>, answer: &mut Answer<'_>) -> Result<(), EndpointError> {
        if let Some(object) = self.object {
            let text = String::from_utf8_lossy(&object);
            let value = serde_json::from_str(&text);
            let value: Value = value.map_err(|_| connection.unreadable(&not_json(connection, &text)))?;
            take(&value, connection, answer)?;
            if !value["choices"][0]["message"].is_object() {
                return Err(connection.unreadable("it has no choices[0].message"));
            }
            answer.finish_whole();
            return Ok(());
        }
        // Half a piece is as good as none: whether the answer is complete is looked at by the caller.
        if let Some(value) = self.events.finish().and_then(|data| serde_json::from_str::<Value>(&data).ok()) {
            return take(&value, connection, answer);
        }
        match self.n_taken {
            0 => Err(connection.unreadable("there is no event in it")),
            _ => Ok(()),
        }
    }
}

fn take(value: &Value, connection: &Connection<'_>, answer: &mut Answer<'_>) -> Result<(), EndpointError> {
    answer.take(value).map_err(|refused| match refused {
        Refused::Said(said) => EndpointError::Status {
            url: connection.url().to_owned(),
            status: 200,
            message: connection.told(&said),
            retry_after: None,
        },
        Refused::Unreadable(problem) => connection.unreadable(problem),
    })
}

fn not_json(connection: &Connection<'_>, data: &str) -> String {
    let begin: String = data.chars().take(80).collect();
    format!("no JSON: {}", connection.told(&begin))
}

/// The name of a model in a list.
fn name_of(model: &Value) -> Option<&str> {
    ["id", "name", "model"].iter().find_map(|key| model[key].as_str())
}
