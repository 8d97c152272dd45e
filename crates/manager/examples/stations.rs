//! CPU time of the manager alone for a packet, without input and output, by the number of stations: each has packets held all the time,
//! one arrives for each that leaves, and the stations take turns in another order than in memory.
//!
//! `cargo run --release -p evenair-manager --example stations -- [tree|flows|tcp] [rounds] [stations[/active]...]`
//!
//! `tree` (default): UDP in one level of stations under a fixed rate, as `make bench` loads the box; `flows`: the same
//! under the default policy; `tcp`: DATA of TCP under the default policy, answered by an ACK for every second packet.
//! Printed is the least of the rounds, which take turns: nanoseconds a packet, milliseconds of the longest tick and of a reload
//! with all that is held, and of what reports take of the loop: microseconds of the longest slice, slices, and milliseconds in all a
//! second. With `4096/1000`, 4096 stations are known, and 1000 have traffic.

// A benchmark is a driver: it has a clock and arguments.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::float_arithmetic)]

use std::net::{IpAddr, Ipv4Addr};
use std::time;

use evenair_manager::{
    Charge, Collected, Collection, Command, Config, Controller, Level, Manager, Output, Part, Policy,
};
use evenair_packet::{Content, IpMeta, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use evenair_wifi::{Phy, Standard};

/// Packets held for all stations together, but at least two for each.
const BACKLOG: usize = 14_000;
/// Step from station to station; not a multiple of any number of stations here.
const STRIDE: usize = 7_919;
const IP_LEN: Bytes = Bytes(1_500);
/// Time between two packets: 200,000 a second.
const APART: Span = Span::from_micros(5);
/// Packets that arrive at once, as from a ring.
const BATCH: usize = 32;
/// Collection of the state as in the box: `crates/live/src/slices.rs`.
const SLICE: time::Duration = time::Duration::from_micros(30);
const SLICES_APART: Span = Span::from_micros(250);
const COLLECTIONS_APART: Span = Span::from_secs(1);
const AT_ONCE: usize = 8;
const MOST_FLOWS: usize = 1000;
/// Packets in a round: some seconds of traffic, so that periodic work is part of it.
const PACKETS: usize = 600_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Tree,
    Flows,
    Tcp,
}

struct Bench {
    manager: Manager<()>,
    now: Instant,
    stations: usize,
    at: usize,
    load: Load,
    /// By station: the next sequence number, and the packets released to it.
    seq: Vec<u32>,
    longest_tick: time::Duration,
    /// Time that the manager took to apply another configuration.
    reload: time::Duration,
    reports: Reports,
}

/// Time that reports take from the loop.
struct Reports {
    collection: Option<Collection>,
    collected: Collected,
    parts: Vec<Part>,
    next_slice: Instant,
    next_collection: Instant,
    /// The longest slice of this round.
    longest: time::Duration,
    /// Time of this collection so far, and of the last one: the first one after a reload has all stations.
    taken: Taken,
    last: Taken,
}

/// Time of a collection: sum of its slices, and their number.
#[derive(Clone, Copy)]
struct Taken {
    sum: time::Duration,
    slices: u32,
}

impl Reports {
    fn new() -> Self {
        let taken = Taken { sum: time::Duration::ZERO, slices: 0 };
        Self {
            collection: None,
            collected: Collected::default(),
            parts: Vec::new(),
            next_slice: Instant::ZERO,
            next_collection: Instant::ZERO,
            longest: time::Duration::ZERO,
            taken,
            last: taken,
        }
    }

    /// Copies a slice, if one is due.
    fn advance(&mut self, manager: &mut Manager<()>, now: Instant) {
        if now < self.next_slice || (self.collection.is_none() && self.parts.is_empty() && now < self.next_collection) {
            return;
        }
        self.next_slice = now + SLICES_APART;
        let before = time::Instant::now();
        if let Some(collection) = &mut self.collection {
            let mut part = Part::new(now);
            let mut more = true;
            while more && before.elapsed() < SLICE {
                more = manager.collect(now, collection, AT_ONCE, &mut part);
            }
            self.parts.push(part);
            self.note(before.elapsed());
            if !more {
                self.collection = None;
            }
        } else if self.parts.is_empty() {
            (self.collection, self.next_collection) = (Some(Collection::new(MOST_FLOWS)), now + COLLECTIONS_APART);
            self.next_slice = now;
        } else {
            let totals = manager.report_totals(now);
            self.note(before.elapsed());
            self.last = core::mem::replace(&mut self.taken, Taken { sum: time::Duration::ZERO, slices: 0 });
            self.parts.drain(..).for_each(|mut part| self.collected.take(&mut part));
            drop(self.collected.finish(totals, usize::MAX));
        }
    }

    fn note(&mut self, took: time::Duration) {
        self.longest = self.longest.max(took);
        self.taken.sum += took;
        self.taken.slices += 1;
    }
}

fn config(load: Load, stations: usize) -> Config {
    let rate = BitRate::from_bits_over(IP_LEN.bits(), APART);
    let each = (BACKLOG / stations).clamp(2, 1_000) as u32;
    let base = Config {
        controller: Controller::Fixed(rate),
        charge: Charge::Bits,
        queue_limit: Limit::Packets(each),
        ..Config::new(Phy::default_for(Standard::Dot11g))
    };
    match load {
        Load::Tree => {
            let policy = Policy { levels: vec![Level::Station { time_fair: false }], names: vec![] };
            Config { policy, aqm: None, sparse_first: false, ..base }
        }
        Load::Flows => Config { aqm: None, ..base },
        Load::Tcp => base,
    }
}

fn station(n: usize) -> Host {
    let [_, a, b, c] = (n as u32).to_be_bytes();
    Host { mac: MacAddr([2, 5, 0, a, b, c]), address: Ipv4Addr::new(10, a, b, c).into() }
}

impl Bench {
    /// A manager with so many stations, of which the first `stations` have traffic.
    fn new(load: Load, known: usize, stations: usize) -> Self {
        let mut manager = Manager::new(config(load, stations), Instant::ZERO);
        manager.handle_command(Instant::ZERO, Command::Insert);
        let seq = vec![1; stations];
        let (longest_tick, reload) = (time::Duration::ZERO, time::Duration::MAX);
        let reports = Reports::new();
        let mut this = Self { manager, now: Instant::ZERO, stations, at: 0, load, seq, longest_tick, reload, reports };
        // Each station is heard once: packets for unheard stations share a queue.
        (0..known).for_each(|n| this.speak(n));
        let backlog = (BACKLOG / stations).clamp(2, 1_000) * stations;
        for _ in 0..backlog {
            this.arrive();
        }
        this
    }

    /// A packet from this station arrives from the WLAN.
    fn speak(&mut self, n: usize) {
        let transport = Transport::Udp { src_port: 5_001, dst_port: 5_000 };
        let meta = packet(Port::Wlan, station(n), SERVER, transport, Bytes(60));
        self.manager.handle_packet(self.now, (), &meta);
        self.drain();
    }

    /// Reloads the same configuration, except for the limit of a queue, with all packets held.
    fn reload(&mut self) {
        let mut config = config(self.load, self.stations);
        config.queue_limit = Limit::Packets((BACKLOG / self.stations).clamp(2, 1_000) as u32 + 1);
        let before = time::Instant::now();
        self.manager.handle_command(self.now, Command::Reconfigure(config.into()));
        self.reload = self.reload.min(before.elapsed());
        self.drain();
    }

    /// The packet that arrives so many packets from now.
    fn upcoming(&self, ahead: usize) -> PacketMeta {
        let host = station((self.at + (ahead + 1) * STRIDE) % self.stations);
        let transport = match self.load {
            Load::Tcp => Transport::Tcp(tcp(80, 5_001, 1, 1, Bytes(1_448))),
            Load::Tree | Load::Flows => Transport::Udp { src_port: 5_000, dst_port: 5_001 },
        };
        packet(Port::Wire, SERVER, host, transport, IP_LEN)
    }

    /// A packet for the next station arrives from the wire; counts the released ones.
    fn arrive(&mut self) -> usize {
        self.at = (self.at + STRIDE) % self.stations;
        let host = station(self.at);
        // Only where it is used, since the lookup takes time.
        let seq = if self.load == Load::Tcp { self.seq[self.at] } else { 0 };
        let transport = match self.load {
            Load::Tcp => {
                self.seq[self.at] = seq.wrapping_add(1_448);
                Transport::Tcp(tcp(80, 5_001, seq, 1, Bytes(1_448)))
            }
            Load::Tree | Load::Flows => Transport::Udp { src_port: 5_000, dst_port: 5_001 },
        };
        let meta = packet(Port::Wire, SERVER, host, transport, IP_LEN);
        self.manager.handle_packet(self.now, (), &meta);
        let mut gone = self.drain();
        if self.load == Load::Tcp && (seq / 1_448) % 2 == 1 {
            let ack = Transport::Tcp(tcp(5_001, 80, 1, seq, Bytes::ZERO));
            let meta = packet(Port::Wlan, host, SERVER, ack, Bytes(52));
            self.manager.handle_packet(self.now, (), &meta);
            gone += self.drain();
        }
        gone
    }

    fn drain(&mut self) -> usize {
        core::iter::from_fn(|| self.manager.poll_output()).filter(|o| matches!(o, Output::Release { .. })).count()
    }

    /// CPU time for each packet that arrived, in nanoseconds.
    fn round(&mut self) -> f64 {
        self.longest_tick = time::Duration::ZERO;
        self.reports.longest = time::Duration::ZERO;
        let start = cpu_ns();
        let mut gone = 0;
        for n in 0..PACKETS {
            if n % BATCH == 0 {
                let batch: [_; BATCH] = core::array::from_fn(|ahead| self.upcoming(ahead));
                self.manager.foresee(&batch);
                self.now += APART * BATCH as u64;
            }
            if self.manager.poll_deadline().is_some_and(|(at, _)| at <= self.now) {
                let before = time::Instant::now();
                self.manager.handle_timeout(self.now);
                self.longest_tick = self.longest_tick.max(before.elapsed());
                gone += self.drain();
            }
            if n % BATCH == 0 {
                self.reports.advance(&mut self.manager, self.now);
            }
            gone += self.arrive();
        }
        assert!(gone > PACKETS / 3, "packets go as they come: {gone}");
        (cpu_ns() - start) as f64 / PACKETS as f64
    }
}

/// CPU time of this thread so far: other work of the machine does not count.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts run time");
    text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

fn tcp(src_port: u16, dst_port: u16, seq: u32, ack: u32, payload: Bytes) -> TcpMeta {
    TcpMeta {
        src_port,
        dst_port,
        seq,
        ack,
        flags: TcpFlags::ACK,
        window: 60_000,
        payload,
        window_scale: None,
        mss: None,
        sacked_to: None,
        timestamps: None,
    }
}

/// A source or destination of packets.
#[derive(Clone, Copy)]
struct Host {
    mac: MacAddr,
    address: IpAddr,
}

const SERVER: Host = Host { mac: MacAddr([2, 0, 0, 0, 0, 1]), address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)) };

fn packet(ingress: Port, from: Host, to: Host, transport: Transport, total_len: Bytes) -> PacketMeta {
    let protocol = if matches!(transport, Transport::Tcp(_)) { 6 } else { 17 };
    PacketMeta {
        ingress,
        frame_len: total_len + Bytes(14),
        src: from.mac,
        dst: to.mac,
        vlan: None,
        ether_type: 0x0800,
        ip: Some(IpMeta {
            src: from.address,
            dst: to.address,
            protocol,
            dscp: 0,
            ecn: 0,
            total_len,
            fragment: false,
            transport,
        }),
        content: Content::Opaque,
        control: None,
        encapsulation: None,
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let load = match arguments.next_if(|word| word.parse::<usize>().is_err()).as_deref() {
        None | Some("tree") => Load::Tree,
        Some("flows") => Load::Flows,
        Some("tcp") => Load::Tcp,
        Some(other) => panic!("{other}: tree, flows or tcp"),
    };
    let rounds = arguments.next().map_or(5, |word| number(&word));
    let mut stations: Vec<(usize, usize)> = arguments.map(|word| known_and_active(&word)).collect();
    if stations.is_empty() {
        stations = [10, 1_000, 50_000].map(|n| (n, n)).into();
    }
    let mut benches: Vec<_> = stations.iter().map(|&(known, active)| Measured::new(load, known, active)).collect();
    for _ in 0..rounds {
        benches.iter_mut().for_each(Measured::round);
    }
    let few = benches[0].packet_ns;
    benches.iter().for_each(|measured| measured.print(few));
}

fn number(word: &str) -> usize {
    word.parse().unwrap_or_else(|_| panic!("{word}: not a number"))
}

/// The numbers in "4096/1000"; with "256" all are active.
fn known_and_active(word: &str) -> (usize, usize) {
    let (known, active) = word.split_once('/').unwrap_or((word, word));
    let (known, active) = (number(known), number(active));
    assert!((1..=known).contains(&active), "{word}: the stations that have traffic are some of those that are known");
    (known, active)
}

/// The minimum of all rounds.
struct Measured {
    bench: Bench,
    known: usize,
    packet_ns: f64,
    tick: time::Duration,
    longest_slice: time::Duration,
    reports: Taken,
}

impl Measured {
    fn new(load: Load, known: usize, active: usize) -> Self {
        let most = time::Duration::MAX;
        let bench = Bench::new(load, known, active);
        let reports = Taken { sum: most, slices: 0 };
        Self { bench, known, packet_ns: f64::INFINITY, tick: most, longest_slice: most, reports }
    }

    fn round(&mut self) {
        self.packet_ns = self.bench.round().min(self.packet_ns);
        self.bench.reload();
        self.tick = self.bench.longest_tick.min(self.tick);
        let Reports { longest, last, .. } = self.bench.reports;
        self.longest_slice = longest.min(self.longest_slice);
        if last.sum < self.reports.sum {
            self.reports = last;
        }
    }

    fn print(&self, few: f64) {
        let ms = |time: time::Duration| time.as_secs_f64() * 1e3;
        println!(
            "{:>6} stations, {:>6} active  {:>6.0} ns/packet  ({:.2} of the first)  tick {:.2} ms  reload {:.1} ms  reports: slice {:.0} us, {} slices, {:.2} ms/s",
            self.known,
            self.bench.stations,
            self.packet_ns,
            few / self.packet_ns,
            ms(self.tick),
            ms(self.bench.reload),
            ms(self.longest_slice) * 1e3,
            self.reports.slices,
            ms(self.reports.sum)
        );
    }
}
