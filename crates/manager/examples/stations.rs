//! What a packet costs the manager alone, without input and output, by the number of stations: each has packets held all
//! the time, one comes for each that goes, and the stations take turns in an order that memory does not have them in.
//!
//! `cargo run --release -p evenair-manager --example stations -- [tree|flows|tcp] [rounds] [stations...]`
//!
//! `tree` (default): UDP in one level of stations under a fixed rate, as `make bench` loads the box; `flows`: the same
//! under the default policy; `tcp`: DATA of TCP under the default policy, answered by an ACK for every second packet.
//! Printed is the least of the rounds, which take turns: nanoseconds a packet, and milliseconds of the longest tick and of a reload
//! with all that is held.

// A benchmark is a driver: it has a clock and arguments.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::float_arithmetic)]

use std::net::{IpAddr, Ipv4Addr};
use std::time;

use evenair_manager::{Charge, Command, Config, Controller, Level, Manager, Output, Policy};
use evenair_packet::{Content, IpMeta, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use evenair_wifi::{Phy, Standard};

/// Packets that are held of all stations together, but at least two for each.
const BACKLOG: usize = 14_000;
/// No multiple of any number of stations here.
const STRIDE: usize = 7_919;
const IP_LEN: Bytes = Bytes(1_500);
/// Time between two packets: 200,000 a second.
const APART: Span = Span::from_micros(5);
/// Packets that come at once, as out of a ring.
const BATCH: usize = 32;
/// Packets in a round, some seconds' worth, so that what is done every second is part of it.
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
    /// By station: the sequence number that comes next, and the packets released to it.
    seq: Vec<u32>,
    longest_tick: time::Duration,
    /// What the manager took to take another configuration over.
    reload: time::Duration,
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
    fn new(load: Load, stations: usize) -> Self {
        let mut manager = Manager::new(config(load, stations), Instant::ZERO);
        manager.handle_command(Instant::ZERO, Command::Insert);
        let seq = vec![1; stations];
        let (longest_tick, reload) = (time::Duration::ZERO, time::Duration::MAX);
        let mut this = Self { manager, now: Instant::ZERO, stations, at: 0, load, seq, longest_tick, reload };
        // Each is heard once: packets for stations that were never heard share a queue.
        (0..stations).for_each(|n| this.speak(n));
        let backlog = (BACKLOG / stations).clamp(2, 1_000) * stations;
        for _ in 0..backlog {
            this.arrive();
        }
        this
    }

    /// A packet of this station comes from the WLAN.
    fn speak(&mut self, n: usize) {
        let transport = Transport::Udp { src_port: 5_001, dst_port: 5_000 };
        let meta = packet(Port::Wlan, station(n), SERVER, transport, Bytes(60));
        self.manager.handle_packet(self.now, (), &meta);
        self.drain();
    }

    /// Another configuration, with all that is held: the same, but for the limit of a queue.
    fn reload(&mut self) {
        let mut config = config(self.load, self.stations);
        config.queue_limit = Limit::Packets((BACKLOG / self.stations).clamp(2, 1_000) as u32 + 1);
        let before = time::Instant::now();
        self.manager.handle_command(self.now, Command::Reconfigure(config.into()));
        self.reload = self.reload.min(before.elapsed());
        self.drain();
    }

    /// The packet that comes so many packets from now.
    fn upcoming(&self, ahead: usize) -> PacketMeta {
        let host = station((self.at + (ahead + 1) * STRIDE) % self.stations);
        let transport = match self.load {
            Load::Tcp => Transport::Tcp(tcp(80, 5_001, 1, 1, Bytes(1_448))),
            Load::Tree | Load::Flows => Transport::Udp { src_port: 5_000, dst_port: 5_001 },
        };
        packet(Port::Wire, SERVER, host, transport, IP_LEN)
    }

    /// A packet for the next station comes from the wire; what goes is counted.
    fn arrive(&mut self) -> usize {
        self.at = (self.at + STRIDE) % self.stations;
        let host = station(self.at);
        // Only where it is used: to look it up takes time, too.
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

    /// CPU time for each packet that came, in nanoseconds.
    fn round(&mut self) -> f64 {
        self.longest_tick = time::Duration::ZERO;
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

/// Where a packet comes from, or goes.
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
    let mut numbers = arguments.map(|word| word.parse::<usize>().expect("a number"));
    let rounds = numbers.next().unwrap_or(5);
    let mut stations: Vec<usize> = numbers.collect();
    if stations.is_empty() {
        stations = vec![10, 1_000, 50_000];
    }
    let mut benches: Vec<_> =
        stations.iter().map(|&n| (Bench::new(load, n), f64::INFINITY, time::Duration::MAX)).collect();
    for _ in 0..rounds {
        for (bench, least, tick) in &mut benches {
            *least = bench.round().min(*least);
            bench.reload();
            *tick = bench.longest_tick.min(*tick);
        }
    }
    let (_, few, _) = benches[0];
    for (bench, least, tick) in &benches {
        let tick = tick.as_secs_f64() * 1e3;
        println!(
            "{:>6} stations  {least:>6.0} ns/packet  ({:.2} of the first)  tick {tick:.2} ms  reload {:.1} ms",
            bench.stations,
            few / least,
            bench.reload.as_secs_f64() * 1e3
        );
    }
}
