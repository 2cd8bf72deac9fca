//! Errors in OpenAI's shape, with their true status.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use botpsy_chat::ChatError;
use serde_json::json;

/// How much of a message is told.
const MAX_CHARS: usize = 1000;

/// What a client is told: status and error object.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    kind: &'static str,
    message: String,
    param: Option<String>,
    code: Option<&'static str>,
    retry_after: Option<u64>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> ApiError {
        let mut message = message.into();
        // Messages quote what they refuse, which may be as large as a body.
        if let Some((end, _)) = message.char_indices().nth(MAX_CHARS) {
            message.replace_range(end.., "...");
        }
        ApiError { status, kind, message, param: None, code: None, retry_after: None }
    }

    /// The request is at fault, as a whole.
    pub(crate) fn invalid(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// One field of the request is at fault.
    pub(crate) fn field(param: impl Into<String>, message: impl Into<String>) -> ApiError {
        ApiError { param: Some(param.into()), ..ApiError::invalid(message) }
    }

    pub(crate) fn with_code(self, code: &'static str) -> ApiError {
        ApiError { code: Some(code), ..self }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> ApiError {
        ApiError { status, ..self }
    }

    pub(crate) fn no_key() -> ApiError {
        let message = "a valid key is needed: Authorization: Bearer KEY";
        ApiError::new(StatusCode::UNAUTHORIZED, "authentication_error", message).with_code("invalid_api_key")
    }

    /// The fault is on this side.
    pub(crate) fn server(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::FORBIDDEN, "permission_error", message)
    }

    pub(crate) fn not_found(path: &str) -> ApiError {
        ApiError::invalid(format!("there is nothing at {path}: GET /openapi.json lists what is"))
            .with_status(StatusCode::NOT_FOUND)
            .with_code("unknown_url")
    }

    /// `seconds` is how long it has been loading.
    pub(crate) fn loading(percent: u32, seconds: u64) -> ApiError {
        let message = format!("the model is loading: {percent} % after {seconds} s; try again in a second");
        ApiError { retry_after: Some(1), ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message) }
            .with_code("model_loading")
    }

    pub(crate) fn stopped() -> ApiError {
        let message = "the server was stopped before the answer was complete";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message).with_code("server_stopped")
    }

    pub(crate) fn busy(waiting: usize) -> ApiError {
        let message = format!("{waiting} requests are waiting already");
        ApiError { retry_after: Some(2), ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", message) }
            .with_code("queue_full")
    }

    /// The same about a request that has a prompt and no messages.
    pub(crate) fn about_prompt(self) -> ApiError {
        let param = self.param.map(|param| if param == "messages" { "prompt".to_owned() } else { param });
        ApiError { param, ..self }
    }

    /// The error object, as it also ends a stream.
    pub(crate) fn body(&self) -> serde_json::Value {
        json!({ "error": { "message": self.message, "type": self.kind, "param": self.param, "code": self.code } })
    }
}

impl From<ChatError> for ApiError {
    fn from(error: ChatError) -> ApiError {
        let message = error.to_string();
        match error {
            ChatError::ContextLength { .. } => {
                ApiError::field("messages", message).with_code("context_length_exceeded")
            }
            ChatError::Conversation(_) => {
                let field = message.split(':').next().unwrap_or("messages").to_owned();
                ApiError::field(field, message)
            }
            ChatError::Grammar(error) => ApiError::field(error.field, message),
            ChatError::Engine(botpsy_engine::Error::NothingAllowed) => ApiError::field("logit_bias", message),
            ChatError::Continue { index, .. } => ApiError::field(format!("messages[{index}]"), message),
            ChatError::Template(_) => ApiError::field("messages", message),
            ChatError::Engine(botpsy_engine::Error::Setting { field, .. }) => ApiError::field(field, message),
            ChatError::Engine(botpsy_engine::Error::ContextFull { .. }) => {
                ApiError::field("messages", message).with_code("context_length_exceeded")
            }
            ChatError::Engine(botpsy_engine::Error::UnknownToken { what, .. }) => ApiError::field(what, message),
            _ => ApiError::server(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
