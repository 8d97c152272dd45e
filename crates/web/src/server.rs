//! The page over HTTP: files of the page, and a stream of events (server-sent events) with what the box says.

use std::convert::Infallible;
use std::future::ready;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use futures_util::stream::{self, StreamExt};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rust_embed::RustEmbed;
use tokio::net::TcpListener;
use tokio_stream::wrappers::BroadcastStream;

use crate::config::WebConfig;
use crate::feed::{Feed, Message, Range};

/// Most browsers that are told at once.
const MOST_STREAMS: usize = 64;
/// A stream says something at least so often, so that a browser notices its end.
const ALIVE: Duration = Duration::from_secs(5);
/// A connection without a stream is closed if no request comes for so long, or if its header takes so long: browsers ask for the files
/// of the page and the history within a second or two, and connect anew later.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Content Security Policy: nothing from other hosts, no inline script or style, no embedding in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page, as `page/` builds them.
#[derive(RustEmbed)]
#[folder = "../../page/dist"]
#[allow_missing = true]
struct Page;

/// Shown where the page was not built with the program.
const NOT_BUILT: &str =
    "evenair-web was built without its page, which needs Node.js: install Node.js and run `make build`.\n";

/// Whether the program was built with its page.
pub fn has_page() -> bool {
    Page::get("index.html").is_some()
}

#[derive(Clone)]
struct Shared {
    feed: Feed,
    config: Arc<WebConfig>,
    streams: Arc<AtomicUsize>,
}

/// Serves the page until the program ends.
///
/// # Errors
/// The address is in use, or not of this machine.
pub async fn serve(config: WebConfig) -> Result<()> {
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot serve the page at {}: choose another `listen`, or end the program that uses it (ss -ltnp)",
            config.listen
        )
    })?;
    println!("http://{}/ shows the box of {}", config.listen, config.socket.display());
    let feed = Feed::start(&config.socket, config.farewell.clone());
    match answer(listener, router(feed, config), REQUEST_TIME).await {}
}

/// Answers all connections, as `axum::serve` does, which has no time limit for a request to come.
async fn answer(mut listener: TcpListener, router: Router, request_time: Duration) -> Infallible {
    loop {
        let (stream, _) = Listener::accept(&mut listener).await;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(request_time);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        // A browser that goes away, or keeps a request to itself, ends only its own connection.
        tokio::spawn(async move { _ = connection.await });
    }
}

/// The page of this feed.
pub(crate) fn router(feed: Feed, config: WebConfig) -> Router {
    let shared = Shared { feed, config: Arc::new(config), streams: Arc::default() };
    Router::new()
        .route("/events", get(events))
        .route("/history", get(|State(shared): State<Shared>| history(shared, Range::TenMinutes)))
        .route("/history/day", get(|State(shared): State<Shared>| history(shared, Range::Day)))
        .fallback(get(file))
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// Refuses requests under a name that is not the page's (a name of an attacker's that leads to this address), and adds the
/// headers that every answer has.
async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = if is_our_name(request.headers(), &shared.config) {
        next.run(request).await
    } else {
        let text = "this name is not the page's: add it to `names` in web.toml\n";
        (StatusCode::MISDIRECTED_REQUEST, text).into_response()
    };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether `Host` is the configured address, a configured name, or one of loopback.
fn is_our_name(headers: &HeaderMap, config: &WebConfig) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback =
        name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address == config.listen.ip());
    is_loopback
        || name.eq_ignore_ascii_case("localhost")
        || config.names.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

async fn file(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let Some(file) = Page::get(path) else {
        let built = Page::get("index.html").is_some();
        let text = if built { "there is no such page\n" } else { NOT_BUILT };
        return (StatusCode::NOT_FOUND, text).into_response();
    };
    let headers = [(header::CONTENT_TYPE, file.metadata.mimetype()), (header::CACHE_CONTROL, "no-cache")];
    (headers, file.data).into_response()
}

async fn history(shared: Shared, range: Range) -> Response {
    match shared.feed.history(range).await {
        Ok(json) => {
            ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], json).into_response()
        }
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
    }
}

/// A place among the streams, for as long as it lives.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn events(State(shared): State<Shared>) -> Response {
    let place = Place(Arc::clone(&shared.streams));
    if shared.streams.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
        let text = format!("{MOST_STREAMS} browsers are open already: close one\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let (begin, follow) = shared.feed.join();
    // A browser that is too slow misses lines, which are whole each.
    let follow = BroadcastStream::new(follow).filter_map(|message| ready(message.ok()));
    let messages = stream::iter(begin).chain(follow).map(move |message| {
        let _in_use = &place;
        event(&message)
    });
    Sse::new(messages).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

fn event(message: &Message) -> Result<Event, Infallible> {
    Ok(Event::default().event(message.kind).data(&*message.json))
}

#[cfg(test)]
mod tests;
