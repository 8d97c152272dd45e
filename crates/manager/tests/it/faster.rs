//! An access point faster than the configured standard: unacknowledged datagrams get what it carries, alone and beside a
//! station with traffic; and one of that standard nevertheless keeps a short queue.

use std::collections::VecDeque;

use evenair_manager::{Command, Config, Manager, Observation, Output, RateReport};
use evenair_packet::{PacketMeta, Port, TcpFlags, Transport};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::{Phy, Standard};

use crate::world::{SEGMENT, Segment, mac, packet};

/// The station that receives datagrams, and the one with other traffic.
const UDP: usize = 0;
const TALKER: usize = 1;
/// From a packet's delivery to the arrival of the station's response at the box.
const TURN: Span = Span::from_micros(300);
const SECOND: Span = Span::from_secs(1);

/// The traffic of the other station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Talk {
    Nothing,
    /// It sends a datagram of its own at this interval.
    Datagrams(Span),
    /// Two segments arrive for it at this interval, and it acknowledges the second one.
    Segments(Span),
    /// A connection keeps so many segments in flight.
    Bulk(u32),
}

/// The reported rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rates {
    Unknown,
    Reported(i64),
}

/// One medium, which carries packets in order.
struct AccessPoint {
    bits_per_second: u64,
    overhead: Span,
    queue: VecDeque<(u64, PacketMeta, Instant)>,
    ready: Instant,
}

impl AccessPoint {
    /// Airtime only for bits, as with aggregates.
    fn fast(mbps: u64) -> Self {
        Self { bits_per_second: mbps * 1_000_000, overhead: Span::ZERO, queue: VecDeque::new(), ready: Instant::ZERO }
    }

    /// Nearly the formulas of 802.11g: 54 Mb/s, and the overhead of each packet.
    fn of_the_standard() -> Self {
        let phy = Phy::default_for(Standard::Dot11g);
        let fastest = *Standard::Dot11g.rates().last().unwrap();
        let full = phy.access_cost(Bytes(1_500), fastest, false).0;
        let overhead = full - BitRate::from_mbps(54).time_for_bits(12_000);
        Self { overhead, ..Self::fast(54) }
    }

    fn takes(&self, meta: &PacketMeta) -> Span {
        self.overhead + BitRate::from_bps(self.bits_per_second).time_for_bits(meta.ip_len().bits())
    }
}

/// Results of the measured seconds.
#[derive(Debug, Default)]
struct Got {
    udp_mbps: f64,
    tcp_mbps: f64,
    /// Time of packets in the access point: 90th percentile and maximum.
    p90: Span,
    longest: Span,
}

struct Site {
    manager: Manager<u64>,
    access_point: AccessPoint,
    talk: Talk,
    packets: Vec<PacketMeta>,
    upward: VecDeque<(Instant, PacketMeta)>,
    now: Instant,
    next_udp: Instant,
    next_talk: Instant,
    /// Segments: sent, delivered, acknowledged by the station, known to the sender as acknowledged.
    segments: [u32; 4],
    udp_bits: u64,
    took: Vec<Span>,
}

impl Site {
    fn new(access_point: AccessPoint, talk: Talk) -> Self {
        let config = Config { aqm: None, ..Config::new(Phy::default_for(Standard::Dot11g)) };
        let mut this = Self {
            manager: Manager::new(config, Instant::ZERO),
            access_point,
            talk,
            packets: Vec::new(),
            upward: VecDeque::new(),
            now: Instant::ZERO,
            next_udp: Instant::ZERO,
            next_talk: Instant::ZERO,
            segments: [0; 4],
            udp_bits: 0,
            took: Vec::new(),
        };
        // Both have been heard.
        for station in [UDP, TALKER] {
            this.manager.handle_packet(Instant::ZERO, 0, &datagram(Port::Wlan, station, 60));
        }
        this.packets.push(datagram(Port::Wlan, UDP, 60));
        this.manager.handle_command(Instant::ZERO, Command::Insert);
        this
    }

    fn arrive(&mut self, meta: PacketMeta) {
        self.packets.push(meta.clone());
        self.manager.handle_packet(self.now, self.packets.len() as u64 - 1, &meta);
    }

    fn segment(&mut self) {
        let seq = 1 + self.segments[0] * SEGMENT as u32;
        self.segments[0] += 1;
        self.arrive(packet(Port::Wire, TALKER, 1, Segment::new(TcpFlags::ACK, seq, 1, SEGMENT)));
    }

    fn speak(&mut self) {
        match self.talk {
            Talk::Nothing => self.next_talk = Instant::MAX,
            Talk::Datagrams(every) => {
                self.next_talk = self.now + every;
                self.upward.push_back((self.now, datagram(Port::Wlan, TALKER, 100)));
            }
            Talk::Segments(every) => {
                self.next_talk = self.now + every;
                self.segment();
                self.segment();
            }
            Talk::Bulk(window) => {
                self.next_talk = Instant::MAX;
                (0..window).for_each(|_| self.segment());
            }
        }
    }

    /// The packet at the head of the access point's queue has been sent.
    fn deliver(&mut self) {
        let (_, meta, since) = self.access_point.queue.pop_front().unwrap();
        if let Some((_, next, _)) = self.access_point.queue.front() {
            self.access_point.ready = self.now + self.access_point.takes(next);
        }
        self.took.push(self.now.saturating_since(since));
        if meta.tcp().is_none() {
            self.udp_bits += meta.ip_len().bits();
            return;
        }
        self.segments[1] += 1;
        if self.segments[1] - self.segments[2] >= 2 {
            self.segments[2] = self.segments[1];
            let ack = 1 + self.segments[1] * SEGMENT as u32;
            self.upward
                .push_back((self.now + TURN, packet(Port::Wlan, TALKER, 1, Segment::new(TcpFlags::ACK, 1, ack, 0))));
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            match output {
                Output::Release { packet, port: Port::Wlan, .. } => {
                    let meta = self.packets[packet as usize].clone();
                    if self.access_point.queue.is_empty() {
                        self.access_point.ready = self.now + self.access_point.takes(&meta);
                    }
                    self.access_point.queue.push_back((packet, meta, self.now));
                }
                Output::Release { packet, port: Port::Wire, .. } => {
                    let acknowledged = self.packets[packet as usize].tcp().map(|tcp| (tcp.ack - 1) / SEGMENT as u32);
                    let Some(acknowledged) = acknowledged else { continue };
                    let more = acknowledged - self.segments[3];
                    self.segments[3] = acknowledged;
                    if matches!(self.talk, Talk::Bulk(_)) {
                        (0..more).for_each(|_| self.segment());
                    }
                }
                Output::Drop { packet, .. } => {
                    assert!(self.packets[packet as usize].tcp().is_none(), "a segment is lost")
                }
                Output::Probe { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
    }

    fn step(&mut self, udp_mbps: u64) {
        let queue = &self.access_point.queue;
        let delivery = if queue.is_empty() { Instant::MAX } else { self.access_point.ready };
        let upward = self.upward.front().map_or(Instant::MAX, |(at, _)| *at);
        let deadline = self.manager.poll_deadline().map_or(Instant::MAX, |(at, _)| at.max(self.now));
        let next = [delivery, upward, self.next_udp, self.next_talk, deadline].into_iter().min().unwrap();
        self.now = next;
        if next == delivery {
            self.deliver();
        } else if next == upward {
            let (_, meta) = self.upward.pop_front().unwrap();
            self.packets.push(meta.clone());
            self.manager.handle_packet(next, self.packets.len() as u64 - 1, &meta);
        } else if next == self.next_udp {
            self.next_udp += BitRate::from_mbps(udp_mbps).time_for_bits(12_000);
            self.arrive(datagram(Port::Wire, UDP, 1_500));
        } else if next == self.next_talk {
            self.speak();
        } else {
            self.manager.handle_timeout(next);
        }
        self.drain();
    }

    /// Runs for so many seconds, and returns their results.
    fn run(&mut self, seconds: u64, udp_mbps: u64, rates: Rates) -> Got {
        let (udp, tcp) = (self.udp_bits, self.segments[1]);
        self.took.clear();
        for _ in 0..seconds {
            if let Rates::Reported(kbps) = rates {
                [UDP, TALKER].into_iter().for_each(|station| self.tell(station, kbps));
            }
            let end = self.now + SECOND;
            while self.now < end {
                self.step(udp_mbps);
            }
        }
        self.took.sort_unstable();
        let mbps = |bits: u64| bits as f64 / seconds as f64 / 1e6;
        Got {
            udp_mbps: mbps(self.udp_bits - udp),
            tcp_mbps: mbps(u64::from(self.segments[1] - tcp) * SEGMENT * 8),
            p90: self.took[self.took.len() * 9 / 10],
            longest: *self.took.last().unwrap(),
        }
    }

    fn tell(&mut self, station: usize, kbps: i64) {
        let report = RateReport {
            mac: mac(station),
            source: 1,
            measured: self.now,
            valid_for: SECOND * 15,
            transmit_kbps: Some(kbps),
            receive_kbps: None,
            signal_dbm: None,
            transmit_mode: None,
            receive_mode: None,
        };
        self.manager.handle_observation(self.now, Observation::RateReport(report));
        self.drain();
    }
}

fn datagram(ingress: Port, station: usize, len: u64) -> PacketMeta {
    let mut meta = packet(ingress, station, 0, Segment::new(TcpFlags::ACK, 0, 0, len - 52));
    let ip = meta.ip.as_mut().unwrap();
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 7, dst_port: 7 });
    meta
}

const MS: fn(u64) -> Span = Span::from_millis;

/// Results of ten seconds, after so many.
fn after(seconds: u64, access_point: AccessPoint, talk: Talk, rates: Rates) -> Got {
    let mut site = Site::new(access_point, talk);
    site.run(seconds, 150, rates);
    site.run(10, 150, rates)
}

#[test]
fn datagrams_get_what_a_fast_access_point_carries_beside_a_connection() {
    // No rate is reported, or one that the standard does not have.
    for rates in [Rates::Unknown, Rates::Reported(300_000)] {
        for (every, seconds) in [(5, 10), (20, 10), (100, 10), (700, 25)] {
            let got = after(seconds, AccessPoint::fast(200), Talk::Segments(MS(every)), rates);
            assert!(got.udp_mbps > 145.0, "{rates:?}, every {every} ms: {got:?}");
            let sent = 2.0 * 8.0 * SEGMENT as f64 / every as f64 / 1e3;
            assert!(got.tcp_mbps > 0.95 * sent && got.p90 < MS(2), "{rates:?}, every {every} ms: {got:?}");
        }
        let got = after(10, AccessPoint::fast(200), Talk::Bulk(40), rates);
        assert!(got.udp_mbps > 90.0 && got.tcp_mbps > 90.0 && got.longest < MS(5), "{rates:?}: {got:?}");
    }
}

#[test]
fn a_rate_above_the_standard_is_a_reason_to_try_more_and_one_of_the_standard_is_not() {
    for talk in [Talk::Nothing, Talk::Datagrams(MS(20))] {
        let got = after(10, AccessPoint::fast(200), talk, Rates::Reported(300_000));
        assert!(got.udp_mbps > 145.0, "{talk:?}: {got:?}");
        let got = after(10, AccessPoint::fast(200), talk, Rates::Reported(54_000));
        assert!((26.0..29.0).contains(&got.udp_mbps), "{talk:?}: {got:?}");
    }
    // No more than reported, if another station is heard: 65 Mb/s are 1.2 times 54.
    let got = after(10, AccessPoint::fast(200), Talk::Datagrams(MS(20)), Rates::Reported(65_000));
    assert!((30.0..36.0).contains(&got.udp_mbps), "{got:?}");
}

#[test]
fn a_station_that_is_faster_than_the_standard_is_charged_at_its_highest_rate() {
    let mut site = Site::new(AccessPoint::fast(200), Talk::Segments(MS(20)));
    site.run(20, 150, Rates::Reported(300_000));
    let report = site.manager.report(site.now);
    let fastest = Standard::Dot11g.rates().last().copied();
    for station in report.stations {
        let reported = station.reported.expect("it is reported");
        assert_eq!((Some(station.rate), reported.class, reported.set_aside), (fastest, fastest, false));
    }
}

#[test]
fn an_access_point_of_the_standard_keeps_a_short_queue_and_is_not_taken_for_slower() {
    for rates in [Rates::Unknown, Rates::Reported(54_000), Rates::Reported(300_000)] {
        for (every, p90, longest) in [(5, 5, 6), (20, 7, 20), (100, 7, 35), (700, 110, 170)] {
            let got = after(20, AccessPoint::of_the_standard(), Talk::Segments(MS(every)), rates);
            // It carries 30.5 Mb/s in total.
            assert!(got.udp_mbps + got.tcp_mbps > 27.0, "{rates:?}, every {every} ms: {got:?}");
            assert!(got.p90 < MS(p90) && got.longest < MS(longest), "{rates:?}, every {every} ms: {got:?}");
        }
        let got = after(10, AccessPoint::of_the_standard(), Talk::Bulk(40), rates);
        assert!(got.udp_mbps > 14.0 && got.tcp_mbps > 14.0 && got.longest < MS(5), "{rates:?}: {got:?}");
    }
}
