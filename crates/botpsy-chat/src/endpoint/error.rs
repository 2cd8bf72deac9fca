//! What can go wrong between this program and an endpoint.

/// Why an endpoint gave no answer. Texts by the server are without control characters and without the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Its address is none.
    #[error("the address of the endpoint: {problem}")]
    Url {
        /// What is wrong.
        problem: &'static str,
    },
    /// The key cannot be sent.
    #[error("the key of the endpoint: {problem}")]
    Key {
        /// What is wrong.
        problem: &'static str,
    },
    /// Something that no field of a request says.
    #[error("{what} cannot be asked of an endpoint")]
    NotSupported {
        /// The setting.
        what: &'static str,
    },
    /// Nobody answers there.
    #[error("{url}: {problem}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// What the system said.
        problem: String,
    },
    /// The connection cannot be made secure.
    #[error("{url}: no secure connection: {problem}")]
    Tls {
        /// What was asked.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// It said nothing for too long.
    #[error("{url}: nothing came for {seconds} s")]
    Timeout {
        /// What was asked.
        url: String,
        /// How long was waited.
        seconds: u64,
    },
    /// It points elsewhere.
    #[error("{url}: status {status}, it points to {location}; a request with its key is not passed on")]
    Redirect {
        /// What was asked.
        url: String,
        /// The status.
        status: u16,
        /// Where it points to.
        location: String,
    },
    /// It answered with an error.
    #[error("{url}: status {status}: {message}")]
    Status {
        /// What was asked.
        url: String,
        /// The status; 200 for an error inside an answer that had begun well.
        status: u16,
        /// What the server said.
        message: String,
        /// Seconds after which it may be asked again, if it says so.
        retry_after: Option<u64>,
    },
    /// The connection ended before the answer did.
    #[error("{url}: the answer broke off: {problem}")]
    Cut {
        /// What was asked.
        url: String,
        /// What is known about it.
        problem: String,
    },
    /// What it sent is no answer.
    #[error("{url}: the answer cannot be read: {problem}")]
    Unreadable {
        /// What was asked.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It sent more than an answer can be.
    #[error("{url}: the answer is longer than {limit} bytes")]
    TooLong {
        /// What was asked.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// It has several models, and none was named.
    #[error("{url}: there are several models: {names}")]
    Models {
        /// What was asked.
        url: String,
        /// Some of their names.
        names: String,
    },
}

impl EndpointError {
    /// What can be done about it.
    pub fn help(&self) -> String {
        let help = match self {
            EndpointError::Url { .. } => "give it as http://127.0.0.1:8080 or https://HOST/v1",
            EndpointError::Key { .. } => {
                "put the key alone into BOTPSY_API_KEY, or into the file that the setting key_file names"
            }
            EndpointError::NotSupported { .. } => "leave it out, or use a model file with -m",
            EndpointError::Unreachable { .. } => "start the server, or correct the address; `botpsy doctor` tries it",
            EndpointError::Tls { .. } => {
                "check the address and the clock; a server without a certificate is http://, one with its own certificate needs SSL_CERT_FILE"
            }
            EndpointError::Timeout { .. } => "see whether the server is busy or stuck, then ask again",
            EndpointError::Redirect { .. } => "give the address that it points to, if you trust it",
            EndpointError::Status { status: 401 | 403, .. } => "check the key: BOTPSY_API_KEY, or the setting key_file",
            EndpointError::Status { status: 404, .. } => {
                "check the model's name (--model-name, or the setting model_name) and the address"
            }
            EndpointError::Status { status: 429 | 503, retry_after: Some(seconds), .. } => {
                return format!("ask again in {seconds} s");
            }
            EndpointError::Status { status: 429, .. } => "ask again later, or see whether the account has credit",
            EndpointError::Status { status: 400 | 413 | 422, .. } => {
                "change what the server names; flags that it does not know can be left out"
            }
            EndpointError::Status { .. } => "ask again later; if it goes on, look into the server's log",
            EndpointError::Cut { .. } => "ask again; what was not complete was not acted on",
            EndpointError::Unreadable { .. } => "check that the address is that of an OpenAI-compatible server",
            EndpointError::TooLong { .. } => "limit the answer with --max-tokens, or look into the server's log",
            EndpointError::Models { .. } => "name one with --model-name, or the setting model_name",
        };
        help.to_owned()
    }

    /// Whether what the user gave is wrong, rather than what happened.
    pub fn is_bad_input(&self) -> bool {
        use EndpointError::{Key, Models, NotSupported, Url};
        matches!(self, Url { .. } | Key { .. } | NotSupported { .. } | Models { .. })
    }
}
