//! Traffic: from one source to many stations in turn, as UDP, and what of it arrives.
//!
//! The source counts the turns of its idle loop. On a core that it shares with the path under test, in the same
//! real-time class, what it does not idle is what source, path and sink take, interrupts included, which the kernel's
//! own account of a thread does not tell apart.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use evenair_sys::iface;
use evenair_sys::netns::Netns;
use evenair_sys::ring::{SEND_BATCH, Sender};
use evenair_sys::rt::{self, monotonic_ns, thread_cpu_ns};

use crate::lab::{Lab, VLANS};

/// Interface of the source, and of the sink.
pub const SOURCE_PORT: &str = "src0";
pub const SINK_PORT: &str = "snk0";
const SOURCE_MAC: [u8; 6] = [0x02, 0xee, 0, 0, 0, 1];
/// Ethernet, IPv4 and UDP headers.
pub const HEADERS: usize = 42;
/// No multiple of any number of stations here: one after the other in memory is not one after the other in the traffic.
const STRIDE: usize = 7919;

/// What a source did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offered {
    pub packets: u64,
    pub wall_ns: u64,
    /// CPU time of its thread, of which it spent this much idling.
    pub cpu_ns: u64,
    pub idle_ns: u64,
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

/// Makes a frame one for station `n`, in that one's VLAN where there is a tag.
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

/// The same with room for a tag, as long as it was.
fn tagged(frame: &[u8]) -> Vec<u8> {
    [&frame[..12], &[0x81, 0x00, 0, 0], &frame[12..frame.len() - 4]].concat()
}

/// Each station sends something, so that the bridge knows on which side it is, and the box that it is there.
pub fn answer_of(lab: &Lab) -> Result<()> {
    let sender = open(&lab.sink, SINK_PORT)?;
    let mut frame = packet(SOURCE_MAC, SOURCE_MAC, 60);
    if lab.kind.is_tagged() {
        frame = tagged(&frame);
    }
    let ip = if lab.kind.is_tagged() { 30 } else { 26 };
    for n in 0..lab.stations {
        address(&mut frame, n);
        // The other way round.
        let mac = station_mac(n);
        frame[..6].copy_from_slice(&SOURCE_MAC);
        frame[6..12].copy_from_slice(&mac);
        let (from, to): ([u8; 4], [u8; 4]) = (frame[ip..ip + 4].try_into()?, frame[ip + 4..ip + 8].try_into()?);
        frame[ip..ip + 4].copy_from_slice(&to);
        frame[ip + 4..ip + 8].copy_from_slice(&from);
        send_all(&sender, &frame)?;
        frame[ip..ip + 4].copy_from_slice(&from);
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

/// How the source runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In real time on the last core, together with the path under test; gives the core away after each batch.
    OneCore,
    /// Like any program.
    Anywhere,
    /// In bursts, before all else on the last core, and asleep between them: as a network card hands packets over. What is to
    /// forward them may run on all cores.
    Bursts,
}

/// Offers packets of `len` bytes (Ethernet header included) for so long, `rate` per second or as many as go. `Anywhere`,
/// packets go one by one, and the first that is due carries the time ([`stamp_of`]).
pub fn offer(lab: &Lab, len: usize, rate: Option<f64>, span: Duration, place: Place) -> Result<Offered> {
    let sender = open(&lab.source, SOURCE_PORT)?;
    let (stations, tagged) = (lab.stations, lab.kind.is_tagged());
    std::thread::scope(|scope| {
        scope
            .spawn(move || {
                if place != Place::Anywhere {
                    let real_time = rt::make_real_time(if place == Place::Bursts { 9 } else { 1 });
                    real_time.core.context("pin the source")?;
                    real_time.fifo.context("run the source in real time")?;
                }
                drive(&sender, (stations, len, tagged), rate, span, place)
            })
            .join()
            .expect("no panic")
    })
}

fn drive(
    sender: &Sender,
    (stations, len, with_tag): (usize, usize, bool),
    rate: Option<f64>,
    span: Duration,
    place: Place,
) -> Result<Offered> {
    let plain = packet(SOURCE_MAC, SOURCE_MAC, len);
    let mut frames = vec![if with_tag { tagged(&plain) } else { plain }; SEND_BATCH];
    let idle_turn = |turns: &mut u64| {
        *turns += 1;
        match place {
            Place::OneCore => std::thread::yield_now(),
            Place::Anywhere | Place::Bursts => std::hint::spin_loop(),
        }
        monotonic_ns()
    };
    let (mut turns, mut at) = (0, 0);
    let cost = idle_cost(|| {
        idle_turn(&mut 0);
    });
    let (start, cpu) = (monotonic_ns(), thread_cpu_ns());
    let end = start + span.as_nanos() as u64;
    let (mut now, mut sent) = (start, 0u64);
    while now < end {
        let due = rate.map_or(u64::MAX, |rate| ((now - start) as f64 * rate / 1e9) as u64);
        // As a network card would: some packets at once where there are many.
        let at_once = match place {
            Place::OneCore => SEND_BATCH as u64 / 2,
            Place::Anywhere => 1,
            Place::Bursts => SEND_BATCH as u64,
        };
        if due < sent + at_once {
            if let (Place::Bursts, Some(rate)) = (place, rate) {
                let next = start + ((sent + at_once) as f64 / rate * 1e9) as u64;
                std::thread::sleep(Duration::from_nanos(next.saturating_sub(now)));
                now = monotonic_ns();
            } else {
                now = idle_turn(&mut turns);
            }
            continue;
        }
        for frame in &mut frames {
            at = (at + STRIDE) % stations;
            address(frame, at);
        }
        let batch = (due - sent).min(SEND_BATCH as u64) as usize;
        if place == Place::Anywhere && !with_tag {
            stamp(&mut frames[0]);
        }
        let mut from = 0;
        while from < batch {
            match sender.send(frames[from..batch].iter().map(Vec::as_slice)) {
                Ok(n) => from += n,
                Err(error) => ensure!(error.errno() == 11, "{error}"),
            }
        }
        sent += batch as u64;
        // Whoever is to forward them has its turn; that is no idle turn.
        if place == Place::OneCore {
            std::thread::yield_now();
        }
        now = monotonic_ns();
    }
    let (wall_ns, cpu_ns) = (now - start, thread_cpu_ns() - cpu);
    Ok(Offered { packets: sent, wall_ns, cpu_ns, idle_ns: (turns as f64 * cost) as u64 })
}

/// What a stamp begins with.
const STAMP: [u8; 4] = *b"time";

fn real_ns() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn stamp(frame: &mut [u8]) {
    frame[HEADERS..HEADERS + 4].copy_from_slice(&STAMP);
    frame[HEADERS + 4..HEADERS + 12].copy_from_slice(&real_ns().to_be_bytes());
}

/// When a frame was sent, if it says so: nanoseconds of `CLOCK_REALTIME`.
pub fn stamp_of(frame: &[u8]) -> Option<u64> {
    let stamp = frame.get(HEADERS..HEADERS + 12)?.strip_prefix(&STAMP)?;
    Some(u64::from_be_bytes(stamp.try_into().ok()?))
}

/// CPU time of an idle turn in nanoseconds: the least of several trials, since whatever comes between makes it longer.
fn idle_cost(mut turn: impl FnMut()) -> f64 {
    const TURNS: u32 = 500;
    let mut trial = || {
        let start = thread_cpu_ns();
        (0..TURNS).for_each(|_| turn());
        (thread_cpu_ns() - start) as f64 / f64::from(TURNS)
    };
    (0..20).map(|_| trial()).fold(f64::INFINITY, f64::min)
}

/// Packets that the sink's interface has received.
pub fn delivered(lab: &Lab) -> Result<u64> {
    let table = lab.sink.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))??;
    let line = table.lines().find_map(|line| line.trim().strip_prefix(SINK_PORT)).context("the sink's interface")?;
    let field = line.trim_start_matches(':').split_whitespace().nth(1).context("packets received")?;
    Ok(field.parse()?)
}
