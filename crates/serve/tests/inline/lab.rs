//! Three anonymous network namespaces, `source - box - sink`, joined by veth pairs; the middle one has a kernel bridge and the box under
//! test, in its own process. Everything is removed with this process, however it ends.

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use evenair_boxfile::{BoxConfig, Io};
use evenair_client::control::{Client, ClientError};
use evenair_manager::controller::Published;
use evenair_manager::{Config, Controller};
use evenair_sys::iface;
use evenair_sys::netns::{self, Netns};
use evenair_sys::process;
use evenair_sys::ring::{Ring, SEND_BATCH, Sender};
use evenair_units::BitRate;
use evenair_wifi::{Phy, Standard};

/// Environment variable of the process that is the box: its parameters as `key=value`, separated by spaces.
const BOX: &str = "EVENAIR_TEST_BOX";

/// MAC addresses of the interfaces of source and sink.
pub const SOURCE: [u8; 6] = [0x02, 0, 0, 0, 0, 0x0a];
pub const SINK: [u8; 6] = [0x02, 0, 0, 0, 0, 0x0b];
/// An EtherType for local experiments (IEEE 802, 9.2.3).
pub const NUMBERED: u16 = 0x88b5;

/// The namespaces.
pub struct Lab {
    pub source: Netns,
    pub middle: Netns,
    pub sink: Netns,
    dir: tempfile::TempDir,
    // One lab at a time, since tests depend on timing; labs that mostly wait share it, and labs that wait for a minute need none.
    _turn: Turn,
}

/// The box's process, killed when dropped.
pub struct BoxProcess {
    pub child: Child,
    socket: PathBuf,
}

/// Exclusive turn of a lab; shared turn of a lab beside others of its kind. A lab with neither runs beside all.
pub type Turn = (Option<RwLockWriteGuard<'static, ()>>, Option<RwLockReadGuard<'static, ()>>);

static TURN: RwLock<()> = RwLock::new(());

impl Lab {
    /// The end of a stream at the source.
    pub fn source_end(&self) -> Endpoint<'_> {
        Endpoint { netns: &self.source, interface: "s0", mac: SOURCE }
    }

    /// The end of a stream at the sink.
    pub fn sink_end(&self) -> Endpoint<'_> {
        Endpoint { netns: &self.sink, interface: "k0", mac: SINK }
    }

    /// The lab; `None`, with the reason printed, if this user or machine does not support one.
    pub fn new() -> Option<Self> {
        Self::with_queues(1)
    }

    /// The lab with so many queues at each end of each cable.
    pub fn with_queues(queues: u32) -> Option<Self> {
        Self::made(queues, (Some(TURN.write().unwrap_or_else(PoisonError::into_inner)), None))
    }

    /// A lab beside others of this kind: for a test that mostly waits, and to which a tenth of a second does not matter.
    pub fn beside_others() -> Option<Self> {
        Self::made(1, (None, Some(TURN.read().unwrap_or_else(PoisonError::into_inner))))
    }

    /// A lab with so many queues at each end of each cable, and with this turn.
    pub fn made(queues: u32, turn: Turn) -> Option<Self> {
        let make = || Ok::<_, evenair_sys::error::OsError>((Netns::new()?, Netns::new()?, Netns::new()?));
        let (source, middle, sink) = match make() {
            Ok(three) => three,
            Err(error) => {
                eprintln!("skipped: needs root: {error}");
                return None;
            }
        };
        if let Err(error) = evenair_sys::fail_open::FailOpenGate::new(None) {
            eprintln!("skipped: needs BPF: {error}");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory for the sockets");
        let lab = Self { source, middle, sink, dir, _turn: turn };
        lab.lay_cables(queues);
        Some(lab)
    }

    fn lay_cables(&self, queues: u32) {
        for ns in [&self.source, &self.sink] {
            // Hosts would add router solicitations and the like to the counted traffic.
            ns.run(|| netns::set_sysctl("net/ipv6/conf/default/disable_ipv6", "1")).expect("entered").expect("set");
        }
        let path = |ns: &Netns| format!("/proc/{}/fd/{}", std::process::id(), ns.as_fd().as_raw_fd());
        let (source, sink) = (path(&self.source), path(&self.sink));
        ip(&self.middle, "link add br0 type bridge mcast_snooping 0 group_fwd_mask 0xfff8");
        ip(&self.middle, "link set br0 address 02:00:00:00:00:bb");
        let queues = format!("numrxqueues {queues} numtxqueues {queues}");
        for (near, far, ns) in [("wl0", "s0", source), ("wi0", "k0", sink)] {
            ip(&self.middle, &format!("link add {near} {queues} type veth peer name {far} {queues} netns {ns}"));
            ip(&self.middle, &format!("link set {near} master br0"));
            ip(&self.middle, &format!("link set {near} up"));
        }
        ip(&self.middle, "addr add 10.9.0.254/24 dev br0");
        ip(&self.middle, "link set br0 up");
        for (ns, name, mac, address) in
            [(&self.source, "s0", "02:00:00:00:00:0a", "10.9.0.1"), (&self.sink, "k0", "02:00:00:00:00:0b", "10.9.0.2")]
        {
            ip(ns, &format!("link set {name} address {mac}"));
            // Segments of one packet each, as on a wire. Checksums stay partial: the box completes them.
            ip(ns, &format!("link set {name} gso_max_segs 1"));
            ip(ns, &format!("addr add {address}/24 dev {name}"));
            ip(ns, &format!("link set {name} up"));
        }
    }

    /// Starts a box in the middle and waits until it replies. `parameters`: see [`be_the_box`].
    pub fn start_box(&self, parameters: &str) -> BoxProcess {
        self.start_box_with(parameters, &[])
    }

    /// The same with these environment variables.
    pub fn start_box_with(&self, parameters: &str, variables: &[(&str, &str)]) -> BoxProcess {
        let mut running = self.begin_box(parameters, variables);
        running.until_it_answers();
        running
    }

    /// The same without waiting.
    pub fn begin_box(&self, parameters: &str, variables: &[(&str, &str)]) -> BoxProcess {
        let mut command = self.box_command(parameters, None);
        command.envs(variables.iter().copied());
        self.of_child(process::tie(&mut command, Some(self.middle.as_fd())).spawn().expect("spawned"))
    }

    /// The command that starts the box, through another command if `by` is set.
    pub fn box_command(&self, parameters: &str, by: Option<&[&str]>) -> Command {
        let this = std::env::current_exe().expect("this test has a file");
        let mut command = match by {
            Some(by) => {
                let mut command = Command::new(by[0]);
                command.args(&by[1..]).arg(this);
                command
            }
            None => Command::new(this),
        };
        command.args(["--exact", "be_the_box", "--nocapture", "--test-threads=1"]);
        command.env(BOX, format!("socket={} {parameters}", self.dir.path().join("box.sock").display()));
        command.stdout(Stdio::null());
        command
    }

    /// The box in this process.
    pub fn of_child(&self, child: Child) -> BoxProcess {
        BoxProcess { child, socket: self.dir.path().join("box.sock") }
    }

    /// A file in the lab's directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

impl BoxProcess {
    /// Waits until the box replies.
    pub fn until_it_answers(&mut self) {
        let start = Instant::now();
        while Client::connect(&self.socket).is_err() {
            assert!(self.child.try_wait().expect("a child").is_none(), "the box ended");
            assert!(start.elapsed() < Duration::from_secs(20), "the box does not answer");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn try_client(&self) -> Result<Client, ClientError> {
        Client::connect(&self.socket)
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket).expect("the box answers")
    }

    /// CPU time of the process so far, including threads that have ended.
    pub fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it lives");
        let (_, behind_name) = stat.rsplit_once(')').expect("as proc(5) says");
        // Fields 14 and 15, in ticks of 10 ms.
        let ticks: u64 = behind_name.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
        Duration::from_millis(10 * ticks)
    }
}

impl Drop for BoxProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the process that [`Lab::start_box`] starts: runs the box and exits. Elsewhere: does nothing.
pub fn be_the_box() {
    let Ok(parameters) = std::env::var(BOX) else { return };
    let mut config = BoxConfig::new("wl0", "wi0", Config::new(Phy::default_for(Standard::Dot11g)));
    config.bridge = Some("br0".into());
    config.io = io(crate::IO);
    let mut waits = false;
    for parameter in parameters.split_whitespace() {
        match parameter.split_once('=').expect("key=value") {
            ("socket", path) => config.control = Some(path.into()),
            ("inserted", value) => config.inserted = value == "true",
            ("io", word) => config.io = io(word),
            ("record", path) => config.record = Some(path.into()),
            // It keeps to the capacity of an 802.11g cell; the default controller relies on ACKs, which return at once if wires replace
            // the radio.
            ("controller", "published") => config.manager.controller = Published::default().into(),
            ("controller", "none") => config.manager.controller = Controller::None,
            ("controller", mbps) => {
                let mbps = mbps.parse().expect("a controller, or Mb/s");
                config.manager.controller = Controller::Fixed(BitRate::from_mbps(mbps));
            }
            ("file", path) => {
                config = BoxConfig { control: config.control, ..BoxConfig::load(path.as_ref()).expect("good") }
            }
            ("waits", value) => waits = value == "true",
            (key, _) => panic!("no parameter {key}"),
        }
    }
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::stderr).finish();
    tracing::subscriber::set_global_default(subscriber).expect("set once");
    let end =
        if waits { evenair_serve::run_when_ready(config).map(drop) } else { evenair_serve::run(config).map(drop) };
    match end {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error:#}");
            std::process::exit(1)
        }
    }
}

fn io(word: &str) -> Io {
    Io::ALL.into_iter().find(|io| io.word() == word).expect("there is such a way")
}

/// Runs a measurement once. An error names the longest stall of a thread beside it that only sleeps, which shows whether the machine is to
/// blame. `scripts/test` alone decides whether to measure again.
pub fn judged(measure: impl FnOnce() -> Result<(), String>) {
    let (outcome, held_up) = watched(measure);
    if let Err(objection) = outcome {
        panic!("{objection}; the machine held up a thread beside it for {held_up:?} at most");
    }
}

/// The result of a job, and the longest stall of a thread beside it.
pub fn watched<T>(job: impl FnOnce() -> T) -> (T, Duration) {
    const NAP: Duration = Duration::from_millis(5);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                thread::sleep(NAP);
                longest = longest.max(start.elapsed().saturating_sub(NAP));
            }
            longest
        });
        // The watcher has to end even if the job panics, or the scope would wait for it forever.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        done.store(true, Ordering::Relaxed);
        let held_up = watcher.join().expect("it only sleeps");
        (outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), held_up)
    })
}

/// `Err` with the message, unless the condition holds.
pub fn ensure(is_so: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(wrong()) }
}

/// Runs `ip` in a namespace.
pub fn ip(ns: &Netns, arguments: &str) {
    let mut command = Command::new("ip");
    command.args(arguments.split_whitespace());
    let output = process::tie(&mut command, Some(ns.as_fd())).output().expect("ip(8) is installed");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A stream of numbered frames from one interface to another.
#[derive(Debug, Default)]
pub struct Arrivals {
    pub sent: u64,
    pub received: u64,
    pub lost: u64,
    pub doubled: u64,
    pub reordered: u64,
    /// Longest time between two arrivals.
    pub longest_gap: Duration,
    /// Longest time between two looks of the sender at its clock, for which the machine stalled it.
    pub longest_stall: Duration,
}

/// Sends numbered frames from `from` to `to` at `rate` per second until `stop`; returns the arrivals.
pub fn stream(from: Endpoint<'_>, to: Endpoint<'_>, frame_len: usize, rate: u64, stop: &AtomicBool) -> Arrivals {
    stream_in(from, to, Frames { vlan: None, len: frame_len, rate }, stop)
}

/// A source or destination of frames.
#[derive(Clone, Copy)]
pub struct Endpoint<'a> {
    pub netns: &'a Netns,
    pub interface: &'a str,
    pub mac: [u8; 6],
}

/// Frames of a stream.
#[derive(Clone, Copy)]
pub struct Frames {
    /// The VLAN of their tag.
    pub vlan: Option<u16>,
    pub len: usize,
    /// Frames per second.
    pub rate: u64,
}

/// The same for frames that may have a tag.
pub fn stream_in(from: Endpoint<'_>, to: Endpoint<'_>, frames: Frames, stop: &AtomicBool) -> Arrivals {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver = scope
            .spawn(|| to.netns.run(|| receive(to.interface, from.mac, frames.vlan, ready, &done)).expect("entered"));
        is_ready.recv().expect("the receiver is ready");
        let (sent, longest_stall) = from.netns.run(|| send(from, to.mac, frames, stop)).expect("entered");
        thread::sleep(Duration::from_millis(200));
        done.store(true, Ordering::Relaxed);
        let (numbers, longest_gap) = receiver.join().expect("no panic");
        Arrivals { longest_gap, longest_stall, ..judge(sent, &numbers) }
    })
}

fn judge(sent: u64, numbers: &[u64]) -> Arrivals {
    let mut seen = vec![0u32; sent as usize];
    let (mut highest, mut reordered) = (None, 0);
    for &number in numbers {
        seen[number as usize] += 1;
        reordered += u64::from(Some(number) < highest);
        highest = highest.max(Some(number));
    }
    Arrivals {
        sent,
        received: numbers.len() as u64,
        lost: seen.iter().filter(|&&n| n == 0).count() as u64,
        doubled: seen.iter().filter(|&&n| n > 1).count() as u64,
        reordered,
        ..Arrivals::default()
    }
}

/// Runs in the sender's network namespace.
fn send(from: Endpoint<'_>, to: [u8; 6], frames: Frames, stop: &AtomicBool) -> (u64, Duration) {
    let Frames { vlan, len, rate } = frames;
    let interface = iface::find(from.interface).expect("laid");
    let sender = Sender::open(&interface, 1 << 20).expect("root");
    let tag = vlan.map(|vlan| [[0x81, 0x00], vlan.to_be_bytes()].concat()).unwrap_or_default();
    let mut header = [&to[..], &from.mac, &tag, &NUMBERED.to_be_bytes()].concat();
    let number_at = header.len();
    header.resize(len, 0);
    let mut frames = vec![header; SEND_BATCH];
    let start = Instant::now();
    let mut sent = 0u64;
    let (mut looked, mut longest_stall) = (start, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        longest_stall = longest_stall.max(looked.elapsed());
        looked = Instant::now();
        let due = (start.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000) as u64;
        let batch = (due - sent).min(SEND_BATCH as u64) as usize;
        if batch == 0 {
            thread::sleep(Duration::from_micros(50));
            continue;
        }
        for (frame, number) in frames.iter_mut().zip(sent..).take(batch) {
            frame[number_at..number_at + 8].copy_from_slice(&number.to_be_bytes());
        }
        match sender.send(frames[..batch].iter().map(Vec::as_slice)) {
            Ok(n) => sent += n as u64,
            Err(error) => assert_eq!(error.errno(), 11, "{error}"), // EAGAIN
        }
    }
    (sent, longest_stall)
}

fn receive(
    name: &str,
    from: [u8; 6],
    vlan: Option<u16>,
    ready: std::sync::mpsc::Sender<()>,
    done: &AtomicBool,
) -> (Vec<u64>, Duration) {
    let interface = iface::find(name).expect("laid");
    // No larger than needed: the kernel fills it with zeros, and stalls the box meanwhile on a small machine.
    let mut ring = Ring::open(&interface, 4096).expect("root");
    ring.start().expect("up");
    ready.send(()).expect("awaited");
    let (mut numbers, mut last, mut longest) = (Vec::new(), None, 0);
    while !done.load(Ordering::Relaxed) {
        let Some(frame) = ring.next_frame() else {
            thread::sleep(Duration::from_micros(200));
            continue;
        };
        let bytes = frame.bytes();
        let tag = frame.vlan().map(|tag| tag.control);
        if bytes[6..12] == from && bytes[12..14] == NUMBERED.to_be_bytes() && tag == vlan {
            numbers.push(u64::from_be_bytes(bytes[14..22].try_into().expect("eight bytes")));
            let at = frame.received_ns();
            longest = longest.max(last.map_or(0, |last| at.saturating_sub(last)));
            last = Some(at);
        }
    }
    let counters = ring.counters().expect("open");
    assert_eq!(counters.dropped, 0, "the measuring ring overflowed");
    (numbers, Duration::from_nanos(longest))
}
