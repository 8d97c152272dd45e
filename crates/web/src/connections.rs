//! Connections: time limits for each, and a limit of their number.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::serve::Listener;
use http_body_util::LengthLimitError;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::tls::Certificates;

/// Maximum number of connections. A further one closes the oldest without a stream, so that many idle ones do not keep browsers
/// out.
pub(crate) const MOST_CONNECTIONS: usize = 256;

/// Longest body of a request, in bytes.
pub(crate) const LONGEST_BODY: usize = 64 << 10;

/// Time limit for a body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Reads the body of a request, with limits of time and length.
///
/// # Errors
/// The status, and the reason.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, (StatusCode, &'static str)> {
    match timeout(BODY_TIME, to_bytes(body, LONGEST_BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.source().is_some_and(|source| source.is::<LengthLimitError>()) => {
            Err((StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 64 kB"))
        }
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body ended early")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}

/// The two ends of a request's connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Address of the client.
    pub address: IpAddr,
    /// The address of this machine that it connected to.
    pub ours: Option<IpAddr>,
    /// Whether the client uses TLS.
    pub is_tls: bool,
    /// Whether the request came through a proxy from a client that is not known to be on this machine.
    pub is_remote: bool,
    connection: Arc<Connection>,
}

impl Peer {
    /// A client that connected to this address.
    #[cfg(test)]
    pub(crate) fn at(ours: IpAddr) -> Self {
        Self { address: ours, ours: Some(ours), is_tls: false, is_remote: false, connection: Arc::default() }
    }

    /// Marks the connection as having a stream.
    pub(crate) fn streams(&self) {
        self.connection.is_stream.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Connection {
    is_stream: AtomicBool,
    close: Notify,
}

/// Open connections, the oldest first.
#[derive(Clone, Debug, Default)]
struct Connections(Arc<Mutex<VecDeque<Arc<Connection>>>>);

impl Connections {
    fn enter(&self) -> Entered {
        let new = Arc::new(Connection::default());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_CONNECTIONS {
            let oldest = open.iter().position(|connection| !connection.is_stream.load(Ordering::Relaxed));
            if let Some(closed) = oldest.and_then(|index| open.remove(index)) {
                closed.close.notify_one();
            }
        }
        open.push_back(Arc::clone(&new));
        Entered { all: self.clone(), this: new }
    }
}

/// An entry among the open connections, removed when dropped.
struct Entered {
    all: Connections,
    this: Arc<Connection>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut open = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|connection| !Arc::ptr_eq(connection, &self.this));
    }
}

/// Serves all connections like `axum::serve`, which has no time limit for requests. `request_time` limits the wait for a request
/// and the TLS handshake.
pub(crate) async fn answer(
    mut listener: TcpListener,
    router: Router,
    tls: Option<Arc<Certificates>>,
    request_time: Duration,
) -> Infallible {
    let connections = Connections::default();
    loop {
        let (stream, address) = Listener::accept(&mut listener).await;
        let entered = connections.enter();
        let ours = stream.local_addr().ok().map(|address| address.ip().to_canonical());
        let (address, is_tls, connection) = (address.ip(), tls.is_some(), Arc::clone(&entered.this));
        let peer = Peer { address, ours, is_tls, is_remote: false, connection };
        let (router, tls) = (router.clone(), tls.clone());
        // A client that disconnects or stalls affects only its own connection.
        tokio::spawn(async move {
            let work = async {
                let Some(tls) = tls else { return converse(stream, router, peer, request_time).await };
                let handshake = TlsAcceptor::from(tls.current()).accept(stream);
                if let Ok(Ok(stream)) = timeout(request_time, handshake).await {
                    converse(stream, router, peer, request_time).await;
                }
            };
            tokio::select! {
                () = work => {}
                () = entered.this.close.notified() => {}
            }
        });
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router, peer: Peer, request_time: Duration) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        router.call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(request_time);
    _ = http.serve_connection(TokioIo::new(stream), service).await;
}
