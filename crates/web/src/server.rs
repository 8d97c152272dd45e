//! The page over HTTP: its files, live data, and access control.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::extract::{Extension, OriginalUri, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use rust_embed::RustEmbed;
use tokio::net::TcpListener;

use crate::alerts::{self, Alerting};
use crate::api::{self, Problem};
use crate::audit::Audit;
use crate::auth::{Access, Auth};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::connections::{Peer, answer};
use crate::control::Control;
use crate::feed::{Feed, Range};
use crate::history::{self, Recording};
use crate::password::PasswordCost;
use crate::proxy::asked_by;
use crate::shared::Shared;
use crate::state_lock::StateLock;
use crate::tls::{Certificates, self_signed_fingerprint};
use crate::token::bearer;
use crate::{live, login, password_page};

/// Timeout for a request, and for its header, on a connection without a stream: browsers request the page's files and the history within a
/// second or two, and reconnect later.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Content Security Policy: nothing from other hosts, no inline script or style, no embedding in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Browsers use only TLS for the page for a year, in seconds, after they have seen it over TLS. Not sent with a self-signed certificate,
/// with which browsers would then refuse the page for good.
const STRICT_TRANSPORT: &str = "max-age=31536000";

/// The files of the page, as `page/` builds them.
#[derive(RustEmbed)]
#[folder = "../../page/dist"]
#[allow_missing = true]
struct Page;

/// Browsers revalidate the page's files, which have no data of the box; everything else is not cached.
const FILE_CACHE: &str = "no-cache";

/// Shown if the program was built without the page.
const NOT_BUILT: &str =
    "evenair-web was built without its page, which needs Node.js: install Node.js and run `make build`.\n";

/// Whether the program was built with its page.
pub fn has_page() -> bool {
    Page::get("index.html").is_some()
}

/// The page, bound to its address.
pub struct Web {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
    /// `None` for a box that ends for good, which has no history.
    recording: Option<Recording>,
    /// `None` without receivers.
    alerting: Option<Alerting>,
    lock: Option<StateLock>,
}

impl Web {
    /// Reads accounts and certificate, and binds the address. `clock` and `cost` are the machine's and OWASP's, except in tests.
    ///
    /// # Errors
    /// A restore is running or was interrupted; the accounts or the certificate cannot be used; other machines could reach the page without
    /// TLS or without a login; the address is in use, or not of this machine.
    pub async fn bind(config: WebConfig, clock: Clock, cost: PasswordCost) -> Result<Self> {
        config.check_exposure()?;
        let lock = StateLock::of_server(&config.state)?;
        let audit = Audit::of(&config.state, clock.clone());
        let auth = Auth::load(&config.state, clock.clone(), cost)?;
        if !config.listen.ip().is_loopback() && !auth.has_accounts() {
            bail!(
                "other machines could reach {} without a login, since there is no account: set `listen` to 127.0.0.1:{}, start \
                 evenair-web, run `evenair-web setup`, make an account by its link, and set `listen` again",
                config.listen,
                config.listen.port()
            );
        }
        let certificates = Certificates::load(&config)?.map(Arc::new);
        let listener = TcpListener::bind(config.listen).await.with_context(|| {
            format!(
                "cannot serve the page at {}: choose another `listen`, or end the program that uses it (ss -ltnp)",
                config.listen
            )
        })?;
        let address = listener.local_addr().context("cannot serve the page")?;
        let feed = Feed::start(&config.socket, config.farewell.clone());
        audit.prune();
        let recording = match config.farewell {
            None => Some(history::record(&config, feed.clone()).context("cannot record the history")?),
            Some(_) => None,
        };
        let alerting = alerts::start(&config, &feed, clock)?;
        let control = Control::new(config.control.clone());
        let (config, streams) = (Arc::new(config), Arc::default());
        let shared = Shared { feed, control, config, auth, audit, certificates, streams };
        Ok(Self { listener, address, shared, recording, alerting, lock })
    }

    /// Its address; port 0 in the configuration becomes a free port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the page until the program ends.
    pub async fn run(self) -> Infallible {
        self.run_within(REQUEST_TIME).await
    }

    async fn run_within(self, request_time: Duration) -> Infallible {
        let certificates = self.shared.certificates.clone();
        let _held = (self.recording, self.alerting, self.lock);
        answer(self.listener, router(self.shared), certificates, request_time).await
    }
}

/// Prints the page's address, and serves it until the program ends.
///
/// # Errors
/// As those of [`Web::bind`].
pub async fn serve(config: WebConfig) -> Result<()> {
    let web = Web::bind(config, Clock::new(), PasswordCost::OWASP).await?;
    let config = &web.shared.config;
    println!("{} shows the box of {}", config.url(), config.socket.display());
    if web.shared.certificates.as_ref().is_some_and(|certificates| !certificates.is_own()) {
        let fingerprint = self_signed_fingerprint(config)?.unwrap_or_default();
        println!("SHA-256 of its self-signed certificate: {fingerprint}");
    }
    match web.run().await {}
}

/// The page, below its base path.
fn router(shared: Shared) -> Router {
    let base = shared.config.base_path.clone();
    let page = at_root(shared.clone());
    if base.is_empty() {
        page
    } else {
        Router::new().nest_service(&base, page).fallback(move |uri| outside(shared, uri))
    }
}

/// Requests outside of the base path: "/" redirects to it.
async fn outside(shared: Shared, uri: Uri) -> Response {
    let page = format!("{}/", shared.config.base_path);
    let answer = match uri.path() {
        "/" => Redirect::to(&page).into_response(),
        _ => (StatusCode::NOT_FOUND, format!("the page is at {page}\n")).into_response(),
    };
    with_headers(&shared, answer)
}

/// The page without a base path.
fn at_root(shared: Shared) -> Router {
    Router::new()
        .route("/events", get(events))
        .route("/history", get(|State(shared): State<Shared>| recent(shared, Range::TenMinutes)))
        .route("/history/day", get(|State(shared): State<Shared>| recent(shared, Range::Day)))
        .merge(login::routes())
        .merge(password_page::routes())
        .merge(api::routes())
        .fallback(other)
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// Refuses requests that [`admit`] does not admit, and adds the common headers.
async fn guard(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().expect("every request has one");
    let peer = asked_by(&shared.config.trusted_proxies, peer, request.headers());
    let response = match admit(&shared, &request, &peer) {
        Ok(access) => {
            request.extensions_mut().insert(access);
            request.extensions_mut().insert(peer);
            next.run(request).await
        }
        Err(refusal) => refusal.answer(request.uri().path(), &shared.config.base_path),
    };
    with_headers(&shared, response)
}

/// A response with the common headers.
fn with_headers(shared: &Shared, mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With "no-referrer", browsers would hide the origin of our own forms, too.
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if shared.certificates.as_ref().is_some_and(|certificates| certificates.is_own()) {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT_TRANSPORT));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Why a request is refused.
enum Refusal {
    /// Status and reason.
    Status(StatusCode, Cow<'static, str>),
    /// The browser is redirected to this path of the page.
    GoTo(&'static str),
}

/// Refuses a request with this status.
fn refused<T>(status: StatusCode, why: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::Status(status, why.into()))
}

impl Refusal {
    /// The response for this path of a page below `base`; JSON for the API.
    fn answer(self, path: &str, base: &str) -> Response {
        match self {
            Self::GoTo(path) => Redirect::to(&format!("{base}{path}")).into_response(),
            Self::Status(status, why) if api::has(path) => Problem::new(status, why).into_response(),
            Self::Status(status, why) => (status, format!("{why}\n")).into_response(),
        }
    }
}

/// Whether a request is admitted: its host name is the page's (DNS rebinding), it comes from our own page if it may change something, and
/// it has a session if an account exists. In the API, a token, which no browser sends by itself, replaces both.
fn admit(shared: &Shared, request: &Request, peer: &Peer) -> Result<Access, Refusal> {
    let (headers, path, base) = (request.headers(), request.uri().path(), &*shared.config.base_path);
    if !is_our_name(headers, &shared.config, peer) {
        let why = "this name is not the page's: add it to `names` in web.toml";
        return refused(StatusCode::MISDIRECTED_REQUEST, why);
    }
    if peer.is_remote && !peer.is_tls {
        let why = "the proxy was asked without TLS, or does not say so: let browsers use https, and have it set X-Forwarded-Proto";
        return refused(StatusCode::FORBIDDEN, why);
    }
    if request.extensions().get::<OriginalUri>().is_some_and(|OriginalUri(uri)| !base.is_empty() && uri.path() == base)
    {
        return Err(Refusal::GoTo("/"));
    }
    let token = if api::has(path) { bearer(headers) } else { None };
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !only_reads && token.is_none() && !login::is_from_us(headers, peer.is_tls) {
        return refused(StatusCode::FORBIDDEN, "the request comes from another site");
    }
    let access = match token {
        Some(token) => Some(Access::Token(token)).filter(|access| shared.auth.lasts(*access)),
        None => {
            let session = login::session(headers, peer.is_tls, base).map(Access::Session);
            session.into_iter().chain([Access::Open]).find(|access| shared.auth.lasts(*access))
        }
    };
    if access == Some(Access::Open) && peer.is_remote && !login::OPEN.contains(&path) {
        let why = "there is no account yet: run `sudo evenair web setup` on the box, and open its link";
        return refused(StatusCode::FORBIDDEN, why);
    }
    let unauthorized = |why: String| refused(StatusCode::UNAUTHORIZED, why);
    match access {
        Some(_) if api::has(path) && api::is_too_long(headers) => {
            refused(StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 64 kB")
        }
        Some(access) => Ok(access),
        None if token.is_some() => unauthorized("the token is not valid: it is wrong, has ended or was removed".into()),
        None if api::has(path) => {
            unauthorized(format!("show a token (`evenair web token add`), or log in first, at {base}/login"))
        }
        None if login::OPEN.contains(&path) => Ok(Access::Open),
        None if only_reads && matches!(path, "/" | "/index.html") => Err(Refusal::GoTo("/login")),
        None => unauthorized(format!("log in first, at {base}/login")),
    }
}

/// Whether `Host` is the address that the client connected to, a configured name, or one of loopback.
fn is_our_name(headers: &HeaderMap, config: &WebConfig, peer: &Peer) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_ours =
        |address: IpAddr| address.is_loopback() || address == config.listen.ip() || Some(address) == peer.ours;
    name.parse::<IpAddr>().is_ok_and(is_ours)
        || name.eq_ignore_ascii_case("localhost")
        || config.names.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

/// Requests without a route: a file of the page, or 404.
async fn other(method: Method, uri: Uri) -> Response {
    match method {
        _ if api::has(uri.path()) => api::missing(uri.path()).into_response(),
        Method::GET | Method::HEAD => file(uri.path()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response(),
    }
}

fn file(path: &str) -> Response {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let Some(file) = Page::get(path) else {
        let built = Page::get("index.html").is_some();
        let text = if built { "there is no such page\n" } else { NOT_BUILT };
        return (StatusCode::NOT_FOUND, text).into_response();
    };
    let headers = [(header::CONTENT_TYPE, file.metadata.mimetype()), (header::CACHE_CONTROL, FILE_CACHE)];
    (headers, file.data).into_response()
}

async fn recent(shared: Shared, range: Range) -> Response {
    match shared.feed.history(range).await {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
    }
}

async fn events(
    State(shared): State<Shared>,
    Extension(peer): Extension<Peer>,
    Extension(access): Extension<Access>,
) -> Response {
    live::stream(shared, &peer, access)
        .unwrap_or_else(|why| (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response())
}

#[cfg(test)]
mod tests;
