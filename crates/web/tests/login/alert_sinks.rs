//! The environment of alerts: a box with changing reasons, a webhook server, and a mail server with STARTTLS.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::Json;
use evenair_api::health::{HealthStatus, Reason};
use evenair_api::watch::{Line, Source, Totals, VERSION, Value};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;
use tokio::time::sleep;

/// Interval between lines of the box; one second for a real one.
pub const LINE: Duration = Duration::from_millis(50);

/// A box with changing reasons, whose lines are ten seconds apart by its own clock.
#[derive(Clone, Default)]
pub struct Reasons(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    reasons: Vec<Reason>,
    /// Time of a connection's first line, in seconds since 1970.
    begin: f64,
}

impl Reasons {
    /// Starts serving lines with these reasons on this socket.
    pub fn serve(socket: &Path) -> Self {
        let reasons = Self::default();
        let listener = UnixListener::bind(socket).expect("a socket");
        let shared = reasons.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let shared = shared.clone();
                tokio::spawn(async move {
                    let mut seq = 0;
                    while stream.write_all(shared.line(seq).as_bytes()).await.is_ok() {
                        seq += 1;
                        sleep(LINE).await;
                    }
                });
            }
        });
        reasons
    }

    pub fn set(&self, reasons: Vec<Reason>) {
        self.0.lock().expect("not poisoned").reasons = reasons;
    }

    /// Sets the clock of the box, in seconds since 1970.
    pub fn set_clock(&self, begin: f64) {
        self.0.lock().expect("not poisoned").begin = begin;
    }

    fn line(&self, seq: u64) -> String {
        let state = self.0.lock().expect("not poisoned");
        let health = Some(HealthStatus::of(state.reasons.clone()));
        let down_mbps = Value::new(8.0, Source::Measured);
        let totals = Some(Totals { down_mbps, active: Some(1), ..Totals::default() });
        let at = state.begin + (seq * 10) as f64;
        Line { v: VERSION, seq, at, health, totals, ..Line::default() }.to_json() + "\n"
    }
}

/// Items that a server received, in order.
pub struct Got<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Got<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Got<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn push(&self, what: T) {
        self.0.lock().expect("not poisoned").push(what);
    }

    pub fn all(&self) -> Vec<T> {
        self.0.lock().expect("not poisoned").clone()
    }

    /// Waits for `count` items.
    pub async fn wait(&self, count: usize) -> Vec<T> {
        let end = Instant::now() + Duration::from_secs(20);
        while self.all().len() < count {
            assert!(Instant::now() < end, "{} came, not {count}", self.all().len());
            sleep(LINE).await;
        }
        self.all()
    }
}

/// A request to a webhook.
#[derive(Clone, Debug)]
pub struct Post {
    pub head: String,
    pub body: String,
}

impl Post {
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
        found.next().unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A webhook server on loopback: its first responses have these statuses, all others 204.
pub fn webhook(first: &[u16]) -> (SocketAddr, Got<Post>) {
    let (listener, got) = (TcpListener::bind("127.0.0.1:0").expect("a port"), Got::new());
    let (address, all) = (listener.local_addr().expect("an address"), got.clone());
    let mut statuses: VecDeque<_> = first.iter().copied().collect();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Some(post) = read_post(&stream) else { continue };
            let status = statuses.pop_front().unwrap_or(204);
            let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            _ = (&stream).write_all(answer.as_bytes());
            all.push(post);
        }
    });
    (address, got)
}

fn read_post(stream: &TcpStream) -> Option<Post> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let mut post = Post { head, body: String::new() };
    let length = post.header("content-length").parse().expect("a number");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    post.body = String::from_utf8(body).expect("text");
    Some(post)
}

/// A session received by a mail server: the decoded login, and all lines over TLS.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    pub login: String,
    /// Commands before STARTTLS.
    pub plain: Vec<String>,
    pub from: String,
    pub to: Vec<String>,
    pub message: String,
}

/// A mail server on loopback that requires STARTTLS and a login, with this response to it; certificate and key are
/// in PEM.
pub fn mail_server(certificate: &str, key: &str, login: &'static str) -> (SocketAddr, Got<Mail>) {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("TLS");
    let tls = Arc::new(tls.with_no_client_auth().with_single_cert(vec![certificate], key).expect("a certificate"));
    let (listener, got) = (TcpListener::bind("127.0.0.1:0").expect("a port"), Got::new());
    let (address, all) = (listener.local_addr().expect("an address"), got.clone());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut mail = Mail::default();
            _ = session(stream, &tls, login, &mut mail);
            all.push(mail);
        }
    });
    (address, got)
}

fn session(mut stream: TcpStream, tls: &Arc<ServerConfig>, login: &str, mail: &mut Mail) -> std::io::Result<()> {
    stream.write_all(b"220 sink ESMTP\r\n")?;
    loop {
        let line = read_line(&mut stream)?;
        mail.plain.push(line.clone());
        match line.split(' ').next().unwrap_or_default() {
            "EHLO" => stream.write_all(b"250-sink\r\n250 STARTTLS\r\n")?,
            "STARTTLS" => break,
            _ => stream.write_all(b"530 STARTTLS first\r\n")?,
        }
    }
    stream.write_all(b"220 go on\r\n")?;
    let connection = ServerConnection::new(Arc::clone(tls)).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    loop {
        let line = read_line(&mut stream)?;
        let answer = match line.split(' ').next().unwrap_or_default() {
            "EHLO" => "250-sink\r\n250 AUTH PLAIN",
            "AUTH" => {
                mail.login = line;
                login
            }
            "MAIL" => {
                mail.from = line;
                "250 ok"
            }
            "RCPT" => {
                mail.to.push(line);
                "250 ok"
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n")?;
                loop {
                    let line = read_line(&mut stream)?;
                    if line == "." {
                        break;
                    }
                    mail.message += &(line + "\n");
                }
                "250 taken"
            }
            "QUIT" => return stream.write_all(b"221 bye\r\n"),
            _ => "500 what?",
        };
        stream.write_all(format!("{answer}\r\n").as_bytes())?;
    }
}

/// A line without its newline, read byte by byte so that no byte of the handshake is consumed.
fn read_line(stream: &mut impl Read) -> std::io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    line.truncate(line.len() - 2);
    Ok(String::from_utf8_lossy(&line).into_owned())
}
