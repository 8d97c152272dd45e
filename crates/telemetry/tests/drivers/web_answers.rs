//! A web server whose responses are made from arbitrary bytes: unchanged, or as the JSON of a valid response.
//!
//! `fuzz/fuzz_targets/web.rs` polls it with bytes from libFuzzer.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use evenair_telemetry::remote::Remote;
use evenair_telemetry::routeros::RouterOs;
use evenair_telemetry::ubus::Ubus;
use evenair_telemetry::unifi::Unifi;
use evenair_telemetry::{Credentials, Reading, Source, TelemetryError, Tls};

/// Timeout of a request. Responses come at once, but a busy machine pauses a test for a second.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A server on loopback, with the bytes for its responses.
struct Answering {
    url: String,
    left: Arc<Mutex<Vec<u8>>>,
}

thread_local! {
    static SERVER: RefCell<Option<Answering>> = const { RefCell::new(None) };
}

/// Polls a server that responds from these bytes. The first one selects the driver: UniFi, ubus, another evenair or RouterOS.
///
/// # Errors
/// As for any server with malformed responses.
pub fn poll(bytes: &[u8]) -> Result<Reading, TelemetryError> {
    SERVER.with_borrow_mut(|server| {
        let server = server.get_or_insert_with(start);
        let (kind, answers) = bytes.split_first().map_or((0, bytes), |(kind, rest)| (*kind, rest));
        *server.left.lock().unwrap_or_else(PoisonError::into_inner) = answers.to_vec();
        let (url, tls) = (&server.url, Tls::Public);
        let account = Credentials { user: "reader", password: "right" };
        // Not by `poll_once`, which would hide a panic.
        match kind % 4 {
            0 => Unifi::new(url, "default", account, &tls, TIMEOUT)?.poll(),
            1 => Ubus::new(url, account, &tls, TIMEOUT)?.poll(),
            2 => Remote::new(url, None, &tls, TIMEOUT)?.poll(),
            _ => RouterOs::new(url, account, &tls, TIMEOUT)?.poll(),
        }
    })
}

fn start() -> Answering {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let left: Arc<Mutex<Vec<u8>>> = Arc::default();
    let answers = Arc::clone(&left);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer(&mut answers.lock().unwrap_or_else(PoisonError::into_inner));
            let _ = exchange(stream, &answer);
        }
    });
    Answering { url, left }
}

/// Reads a request with its body, responds and closes the connection.
fn exchange(stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut stream = BufReader::new(stream);
    let (mut line, mut body) = (String::new(), 0);
    while stream.read_line(&mut line)? > 2 {
        if let Some(len) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            body = len.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    stream.read_exact(&mut vec![0; body])?;
    stream.get_mut().write_all(answer)
}

/// The next response: a byte for its kind, one for its length, and its content.
fn answer(left: &mut Vec<u8>) -> Vec<u8> {
    let mut take = |most: usize| left.drain(..most.min(left.len())).collect::<Vec<u8>>();
    let kind = take(1).first().copied().unwrap_or(1);
    let len = take(1).first().copied().unwrap_or(0).into();
    let content = take(len);
    if kind % 4 == 0 {
        return content;
    }
    let status = [200, 401, 404, 499][usize::from(kind / 4 % 4)];
    let head = format!("HTTP/1.1 {status} X\r\nSet-Cookie: a=b\r\nContent-Length: {}\r\n\r\n", content.len());
    [head.as_bytes(), &content].concat()
}
