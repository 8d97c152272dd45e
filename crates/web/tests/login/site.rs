//! A page with its state directory, and an HTTP client.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evenair_web::{Clock, Grant, PasswordCost, Web, WebConfig, setup_link};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A password that is long enough.
pub const PASSWORD: &str = "correct-horse";

/// A response of the page.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.text.split("\r\n\r\n").next()?.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Its body as JSON.
    pub fn json(&self) -> Value {
        let body = self.text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The cookie that it sets, in the form that a browser sends.
    pub fn cookie(&self) -> String {
        self.header("set-cookie").and_then(|value| value.split(';').next()).unwrap_or_default().to_owned()
    }
}

/// A page, its folder and its clock.
pub struct Site {
    pub folder: TempDir,
    pub config: WebConfig,
    pub clock: Clock,
    pub address: SocketAddr,
    server: JoinHandle<Infallible>,
}

impl Site {
    pub async fn start() -> Self {
        Self::with(|_, _| {}).await
    }

    /// A site with a changed configuration; `change` gets the folder of the state directory.
    pub async fn with(change: impl FnOnce(&mut WebConfig, &TempDir)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(&folder);
        change(&mut config, &folder);
        let clock = Clock::new();
        let (address, server) = serve(&config, &clock).await;
        Self { folder, config, clock, address, server }
    }

    /// Stops the server, and starts it on another port.
    pub async fn restart(&mut self) {
        self.server.abort();
        _ = (&mut self.server).await;
        (self.address, self.server) = serve(&self.config, &self.clock).await;
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.config.state.join(name)
    }

    /// The token of a new link.
    pub fn token(&self) -> String {
        token_of(&setup_link(&self.config, &self.clock, Grant::ADMIN).expect("a link"))
    }

    pub async fn set_up(&self, token: &str, name: &str, password: &str) -> Answer {
        let form = [("token", token), ("name", name), ("password", password), ("again", password)];
        self.post("/setup", &form, "").await
    }

    /// Makes an account, or changes its password.
    pub async fn make(&self, name: &str, password: &str) {
        let answer = self.set_up(&self.token(), name, password).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/login")), "{answer:?}");
    }

    /// The same for a page below a base path.
    pub async fn make_below(&self, name: &str, password: &str) {
        let token = self.token();
        let form = [("token", &*token), ("name", name), ("password", password), ("again", password)];
        let answer = self.post(&format!("{}/setup", self.config.base_path), &form, "").await;
        assert_eq!(answer.status, 303, "{answer:?}");
    }

    pub async fn log_in(&self, name: &str, password: &str) -> Answer {
        self.post("/login", &[("name", name), ("password", password)], "").await
    }

    /// Logs in from another address of loopback.
    pub async fn log_in_from(&self, host: u8, name: &str, password: &str) -> Answer {
        let request = self.post_request("/login", &[("name", name), ("password", password)], "");
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).expect("of loopback");
        exchange(socket.connect(self.address).await.expect("it listens"), &request).await
    }

    /// The cookie of a new session.
    pub async fn session(&self, name: &str, password: &str) -> String {
        let answer = self.log_in(name, password).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
        answer.cookie()
    }

    pub async fn get(&self, path: &str, cookie: &str) -> Answer {
        self.send(&request("GET", path, &format!("Cookie: {cookie}\r\n"))).await
    }

    /// Requests a path with a token.
    pub async fn get_with(&self, path: &str, token: &str) -> Answer {
        self.send(&request("GET", path, &format!("Authorization: Bearer {token}\r\n"))).await
    }

    pub async fn post(&self, path: &str, form: &[(&str, &str)], cookie: &str) -> Answer {
        self.send(&self.post_request(path, form, cookie)).await
    }

    pub fn post_request(&self, path: &str, form: &[(&str, &str)], cookie: &str) -> String {
        let scheme = if self.config.tls.is_some() { "https" } else { "http" };
        post(path, &format!("Origin: {scheme}://localhost\r\nCookie: {cookie}\r\n"), form)
    }

    /// Sends a request without TLS.
    pub async fn send(&self, request: &str) -> Answer {
        exchange(TcpStream::connect(self.address).await.expect("it listens"), request).await
    }

    /// Sends a request over TLS. Returns the page's certificate, which must be one of these.
    pub async fn send_tls(
        &self,
        trusted: &[CertificateDer<'static>],
        request: &str,
    ) -> (Answer, CertificateDer<'static>) {
        let stream = self.connect_tls(trusted).await.expect("a trusted certificate");
        let certificate = stream.get_ref().1.peer_certificates().expect("it has one")[0].clone().into_owned();
        (exchange(stream, request).await, certificate)
    }

    pub async fn connect_tls(&self, trusted: &[CertificateDer<'static>]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        for certificate in trusted {
            roots.add(certificate.clone()).expect("a certificate");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("TLS");
        let client = Arc::new(client.with_root_certificates(roots).with_no_client_auth());
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, self.address.port()));
        let stream = TcpStream::connect(here).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        timeout(Duration::from_secs(5), TlsConnector::from(client).connect(name, stream)).await.expect("in time")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The configuration of a page on a free port, whose box is away.
pub fn config(folder: &TempDir) -> WebConfig {
    let listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let (state, socket) = (folder.path().join("state"), "/nowhere/watch.sock".into());
    WebConfig { listen, state, socket, control: "/nowhere/control.sock".into(), ..WebConfig::default() }
}

/// The error with which a page of this configuration does not start.
pub async fn refusal(config: WebConfig) -> String {
    let bound = Web::bind(config, Clock::new(), PasswordCost::for_tests()).await;
    format!("{:#}", bound.err().expect("refused"))
}

async fn serve(config: &WebConfig, clock: &Clock) -> (SocketAddr, JoinHandle<Infallible>) {
    let web = Web::bind(config.clone(), clock.clone(), PasswordCost::for_tests()).await.expect("it starts");
    (web.address(), tokio::spawn(web.run()))
}

/// A request without a body; `headers` each end with a newline.
pub fn request(method: &str, path: &str, headers: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
}

/// A request with a form; `headers` each end with a newline.
pub fn post(path: &str, headers: &str, form: &[(&str, &str)]) -> String {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request with a body; `headers` each end with a newline.
pub fn with_body(method: &str, path: &str, headers: &str, body: &str) -> String {
    request(method, path, &format!("{headers}Content-Length: {}\r\n", body.len())) + body
}

pub async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Answer {
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut bytes = Vec::new();
    // TLS may end without close_notify: the received data counts.
    let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await.expect("in time");
    assert!(read.is_ok() || !bytes.is_empty(), "{read:?}");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Answer { status, text }
}

/// The token of a link.
pub fn token_of(link: &str) -> String {
    link.split_once("setup?token=").expect("it has a token").1.to_owned()
}
