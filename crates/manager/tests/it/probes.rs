//! Probes of stations whose traffic shows no completions: when they are sent, to whom, and the effect of replies.

use std::collections::VecDeque;
use std::net::IpAddr;

use evenair_manager::{Command, Counters, Manager, Output, ProbeConfig};
use evenair_packet::{Claim, Content, MacAddr, PacketMeta, Port, TcpFlags, Transport};
use evenair_units::{Bytes, Instant, Span};

use crate::world::{Segment, config, mac, packet, rate};

const BOX: MacAddr = MacAddr([2, 0, 0, 0, 8, 1]);
const STATIONS: usize = 3;
/// Medium time of a packet. The configured rate, 11 Mb/s, would take twice as long.
const EACH: Span = Span::from_micros(1_000);
const ANSWER: Span = Span::from_micros(300);
/// Packets in the access point from which on the load is reduced.
const BUFFER: usize = 500;
const STEP: Span = Span::from_micros(100);

/// What the access point does with a probe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    /// Queues it with all other packets.
    Fifo,
    /// Answers it in the station's place.
    Proxy,
    /// Nobody answers.
    Silent,
}

#[derive(Clone, Copy)]
enum Item {
    Datagram,
    Probe(usize),
}

/// A box with more datagrams for some stations than the medium carries.
struct Site {
    manager: Manager<u64>,
    point: Point,
    now: Instant,
    queue: VecDeque<Item>,
    free_at: Instant,
    /// Replies on their way to the box.
    answers: VecDeque<(Instant, usize)>,
    /// When each probe was sent, and to which station.
    probes: Vec<(Instant, usize)>,
    /// Longest queue, and packets that left, in the measured time.
    longest: usize,
    left: u64,
    forwarded: u64,
}

fn datagram(ingress: Port, station: usize) -> PacketMeta {
    let mut meta = packet(ingress, station, 0, Segment::new(TcpFlags::ACK, 1, 1, 1448));
    let ip = meta.ip.as_mut().expect("it is of IP");
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 443, dst_port: 443 });
    meta
}

/// A station's announcement of its address.
fn answer(station: usize) -> PacketMeta {
    let mut meta = packet(Port::Wlan, station, 0, Segment::new(TcpFlags::ACK, 1, 1, 0));
    let address = meta.ip.take().expect("it is of IP").src;
    (meta.dst, meta.ether_type, meta.frame_len) = (BOX, 0x0806, Bytes(60));
    meta.content = Content::Claim(Claim { address, mac: mac(station) });
    meta
}

impl Site {
    fn new(point: Point, probes: ProbeConfig) -> Self {
        let settings = evenair_manager::Config { probes: Some(probes), ..config(&[rate(11_000); STATIONS]) };
        let mut site = Self {
            manager: Manager::new(settings, Instant::ZERO),
            point,
            now: Instant::ZERO,
            queue: VecDeque::new(),
            free_at: Instant::ZERO,
            answers: VecDeque::new(),
            probes: Vec::new(),
            longest: 0,
            left: 0,
            forwarded: 0,
        };
        (0..STATIONS).for_each(|station| site.hand_in(&datagram(Port::Wlan, station)));
        site.manager.handle_command(Instant::ZERO, Command::Insert);
        site.drain();
        site
    }

    fn hand_in(&mut self, meta: &PacketMeta) {
        self.manager.handle_packet(self.now, 0, meta);
    }

    fn counters(&self) -> Counters {
        self.manager.counters()
    }

    /// Runs for this time, with datagrams for these stations always waiting.
    fn run(&mut self, time: Span, stations: &[usize]) {
        (self.longest, self.left, self.forwarded) = (0, 0, 0);
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            if self.counters().held < 30 && self.queue.len() < BUFFER {
                stations.iter().for_each(|&station| self.hand_in(&datagram(Port::Wire, station)));
            }
            while let Some(&(at, station)) = self.answers.front()
                && at <= self.now
            {
                self.answers.pop_front();
                self.hand_in(&answer(station));
            }
            if self.manager.poll_deadline().is_some_and(|(at, _)| at <= self.now) {
                self.manager.handle_timeout(self.now);
            }
            self.drain();
            self.serve();
            self.longest = self.longest.max(self.queue.len());
        }
        assert_eq!(self.counters().received, self.counters().accounted_for());
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            match output {
                Output::Release { port: Port::Wlan, .. } => self.queue.push_back(Item::Datagram),
                Output::Release { port: Port::Wire, .. } => self.forwarded += 1,
                Output::Probe { station, vlan, address } => {
                    let number = usize::from(station.0[5]);
                    assert_eq!((vlan, address), (None, IpAddr::from([10, 0, 0, station.0[5]])));
                    self.probes.push((self.now, number));
                    match self.point {
                        Point::Fifo => self.queue.push_back(Item::Probe(number)),
                        Point::Proxy => self.answers.push_back((self.now + ANSWER, number)),
                        Point::Silent => {}
                    }
                }
                Output::Drop { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
    }

    fn serve(&mut self) {
        while self.free_at <= self.now
            && let Some(item) = self.queue.pop_front()
        {
            let took = match item {
                Item::Datagram => EACH,
                Item::Probe(_) => ANSWER,
            };
            self.free_at = self.free_at.max(self.now.saturating_sub(STEP)) + took;
            match item {
                Item::Datagram => self.left += 1,
                Item::Probe(station) => self.answers.push_back((self.free_at + ANSWER, station)),
            }
        }
    }

    fn probes_since(&self, at: Instant) -> usize {
        self.probes.iter().filter(|(sent, _)| *sent >= at).count()
    }
}

fn probes(most_per_second: u32) -> ProbeConfig {
    ProbeConfig { most_per_second, source: Some(BOX) }
}

#[test]
fn replies_keep_a_common_queue_short_and_never_empty() {
    let mut site = Site::new(Point::Fifo, probes(25));
    site.run(Span::from_secs(3), &[0, 1, 2]);
    let (began, answers) = (site.now, site.counters().probe_answers);
    site.run(Span::from_secs(4), &[0, 1, 2]);
    assert!(site.longest <= 10, "{} in the access point", site.longest);
    assert!(site.left >= 3_800, "{} of 4000 that the medium carries", site.left);
    let sent = site.probes_since(began);
    assert!((60..=104).contains(&sent), "{sent} in four seconds");
    assert!(site.counters().probe_answers - answers >= sent as u64 - 1);
    assert_eq!(site.forwarded, 0, "answers end at the box");
    for station in 0..STATIONS {
        let of_one = site.probes.iter().filter(|&&(_, asked)| asked == station).count();
        assert!(of_one * STATIONS > site.probes.len() / 2, "{of_one} of {} to station {station}", site.probes.len());
    }
}

#[test]
fn no_more_probes_are_sent_than_configured() {
    for most in [1, 5, 50, 100] {
        let mut site = Site::new(Point::Fifo, probes(most));
        site.run(Span::from_secs(2), &[0, 1, 2]);
        let began = site.now;
        site.run(Span::from_secs(4), &[0, 1, 2]);
        // Each measurement of the lag adds one.
        let sent = site.probes_since(began);
        assert!(sent <= most as usize * 4 + 4, "{sent} with {most} a second");
        assert!(sent as u32 >= most * 2, "{sent} with {most} a second");
    }
}

#[test]
fn replies_of_the_access_point_in_the_stations_place_are_not_trusted() {
    let mut site = Site::new(Point::Proxy, probes(25));
    site.run(Span::from_secs(6), &[0, 1, 2]);
    let (began, sent) = (site.now, site.probes.len());
    assert!((8..=60).contains(&sent), "{sent} until it is clear");
    // Nor does the queue that has formed meanwhile last long, since rates are known.
    site.run(Span::from_secs(10), &[0, 1, 2]);
    site.run(Span::from_secs(40), &[0, 1, 2]);
    assert_eq!(site.probes_since(began), 0);
    assert!(site.longest <= 10, "{} in the access point", site.longest);
    let began = site.now;
    site.run(Span::from_secs(20), &[0, 1, 2]);
    assert!((8..=60).contains(&site.probes_since(began)), "it is tried again after a minute");
}

#[test]
fn stations_that_do_not_reply_are_spared_and_delay_nothing() {
    let mut site = Site::new(Point::Silent, probes(25));
    site.run(Span::from_secs(5), &[0, 1, 2]);
    assert_eq!(site.probes.len(), 3 * STATIONS);
    let mut without = Site::new(Point::Silent, ProbeConfig { most_per_second: 25, source: None });
    without.run(Span::from_secs(5), &[0, 1, 2]);
    assert_eq!(without.probes.len(), 0, "the driver cannot send any");
    assert!(site.left * 100 >= without.left * 98, "{} of {}", site.left, without.left);
}

#[test]
fn no_probes_without_holding_packets_and_none_to_unheard_stations() {
    let mut site = Site::new(Point::Fifo, probes(25));
    site.run(Span::from_secs(1), &[5]);
    assert_eq!(site.probes.len(), 0, "nobody has heard it");
    site.manager.handle_command(site.now, Command::Bypass);
    site.run(Span::from_secs(2), &[0, 1, 2]);
    site.run(Span::from_secs(4), &[]);
    assert_eq!(site.probes.len(), 0, "the box is bypassed");
    site.manager.handle_command(site.now, Command::Insert);
    site.run(Span::from_secs(1), &[]);
    assert_eq!(site.probes.len(), 0, "nothing is in flight");
    site.run(Span::from_secs(1), &[0, 1, 2]);
    assert!(site.probes.len() > 10, "the canary");
}

#[test]
fn an_unrequested_reply_is_forwarded() {
    let mut site = Site::new(Point::Silent, probes(25));
    let released = |site: &mut Site, meta: &PacketMeta| {
        site.drain();
        site.forwarded = 0;
        site.hand_in(meta);
        site.drain();
        site.forwarded == 1
    };
    assert!(released(&mut site, &answer(0)), "no probe is under way");
    site.run(Span::from_millis(300), &[0]);
    assert!(!site.probes.is_empty());
    let mut other = answer(0);
    other.content = Content::Claim(Claim { address: IpAddr::from([10, 0, 0, 77]), mac: mac(0) });
    assert!(released(&mut site, &other), "another address");
    assert!(released(&mut site, &PacketMeta { dst: MacAddr([2, 0, 0, 0, 9, 1]), ..answer(0) }), "to another host");
    assert!(!released(&mut site, &answer(0)), "the answer, which is late");
}
