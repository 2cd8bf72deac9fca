//! Answers as a stream of events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::error::ApiError;
use crate::run::{Running, Told};

/// Makes events of what running answers tell.
pub(super) trait Write: Send + 'static {
    /// The event for what was told, if it leads to one; an error ends the stream.
    fn event(&mut self, told: Told) -> Result<Option<Event>, ApiError>;

    /// What closes a stream whose answers are complete.
    fn end(self) -> Vec<Event>;
}

/// How often a comment tells that an answer is still being made.
const PING: Duration = Duration::from_secs(15);

/// Streams answers. What goes wrong before anything was told is still an error with its own status.
pub(super) async fn stream(mut running: Running, writer: impl Write) -> Result<Response, ApiError> {
    let first = match running.next().await {
        Some(Told::Done(answer)) => Told::Done(Box::new(Ok((*answer)?))),
        Some(Told::Stopped) => return Err(ApiError::stopped()),
        Some(told) => told,
        None => return Err(ApiError::server("the answer ended without a word")),
    };
    let (send, events) = mpsc::unbounded_channel();
    tokio::spawn(write(running, first, writer, send));
    let events = Sse::new(UnboundedReceiverStream::new(events));
    Ok(events.keep_alive(KeepAlive::new().interval(PING).text("ping")).into_response())
}

type Sender = mpsc::UnboundedSender<Result<Event, Infallible>>;

/// Writes until the answers are complete or the client is gone, which breaks them off.
async fn write(mut running: Running, first: Told, mut writer: impl Write, send: Sender) {
    let mut told = first;
    loop {
        match writer.event(told) {
            Ok(None) => {}
            Ok(Some(event)) => {
                if send.send(Ok(event)).is_err() {
                    return;
                }
            }
            Err(error) => {
                let _ = send.send(Ok(json(&error.body())));
                return;
            }
        }
        told = tokio::select! {
            next = running.next() => match next {
                Some(next) => next,
                None => break,
            },
            () = send.closed() => return,
        };
    }
    for event in writer.end() {
        let _ = send.send(Ok(event));
    }
}

/// An event with a value.
pub(super) fn json(value: &impl Serialize) -> Event {
    Event::default().data(serde_json::to_string(value).expect("text and finite numbers are JSON"))
}

/// The event after the last one.
pub(super) fn done() -> Event {
    Event::default().data("[DONE]")
}
