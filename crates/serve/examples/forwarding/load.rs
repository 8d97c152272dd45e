//! Traffic from one source to many stations in turn, as UDP, and its delivery. With all default functions of the box the packets are data
//! of TCP, a connection for each station, and for every second one an ACK comes from its station.
//!
//! The source counts the turns of its idle loop. On a core that it shares with the path under test, in the same real-time class, the time
//! that it is not idle is that of source, path and sink, including interrupts, which the kernel's accounting of a thread does not
//! separate.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use evenair_sys::iface;
use evenair_sys::netns::Netns;
use evenair_sys::ring::{SEND_BATCH, Sender};
use evenair_sys::rt::{self, monotonic_ns, thread_cpu_ns};

use crate::lab::{Lab, VLANS};

/// Interfaces of source and sink.
pub const SOURCE_PORT: &str = "src0";
pub const SINK_PORT: &str = "snk0";
const SOURCE_MAC: [u8; 6] = [0x02, 0xee, 0, 0, 0, 1];
/// Bytes of Ethernet, IPv4 and UDP headers.
const UDP_HEADERS: usize = 42;
/// Bytes of Ethernet, IPv4 and TCP headers.
const TCP_HEADERS: usize = 54;
/// Bytes of the shortest frame of TCP data: headers and a stamp.
const SHORTEST_DATA: usize = TCP_HEADERS + 12;
/// Step from station to station; not a multiple of any number of stations here, so that neighbours in memory are not neighbours in the
/// traffic.
const STRIDE: usize = 7919;

/// Counts of a source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offered {
    pub packets: u64,
    pub wall_ns: u64,
    /// CPU time of its thread; the part that it spent idle.
    pub cpu_ns: u64,
    pub idle_ns: u64,
    /// Time in which the kernel let no real-time thread run on the core, neither the source nor the path beside it.
    pub stopped_ns: u64,
}

fn station_mac(n: usize) -> [u8; 6] {
    [0x02, 0x05, 0, 0, n as u8, (n >> 8) as u8]
}

/// A UDP packet from `from` to `to`, for and from the address 10.x.y.z of a station.
fn packet(from: [u8; 6], to: [u8; 6], len: usize) -> Vec<u8> {
    let mut frame = [&to[..], &from, &[8, 0, 0x45, 0]].concat();
    frame.extend(((len - 14) as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 10, 0, 0, 0, 0x13, 0x88, 0x13, 0x89]);
    frame.extend(((len - 34) as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(len, 0x5a);
    frame
}

/// The same packet as a TCP segment, of a connection whose sequence numbers begin at 0.
fn segment(len: usize) -> Vec<u8> {
    let mut frame = packet(SOURCE_MAC, SOURCE_MAC, len);
    frame[23] = 6;
    // Data offset, ACK, window.
    frame[42..54].copy_from_slice(&[0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    frame
}

/// The connections of the stations, if there are any.
struct Connections {
    /// Interface toward the source.
    sender: Sender,
    /// The next sequence number of each station.
    next: Vec<u32>,
    acks: Vec<Vec<u8>>,
}

impl Connections {
    fn new(lab: &Lab) -> Result<Self> {
        let sender = open(&lab.sink, SINK_PORT)?;
        Ok(Self { sender, next: vec![0; lab.stations], acks: vec![segment(60); SEND_BATCH / 2] })
    }

    /// Sets the sequence number of a segment for a station.
    fn number(&mut self, frame: &mut [u8], n: usize) {
        frame[38..42].copy_from_slice(&self.next[n].to_be_bytes());
        self.next[n] = self.next[n].wrapping_add((frame.len() - TCP_HEADERS) as u32);
    }

    /// Every second one of these stations acknowledges everything sent to it. Returns their number.
    fn acknowledge(&mut self, stations: &[usize]) -> Result<u64> {
        let Self { sender, next, acks } = self;
        let answering = stations.iter().skip(1).step_by(2);
        let mut count = 0;
        for (frame, &n) in acks.iter_mut().zip(answering) {
            address(frame, n);
            turn_round(frame, n, 26);
            // The ports are swapped, too.
            frame[34..38].copy_from_slice(&[0x13, 0x89, 0x13, 0x88]);
            frame[16..18].copy_from_slice(&40u16.to_be_bytes());
            frame[42..46].copy_from_slice(&next[n].to_be_bytes());
            count += 1;
        }
        send_batch(sender, &acks[..count])?;
        for frame in &mut acks[..count] {
            // Restored for the next station.
            frame[26..30].copy_from_slice(&[192, 0, 2, 1]);
            frame[30] = 10;
            frame[24..26].copy_from_slice(&[0, 0]);
        }
        Ok(count as u64)
    }
}

/// Makes a frame from station `n` out of one for it; `ip`: offset of its IP addresses.
fn turn_round(frame: &mut [u8], n: usize, ip: usize) {
    frame[..6].copy_from_slice(&SOURCE_MAC);
    frame[6..12].copy_from_slice(&station_mac(n));
    let (from, to) = frame[ip..ip + 8].split_at_mut(4);
    from.swap_with_slice(to);
}

/// Addresses a frame to station `n`, in its VLAN if there is a tag.
fn address(frame: &mut [u8], n: usize) {
    frame[..6].copy_from_slice(&station_mac(n));
    let frame = match frame[12] {
        0x81 => {
            frame[14..16].copy_from_slice(&VLANS[n % VLANS.len()].to_be_bytes());
            &mut frame[4..]
        }
        _ => frame,
    };
    frame[31..34].copy_from_slice(&[(n >> 16) as u8, (n >> 8) as u8, n as u8]);
    frame[24..26].copy_from_slice(&[0, 0]);
    let words = frame[14..34].as_chunks::<2>().0.iter();
    let mut sum: u32 = words.map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn open(ns: &Netns, name: &str) -> Result<Sender> {
    ns.run(|| Ok(Sender::open(&iface::find(name)?, 4 << 20)?))?
}

/// The same frame with a tag, as long as before.
fn tagged(frame: &[u8]) -> Vec<u8> {
    [&frame[..12], &[0x81, 0x00, 0, 0], &frame[12..frame.len() - 4]].concat()
}

/// Each station sends a packet, so that the bridge learns its side, and the box learns it.
pub fn answer_of(lab: &Lab) -> Result<()> {
    let sender = open(&lab.sink, SINK_PORT)?;
    let mut frame = packet(SOURCE_MAC, SOURCE_MAC, 60);
    if lab.kind.is_tagged() {
        frame = tagged(&frame);
    }
    let ip = if lab.kind.is_tagged() { 30 } else { 26 };
    for n in 0..lab.stations {
        address(&mut frame, n);
        turn_round(&mut frame, n, ip);
        send_all(&sender, &frame)?;
        frame[ip..ip + 4].copy_from_slice(&[192, 0, 2, 1]);
        if n % 64 == 63 {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}

fn send_all(sender: &Sender, frame: &[u8]) -> Result<()> {
    while let Err(error) = sender.send([frame]) {
        ensure!(error.errno() == 11, "{error}"); // EAGAIN
    }
    Ok(())
}

fn send_batch(sender: &Sender, frames: &[Vec<u8>]) -> Result<()> {
    let mut from = 0;
    while from < frames.len() {
        match sender.send(frames[from..].iter().map(Vec::as_slice)) {
            Ok(n) => from += n,
            Err(error) => ensure!(error.errno() == 11, "{error}"),
        }
    }
    Ok(())
}

/// Scheduling of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In real time on the last core, together with the path under test; yields after each batch.
    OneCore,
    /// Some packets at once, before all else on the last core and never asleep; the first of each batch carries the time ([`stamp_of`]).
    Batches,
    /// The same, but each packet when it is due; with acknowledgments, two of them with their ACK.
    Singly,
    /// The same, but asleep until then: what else runs on that core has the rest of it.
    Spaced,
    /// In bursts, before all else on the last core, asleep in between, like packets from a network card. The path may use all cores.
    Bursts,
}

/// Offers packets of `len` bytes (with Ethernet header) for this time, `rate` per second or as many as possible.
pub fn offer(lab: &Lab, len: usize, rate: Option<f64>, span: Duration, place: Place) -> Result<Offered> {
    let sender = open(&lab.source, SOURCE_PORT)?;
    let mut source = Source::new(lab, len)?;
    std::thread::scope(|scope| {
        scope
            .spawn(move || {
                let real_time = rt::make_real_time(if place == Place::OneCore { 1 } else { 9 });
                real_time.core.context("pin the source")?;
                real_time.fifo.context("run the source in real time")?;
                drive(&sender, &mut source, rate, span, place)
            })
            .join()
            .expect("no panic")
    })
}

/// The offered frames, each station in turn.
struct Source {
    frames: Vec<Vec<u8>>,
    stations: usize,
    at: usize,
    /// Index of the next station, by frame.
    turns: Vec<usize>,
    /// Offset of a stamp, if there is room for one.
    stamp: Option<usize>,
    connections: Option<Connections>,
}

impl Source {
    fn new(lab: &Lab, len: usize) -> Result<Self> {
        let is_tcp = lab.kind.is_managed();
        let frame = match lab.kind {
            kind if kind.is_managed() => segment(len.max(SHORTEST_DATA)),
            kind if kind.is_tagged() => tagged(&packet(SOURCE_MAC, SOURCE_MAC, len)),
            _ => packet(SOURCE_MAC, SOURCE_MAC, len),
        };
        Ok(Self {
            frames: vec![frame; SEND_BATCH],
            stations: lab.stations,
            at: 0,
            turns: vec![0; SEND_BATCH],
            stamp: (!lab.kind.is_tagged()).then_some(if is_tcp { TCP_HEADERS } else { UDP_HEADERS }),
            connections: is_tcp.then(|| Connections::new(lab)).transpose()?,
        })
    }

    /// Sends a batch, and its acknowledgments. Returns the number of packets.
    fn send(&mut self, sender: &Sender, batch: usize, stamped: bool) -> Result<u64> {
        for (frame, turn) in self.frames.iter_mut().zip(&mut self.turns).take(batch) {
            self.at = (self.at + STRIDE) % self.stations;
            *turn = self.at;
            address(frame, self.at);
            if let Some(connections) = &mut self.connections {
                connections.number(frame, self.at);
            }
        }
        if let (true, Some(at)) = (stamped, self.stamp) {
            stamp(&mut self.frames[0][at..]);
        }
        send_batch(sender, &self.frames[..batch])?;
        let answers = self.connections.as_mut().map_or(Ok(0), |of| of.acknowledge(&self.turns[..batch]))?;
        Ok(batch as u64 + answers)
    }
}

/// Time without a turn after which a source was stopped: the kernel takes real-time threads off a core for 50 ms of each second in which
/// they never sleep (sched_rt_runtime_us). Nothing else here takes so long.
const STOPPED_NS: u64 = 30_000_000;
/// Time without a turn after which a source on its own core was late: since Linux 6.12 ordinary threads starved by real-time ones
/// nevertheless get the core now and then, for as long as they need it or some milliseconds.
const LATE_NS: u64 = 200_000;

fn drive(sender: &Sender, source: &mut Source, rate: Option<f64>, span: Duration, place: Place) -> Result<Offered> {
    let idle_turn = |turns: &mut u64| {
        *turns += 1;
        match place {
            Place::OneCore => std::thread::yield_now(),
            Place::Batches | Place::Singly | Place::Spaced | Place::Bursts => std::hint::spin_loop(),
        }
        monotonic_ns()
    };
    let mut turns = 0;
    let cost = idle_cost(|| {
        idle_turn(&mut 0);
    });
    let (start, cpu) = (monotonic_ns(), thread_cpu_ns());
    let end = start + span.as_nanos() as u64;
    let (mut now, mut sent) = (start, 0u64);
    // When the first packet was due; later if the source was stopped, since no network makes up for such a time at once.
    let mut origin = start;
    let (mut last, mut stopped_ns) = (start, 0);
    // A source that sleeps between bursts, or shares its core with the path, regularly has no turn for longer.
    let late = if matches!(place, Place::Batches | Place::Singly) { LATE_NS } else { STOPPED_NS };
    while now < end {
        if now - last > STOPPED_NS {
            stopped_ns += now - last;
        }
        if now - last > late {
            origin += now - last;
        }
        last = now;
        let due = rate.map_or(u64::MAX, |rate| ((now - origin) as f64 * rate / 1e9) as u64);
        // Like a network card: several packets at once at high rates.
        let at_once = match place {
            Place::OneCore | Place::Batches => SEND_BATCH as u64 / 2,
            // Two segments and the ACK of both.
            Place::Singly | Place::Spaced if source.connections.is_some() => 3,
            Place::Singly | Place::Spaced => 1,
            Place::Bursts => SEND_BATCH as u64,
        };
        if due < sent + at_once {
            if let (Place::Bursts | Place::Spaced, Some(rate)) = (place, rate) {
                let next = origin + ((sent + at_once) as f64 / rate * 1e9) as u64;
                std::thread::sleep(Duration::from_nanos(next.saturating_sub(now)));
                now = monotonic_ns();
            } else {
                now = idle_turn(&mut turns);
            }
            continue;
        }
        // With acknowledgments, one packet in three is an ACK.
        let data = if source.connections.is_some() { (due - sent) / 3 * 2 } else { due - sent };
        let batch = data.clamp(1, SEND_BATCH as u64) as usize;
        sent += source.send(sender, batch, matches!(place, Place::Batches | Place::Singly | Place::Spaced))?;
        // Lets the path run; that is not an idle turn.
        if place == Place::OneCore {
            std::thread::yield_now();
        }
        now = monotonic_ns();
    }
    let (wall_ns, cpu_ns) = (now - start, thread_cpu_ns() - cpu);
    Ok(Offered { packets: sent, wall_ns, cpu_ns, idle_ns: (turns as f64 * cost) as u64, stopped_ns })
}

/// Start of a stamp.
const STAMP: [u8; 4] = *b"time";

fn real_ns() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn stamp(payload: &mut [u8]) {
    payload[..4].copy_from_slice(&STAMP);
    payload[4..12].copy_from_slice(&real_ns().to_be_bytes());
}

/// When a frame was sent, if it has a stamp: nanoseconds of `CLOCK_REALTIME`.
pub fn stamp_of(frame: &[u8]) -> Option<u64> {
    let headers = if *frame.get(23)? == 6 { TCP_HEADERS } else { UDP_HEADERS };
    let stamp = frame.get(headers..headers + 12)?.strip_prefix(&STAMP)?;
    Some(u64::from_be_bytes(stamp.try_into().ok()?))
}

/// CPU time of an idle turn in nanoseconds: the least of several trials, since any disturbance makes it longer.
fn idle_cost(mut turn: impl FnMut()) -> f64 {
    const TURNS: u32 = 500;
    let mut trial = || {
        let start = thread_cpu_ns();
        (0..TURNS).for_each(|_| turn());
        (thread_cpu_ns() - start) as f64 / f64::from(TURNS)
    };
    (0..20).map(|_| trial()).fold(f64::INFINITY, f64::min)
}

/// Packets that the sink's interface has received, and the source's if there are replies.
pub fn delivered(lab: &Lab) -> Result<u64> {
    let back = if lab.kind.is_managed() { received(&lab.source, SOURCE_PORT)? } else { 0 };
    Ok(received(&lab.sink, SINK_PORT)? + back)
}

fn received(ns: &Netns, port: &str) -> Result<u64> {
    let table = ns.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))??;
    let line = table.lines().find_map(|line| line.trim().strip_prefix(port)).context("the interface")?;
    let field = line.trim_start_matches(':').split_whitespace().nth(1).context("packets received")?;
    Ok(field.parse()?)
}
