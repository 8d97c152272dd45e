//! Our HTB compared with the kernel's: the same tree, the same always backlogged senders, the same pair of interfaces.
//!
//! The kernel's senders write to sockets until these are full, with `sch_htb` below them. Ours come from the discipline,
//! driven by the machine's clock, and leave through an interface without a discipline. The received packets are counted.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant as Clock};

use evenair_sched::{Config, Discipline, Htb, HtbClass, HtbConfig, Packet};
use evenair_sys::{netns::Netns, process, traffic};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use socket2::{Domain, Socket, Type};

use crate::common;

/// Size of a packet in bytes with the Ethernet header, as `sch_htb` counts.
const FRAME: u64 = 1014;
const PAYLOAD: usize = FRAME as usize - 14 - 28;
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const FIRST_PORT: u16 = 6000;
const SETTLING: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_secs(2);
/// Number of measurements of each, taken in turn: a slow machine affects both.
const TURNS: usize = 3;
/// Tolerance of shares, as a part of the whole.
const WITHIN: f64 = 0.02;
/// Burst that a delayed class may send at once: longer stalls of this machine would show in the shares.
const BURST: Bytes = Bytes(40_000);

struct Pkt(usize);

impl Packet for Pkt {
    fn size(&self) -> Bytes {
        Bytes(FRAME)
    }

    fn flow(&self) -> u64 {
        self.0 as u64
    }

    fn class(&self) -> u32 {
        self.0 as u32
    }
}

/// Two branches, one with two leaves that may take everything, and one with a ceiling; the last leaf has priority.
fn classes() -> Vec<HtbClass> {
    let class = |kbps: u64, ceil: u64, quantum| HtbClass {
        burst: BURST,
        cburst: BURST,
        quantum: Bytes(quantum),
        ..HtbClass::new(BitRate::from_kbps(kbps)).with_ceil(BitRate::from_kbps(ceil))
    };
    vec![
        class(10_000, 10_000, 10_000),
        class(6_000, 10_000, 6_000).under(0),
        class(4_000, 5_000, 4_000).under(0),
        class(2_000, 10_000, 9_000).under(1),
        class(1_000, 10_000, 3_000).under(1),
        HtbClass { priority: 0, ..class(1_000, 4_500, 2_000).under(2) },
    ]
}

struct Lab {
    sender: Netns,
    receiver: Netns,
}

fn run(ns: &Netns, line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words);
    let output = process::tie(&mut command, Some(ns.as_fd())).output().map_err(|error| format!("{line}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {said}")) }
}

impl Lab {
    fn new() -> Self {
        let lab =
            Self { sender: Netns::new().expect("a turn was had"), receiver: Netns::new().expect("a turn was had") };
        let theirs =
            format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&lab.receiver.as_fd()));
        let ok = |ns, line: &str| run(ns, line).unwrap_or_else(|error| panic!("{error}"));
        ok(&lab.sender, &format!("ip link add out0 type veth peer name in0 netns {theirs}"));
        for (ns, name, address) in [(&lab.sender, "out0", SENDER), (&lab.receiver, "in0", RECEIVER)] {
            ok(ns, &format!("ip addr add {address}/24 dev {name}"));
            ok(ns, &format!("ip link set {name} up"));
        }
        lab
    }

    /// Installs the tree on the interface; an error if the kernel has no such discipline.
    fn shape(&self) -> Result<(), String> {
        run(&self.sender, "tc qdisc add dev out0 root handle 1: htb")?;
        for (number, class) in classes().iter().enumerate() {
            let parent = class.parent.map_or("1:".to_owned(), |parent| format!("1:{}", parent + 1));
            let HtbClass { rate, ceil, burst, cburst, quantum, priority, .. } = class;
            let (rate, ceil) = (rate.as_bps(), ceil.as_bps());
            let line = format!(
                "tc class add dev out0 parent {parent} classid 1:{} htb rate {rate}bit ceil {ceil}bit burst {}b \
                 cburst {}b quantum {} prio {priority}",
                number + 1,
                burst.0,
                cburst.0,
                quantum.0
            );
            run(&self.sender, &line)?;
        }
        Ok(())
    }

    fn unshape(&self) {
        run(&self.sender, "tc qdisc del dev out0 root").expect("it is there");
    }

    /// A socket whose packets `sch_htb` assigns to this class (its number is in the priority: `htb_classify`).
    fn socket(&self, class: usize, marked: bool) -> UdpSocket {
        let socket = self.sender.run(|| {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
            if marked {
                socket.set_priority((1 << 16) + class as u32 + 1)?;
            }
            socket.set_nonblocking(true)?;
            socket.connect(&SocketAddrV4::new(RECEIVER, FIRST_PORT + class as u16).into())?;
            std::io::Result::Ok(UdpSocket::from(socket))
        });
        socket.expect("entered").expect("root may")
    }

    /// Received bytes, and the time at which they were read.
    fn arrived(&self) -> (Clock, u64) {
        self.receiver
            .run(|| (Clock::now(), traffic::by_direction("in0").expect("it is there").received.bytes))
            .expect("entered")
    }

    /// Each leaf's share of the packets received while `send` runs until it is stopped, and the total rate in b/s by the counters of the
    /// interface.
    fn shares(&self, leaves: &[usize], send: impl FnOnce(&AtomicBool) + Send) -> (Vec<f64>, f64) {
        let stop = AtomicBool::new(false);
        let bind = |&leaf: &usize| {
            let address = SocketAddrV4::new(RECEIVER, FIRST_PORT + leaf as u16);
            self.receiver.run(|| UdpSocket::bind(address)).expect("entered").expect("bound")
        };
        let counters: Vec<_> = leaves.iter().map(bind).collect();
        thread::scope(|scope| {
            let counting: Vec<_> = counters.iter().map(|socket| scope.spawn(|| count(socket))).collect();
            let sending = scope.spawn(|| send(&stop));
            thread::sleep(SETTLING);
            let start = self.arrived();
            thread::sleep(MEASURED);
            let end = self.arrived();
            let counts: Vec<u64> = counting.into_iter().map(|one| one.join().expect("it only counts")).collect();
            stop.store(true, Ordering::Relaxed);
            sending.join().expect("it only sends");
            let all: u64 = counts.iter().sum();
            let rate = (end.1 - start.1) as f64 * 8.0 / (end.0 - start.0).as_secs_f64();
            (counts.iter().map(|&count| count as f64 / all as f64).collect(), rate)
        })
    }

    fn kernels(&self, leaves: &[usize]) -> (Vec<f64>, f64) {
        let sockets: Vec<_> = leaves.iter().map(|&leaf| self.socket(leaf, true)).collect();
        self.shares(leaves, |stop| {
            while !stop.load(Ordering::Relaxed) {
                sockets.iter().for_each(|socket| while sends(socket) {});
                thread::sleep(Duration::from_millis(2));
            }
        })
    }

    fn ours(&self, leaves: &[usize]) -> (Vec<f64>, f64) {
        let leaf = Box::new(Config::Fifo(Limit::Unlimited));
        let config = HtbConfig { classes: classes(), default: 3, leaf, hysteresis: false, tick: Span::ZERO };
        let sockets: Vec<_> = (0..config.classes.len()).map(|class| self.socket(class, false)).collect();
        let mut htb: Htb<Pkt> = Htb::new(config, 1);
        self.shares(leaves, |stop| {
            let start = Clock::now();
            let now = || Instant::ZERO + Span::from_nanos(start.elapsed().as_nanos() as u64);
            while !stop.load(Ordering::Relaxed) {
                for &leaf in leaves {
                    while htb.leaf_len(leaf) < 20 {
                        htb.handle_packet(now(), Pkt(leaf));
                    }
                }
                if let Some(Pkt(class)) = htb.poll_packet(now()) {
                    while !sends(&sockets[class]) {}
                    continue;
                }
                let deadline = htb.poll_deadline(now()).expect("it holds packets");
                let wait = Duration::from_nanos(deadline.saturating_since(now()).as_nanos());
                thread::sleep(wait.min(Duration::from_millis(10)));
            }
        })
    }
}

/// All measurements of one of the two.
#[derive(Debug)]
struct Turns {
    /// Share of each leaf, mean of the measurements.
    shares: Vec<f64>,
    /// Highest total rate of the leaves in b/s: a stall of the machine lowers that of a measurement.
    rate: f64,
}

impl Turns {
    fn of(leaves: &[usize]) -> Self {
        Self { shares: vec![0.0; leaves.len()], rate: 0.0 }
    }

    fn add(&mut self, shares: &[f64], rate: f64) {
        self.shares.iter_mut().zip(shares).for_each(|(mean, share)| *mean += share / TURNS as f64);
        self.rate = self.rate.max(rate);
    }
}

/// Whether the socket accepts a packet.
fn sends(socket: &UdpSocket) -> bool {
    match socket.send(&[0; PAYLOAD]) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("a datagram is not sent: {error}"),
    }
}

/// Number of datagrams received during the measurement.
fn count(socket: &UdpSocket) -> u64 {
    socket.set_read_timeout(Some(Duration::from_millis(50))).expect("not zero");
    let (start, mut datagrams) = (Clock::now(), 0);
    while start.elapsed() < SETTLING + MEASURED {
        let came = socket.recv(&mut [0; 2048]).is_ok();
        datagrams += u64::from(came && start.elapsed() >= SETTLING);
    }
    datagrams
}

#[test]
fn shares_are_those_of_the_kernels_htb() {
    let Some(_turn) = common::turn() else { return };
    let lab = Lab::new();
    if let Err(error) = lab.shape() {
        eprintln!("skipped: {error} (needs iproute2's tc and the kernel's sch_htb)");
        return;
    }
    lab.unshape();
    for leaves in [&[3, 4, 5][..], &[3, 4], &[4, 5], &[5]] {
        let (mut kernels, mut ours) = (Turns::of(leaves), Turns::of(leaves));
        for _ in 0..TURNS {
            lab.shape().expect("it could be shaped before");
            let (shares, rate) = lab.kernels(leaves);
            kernels.add(&shares, rate);
            lab.unshape();
            let (shares, rate) = lab.ours(leaves);
            ours.add(&shares, rate);
        }
        eprintln!("leaves {leaves:?}: kernel {kernels:.4?}, ours {ours:.4?}");
        for (kernels, ours) in kernels.shares.iter().zip(&ours.shares) {
            assert!((kernels - ours).abs() <= WITHIN, "leaves {leaves:?}: a share of {ours} for {kernels}");
        }
        assert!((ours.rate / kernels.rate - 1.0).abs() <= WITHIN, "leaves {leaves:?}: {ours:?} for {kernels:?}");
    }
}
