//! A path under test: `source - [ wire  middle  wlan ] - sink`, three network namespaces joined by veth pairs. The middle is one of:
//! nothing (one cable), the kernel's bridge, the bridge with HTB, or the bridge with the box.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use evenair_api::Status;
use evenair_boxfile::Io;
use evenair_client::control::Client;
use evenair_sys::bpf::{Assembler, Helper, Link, Program, ProgramKind, Reg};
use evenair_sys::netns::{self, Netns};
use evenair_sys::{iface, process};

use crate::load::{SINK_PORT, SOURCE_PORT, answer_of};

/// Packets that all queues hold together, in HTB as in the box.
const BACKLOG: usize = 14_000;
/// A rate that means no shaping, in b/s: more than any path here carries.
pub const UNSHAPED: u64 = 100_000_000_000;

/// Bursts of HTB per second, as the box's pacing slack allows them: with smaller ones it would set a timer for each packet.
const BURSTS_PER_SECOND: u64 = 500;

/// The middle of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Middle {
    /// Nothing: the cost of source and sink alone.
    Cable,
    /// The kernel's bridge.
    Bridge,
    /// The bridge with HTB toward the WLAN, a class for each station.
    Htb,
    /// The bridge with the box inserted, a queue for each station.
    Box,
    /// The same with packets through AF_XDP sockets.
    BoxXdp,
    /// The bridge with the box and all its default functions: packet I/O of its own choice, the default tree of queues, active queue
    /// management, charges by airtime. TCP data go to the stations, and ACKs come from them.
    Managed,
    /// The same with AF_XDP sockets, which the box chooses itself between cards with native XDP.
    ManagedXdp,
    /// With packet rings, and the stations in two VLANs, each a contention domain: one packet loop.
    OneShard,
    /// A packet loop for each domain.
    TwoShards,
}

/// The VLANs of the middles with shards.
pub const VLANS: [u16; 2] = [11, 12];

impl Middle {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cable => "cable",
            Self::Bridge => "bridge",
            Self::Htb => "bridge + HTB",
            Self::Box => "box",
            Self::BoxXdp => "box, AF_XDP",
            Self::Managed => "box, all management",
            Self::ManagedXdp => "the same, AF_XDP",
            Self::OneShard => "box, 1 shard",
            Self::TwoShards => "box, 2 shards",
        }
    }

    /// Whether the box has all its default functions.
    pub const fn is_managed(self) -> bool {
        matches!(self, Self::Managed | Self::ManagedXdp)
    }

    /// Whether frames have a VLAN tag.
    pub const fn is_tagged(self) -> bool {
        matches!(self, Self::OneShard | Self::TwoShards)
    }
}

/// Slices in which the box copied its state.
pub struct Slices {
    /// The longest slice by the clock and in CPU time, in microseconds.
    pub wall_us: f64,
    pub cpu_us: f64,
    /// Content of the longest slice by either.
    pub copied: String,
    /// Largest CPU time of all slices of a state, in milliseconds per second, since the state is requested once a second.
    pub sum_ms: f64,
}

/// A path.
pub struct Lab {
    pub source: Netns,
    pub sink: Netns,
    middle: Netns,
    pub kind: Middle,
    pub stations: usize,
    dir: tempfile::TempDir,
    running: Option<Child>,
    /// The classifier of HTB.
    _classifier: Option<Link>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(child) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Lab {
    /// A path for so many stations. `core`: core of the box, in real time, beside the source; `None`: as deployed, with the last core for
    /// the source.
    pub fn new(kind: Middle, stations: usize, core: Option<usize>) -> Result<Self> {
        let dir = tempfile::tempdir().context("a directory for the box's files")?;
        let (source, middle, sink) = (Netns::new()?, Netns::new()?, Netns::new()?);
        let mut lab = Self { source, sink, middle, kind, stations, dir, running: None, _classifier: None };
        lab.lay_cables()?;
        match kind {
            Middle::Cable | Middle::Bridge => {}
            Middle::Htb => lab.add_classes()?,
            _ => lab.start_box(core)?,
        }
        if kind != Middle::Cable {
            answer_of(&lab)?;
        }
        Ok(lab)
    }

    fn lay_cables(&self) -> Result<()> {
        for ns in [&self.source, &self.middle, &self.sink] {
            ns.run(|| netns::set_sysctl("net/ipv6/conf/default/disable_ipv6", "1"))??;
        }
        let path = |ns: &Netns| format!("/proc/{}/fd/{}", std::process::id(), ns.as_fd().as_raw_fd());
        let (source, sink) = (path(&self.source), path(&self.sink));
        let (from, to) = (SOURCE_PORT, SINK_PORT);
        if self.kind == Middle::Cable {
            ip(&self.source, &format!("link add {from} type veth peer name {to} netns {sink}"))?;
        } else {
            ip(&self.middle, "link add br0 type bridge mcast_snooping 0 ageing_time 360000")?;
            for (near, far, ns) in [("wl0", to, sink), ("wi0", from, source)] {
                ip(&self.middle, &format!("link add {near} type veth peer name {far} netns {ns}"))?;
                ip(&self.middle, &format!("link set {near} master br0 up"))?;
            }
            ip(&self.middle, "link set br0 up")?;
        }
        ip(&self.source, &format!("link set {from} up"))?;
        ip(&self.sink, &format!("link set {to} up"))
    }

    /// HTB with a leaf for each station under one class that has the rate.
    fn add_classes(&mut self) -> Result<()> {
        let each = self.queue_limit();
        ip(&self.middle, &format!("link set wl0 txqueuelen {each}"))?;
        let mut batch = String::from("qdisc add dev wl0 root handle 1: htb\n");
        writeln!(batch, "class add dev wl0 parent 1: classid 1:1 htb rate {UNSHAPED}bit quantum 60000")?;
        for n in 0..self.stations {
            let id = n + 2;
            writeln!(
                batch,
                "class add dev wl0 parent 1:1 classid 1:{id:x} htb rate 8kbit ceil {UNSHAPED}bit quantum 1514"
            )?;
        }
        self.tc(&batch)?;
        self._classifier = Some(self.middle.run(|| -> Result<Link> {
            let program = Program::load(ProgramKind::SchedCls, &classifier(), "the classifier")?;
            let wire = iface::find("wi0")?;
            Ok(program.attach_ingress(wire.index, &wire.name)?)
        })??);
        Ok(())
    }

    fn tc(&self, batch: &str) -> Result<()> {
        let mut command = Command::new("tc");
        command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = process::tie(&mut command, Some(self.middle.as_fd())).spawn().context("run tc(8)")?;
        child.stdin.take().context("piped")?.write_all(batch.as_bytes())?;
        ensure!(child.wait()?.success(), "tc failed");
        Ok(())
    }

    /// Shapes packets of `ip_len` bytes toward the WLAN to this rate in b/s at IP level.
    pub fn shape(&self, rate: u64, ip_len: usize) -> Result<()> {
        match self.kind {
            Middle::Cable | Middle::Bridge => bail!("a {} does not shape", self.kind.name()),
            Middle::Htb => {
                // HTB counts Ethernet headers.
                let rate = rate / ip_len as u64 * (ip_len as u64 + 14);
                let burst = (rate / 8 / BURSTS_PER_SECOND).max(2_000);
                self.tc(&format!(
                    "class change dev wl0 parent 1: classid 1:1 htb rate {rate}bit burst {burst}b cburst {burst}b quantum 60000\n"
                ))
            }
            _ => {
                self.write_config(rate)?;
                Ok(self.client()?.reconfigure(None)?)
            }
        }
    }

    fn start_box(&mut self, core: Option<usize>) -> Result<()> {
        self.write_config(UNSHAPED)?;
        let this = std::env::current_exe()?;
        let mut command = match core {
            Some(core) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &core.to_string(), "chrt", "-f", "1"]).arg(this);
                command
            }
            None if self.kind == Middle::TwoShards => Command::new(this),
            // The source has the last core for itself.
            None => {
                let mut command = Command::new("taskset");
                command.args(["-c", "0"]).arg(this);
                command
            }
        };
        command.arg("--box").arg(self.dir.path().join("box.toml")).stdout(Stdio::null());
        self.running = Some(process::tie(&mut command, Some(self.middle.as_fd())).spawn().context("start the box")?);
        let start = Instant::now();
        while self.client().is_err() {
            ensure!(start.elapsed() < Duration::from_secs(20), "the box does not answer");
            thread::sleep(Duration::from_millis(10));
        }
        if matches!(self.kind, Middle::BoxXdp | Middle::ManagedXdp) {
            let port = self.client()?.status()?.wlan;
            ensure!(port.io.starts_with(Io::AfXdp.word()), "no AF_XDP here: {:?}", port.io_why);
        }
        Ok(())
    }

    fn write_config(&self, rate: u64) -> Result<()> {
        let (path, socket) = (self.dir.path().join("box.toml"), self.socket());
        let io = match self.kind {
            Middle::BoxXdp | Middle::ManagedXdp => Io::AfXdp,
            Middle::Managed => Io::default(),
            _ => Io::AfPacket,
        };
        let io = io.word();
        let policy = match self.kind {
            kind if kind.is_managed() => "",
            _ => "charge = \"bits\"\naqm = \"none\"\nlevels = [\"station\"]\nstation_fairness = \"bits\"\n",
        };
        let pool = (2 * self.stations + 16_384).next_multiple_of(8);
        let config = format!(
            "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"inserted\"\nio = {io:?}\n\
             pool_frames = {pool}\n\
             [control]\nsocket = {socket:?}\n[radio]\nstandard = \"802.11g\"\n\
             [manager]\ncontroller.kind = \"fixed\"\ncontroller.rate = \"{rate} b/s\"\n{policy}queue_limit = \"{} packets\"\n",
            self.queue_limit()
        );
        let domains = match self.kind {
            Middle::OneShard | Middle::TwoShards => {
                VLANS.map(|vlan| format!("[[manager.access_point]]\nname = \"ap-{vlan}\"\nvlan = [{vlan}]\n"))
            }
            _ => Default::default(),
        };
        let shards = if self.kind == Middle::TwoShards { "[shards]\ncount = 2\n" } else { "" };
        let config = format!("{config}{}{shards}", domains.concat());
        std::fs::write(&path, config).with_context(|| format!("write {}", path.display()))
    }

    /// Packets that a station's queue or class holds, at most.
    fn queue_limit(&self) -> usize {
        (BACKLOG / self.stations).clamp(2, 1000)
    }

    /// Packets that all queues hold together when they are full.
    pub fn backlog(&self) -> usize {
        self.queue_limit() * self.stations
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("box.sock")
    }

    pub fn watch_socket(&self) -> PathBuf {
        self.dir.path().join("box.watch.sock")
    }

    /// Cost of copying the box's state so far.
    pub fn slices(&self) -> Result<Slices> {
        let log = std::fs::read_to_string(log_of(&self.dir.path().join("box.toml")))?;
        let last = |what| {
            log.lines().rev().find(|line| line.contains(what)).with_context(|| format!("no {what:?} in the log"))
        };
        let numbers = |line: &str| line.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<f64>>();
        let (longest, sum) = (last("the longest slice")?, last("the slices of a state")?);
        let copied = longest.split(": ").nth(1).unwrap_or_default().to_owned();
        match (&numbers(longest)[..], &numbers(sum)[..]) {
            ([.., wall, cpu], [.., sum]) => {
                Ok(Slices { wall_us: wall / 1e3, cpu_us: cpu / 1e3, copied, sum_ms: sum / 1e6 })
            }
            _ => bail!("a time is missing in {longest:?} or {sum:?}"),
        }
    }

    pub fn client(&self) -> Result<Client> {
        Ok(Client::connect(self.socket())?)
    }

    /// The box's status, if there is a box.
    pub fn status(&self) -> Option<Status> {
        self.running.as_ref()?;
        self.client().ok()?.status().ok()
    }

    /// CPU time of the box's packet loop so far, in nanoseconds, if there is one loop: the first thread.
    pub fn loop_cpu_ns(&self) -> u64 {
        let Some(child) = &self.running else { return 0 };
        let schedstat = std::fs::read_to_string(format!("/proc/{0}/task/{0}/schedstat", child.id()));
        schedstat.ok().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0)
    }

    /// CPU time of the box's threads so far, in nanoseconds. All but those of its packet loops sleep.
    pub fn box_cpu_ns(&self) -> u64 {
        let Some(child) = &self.running else { return 0 };
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", child.id())) else { return 0 };
        let first = |text: String| text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let used =
            |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("schedstat")).ok().and_then(first);
        threads.flatten().filter_map(used).sum()
    }
}

/// Log file of the box with this configuration.
pub fn log_of(config: &Path) -> PathBuf {
    config.with_extension("log")
}

/// Class `1:2` and following, by the last two bytes of the destination, low one first: HTB takes the class from the packet's priority.
fn classifier() -> Vec<u64> {
    const PRIORITY: i16 = 32;
    const SCRATCH: i16 = -8;
    let mut asm = Assembler::new();
    asm.copy(Reg::R6, Reg::R1).store_value(Reg::R10, SCRATCH, 0);
    asm.set(Reg::R2, 4).copy(Reg::R3, Reg::R10).add(Reg::R3, SCRATCH.into()).set(Reg::R4, 2);
    asm.call(Helper::SkbLoadBytes).unless_value(Reg::R0, 0, "pass");
    asm.load(Reg::R1, Reg::R10, SCRATCH).add(Reg::R1, (1 << 16) + 2).store_word(Reg::R6, PRIORITY, Reg::R1);
    asm.label("pass").set(Reg::R0, -1).exit();
    asm.finish()
}

fn ip(ns: &Netns, arguments: &str) -> Result<()> {
    let mut command = Command::new("ip");
    command.args(arguments.split_whitespace());
    let output = process::tie(&mut command, Some(ns.as_fd())).output().context("run ip(8)")?;
    ensure!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
