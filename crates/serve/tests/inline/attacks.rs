//! Attacks on an inserted box, and what is left for others: two downloads by kernel TCP, and the exchanges of a host with the attacked
//! station. The radio is one half-duplex FIFO, the controller the default one.
//!
//! Each attack is a row of [`ATTACKS`]: frames from the wired side, their rate, and the least part that the downloads keep of their
//! throughput beside a plain flood of datagrams, or without a flood. A new rule of classification needs its row. A few of each kind run in
//! `make test`; `make measure NAME=attacks` runs all and writes the table.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use evenair_sys::iface;
use evenair_sys::netns::Netns;
use evenair_sys::ring::{Ring, Sender};
use evenair_sys::traffic;

use crate::behind_radio::stations_behind_radio;
use crate::lab::{BoxProcess, Lab, SINK, watched};
use crate::outage::transfer;
use crate::radio::Radio;

/// Stations 0 and 1 download, station 2 is attacked.
const STATIONS: usize = 3;
const TARGET: usize = 2;
const PORT: u16 = 6200;
/// Frames a second and their length in bytes: 40 Mb/s.
const FLOOD: u64 = 3_470;
const LENGTH: usize = 1_442;
/// Time for transfers and floods to reach their rates.
const SETTLE: Duration = Duration::from_millis(1_500);
const WINDOW: Duration = Duration::from_millis(2_500);
/// Time between two exchanges, 50 a second; time after which one counts as lost.
const EXCHANGE: Duration = Duration::from_millis(20);
const LOST: Duration = Duration::from_millis(500);

/// The reference for the downloads' throughput.
#[derive(Clone, Copy, Debug)]
enum Beside {
    /// A flood of plain datagrams to the same station.
    Datagrams,
    /// No flood.
    Nothing,
}

struct Attack {
    name: &'static str,
    rate: u64,
    /// Writes frame number `i`, whose addresses are set.
    frame: fn(i: u64, frame: &mut [u8]),
    beside: Beside,
    /// Least part of its reference throughput that each download keeps.
    keeps: f64,
    in_short: bool,
}

const fn attack(name: &'static str, frame: fn(u64, &mut [u8])) -> Attack {
    Attack { name, rate: FLOOD, frame, beside: Beside::Datagrams, keeps: 0.9, in_short: false }
}

const fn short(attack: Attack) -> Attack {
    Attack { in_short: true, ..attack }
}

/// The reference flood.
const DATAGRAMS: Attack = attack("UDP from port 9000", |_, frame| udp(frame, 9000, 9001));
const NONE: Attack = Attack { rate: 0, ..attack("no flood", |_, _| {}) };

const ATTACKS: [Attack; 18] = [
    short(attack("UDP from port 67 to 68", |_, frame| udp(frame, 67, 68))),
    attack("UDP from port 547 to 546", |_, frame| udp(frame, 547, 546)),
    attack("DHCP with its cookie", |_, frame| {
        udp(frame, 67, 68);
        frame[42] = 2;
        frame[42 + 236..42 + 240].copy_from_slice(&[99, 130, 83, 99]);
    }),
    attack("IPv4 protocol 58", |_, frame| v4(frame, 58, &[135, 0])),
    short(attack("ARP", |_, frame| ether_type(frame, 0x0806))),
    attack("ARP from made-up addresses", |i, frame| {
        made_up(i, frame);
        ether_type(frame, 0x0806);
    }),
    attack("EAPOL", |_, frame| ether_type(frame, 0x888e)),
    attack("IGMP", |_, frame| v4(frame, 2, &[0x16, 0])),
    attack("neighbour solicitations", |_, frame| v6(frame, &[135, 0])),
    short(attack("EtherType 0x88b5", |_, frame| ether_type(frame, 0x88b5))),
    attack("four VLAN tags", |_, frame| {
        for at in [12, 16, 20, 24] {
            frame[at..at + 4].copy_from_slice(&[0x81, 0, 0, 5]);
        }
        frame[28..30].copy_from_slice(&[8, 0]);
    }),
    Attack { rate: 600, ..short(attack("broadcast", |_, frame| to(frame, [0xff; 6], 0x88b5))) },
    Attack { rate: 600, ..attack("ARP to all", |_, frame| to(frame, [0xff; 6], 0x0806)) },
    Attack {
        beside: Beside::Nothing,
        keeps: 0.36,
        ..short(attack("multicast to a joined group", |_, frame| multicast(frame, [239, 1, 1, 1])))
    },
    Attack {
        beside: Beside::Nothing,
        keeps: 0.85,
        ..short(attack("multicast to another group", |_, frame| multicast(frame, [239, 1, 1, 2])))
    },
    short(attack("one-packet flows", |i, frame| udp(frame, i as u16, (i >> 16) as u16))),
    Attack { rate: 30_000, ..attack("small datagrams", |_, frame| udp(frame, 9000, 9001)) },
    Attack {
        rate: 30_000,
        ..attack("SYN", |i, frame| {
            v4(frame, 6, &[(i >> 8) as u8, i as u8, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2]);
            frame[26..30].copy_from_slice(&[10, 9, 0, 200 + (i >> 16) as u8]);
        })
    },
];

fn ether_type(frame: &mut [u8], ether_type: u16) {
    frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
}

fn to(frame: &mut [u8], dst: [u8; 6], kind: u16) {
    frame[..6].copy_from_slice(&dst);
    ether_type(frame, kind);
}

fn made_up(i: u64, frame: &mut [u8]) {
    frame[6..12].copy_from_slice(&[2, 9, 9, (i >> 16) as u8, (i >> 8) as u8, i as u8]);
}

/// An IPv4 packet of the frame's length from the wired side to the station, with this beginning of the payload.
fn v4(frame: &mut [u8], protocol: u8, payload: &[u8]) {
    ether_type(frame, 0x0800);
    let len = (frame.len() as u16 - 14).to_be_bytes();
    let header = [0x45, 0, len[0], len[1], 0, 1, 0, 0, 64, protocol, 0, 0, 10, 9, 0, 2, 10, 9, 0, 10 + TARGET as u8];
    frame[14..34].copy_from_slice(&header);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum);
    frame[34..34 + payload.len()].copy_from_slice(payload);
}

fn v6(frame: &mut [u8], payload: &[u8]) {
    ether_type(frame, 0x86dd);
    let len = (frame.len() as u16 - 54).to_be_bytes();
    frame[14..22].copy_from_slice(&[0x60, 0, 0, 0, len[0], len[1], 58, 64]);
    frame[22..54].copy_from_slice(&[0xfd; 32]);
    frame[54..54 + payload.len()].copy_from_slice(payload);
}

fn udp(frame: &mut [u8], src_port: u16, dst_port: u16) {
    let len = (frame.len() as u16 - 34).to_be_bytes();
    let [src, dst] = [src_port, dst_port].map(u16::to_be_bytes);
    v4(frame, 17, &[src[0], src[1], dst[0], dst[1], len[0], len[1], 0, 0]);
}

fn multicast(frame: &mut [u8], group: [u8; 4]) {
    udp(frame, 9000, 9001);
    frame[..6].copy_from_slice(&[1, 0, 0x5e, group[1], group[2], group[3]]);
    frame[30..34].copy_from_slice(&group);
    frame[24..26].copy_from_slice(&[0, 0]);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum);
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

const fn mac(n: usize) -> [u8; 6] {
    [2, 0, 0, 0, 1, n as u8]
}

/// Sends the attack's frames from the wired side until `over`.
fn flood(lab: &Lab, attack: &Attack, over: &AtomicBool) {
    let send = || {
        let sender = Sender::open(&iface::find("k0").expect("laid"), 1 << 20).expect("root");
        let len = if attack.rate > 10_000 { 60 } else { LENGTH };
        let (start, mut sent, mut frame) = (Instant::now(), 0, vec![0; len]);
        while !over.load(Relaxed) {
            let due = (start.elapsed().as_nanos() * u128::from(attack.rate) / 1_000_000_000) as u64;
            while sent < due {
                frame.fill(0);
                frame[..6].copy_from_slice(&mac(TARGET));
                frame[6..12].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
                (attack.frame)(sent, &mut frame);
                // A refused frame is not sent again.
                let _ = sender.send([&frame[..]]);
                sent += 1;
            }
            sleep(Duration::from_micros(200));
        }
    };
    lab.sink.run(send).expect("entered");
}

/// Exchanges of one kind between the wired host and a station.
#[derive(Clone, Debug, Default)]
struct Exchanges {
    sent: usize,
    took: Vec<Duration>,
}

impl Exchanges {
    fn percentile(&self, percent: usize) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).copied().unwrap_or(LOST)
    }

    fn lost(&self) -> f64 {
        1.0 - self.took.len() as f64 / self.sent.max(1) as f64
    }
}

/// Requests the attacked station's address (ARP), and pings another station, fifty times a second each.
fn exchange(lab: &Lab, over: &AtomicBool) -> [Exchanges; 2] {
    let run = || {
        let interface = iface::find("k0").expect("laid");
        let sender = Sender::open(&interface, 1 << 16).expect("root");
        let mut ring = Ring::open(&interface, 8192).expect("root");
        ring.start().expect("up");
        let mut all = [Exchanges::default(), Exchanges::default()];
        let mut open = [BTreeMap::new(), BTreeMap::new()];
        let (mut next, mut number) = (Instant::now(), 0u16);
        while !over.load(Relaxed) {
            if Instant::now() >= next {
                number = number.wrapping_add(1);
                for (kind, request) in [arp_request(number), ping(number)].iter().enumerate() {
                    let _ = sender.send([&request[..]]);
                    all[kind].sent += 1;
                    open[kind].insert(number, Instant::now());
                }
                next += EXCHANGE;
            }
            while let Some(frame) = ring.next_frame() {
                let bytes = frame.bytes();
                let Some((kind, number)) = answer(bytes) else { continue };
                all[kind].took.extend(open[kind].remove(&number).map(|sent| sent.elapsed()));
            }
            sleep(Duration::from_micros(200));
        }
        // Exchanges still under way at the end are not lost.
        for (all, open) in all.iter_mut().zip(&open) {
            all.sent -= open.values().filter(|sent| sent.elapsed() < LOST).count();
        }
        all
    };
    lab.sink.run(run).expect("entered")
}

/// An ARP request with the number in the sender's address, which the reply repeats.
fn arp_request(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let ends = [&SINK[..], &[10, 9, high | 0x80, low], &[0; 6], &[10, 9, 0, 10 + TARGET as u8]].concat();
    let mut frame = [&mac(TARGET)[..], &SINK, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &ends].concat();
    frame.resize(60, 0);
    frame
}

fn ping(number: u16) -> Vec<u8> {
    let mut frame = [&mac(0)[..], &SINK, &[0; 50]].concat();
    let [high, low] = number.to_be_bytes();
    v4(&mut frame, 1, &[8, 0, 0, 0, 0x5e, 0x5e, high, low]);
    frame[30..34].copy_from_slice(&[10, 9, 0, 10]);
    frame[24..26].copy_from_slice(&[0, 0]);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum);
    let sum = checksum(&frame[34..]);
    frame[36..38].copy_from_slice(&sum);
    frame
}

/// The exchange that a frame answers, and its number.
fn answer(frame: &[u8]) -> Option<(usize, u16)> {
    let number = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk::<2>()?));
    match (frame.get(..6)?, frame.get(12..14)?) {
        (to, [8, 6]) if to == SINK && frame.get(21) == Some(&2) => Some((0, number(40)? & 0x7fff)),
        (to, [8, 0]) if to == SINK && frame.get(23) == Some(&1) && frame.get(34) == Some(&0) => Some((1, number(40)?)),
        _ => None,
    }
}

/// Throughput of the two downloads in the window, in Mb/s each, and the exchanges meanwhile.
struct Left {
    downloads: [f64; 2],
    exchanges: [Exchanges; 2],
}

impl Left {
    /// Smaller part of their throughput in `other` that the downloads keep.
    fn part_of(&self, other: &Self) -> f64 {
        let parts = self.downloads.iter().zip(other.downloads).map(|(now, before)| now / before.max(0.01));
        parts.fold(f64::INFINITY, f64::min)
    }

    /// Prints the results under an attack with their bounds; the error names missed bounds.
    fn judged(&self, attack: &Attack, beside: &Self, nothing: &Self) -> Result<(), String> {
        let (part, [arp, ping]) = (self.part_of(beside), &self.exchanges);
        let is_kept = part >= attack.keeps - GRACE;
        let answers = arp.lost() <= 0.01 && ping.lost() <= 0.01;
        // On a busy machine everything takes longer, without a flood too.
        let is_quick = arp.percentile(50) <= QUICK.max(nothing.exchanges[0].percentile(50).mul_f64(1.5));
        let holds = is_kept && answers && is_quick;
        println!(
            "{} {}: downloads keep {part:.2} (at least {:.2}) of {:?}; ARP {:.1} ms in the median (at most 5), {:.1} % of ARP and {:.1} % of pings lost",
            if holds { "ok    " } else { "MISSED" },
            attack.name,
            attack.keeps,
            attack.beside,
            arp.percentile(50).as_secs_f64() * 1e3,
            arp.lost() * 100.0,
            ping.lost() * 100.0
        );
        if holds {
            Ok(())
        } else {
            Err(format!("{}: {part:.2} of {:?}, {}", attack.name, attack.beside, self.in_short()))
        }
    }

    fn in_short(&self) -> String {
        let [a, b] = self.downloads;
        let of = |exchanges: &Exchanges| {
            let (p50, p95) = (exchanges.percentile(50), exchanges.percentile(95));
            format!(
                "{:.1} / {:.1} ms, {:.1} % lost",
                p50.as_secs_f64() * 1e3,
                p95.as_secs_f64() * 1e3,
                exchanges.lost() * 100.0
            )
        };
        format!("downloads {a:.1} and {b:.1} Mb/s; ARP {}; ping {}", of(&self.exchanges[0]), of(&self.exchanges[1]))
    }
}

struct Site<'l> {
    lab: &'l Lab,
    stations: Vec<Netns>,
}

impl Site<'_> {
    fn crossed(&self) -> [f64; 2] {
        [0, 1].map(|n| self.stations[n].run(|| traffic::of("sta")).expect("entered").expect("it is there").bytes as f64)
    }

    /// Measures under this attack.
    fn under(&self, attack: &Attack) -> Left {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| flood(self.lab, attack, &over));
            sleep(SETTLE);
            let exchanges = scope.spawn(|| exchange(self.lab, &over));
            let (before, start) = (self.crossed(), Instant::now());
            sleep(WINDOW);
            let (after, seconds) = (self.crossed(), start.elapsed().as_secs_f64());
            over.store(true, Relaxed);
            let downloads = [0, 1].map(|n| (after[n] - before[n]) * 8.0 / 1e6 / seconds);
            let left = Left { downloads, exchanges: exchanges.join().expect("no panic") };
            println!("{:<28} {}", attack.name, left.in_short());
            left
        })
    }
}

/// Runs a site with two downloads during the job.
fn on_site(job: impl FnOnce(&Site<'_>, &BoxProcess)) {
    let Some(lab) = Lab::new() else { return };
    let stations = stations_behind_radio(&lab, STATIONS);
    let running = lab.start_box("inserted=true");
    let (radio, over) = (Radio::default(), AtomicBool::new(false));
    let site = Site { lab: &lab, stations };
    thread::scope(|scope| {
        scope.spawn(|| radio.carry(&lab.source, "s0", "r0", STATIONS));
        for n in 0..2 {
            let (site, over) = (&site, &over);
            scope.spawn(move || transfer(&site.stations[n], &site.lab.sink, PORT + n as u16, false, over));
        }
        let found = catch_unwind(AssertUnwindSafe(|| watched(|| job(&site, &running)).1));
        over.store(true, Relaxed);
        // The radio runs longer than the hosts, which could not close their connections without it.
        sleep(Duration::from_millis(300));
        radio.over.store(true, Relaxed);
        let held_up = found.unwrap_or_else(|wrong| resume_unwind(wrong));
        println!("the machine held up a thread beside it for {held_up:.1?} at most");
    });
    let status = running.client().shutdown().expect("ends");
    assert!(status.packets.conserved, "{:?}", status.packets);
}

/// The attacked station reports its membership of 239.1.1.1 (IGMPv2).
fn join(station: &Netns) {
    let send = || {
        let sender = Sender::open(&iface::find("sta").expect("laid"), 1 << 16).expect("root");
        let mut frame = [&[1, 0, 0x5e, 1, 1, 1][..], &mac(TARGET), &[0; 48]].concat();
        v4(&mut frame, 2, &[0x16, 0, 0, 0, 239, 1, 1, 1]);
        assert_eq!(sender.send([&frame[..]]), Ok(1));
    };
    station.run(send).expect("entered");
}

/// Runs attacks and judges each, a second time if a bound was missed. Returns the bounds missed both times.
fn judge<'a>(site: &Site<'_>, running: &BoxProcess, attacks: impl Iterator<Item = &'a Attack>) -> Vec<String> {
    // TCP reaches its rate.
    sleep(SETTLE);
    join(&site.stations[TARGET]);
    let (nothing, datagrams) = (site.under(&NONE), site.under(&DATAGRAMS));
    let mut missed = Vec::new();
    for attack in attacks {
        let beside = match attack.beside {
            Beside::Nothing => &nothing,
            Beside::Datagrams => &datagrams,
        };
        let judged = || site.under(attack).judged(attack, beside, &nothing);
        // The effect of a flood is repeatable; disturbances by the machine hardly are.
        missed.extend(judged().or_else(|_| judged()).err());
        let status = running.client().status().expect("it lives");
        assert_eq!(status.mode, evenair_api::Mode::Inserted, "after {}", attack.name);
    }
    missed
}

/// Tolerance of a single run.
const GRACE: f64 = 0.03;
/// Time of an exchange that only waits for the radio.
const QUICK: Duration = Duration::from_millis(5);

#[test]
fn a_flood_of_any_kind_leaves_others_their_share() {
    on_site(|site, running| {
        let missed = judge(site, running, ATTACKS.iter().filter(|attack| attack.in_short));
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    });
}

#[test]
#[ignore = "a measurement: make measure NAME=attacks"]
fn figures_of_attacks() {
    on_site(|site, running| {
        let missed = judge(site, running, ATTACKS.iter());
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    });
}
