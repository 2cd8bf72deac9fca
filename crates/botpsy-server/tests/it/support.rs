//! Servers to ask, and a client.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use botpsy_chat::{
    ChatError, ChatEvent, ChatModel, Completion, LoadOptions, ModelSource, Provider, Request, Script, Scripted,
};
use botpsy_server::{Backend, Options, Server, Stop};
use botpsy_text::template::Template;
use serde_json::Value;

/// A server that is stopped when the test is over.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Stop,
    running: Option<JoinHandle<()>>,
}

impl Served {
    /// Tells the server to stop, and goes on.
    pub(crate) fn stop(&self) {
        self.stop.stop();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        let _ = self.running.take().unwrap().join();
    }
}

pub(crate) fn options() -> Options {
    Options {
        address: "127.0.0.1:0".parse().unwrap(),
        name: "nano".to_owned(),
        keys: Vec::new(),
        origins: Vec::new(),
        parallel: 1,
        max_waiting: 8,
        grace: Duration::from_secs(10),
    }
}

/// A server with this behind it.
pub(crate) fn serve(options: Options, load: impl FnOnce() -> Backend + Send + 'static) -> Served {
    serve_telling(options, |_| load())
}

/// The same, where `load` may tell how far it is.
pub(crate) fn serve_telling(options: Options, load: impl FnOnce(Arc<AtomicU32>) -> Backend + Send + 'static) -> Served {
    let server = Server::bind(options).unwrap();
    let progress = server.progress();
    let (address, stop) = (server.address().unwrap(), server.stopper());
    let running = std::thread::spawn(move || server.run(|| Ok::<_, ()>(load(progress)), |_| ()).unwrap());
    Served { address, stop, running: Some(running) }
}

/// The small model, with a timeline of its own.
pub(crate) fn model(options: LoadOptions) -> ChatModel {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../botpsy/assets/nano.gguf");
    ChatModel::load(&ModelSource::Path(file), &LoadOptions { threads: Some(1), ..options }).unwrap()
}

/// How a model is loaded that has the template of the family instead of its own short one.
pub(crate) fn with_template() -> LoadOptions {
    LoadOptions { template: Some(Template::Qwen35), ..LoadOptions::default() }
}

/// A server with the small model, ready.
pub(crate) fn model_server() -> Served {
    let served = serve(options(), || model(LoadOptions::default()).into());
    served.wait();
    served
}

/// Answers what it was last told to answer.
pub(crate) struct Told(Mutex<Script>);

impl Provider for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        let script = self.0.lock().unwrap().clone();
        Scripted::new([script]).chat(request, cancel, on)
    }
}

impl Told {
    pub(crate) fn tell(&self, script: Script) {
        *self.0.lock().unwrap() = script;
    }
}

/// A server that answers what it is told to, with the vocabulary of the small model.
pub(crate) fn told_server(options: Options) -> (Served, Arc<Told>) {
    static MODEL: OnceLock<Arc<ChatModel>> = OnceLock::new();
    let told = Arc::new(Told(Mutex::new(Script::from("They greet me.\n</think>\n\nHi!"))));
    let provider = Arc::clone(&told);
    let served = serve(options, || {
        let model = Arc::clone(MODEL.get_or_init(|| Arc::new(model(with_template()))));
        Backend { model, provider }
    });
    served.wait();
    (served, told)
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The body of a reply that must be a good one.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The error object of a refusal, whose members are checked.
    pub(crate) fn error(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        let error = self.json()["error"].clone();
        for key in ["message", "type", "param", "code"] {
            assert!(error.get(key).is_some(), "{key} of {error}");
        }
        error
    }

    /// The data of an event stream, as they stand there.
    pub(crate) fn events(&self) -> Vec<&str> {
        assert_eq!((self.status, self.header("content-type")), (200, Some("text/event-stream")), "{}", self.body);
        let events = self.body.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':'));
        events.map(|event| event.strip_prefix("data: ").unwrap_or_else(|| panic!("{event}"))).collect()
    }

    /// The chunks of a stream that must have ended well.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let events = self.events();
        let (last, chunks) = events.split_last().unwrap();
        assert_eq!(*last, "[DONE]");
        chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect()
    }
}

impl Served {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns once the model is loaded.
    pub(crate) fn wait(&self) {
        while self.get("/health").status != 200 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        reply(agent().get(self.url(path)).call())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        reply(agent().post(self.url(path)).header("content-type", "application/json").send(body.to_string()))
    }

    pub(crate) fn chat(&self, body: &Value) -> Reply {
        self.post("/v1/chat/completions", body)
    }
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().new_agent()
}

pub(crate) fn reply(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Reply {
    let mut response = response.unwrap();
    let text = |value: &ureq::http::HeaderValue| value.to_str().unwrap().to_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    Reply { status: response.status().as_u16(), headers, body: response.body_mut().read_to_string().unwrap() }
}

/// A file under `fixtures`.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path)
}

/// The handed cases of a kind.
pub(crate) fn cases(kind: &str) -> Vec<Value> {
    let path = fixture("cases/toolcalls.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.filter(|case| case["kind"] == kind).collect()
}

/// A user's message.
pub(crate) fn user(text: &str) -> Value {
    serde_json::json!([{ "role": "user", "content": text }])
}
