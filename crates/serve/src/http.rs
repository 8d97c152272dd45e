//! An HTTP/1.1 server for small read-only resources that untrusted clients may reach: `/metrics` and `/stations`.
//!
//! A client can use only a bounded amount of memory, descriptors, threads and time: there is a fixed number of connections
//! with one request each, a limit on the header size, no body, and a deadline for every step. The server checks method,
//! path and password before it computes the body. It has two threads: one for the connections, and one on which the
//! resource produces its replies, one after the other.
//!
//! A client with an incomplete header keeps its connection only until another client needs it: when all connections are in
//! use, the server closes the one that has waited longest for its header. So a slow-loris attack does not keep other
//! clients out.
//!
//! Not here: TLS, HTTP/2, persistent connections, requests with a body.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tracing::{debug, warn};

/// Connections at once, at most. A monitoring system needs one, a box one for each listener that it polls.
const MOST_CONNECTIONS: usize = 32;
/// Bytes of a request's header, at most: twice the usual 8 KiB of servers.
const HEADER_BYTES: usize = 16 * 1024;
/// Fields of a request's header, at most. Prometheus and ureq send fewer than ten.
const HEADER_FIELDS: usize = 64;
/// Bytes of a request's body, at most: no request to these sites has a body.
const BODY_BYTES: usize = 0;
/// Time for a client to send the header, and again the (empty) body.
const SEND_TIME: Duration = Duration::from_secs(5);
/// Time for a client to read the reply.
const READ_TIME: Duration = Duration::from_secs(10);
/// Time and bytes for which a client may go on sending after the reply. Closing at once would reset the connection, and
/// the client might lose the reply (RFC 9112, 9.6).
const LINGER_TIME: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;
/// Pause before the next attempt if no connection can be accepted, for instance without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time for pending replies when the server stops.
const STOP_TIME: Duration = Duration::from_secs(1);

/// The content of a server.
pub(crate) trait Site: Send + Sync + 'static {
    /// Whether to reply to the request, judged by its header alone; otherwise the refusal. Must not block.
    fn admit(&self, request: &Parts) -> Result<(), Reply>;

    /// The reply to an admitted request. May block; calls do not overlap.
    fn reply(&self, request: &Parts) -> Reply;
}

/// A reply to a request.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Reply {
    /// A line of text.
    pub(crate) fn text(status: StatusCode, line: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: format!("{line}\n") }
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        response
    }
}

/// Serves a [`Site`] until dropped.
pub(crate) struct Server {
    address: SocketAddr,
    /// Stops the server when dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `site` at `address`, on threads named `name`. A reply that takes longer than `reply_time` becomes a 503.
    ///
    /// # Errors
    /// The address is in use or not this machine's, or no thread can be created.
    pub(crate) fn start(address: SocketAddr, name: &str, reply_time: Duration, site: impl Site) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .thread_name(name)
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let service = Service { site: Arc::new(site), turn: Arc::new(Semaphore::new(1)), reply_time };
        let work = move || {
            runtime.block_on(accept(listener, service, stopped));
            runtime.shutdown_timeout(STOP_TIME);
        };
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The address at which it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits while it serves.
    pub(crate) fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Shared by all connections.
struct Service<S> {
    site: Arc<S>,
    /// Permits one reply at a time.
    turn: Arc<Semaphore>,
    reply_time: Duration,
}

impl<S> Clone for Service<S> {
    fn clone(&self) -> Self {
        Self { site: Arc::clone(&self.site), turn: Arc::clone(&self.turn), reply_time: self.reply_time }
    }
}

/// A slot for a connection.
struct Place {
    task: AbortHandle,
    /// Whether its request's header has arrived and its reply is not written yet.
    serves: Arc<AtomicBool>,
}

/// Accepts connections until `stopped`.
async fn accept<S: Site>(listener: tokio::net::TcpListener, service: Service<S>, stopped: oneshot::Receiver<()>) {
    let mut tasks = JoinSet::new();
    let mut places: Vec<Place> = Vec::new();
    let mut logged = false;
    let mut stopped = pin!(stopped);
    loop {
        let next = poll_fn(|context| match stopped.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => listener.poll_accept(context).map(Some),
        });
        let stream = match next.await {
            None => break,
            Some(Ok((stream, _))) => stream,
            Some(Err(error)) => {
                if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
                    // Logged once, as long as it lasts.
                    if !std::mem::replace(&mut logged, true) {
                        warn!("cannot accept a connection: {error}");
                    }
                    if timeout(ACCEPT_PAUSE, stopped.as_mut()).await.is_ok() {
                        break;
                    }
                }
                continue;
            }
        };
        logged = false;
        while tasks.try_join_next().is_some() {}
        places.retain(|place| !place.task.is_finished());
        if places.len() >= MOST_CONNECTIONS {
            // They are in order of arrival.
            let Some(idle) = places.iter().position(|place| !place.serves.load(Ordering::Relaxed)) else { continue };
            places.remove(idle).task.abort();
        }
        let serves = Arc::new(AtomicBool::new(false));
        let task = tasks.spawn(converse(stream, service.clone(), Arc::clone(&serves)));
        places.push(Place { task, serves });
    }
    drop(listener);
    let idle = places.iter().filter(|place| !place.serves.load(Ordering::Relaxed));
    idle.for_each(|place| place.task.abort());
    let _ = timeout(STOP_TIME, async { while tasks.join_next().await.is_some() {} }).await;
}

/// Handles the one request of a connection.
async fn converse<S: Site>(stream: TcpStream, service: Service<S>, serves: Arc<AtomicBool>) {
    let whole = SEND_TIME + service.reply_time + READ_TIME;
    let heard = Arc::clone(&serves);
    let respond = service_fn(move |request| {
        heard.store(true, Ordering::Relaxed);
        let service = service.clone();
        Box::pin(async move { Ok::<_, Infallible>(service.answer(request).await.into_response()) })
    });
    let mut connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEADER_BYTES)
        .max_headers(HEADER_FIELDS)
        .serve_connection(TokioIo::new(stream), respond);
    let header = poll_fn(|context| match connection.poll_without_shutdown(context) {
        Poll::Pending if serves.load(Ordering::Relaxed) => Poll::Ready(Ok(false)),
        polled => polled.map_ok(|()| true),
    });
    let ended = match timeout(SEND_TIME, header).await {
        Ok(Ok(false)) => timeout(whole, poll_fn(|context| connection.poll_without_shutdown(context))).await.ok(),
        Ok(ended) => Some(ended.map(|_| ())),
        Err(_) => None,
    };
    let late = ended.is_none() && !serves.load(Ordering::Relaxed);
    if let Some(Err(error)) = &ended {
        debug!("an HTTP client: {error}");
    }
    // From here on another client may take its slot.
    serves.store(false, Ordering::Relaxed);
    let mut stream = connection.into_parts().io.into_inner();
    if late {
        let _ = timeout(LINGER_TIME, stream.write_all(TOO_LATE)).await;
    }
    if late || ended.is_some() {
        let _ = timeout(LINGER_TIME, linger(stream)).await;
    }
}

/// The reply to a client that did not send its header in time.
const TOO_LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Ends the sending side, and reads what the client still sends.
async fn linger(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut discarded = [0; 4096];
    let mut len = 0;
    while len < LINGER_BYTES {
        match stream.read(&mut discarded).await? {
            0 => break,
            read => len += read,
        }
    }
    Ok(())
}

impl<S: Site> Service<S> {
    async fn answer(self, request: Request<Incoming>) -> Reply {
        let (header, body) = request.into_parts();
        if let Err(refusal) = self.site.admit(&header) {
            return refusal;
        }
        if let Err(refusal) = take_body(body).await {
            return refusal;
        }
        let make = async {
            let turn = self.turn.acquire_owned().await;
            let site = self.site;
            let reply = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                site.reply(&header)
            });
            reply.await.unwrap_or_else(|_| Reply::text(StatusCode::INTERNAL_SERVER_ERROR, "the reply failed"))
        };
        let late = |_| Reply::text(StatusCode::SERVICE_UNAVAILABLE, "the reply takes too long");
        timeout(self.reply_time, make).await.unwrap_or_else(late)
    }
}

/// Takes a body of up to [`BODY_BYTES`].
async fn take_body(body: Incoming) -> Result<(), Reply> {
    let too_long = || Reply::text(StatusCode::PAYLOAD_TOO_LARGE, "a request has no body here");
    if body.size_hint().lower() > BODY_BYTES as u64 {
        return Err(too_long());
    }
    match timeout(SEND_TIME, Limited::new(body, BODY_BYTES).collect()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(error)) => Err(Reply::text(StatusCode::BAD_REQUEST, &error.to_string())),
        Err(_) => Err(Reply::text(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    //! Malicious clients.

    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    /// Far more than any reply takes, so that a test fails rather than hangs.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Sends `request`, which lacks only its last lines, and returns the whole reply.
    pub(crate) fn get(address: SocketAddr, request: &str) -> String {
        let mut stream = connect(address);
        write!(stream, "{request}\r\nHost: box\r\n\r\n").expect("it reads");
        reply(stream)
    }

    pub(crate) fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    pub(crate) fn reply(mut stream: TcpStream) -> String {
        let mut answer = Vec::new();
        // A reset after the reply is a valid end, too.
        let mut part = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut part) {
            answer.extend_from_slice(&part[..read]);
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Attacks a server in ways that take down a naive one, and checks with `served` that it still replies to others.
    /// `path` is a served path; `secret` is the required header line, or "".
    pub(crate) fn survives(address: SocketAddr, path: &str, secret: &str, served: impl Fn()) {
        // Enough to take every slot, twice over.
        let slow: Vec<TcpStream> = (0..2 * super::MOST_CONNECTIONS)
            .map(|_| {
                let mut stream = connect(address);
                let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: b");
                stream
            })
            .collect();
        served();
        for length in ["1000000000000000000", "18446744073709551615", "99999999999999999999999", "-1"] {
            for method in ["POST", "GET"] {
                let request = format!("{method} {path} HTTP/1.1\r\n{secret}Content-Length: {length}");
                let answer = get(address, &request);
                assert!(answer.starts_with("HTTP/1.1 4"), "{method} {length}: {answer}");
                served();
            }
        }
        for (method, statuses) in [("POST", "405 413 401"), ("GET", "413 401")] {
            let mut stream = connect(address);
            let head = format!("{method} {path} HTTP/1.1\r\nHost: b\r\n{secret}Transfer-Encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("it reads");
            let mut endless = stream.try_clone().expect("a copy");
            let sending = std::thread::spawn(move || while endless.write_all(b"4\r\nmore\r\n").is_ok() {});
            let answer = reply(stream);
            let status = answer.split(' ').nth(1).unwrap_or("none");
            assert!(statuses.contains(status), "{method}: {answer}");
            served();
            sending.join().expect("it ends with the connection");
        }
        let long = format!("GET {path} HTTP/1.1\r\nX: {}", "x".repeat(2 * super::HEADER_BYTES));
        assert!(get(address, &long).starts_with("HTTP/1.1 431"));
        let many = format!("GET {path} HTTP/1.1{}", "\r\na: b".repeat(2 * super::HEADER_FIELDS));
        assert!(get(address, &many).starts_with("HTTP/1.1 431"));
        assert!(get(address, &format!("GET /{} HTTP/1.1", "x".repeat(70_000))).starts_with("HTTP/1.1 4"));
        served();
        drop(slow);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::tests_support::{connect, get, reply, survives};
    use super::*;

    /// Replies when the test requests it.
    struct Slow(Mutex<mpsc::Receiver<()>>);

    impl Site for Slow {
        fn admit(&self, request: &Parts) -> Result<(), Reply> {
            match request.uri.path() {
                "/" => Ok(()),
                _ => Err(Reply::text(StatusCode::NOT_FOUND, "no")),
            }
        }

        fn reply(&self, _: &Parts) -> Reply {
            let _ = self.0.lock().expect("no panic").recv();
            Reply::text(StatusCode::OK, "here it is")
        }
    }

    fn start(reply_time: Duration) -> (Server, mpsc::Sender<()>) {
        let (go, wait) = mpsc::channel();
        let address = "127.0.0.1:0".parse().expect("an address");
        (Server::start(address, "http", reply_time, Slow(Mutex::new(wait))).expect("free"), go)
    }

    #[test]
    fn a_client_without_a_complete_header_gets_a_timeout() {
        let (server, _go) = start(SEND_TIME);
        let mut stream = connect(server.address());
        stream.write_all(b"GET / HTTP/1.1\r\nHost: b").expect("it reads");
        assert!(reply(stream).starts_with("HTTP/1.1 408"));
        let mut stream = connect(server.address());
        stream.write_all(b"GET / HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n").expect("it reads");
        assert!(reply(stream).starts_with("HTTP/1.1 408"));
    }

    #[test]
    fn a_slow_reply_is_an_error_and_does_not_delay_refusals() {
        let (server, go) = start(Duration::from_millis(50));
        assert!(get(server.address(), "GET / HTTP/1.1").starts_with("HTTP/1.1 503"));
        assert!(get(server.address(), "GET /x HTTP/1.1").starts_with("HTTP/1.1 404"));
        drop(go);
    }

    #[test]
    fn attackers_do_not_keep_others_from_replies() {
        let (server, go) = start(Duration::from_secs(60));
        drop(go);
        let address = server.address();
        survives(address, "/", "", || assert!(get(address, "GET / HTTP/1.1").starts_with("HTTP/1.1 200")));
    }

    #[test]
    fn a_pending_request_is_answered_before_the_server_stops() {
        let (server, go) = start(Duration::from_secs(60));
        let address = server.address();
        let mut idle = connect(address);
        idle.write_all(b"GET").expect("it reads");
        let mut waiting = connect(address);
        waiting.write_all(b"GET / HTTP/1.1\r\nHost: b\r\n\r\n").expect("it reads");
        // A later request is handled later.
        assert!(get(address, "GET /x HTTP/1.1").starts_with("HTTP/1.1 404"));
        drop(go);
        drop(server);
        assert!(reply(waiting).starts_with("HTTP/1.1 200"));
        assert_eq!(reply(idle), "");
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
