//! What those who watch a box cost its packet loop: as many clients of the watch socket as it admits, one of them evenair-web with as
//! many browsers as it admits and a thousand connections that ask for nothing. In the middle of each run evenair-web hangs (SIGSTOP),
//! until the box drops it.
//!
//! Runs with and without them alternate, at a rate far below the highest, so that what is lost is lost by the box. On a machine of few
//! cores all who watch run beside the packet loop on its core.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use evenair_sys::process;

use crate::lab::{Lab, Middle};
use crate::measure::{Passage, passage};
use crate::median;

const STATIONS: usize = 1_000;
/// Bytes of a frame.
const LEN: usize = 60;
/// Packets per second, about a tenth of what the box carries on one core.
const PPS: f64 = 40_000.0;
const SPAN: Duration = Duration::from_secs(10);
/// evenair-web hangs so long after the clients have come: in the middle of a run.
const HANGS: Duration = Duration::from_secs(7);
/// Clients of the watch socket beside evenair-web; it admits 16.
const CLIENTS: usize = 15;
/// Streams of events that evenair-web admits.
const BROWSERS: usize = 64;
/// Connections to evenair-web without a request.
const IDLE: usize = 1_000;
/// As `kill -STOP`.
const SIGSTOP: i32 = 19;

/// A watched box beside one that is not.
pub struct Watched {
    /// CPU time of the packet loop for a packet, watched beside not; the median.
    pub loop_ratio: f64,
    /// Medians of the 99th percentile of latency, not watched and watched, in microseconds.
    pub p99_us: [f64; 2],
    /// The longest slice in which the state was copied, in CPU time, in microseconds.
    pub slice_us: f64,
    /// Packets lost in all watched runs.
    pub lost: u64,
}

/// Runs without and with clients in turn.
pub fn measure(web: &Path, rounds: usize) -> Result<Watched> {
    let lab = Lab::new(Middle::Managed, STATIONS, None)?;
    println!(
        "\n{STATIONS} stations, {} packets/s, {CLIENTS} clients, {BROWSERS} browsers, {IDLE} idle connections:",
        PPS
    );
    let mut runs: Vec<[Passage; 2]> = Vec::new();
    for round in 1..=rounds {
        let alone = passage(&lab, LEN, PPS, SPAN)?;
        let clients = Clients::start(&lab, web)?;
        let watched = passage(&lab, LEN, PPS, SPAN)?;
        clients.end()?;
        for (name, run) in [("alone", alone), ("watched", watched)] {
            println!(
                "  {round} {name:<8} loop {:>6.0} ns/packet, p50 {:>4.0} us, p99 {:>5.0}, p99.9 {:>5.0}, lost {}",
                run.loop_ns, run.latency.p50, run.latency.p99, run.latency.p999, run.lost
            );
        }
        runs.push([alone, watched]);
    }
    let [wall_us, slice_us] = lab.longest_slice_us()?;
    println!("  longest slice of the state: {wall_us:.0} us by the clock, {slice_us:.0} us of CPU time");
    let of = |f: &dyn Fn(&[Passage; 2]) -> f64| median(runs.iter().map(f).collect());
    let [alone, watched] = [0, 1].map(|at| of(&|run| run[at].loop_ns));
    Ok(Watched {
        loop_ratio: watched / alone,
        p99_us: [0, 1].map(|at| of(&|run| run[at].latency.p99)),
        slice_us,
        lost: runs.iter().map(|[_, watched]| watched.lost).sum(),
    })
}

/// All who watch.
struct Clients {
    web: Child,
    /// To the watch socket.
    watching: Vec<UnixStream>,
    /// To evenair-web.
    connections: Vec<TcpStream>,
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.web.kill();
        let _ = self.web.wait();
    }
}

impl Clients {
    fn start(lab: &Lab, web: &Path) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(web);
        command.arg("--socket").arg(lab.watch_socket()).args(["--listen", &address.to_string()]).stdout(Stdio::piped());
        let started = process::tie(&mut command, None).spawn();
        let mut web = started.with_context(|| format!("start {} (--web names another)", web.display()))?;
        let said = web.stdout.take().context("piped")?;
        let mut clients = Self { web, watching: Vec::new(), connections: Vec::new() };
        BufReader::new(said).read_line(&mut String::new())?;
        for _ in 0..CLIENTS {
            let stream = UnixStream::connect(lab.watch_socket()).context("the watch socket")?;
            (&stream).write_all(b"{\"watch\":[\"health\",\"totals\",\"domains\",\"stations\",\"events\"]}\n")?;
            clients.watching.push(read_on(stream.try_clone()?, stream)?);
        }
        for _ in 0..IDLE {
            clients.connections.push(TcpStream::connect(address).context("an idle connection")?);
        }
        for _ in 0..BROWSERS {
            let stream = browse(address)?;
            clients.connections.push(read_on(stream.try_clone()?, stream)?);
        }
        let web = clients.web.id();
        thread::spawn(move || {
            thread::sleep(HANGS);
            // It may have ended with its run.
            let _ = process::signal(web, SIGSTOP);
        });
        Ok(clients)
    }

    /// Ends them; none may have ended before.
    fn end(mut self) -> Result<()> {
        ensure!(self.web.try_wait()?.is_none(), "evenair-web has ended");
        self.watching.iter().try_for_each(|stream| stream.shutdown(Shutdown::Both)).context("a client")?;
        // Those that evenair-web has closed have ended already.
        self.connections.iter().for_each(|stream| _ = stream.shutdown(Shutdown::Both));
        Ok(())
    }
}

/// Reads in a thread of its own whatever comes, until the end. Gives `other` back.
fn read_on<T>(mut stream: impl Read + Send + 'static, other: T) -> Result<T> {
    let work = move || {
        let mut part = vec![0; 1 << 16];
        while let Ok(1..) = stream.read(&mut part) {}
    };
    thread::Builder::new().name("client".into()).spawn(work).context("a thread of a client")?;
    Ok(other)
}

/// A stream of events.
fn browse(address: SocketAddr) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).context("a browser")?;
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).context("a browser")?;
    ensure!(status.ends_with(b"200"), "evenair-web refuses a browser: {}", String::from_utf8_lossy(&status));
    Ok(stream)
}
