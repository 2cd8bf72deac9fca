//! What all requests share.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use botpsy_chat::{ChatModel, Completion, Provider};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::edge::Edge;
use crate::error::ApiError;
use crate::queue::Queue;

/// The application, as handlers get it.
pub(crate) type Shared = Arc<App>;

/// Who answers.
#[derive(Clone)]
pub struct Backend {
    /// The model: its tokenizer, its template, its settings; it continues plain text.
    pub model: Arc<ChatModel>,
    /// Who answers conversations: the model itself, or a script with its vocabulary.
    pub provider: Arc<dyn Provider>,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").field("model", &self.model).field("provider", &self.provider.name()).finish()
    }
}

impl From<ChatModel> for Backend {
    fn from(model: ChatModel) -> Backend {
        let model = Arc::new(model);
        Backend { provider: Arc::clone(&model) as Arc<dyn Provider>, model }
    }
}

/// One model and what stands around it.
pub(crate) struct App {
    /// The name that answers carry when a request names none.
    pub(crate) name: String,
    /// Set once, by the thread that loads.
    backend: OnceLock<Loaded>,
    pub(crate) edge: Edge,
    pub(crate) queue: Queue,
    pub(crate) counts: Counts,
    pub(crate) started: Instant,
    /// Percentage of the weights that is in memory.
    pub(crate) progress: Arc<AtomicU32>,
    /// Raised by the server when answers must end.
    pub(crate) ended: watch::Sender<bool>,
}

struct Loaded {
    backend: Backend,
    fingerprint: String,
}

impl App {
    pub(crate) fn new(name: String, edge: Edge, queue: Queue) -> App {
        let (backend, counts, started) = (OnceLock::new(), Counts::default(), Instant::now());
        let (progress, ended) = (Arc::default(), watch::Sender::new(false));
        App { name, backend, edge, queue, counts, started, progress, ended }
    }

    /// From here on requests are answered.
    pub(crate) fn loaded(&self, backend: Backend) {
        let config = backend.model.engine().model().config();
        let isa = backend.model.engine().context().isa.name();
        let seed =
            format!("{} {} {isa} {config:?}", env!("CARGO_PKG_VERSION"), botpsy_chat::Provider::name(&*backend.model));
        let digest = Sha256::digest(seed.as_bytes());
        let fingerprint = format!("fp_{}", hex(&digest[..6]));
        let _ = self.backend.set(Loaded { backend, fingerprint });
    }

    /// The model, once it is loaded.
    pub(crate) fn backend(&self) -> Result<&Backend, ApiError> {
        let percent = || self.progress.load(Ordering::Relaxed);
        let loading = || ApiError::loading(percent(), self.started.elapsed().as_secs());
        self.backend.get().map(|loaded| &loaded.backend).ok_or_else(loading)
    }

    /// What of model and program decides the answers.
    pub(crate) fn fingerprint(&self) -> &str {
        self.backend.get().map_or("", |loaded| &loaded.fingerprint)
    }
}

/// What `/metrics` tells. Each counter only grows.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) answers: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) prompt_tokens: AtomicU64,
    pub(crate) cached_tokens: AtomicU64,
    pub(crate) predicted_tokens: AtomicU64,
    pub(crate) read_ahead: AtomicU64,
    pub(crate) prompt_us: AtomicU64,
    pub(crate) predicted_us: AtomicU64,
}

impl Counts {
    /// Counts an answer that ended.
    pub(crate) fn add(&self, answer: &Completion) {
        let (stats, add) = (&answer.stats, |count: &AtomicU64, n: u64| count.fetch_add(n, Ordering::Relaxed));
        add(&self.answers, 1);
        add(&self.cancelled, u64::from(answer.cancelled));
        add(&self.prompt_tokens, stats.prompt_tokens as u64);
        add(&self.cached_tokens, stats.cached_tokens as u64);
        add(&self.predicted_tokens, stats.generated_tokens as u64);
        add(&self.prompt_us, (stats.prefill_ms * 1e3) as u64);
        add(&self.predicted_us, (stats.decode_ms * 1e3) as u64);
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
