//! From an address to a server.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::app::{App, Backend, Shared};
use crate::edge::Edge;
use crate::half_close::{Phase, Socket};
use crate::queue::Queue;
use crate::routes::router;

/// Where and for whom a server is.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// The name that answers carry when a request names no model.
    pub name: String,
    /// Keys, one of which a request must carry; without any none is needed.
    pub keys: Vec<String>,
    /// Web origins that may use the server, beside those of this machine; `*` is all.
    pub origins: Vec<String>,
    /// Requests that are answered at once; the model must have been loaded for as many.
    pub parallel: usize,
    /// Requests that may wait while others are answered.
    pub max_waiting: usize,
    /// How long answers may go on after the server was told to stop.
    pub grace: Duration,
}

/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long connections may take to tell that their answer was broken off.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server that has its address.
pub struct Server {
    listener: TcpListener,
    runtime: Runtime,
    app: Shared,
    grace: Duration,
    stop: (watch::Sender<bool>, watch::Receiver<bool>),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

/// Tells a server to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// No request is taken any more; answers in the making have [`Options::grace`].
    pub fn stop(&self) {
        // Fails only when the server is gone already.
        let _ = self.0.send(true);
    }
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// If it is taken or not ours, or the system refuses threads.
    pub fn bind(options: Options) -> io::Result<Server> {
        let listener = TcpListener::bind(options.address)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let edge = Edge::new(&options.keys, listener.local_addr()?.ip(), options.origins);
        let app = Arc::new(App::new(options.name, edge, Queue::new(options.parallel.max(1), options.max_waiting)));
        Ok(Server { listener, runtime, app, grace: options.grace, stop: watch::channel(false) })
    }

    /// The address, with the port that it got.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where whoever loads the model tells the percentage that is in memory: requests are told until it is loaded.
    pub fn progress(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.app.progress)
    }

    /// What ends [`Server::run`].
    pub fn stopper(&self) -> Stop {
        Stop(self.stop.0.clone())
    }

    /// Serves until it is stopped. `load` runs beside it; its error ends the server and is returned. `ready` is told once
    /// requests are answered.
    ///
    /// # Errors
    /// That of `load`.
    ///
    /// # Panics
    /// If `load` does.
    pub fn run<E: Send>(
        self,
        load: impl FnOnce() -> Result<Backend, E> + Send,
        ready: impl FnOnce(&Backend) + Send,
    ) -> Result<(), E> {
        let Server { listener, runtime, app, grace, stop: (stop, stopped) } = self;
        std::thread::scope(|scope| {
            let loading = scope.spawn(|| {
                let loaded = load().map(|backend| {
                    app.loaded(backend.clone());
                    ready(&backend);
                });
                if loaded.is_err() {
                    let _ = stop.send(true);
                }
                loaded
            });
            runtime.block_on(serve(listener, &app, stopped, grace));
            // An answer that did not end in time must not keep the program.
            runtime.shutdown_background();
            if let Ok(backend) = app.backend() {
                backend.model.settle();
            }
            loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

async fn serve(listener: TcpListener, app: &Shared, mut stopped: watch::Receiver<bool>, grace: Duration) {
    let router = router(app);
    let listener = tokio::net::TcpListener::from_std(listener).expect("inside a runtime, and not blocking");
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let connections = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Too many open files, or a client that went away: others must not suffer from it.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        // Small pieces of an answer are sent at once.
        let _ = stream.set_nodelay(true);
        let (phase, answering) = (Phase::default(), TowerToHyperService::new(router.clone()));
        let socket = TokioIo::new(Socket::new(stream, phase.clone()));
        let service = service_fn(move |mut request: Request<Incoming>| {
            phase.read(request.version());
            request.extensions_mut().insert(phase.clone());
            let (answer, phase) = (answering.call(request), phase.clone());
            async move { answer.await.map(|response| phase.answer(response)) }
        });
        let connection = connections.watch(http.serve_connection(socket, service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    let mut closing = std::pin::pin!(connections.shutdown());
    if tokio::time::timeout(grace, &mut closing).await.is_err() {
        app.ended.send_replace(true);
        let _ = tokio::time::timeout(LAST_WORDS, closing).await;
    }
}
