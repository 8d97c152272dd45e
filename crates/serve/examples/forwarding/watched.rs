//! Cost of watchers of a box, and of attackers of its page, for its packet loop.
//!
//! Watchers are as many clients of the watch socket as it admits, one of them evenair-web with as many browsers as it admits and a
//! thousand connections without a request. Attackers are in `attackers.rs`. In the middle of each run evenair-web hangs (SIGSTOP), until
//! the box drops it; after the run it continues, and its page is requested.
//!
//! Runs with and without them alternate, at a rate far below the highest, so that losses are those of the box. On a machine of few cores
//! all watchers run on the core of the packet loop.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use evenair_sys::process;

use crate::lab::{Lab, Middle, Slices};
use crate::load::Place;
use crate::measure::{Passage, passage};
use crate::median;

/// Bytes of a frame.
const LEN: usize = 60;
/// Packets per second, about a tenth of what the box carries on one core.
const PPS: f64 = 40_000.0;
const SPAN: Duration = Duration::from_secs(10);
/// Time after which evenair-web hangs: in the middle of a run.
const HANGS: Duration = Duration::from_secs(7);
/// Clients of the watch socket beside evenair-web; it admits 16.
const CLIENTS: usize = 15;
/// Streams of events that evenair-web admits.
const BROWSERS: usize = 64;
/// Connections to evenair-web without a request.
const IDLE: usize = 1_000;
/// As `kill -STOP` and `kill -CONT`.
const SIGSTOP: i32 = 19;
const SIGCONT: i32 = 18;
/// Time after which evenair-web is taken not to recover.
const LONGEST_RECOVERY: Duration = Duration::from_secs(60);

/// A box beside watchers or attackers, compared with a box alone.
pub struct Watched {
    /// Watchers or attackers.
    pub by: &'static str,
    /// Active stations.
    pub stations: usize,
    /// Ratio of the packet loop's CPU time for a packet, with and without them; median.
    pub loop_ratio: f64,
    /// Medians of the 99th percentile of latency, not watched and watched, in microseconds.
    pub p99_us: [f64; 2],
    /// Cost of copying the state.
    pub slices: Slices,
    /// Packets lost in all watched runs.
    pub lost: u64,
    /// evenair-web after the worst run.
    pub web: Recovery,
}

/// evenair-web after it has hung.
#[derive(Clone, Copy, Default)]
pub struct Recovery {
    /// Most memory that it had (VmHWM), in MB.
    pub most_mb: f64,
    /// From SIGCONT to an answer, in seconds.
    pub answers_after_s: f64,
}

/// Watchers or attackers in a run.
pub trait Beside: Sized {
    /// Their name in sentences and in tables.
    const NAMES: [&str; 2];
    /// How the source of the packets runs.
    const SOURCE: Place;

    /// Description with their numbers.
    fn numbers() -> String;

    /// Starts them and evenair-web, which hangs in the middle of a run.
    fn start(lab: &Lab, web: &Path) -> Result<Self>;

    /// Ends them, and lets evenair-web continue.
    fn end(self) -> Result<Recovery>;
}

/// Alternating runs without and with them.
pub fn measure<T: Beside>(web: &Path, rounds: usize, stations: usize) -> Result<Watched> {
    let lab = Lab::new(Middle::Managed, stations, None)?;
    println!("\n{stations} stations, {PPS} packets/s, {}:", T::numbers());
    let [by, short] = T::NAMES;
    let mut runs: Vec<[Passage; 2]> = Vec::new();
    let mut worst = Recovery::default();
    for round in 1..=rounds {
        let alone = passage(&lab, LEN, PPS, SPAN, T::SOURCE)?;
        let others = T::start(&lab, web)?;
        let watched = passage(&lab, LEN, PPS, SPAN, T::SOURCE)?;
        let Recovery { most_mb, answers_after_s } = others.end()?;
        worst.most_mb = worst.most_mb.max(most_mb);
        worst.answers_after_s = worst.answers_after_s.max(answers_after_s);
        for (name, run) in [("alone", alone), (short, watched)] {
            println!(
                "  {round} {name:<8} loop {:>6.0} ns/packet, p50 {:>4.0} us, p99 {:>5.0}, p99.9 {:>5.0}, lost {}",
                run.loop_ns, run.latency.p50, run.latency.p99, run.latency.p999, run.lost
            );
        }
        runs.push([alone, watched]);
    }
    let slices = lab.slices()?;
    let Slices { wall_us, cpu_us, copied, sum_ms } = &slices;
    println!(
        "  longest slice of the state: {wall_us:.0} us by the clock, {cpu_us:.0} us of CPU time, of {copied}; {sum_ms:.2} ms a second"
    );
    let of = |f: &dyn Fn(&[Passage; 2]) -> f64| median(runs.iter().map(f).collect());
    Ok(Watched {
        by,
        stations,
        loop_ratio: of(&|[alone, watched]| watched.loop_ns / alone.loop_ns),
        p99_us: [0, 1].map(|at| of(&|run| run[at].latency.p99)),
        slices,
        lost: runs.iter().map(|[_, watched]| watched.lost).sum(),
        web: worst,
    })
}

/// evenair-web beside a box.
pub struct Web {
    child: Child,
    pub address: SocketAddr,
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Web {
    /// Starts it with these arguments, on a free port.
    pub fn start(command: &mut Command, arguments: &[&OsStr]) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        command.args(arguments).args(["--listen", &address.to_string()]).stdout(Stdio::piped());
        let started = process::tie(command, None).spawn();
        let mut child = started.with_context(|| format!("{command:?} (--web names another program)"))?;
        let said = child.stdout.take().context("piped")?;
        let web = Self { child, address };
        BufReader::new(said).read_line(&mut String::new())?;
        Ok(web)
    }

    /// Lets it hang after [`HANGS`].
    pub fn hang_later(&self) {
        let web = self.child.id();
        thread::spawn(move || {
            thread::sleep(HANGS);
            // It may have ended with its run.
            let _ = process::signal(web, SIGSTOP);
        });
    }

    /// Lets it continue, and waits for its page. It must not have ended.
    pub fn recovery(mut self) -> Result<Recovery> {
        let start = Instant::now();
        process::signal(self.child.id(), SIGCONT)?;
        while let Err(why) = self.page() {
            ensure!(self.child.try_wait()?.is_none(), "evenair-web has ended");
            ensure!(start.elapsed() < LONGEST_RECOVERY, "evenair-web does not recover: {why:#}");
            thread::sleep(Duration::from_millis(50));
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        let most_kib: f64 = most.context("no VmHWM in /proc/PID/status")?;
        Ok(Recovery { most_mb: most_kib * 1024.0 / 1e6, answers_after_s: start.elapsed().as_secs_f64() })
    }

    /// Requests a page that is open to everybody.
    fn page(&self) -> Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        write!(stream, "GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        ensure!(matches!(&status[9..], b"200" | b"303"), "status {}", String::from_utf8_lossy(&status));
        Ok(())
    }
}

/// All watchers.
pub struct Watchers {
    web: Web,
    /// Connections to the watch socket.
    watching: Vec<UnixStream>,
    /// Connections to evenair-web.
    connections: Vec<TcpStream>,
}

impl Beside for Watchers {
    const NAMES: [&str; 2] = ["watchers", "watched"];
    const SOURCE: Place = Place::Singly;

    fn numbers() -> String {
        format!("{CLIENTS} clients, {BROWSERS} browsers, {IDLE} idle connections")
    }

    fn start(lab: &Lab, web: &Path) -> Result<Self> {
        let web = Web::start(&mut Command::new(web), &["--socket".as_ref(), lab.watch_socket().as_ref()])?;
        let address = web.address;
        let mut clients = Self { web, watching: Vec::new(), connections: Vec::new() };
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
        clients.web.hang_later();
        Ok(clients)
    }

    /// No client may have ended before.
    fn end(self) -> Result<Recovery> {
        self.watching.iter().try_for_each(|stream| stream.shutdown(Shutdown::Both)).context("a client")?;
        // Those that evenair-web has closed have ended already.
        self.connections.iter().for_each(|stream| _ = stream.shutdown(Shutdown::Both));
        self.web.recovery()
    }
}

/// Reads until the end of the stream, in its own thread. Returns `other`.
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
