//! Web pages over HTTP/1.1 (RFC 9112): a main object, then further objects over parallel connections.
//!
//! The server sends zeros of the size in the requested path. The client opens one connection for the main object and reuses
//! it for the first of the others; each further object has its own connection. All are closed at the end of the page, as a
//! browser does after a pause.
//!
//! A request is one write, and so are a response's header and the first data behind it, without Nagle's algorithm (RFC 9293, section
//! 3.7.4), as in browsers and servers: otherwise the pieces of a header wait for one another's ACKs, a round trip each.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use evenair_sys::rt::monotonic_ns;
use evenair_units::{Rng, Streams};
use evenair_workload::Distribution;

use super::protocol::Report;
use super::state::{App, Role, Times, connect, sleep_until};

const CHUNK: usize = 64 * 1024;
/// Longest line of a request or response, in bytes.
const LINE_MAX: u64 = 1024;

/// Parameters of a reader's pages.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) server: SocketAddr,
    pub(super) objects: (u32, u32),
    pub(super) size: Distribution,
    pub(super) think_ns: u64,
    pub(super) seed: u64,
}

pub(super) fn serve(app: &Arc<App>, listener: &TcpListener) {
    while !app.is_stopped() {
        let Ok((stream, _)) = listener.accept() else { continue };
        let app = Arc::clone(app);
        thread::spawn(move || {
            if app.adopt(&stream, Role::Sender).is_ok() {
                // The reader closes or the application stops: both end the connection, possibly with an error.
                let _ = answer(&stream);
                app.release(&stream);
            }
        });
    }
}

/// Answers the requests of one connection until it ends.
fn answer(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    answer_all(&mut BufReader::new(stream), stream)
}

/// Answers requests until the input ends.
fn answer_all(requests: &mut impl BufRead, answers: impl Write) -> std::io::Result<()> {
    let mut output = BufWriter::with_capacity(CHUNK, answers);
    while let Some(request) = read_head(requests)? {
        match request.first().and_then(|line| asked_size(line)) {
            Some(size) => {
                write!(output, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")?;
                std::io::copy(&mut std::io::repeat(0).take(size), &mut output)?;
            }
            None => write!(output, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?,
        }
        output.flush()?;
    }
    Ok(())
}

/// Number of bytes that a request line asks for: its path is the number.
fn asked_size(request_line: &str) -> Option<u64> {
    request_line.split(' ').nth(1)?.strip_prefix('/')?.parse().ok()
}

/// Reads lines up to the empty one; `None` at the end of the connection.
fn read_head(input: &mut impl BufRead) -> std::io::Result<Option<Vec<String>>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if input.take(LINE_MAX).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            return Ok(Some(lines));
        }
        lines.push(line);
    }
}

pub(super) fn read_pages(app: &Arc<App>, reading: Reading, times: Times) {
    sleep_until(times.start_ns);
    let mut draws = Streams::new(reading.seed).stream("web");
    while !app.is_stopped() {
        let began_ns = monotonic_ns();
        let sizes = page(&reading, &mut draws);
        match read_page(app, reading.server, &sizes) {
            Ok(()) => {
                let took_us = (monotonic_ns() - began_ns) / 1000;
                let (objects, bytes) = (sizes.len() as u32, sizes.iter().sum());
                app.report(&Report::Page { app: app.number, began_ns, took_us, objects, bytes });
            }
            Err(_) if app.is_stopped() => return,
            Err(error) => app.note(format!("a page was not read: {error}")),
        }
        sleep_until(monotonic_ns() + reading.think_ns);
    }
}

/// Sizes of a page's objects, the main one first.
fn page(reading: &Reading, draws: &mut Rng) -> Vec<u64> {
    let (fewest, most) = reading.objects;
    let further = u64::from(fewest) + draws.below(u64::from(most.saturating_sub(fewest)) + 1);
    (0..=further).map(|_| reading.size.draw_bytes(draws).0).collect()
}

fn read_page(app: &Arc<App>, server: SocketAddr, sizes: &[u64]) -> std::io::Result<()> {
    let gone = || std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
    let first = connect(app, server, Role::Receiver, None).ok_or_else(gone)?;
    let result = fetch(app, &first, sizes[0]).and_then(|()| read_rest(app, server, &first, &sizes[1..]));
    app.release(&first);
    result
}

fn read_rest(app: &Arc<App>, server: SocketAddr, first: &TcpStream, sizes: &[u64]) -> std::io::Result<()> {
    let Some((&again, parallel)) = sizes.split_first() else { return Ok(()) };
    thread::scope(|scope| {
        let others: Vec<_> = parallel.iter().map(|&size| scope.spawn(move || fetch_alone(app, server, size))).collect();
        let mut result = fetch(app, first, again);
        for other in others {
            let fetched = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(fetched);
        }
        result
    })
}

fn fetch_alone(app: &App, server: SocketAddr, size: u64) -> std::io::Result<()> {
    let Some(stream) = connect(app, server, Role::Receiver, None) else {
        return Err(std::io::ErrorKind::ConnectionAborted.into());
    };
    let result = fetch(app, &stream, size);
    app.release(&stream);
    result
}

/// Requests one object and reads it to its end.
fn fetch(app: &App, stream: &TcpStream, size: u64) -> std::io::Result<()> {
    let mut output = stream;
    output.write_all(format!("GET /{size} HTTP/1.1\r\nHost: server\r\n\r\n").as_bytes())?;
    let mut input = BufReader::with_capacity(CHUNK, stream);
    let head = read_head(&mut input)?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    if !head.first().is_some_and(|status| status.starts_with("HTTP/1.1 200")) {
        return Err(std::io::Error::other(format!("the server answered {head:?}")));
    }
    let mut left = size;
    while left > 0 {
        let n = input.fill_buf()?.len();
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        input.consume(n);
        app.count_received(n);
        left = left.saturating_sub(n as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_main_object_and_as_many_more_as_asked() {
        let reading = Reading {
            server: ([127, 0, 0, 1], 1).into(),
            objects: (1, 6),
            size: Distribution::pareto_of_mean(1.1, 20_000.0, Some(2e6)),
            think_ns: 0,
            seed: 1,
        };
        let mut draws = Streams::new(1).stream("test");
        let mut seen = [0; 8];
        for _ in 0..6000 {
            let sizes = page(&reading, &mut draws);
            assert!(sizes.iter().all(|&size| (1..=2_000_000).contains(&size)));
            seen[sizes.len()] += 1;
        }
        assert_eq!(seen[..2], [0, 0]);
        // 1000 expected in each of six cells: five standard deviations are 145.
        assert!(seen[2..].iter().all(|&n: &i32| (n - 1000).abs() < 145), "{seen:?}");
    }

    #[test]
    fn a_small_response_is_one_write_with_its_header() {
        struct Writes(Vec<usize>);
        impl Write for Writes {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.push(bytes.len());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut writes = Writes(Vec::new());
        let requests = "GET /20000 HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\n";
        answer_all(&mut requests.as_bytes(), &mut writes).expect("nothing fails");
        let heads =
            ["HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"];
        assert_eq!(writes.0, [heads[0].len() + 20_000, heads[1].len()]);
    }

    #[test]
    fn no_request_line_causes_a_panic() {
        assert_eq!(asked_size("GET /1000 HTTP/1.1"), Some(1000));
        for wrong in ["", "GET", "GET ", "GET  HTTP/1.1", "GET ü HTTP/1.1", "GET 1000 HTTP/1.1", "GET /x HTTP/1.1"] {
            assert_eq!(asked_size(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn objects_cross_a_real_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let server = thread::spawn(move || answer(&listener.accept().expect("accepted").0));
        let app = App::new(0, 0, Arc::default());
        let stream = TcpStream::connect(address).expect("connected");
        for size in [0, 1, 100_000] {
            fetch(&app, &stream, size).expect("fetched");
        }
        assert_eq!(app.received.load(std::sync::atomic::Ordering::Relaxed), 100_001);
        drop(stream);
        server.join().expect("no panic").expect("the end of the connection is no error");
    }
}
