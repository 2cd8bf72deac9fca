//! Request bodies, with their refusals in OpenAI's shape.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use tokio::time::timeout;
use tokio_stream::StreamExt;

use crate::error::ApiError;
use crate::half_close::Phase;

/// The largest body that is read.
const MAX_BODY_BYTES: usize = 16 << 20;
/// The largest body that is read only to be refused: many clients hear the refusal only when all is sent.
const MAX_DRAINED_BYTES: usize = 128 << 20;
/// How long a client may take to send all of it.
const BODY_TIME: Duration = Duration::from_secs(60);
/// How long it may pause on the way.
const PAUSE: Duration = Duration::from_secs(20);
/// The same where it does not say how much there will be. Short, as the length of a chunk that never comes may be anything.
const CHUNKED_PAUSE: Duration = Duration::from_millis(1500);

/// What some editors put before a text; no part of the JSON (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The smallest body that is taken apart where it holds up no other connection.
const LARGE_BYTES: usize = 64 << 10;

/// Does what takes as long as a body is large, without holding up other connections.
pub(crate) fn aside<T>(body: &[u8], work: impl FnOnce() -> T) -> T {
    if body.len() < LARGE_BYTES { work() } else { tokio::task::block_in_place(work) }
}

/// A body that says that it is JSON.
pub(crate) struct JsonBody(pub(crate) Vec<u8>);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody, ApiError> {
        let (head, body) = request.into_parts();
        // A page of another site can send text/plain without asking first, but not this.
        let kind = text(&head.headers, header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::invalid(format!("Content-Type is `{kind}`: it must be application/json"))
                .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let encoding = text(&head.headers, header::CONTENT_ENCODING).trim();
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(ApiError::invalid(format!("Content-Encoding is `{encoding}`: send the body as it is"))
                .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let length = text(&head.headers, header::CONTENT_LENGTH).parse::<usize>().ok();
        if length.is_some_and(|length| length > MAX_DRAINED_BYTES) {
            return Err(too_large());
        }
        let pause = if length.is_some() { PAUSE } else { CHUNKED_PAUSE };
        let mut bytes =
            timeout(BODY_TIME, read(body, length, pause)).await.unwrap_or_else(|_| Err(too_slow(BODY_TIME)))?;
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        if let Some(phase) = head.extensions.get::<Phase>() {
            phase.wait();
        }
        Ok(JsonBody(bytes))
    }
}

async fn read(body: Body, length: Option<usize>, pause: Duration) -> Result<Vec<u8>, ApiError> {
    let expected = length.filter(|length| *length <= MAX_BODY_BYTES).unwrap_or_default();
    let (mut bytes, mut n_bytes) = (Vec::with_capacity(expected), 0);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = timeout(pause, pieces.next()).await.map_err(|_| too_slow(pause))? {
        let piece = piece.map_err(|error| ApiError::invalid(format!("the body could not be read: {error}")))?;
        n_bytes += piece.len();
        if n_bytes > MAX_DRAINED_BYTES {
            break;
        }
        if n_bytes <= MAX_BODY_BYTES {
            bytes.extend_from_slice(&piece);
        }
    }
    if n_bytes > MAX_BODY_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> ApiError {
    ApiError::invalid(format!("the body is larger than {} MiB", MAX_BODY_BYTES >> 20))
        .with_status(StatusCode::PAYLOAD_TOO_LARGE)
}

fn too_slow(limit: Duration) -> ApiError {
    ApiError::invalid(format!("the rest of the body did not come within {} seconds", limit.as_secs_f64()))
}

fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
