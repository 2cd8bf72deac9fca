//! Clients that have sent all they will, and clients that are gone.
//!
//! Both look the same: the sending side ends. hyper takes it for a client that is gone and breaks its answer off. Here it is
//! asked first: `100 Continue`, which every client of HTTP/1.1 passes over, reaches one that still reads, and comes back as
//! a reset from one that does not. An answer that has begun to flow asks by itself.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::Version;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// What reaches a client and means nothing.
const QUESTION: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// How long it is until the second time: on this machine a reset is back by then.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// How long a body that has come may lie unread; one that is not complete by then never will be.
const READING_TIME: Duration = Duration::from_secs(1);
/// How long it is until each further time.
const PAUSE: Duration = Duration::from_millis(250);

/// Where a connection stands. Who reads and answers a request writes it, the socket reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase(Arc<AtomicU8>);

/// No request is being answered, or one that cannot be asked: an end of the sending side is the end.
const IDLE: u8 = 0;
/// The head of a request is there, and its body may be, unread as yet.
const READING: u8 = 1;
/// The whole request is there, nothing of its answer.
const WAITING: u8 = 2;
/// The answer flows: what is written tells whether anybody reads.
const ANSWERING: u8 = 3;

impl Phase {
    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, phase: u8) {
        self.0.store(phase, Ordering::Relaxed);
    }

    /// The head of a request has come. HTTP/1.0 knows no answers in between.
    pub(crate) fn read(&self, version: Version) {
        self.set(if version == Version::HTTP_11 { READING } else { IDLE });
    }

    /// All of it has been read.
    pub(crate) fn wait(&self) {
        if self.get() == READING {
            self.set(WAITING);
        }
    }

    /// Its answer begins, and ends with the body.
    pub(crate) fn answer(self, response: Response) -> Response {
        if self.get() != IDLE {
            self.set(ANSWERING);
        }
        response.map(|body| Body::new(Watched { body, phase: self }))
    }
}

/// The body of an answer, which tells its end.
struct Watched {
    body: Body,
    phase: Phase,
}

impl hyper::body::Body for Watched {
    type Data = <Body as hyper::body::Body>::Data;
    type Error = <Body as hyper::body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.phase.set(IDLE);
    }
}

/// A connection that tells an end of the sending side only when the client is gone or nothing is owed to it.
pub(crate) struct Socket {
    stream: TcpStream,
    phase: Phase,
    /// Whether bytes of an answer may wait to be written, before which nothing may be asked.
    dirty: bool,
    /// Since when the sending side has ended, and when it is asked again.
    asking: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, phase: Phase) -> Socket {
        Socket { stream, phase, dirty: false, asking: None }
    }

    /// Whether the client may still be there.
    fn ask(&self) -> bool {
        match self.stream.try_write(QUESTION) {
            Ok(n) => n == QUESTION.len(),
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// Ready once the end may be told.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // Whoever else wakes this task, such as each token of the answer, does not make it ask again.
            if let Some((_, next)) = &mut self.asking {
                ready!(next.as_mut().poll(cx));
            }
            let ended = self.asking.as_ref().map_or_else(Instant::now, |(ended, _)| *ended);
            match self.phase.get() {
                READING if ended.elapsed() < READING_TIME => {}
                WAITING if !self.dirty && self.ask() => {}
                ANSWERING => {}
                _ => return Poll::Ready(()),
            }
            let pause = if self.asking.is_none() { FIRST_PAUSE } else { PAUSE };
            self.asking = Some((ended, Box::pin(sleep(pause))));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.asking.is_none() {
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        }
        if buf.filled().len() == before && buf.remaining() > 0 {
            ready!(self.poll_gone(cx));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.dirty = true;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.dirty = true;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.dirty = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
