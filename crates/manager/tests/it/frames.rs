//! The packet path of a box without its kernel: bytes of Ethernet frames are parsed, super-packets are cut into segments, a manager
//! handles them in virtual time, edits are applied, and segments are joined again. For any bytes, each frame that goes in comes out once
//! or is dropped with a reason, and leaves unchanged except for the edits.
//!
//! `fuzz/fuzz_targets/frames.rs` does the same with bytes from libFuzzer.

use std::collections::BTreeMap;

use evenair_manager::{
    AccessPoint, Command, Config, DelayLaw, Manager, Mode, Observation, Output, QueueConfig, RateReport,
    ReceiverConfig, UplinkLimit, VoiceConfig, WanConfig, WindowLaw,
};
use evenair_packet::segments::{Run, Segments, payload};
use evenair_packet::{Edits, MacAddr, PacketMeta, Port, Transport, parse};
use evenair_sched::{CodelQueueConfig, Config as Discipline, FqCodelConfig};
use evenair_units::{BitRate, Dbm, Instant, Limit, Span};
use evenair_wifi::adwiser_80211b;

/// Deadlines met in one step, at most: there is one a second at least, and one for each released packet.
const MOST_DEADLINES: usize = 20_000;
/// Buffer size of a segment, in bytes.
const LONGEST: usize = 2048;

/// Counts of a session's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub handed_in: u64,
    pub released: u64,
    pub dropped: u64,
    /// Released frames that were changed.
    pub edited: u64,
    /// Segments that super-packets were cut into.
    pub segments: u64,
    /// Segments that were joined again.
    pub joined: u64,
    /// Most frames that the manager held at once.
    pub most_held: u64,
}

/// Configurations that differ in what they do to packets.
pub fn config(which: u8) -> Config {
    let base = Config { drain_limit: Span::from_millis(100), ..Config::new(adwiser_80211b()) };
    let codel = CodelQueueConfig { ecn: true, ..CodelQueueConfig::default() };
    let rate = BitRate::from_kbps;
    match which % 6 {
        0 => base,
        1 => {
            let discipline = Discipline::FqCodel(FqCodelConfig { codel, flows: 4, ..FqCodelConfig::default() });
            let queue = QueueConfig {
                discipline,
                by_station: true,
                leaves: vec![],
                default_leaf: 0,
                noise: Dbm::from_milli(-95_000),
                seed: 5,
            };
            Config { queue: Some(queue.into()), ..base }
        }
        2 => {
            let wan = WanConfig {
                down: rate(3_000),
                up: rate(1_000),
                lan: vec!["10.0.0.0/8".parse().expect("a network")],
                lan_permille: 100,
                aqm: WanConfig::AQM,
                shared: false,
            };
            Config { wan: Some(wan.into()), voice: Some(VoiceConfig::default().into()), ..base }
        }
        3 => {
            let (window, delay) = (WindowLaw::Fixed(Limit::Packets(3)), DelayLaw::Fixed(Span::from_millis(20)));
            let receiver = ReceiverConfig { window: Some(window), delay: Some(delay), uploads: true };
            Config { receiver: Some(receiver), ..base }
        }
        4 => Config {
            uplink_limit: Some(UplinkLimit { rate: Some(rate(500)), ..UplinkLimit::default() }),
            queue_limit: Limit::Packets(5),
            ..base
        },
        _ => {
            let label = |text: &str| text.parse().expect("a short name");
            let point =
                |name: &str, vlan: u16| AccessPoint { vlans: vec![vlan.into()], ..AccessPoint::new(label(name)) };
            Config { access_points: vec![point("a", 1), point("b", 2)], held_limit: Some(50), ..base }
        }
    }
}

/// Plays the session that these bytes describe; every sequence of bytes describes one.
///
/// # Panics
/// A frame is lost, doubled, or changed otherwise than by the edits.
pub fn drive(config: Config, bytes: &[u8]) -> Tally {
    let mut session = Session::new(config);
    let mut input = Input(bytes);
    session.command(Command::Insert);
    while !input.0.is_empty() {
        session.step(&mut input);
    }
    session.end()
}

/// Bytes from which decisions are drawn; zeros at the end.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn number(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }
}

struct Session {
    manager: Manager<u64>,
    now: Instant,
    next: u64,
    /// The frames held by the manager.
    inside: BTreeMap<u64, (PacketMeta, Vec<u8>)>,
    tally: Tally,
}

impl Session {
    fn new(config: Config) -> Self {
        let now = Instant::from_nanos(1);
        let manager = Manager::new(config, now);
        Self { manager, now, next: 0, inside: BTreeMap::new(), tally: Tally::default() }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        match kind % 16 {
            0 => self.advance(Span::from_nanos(1 << (input.byte() % 32))),
            1 => self.manager.handle_timeout(self.now),
            2 => self.command(if kind & 0x80 == 0 { Command::Insert } else { Command::Bypass }),
            3 => self.observe(input),
            4 | 5 => {
                let len = input.number() % 300;
                let frame = input.take(len.into()).to_vec();
                self.hand_in(port_of(kind), frame);
            }
            6 => self.hand_in_super(port_of(kind), &written(input, port_of(kind), 3000), input.number()),
            7 => {
                // A burst of one connection, which has to wait.
                let (count, size) = (input.byte() % 32, input.number() % 1449);
                let frame = written(input, port_of(kind), size.into());
                (0..count).for_each(|_| self.hand_in(port_of(kind), frame.clone()));
            }
            _ => {
                let size = input.number() % 1449;
                let frame = written(input, port_of(kind), size.into());
                self.hand_in(port_of(kind), frame);
            }
        }
        self.carry_out();
    }

    fn advance(&mut self, span: Span) {
        let until = self.now + span;
        for _ in 0..MOST_DEADLINES {
            match self.manager.poll_deadline() {
                Some((deadline, _)) if deadline <= until => self.now = self.now.max(deadline),
                _ => break,
            }
            self.manager.handle_timeout(self.now);
            self.carry_out();
        }
        self.now = until;
    }

    fn command(&mut self, command: Command) {
        self.manager.handle_command(self.now, command);
        self.carry_out();
    }

    fn observe(&mut self, input: &mut Input<'_>) {
        let mac = mac(input.byte());
        let mut value = || Some(i64::from(i16::from_be_bytes([input.byte(), input.byte()])) * 10);
        let (transmit_kbps, receive_kbps, signal_dbm) = (value(), value(), value());
        let (measured, valid_for) = (self.now, Span::from_millis(input.number().into()));
        let (transmit_mode, receive_mode) = (None, None);
        let report = RateReport {
            mac,
            source: 1,
            measured,
            valid_for,
            transmit_kbps,
            receive_kbps,
            signal_dbm,
            transmit_mode,
            receive_mode,
        };
        let observation =
            if input.byte() == 0 { Observation::StationGone { mac } } else { Observation::RateReport(report) };
        self.manager.handle_observation(self.now, observation);
    }

    fn hand_in(&mut self, port: Port, frame: Vec<u8>) {
        let meta = parse(port, &frame);
        self.manager.handle_packet(self.now, self.next, &meta);
        self.inside.insert(self.next, (meta, frame));
        self.next += 1;
        self.tally.handed_in += 1;
        self.carry_out();
    }

    fn hand_in_super(&mut self, port: Port, frame: &[u8], size: u16) {
        let size = size % 1500;
        let Some(segments) = Segments::of(frame, size) else { return };
        let mut cut = Vec::new();
        for n in 0..segments.count() {
            let mut out = vec![0; LONGEST];
            let Some(len) = segments.write(n, &mut out) else { continue };
            out.truncate(len);
            cut.push(out);
        }
        if cut.len() == segments.count() {
            let whole: Vec<u8> = cut.iter().flat_map(|segment| payload(segment)).copied().collect();
            assert_eq!(whole, payload(frame), "cutting keeps the payload");
        }
        self.tally.segments += cut.len() as u64;
        self.tally.joined += joined_again(&cut);
        // A frame for every byte would be too many for a session.
        cut.into_iter().take(100).for_each(|segment| self.hand_in(port, segment));
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            match output {
                Output::Release { packet, port, edits } => {
                    let (meta, frame) = self.inside.remove(&packet).expect("what goes out was in");
                    assert_eq!(port, meta.ingress.opposite());
                    self.tally.released += 1;
                    self.tally.edited += u64::from(changes_as_said(&meta, frame, edits));
                }
                Output::Drop { packet, .. } => {
                    self.inside.remove(&packet).expect("what is dropped was in");
                    self.tally.dropped += 1;
                }
                Output::Probe { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
        let counters = self.manager.counters();
        assert_eq!(counters.held, self.inside.len() as u64);
        self.tally.most_held = self.tally.most_held.max(counters.held);
    }

    /// Bypassed, the manager hands out all that it holds.
    fn end(mut self) -> Tally {
        self.command(Command::Bypass);
        self.advance(Span::from_secs(1));
        let Tally { handed_in, released, dropped, .. } = self.tally;
        let counters = self.manager.counters();
        assert_eq!((counters.received, counters.released, counters.dropped()), (handed_in, released, dropped));
        assert_eq!((handed_in, self.inside.len()), (released + dropped, 0), "each frame once");
        assert_eq!(self.manager.report(self.now).mode, Mode::Bypassed);
        self.tally
    }
}

/// Joins segments of one super-packet, as far as possible, and cuts them again: they must be the same. Returns how many were joined.
fn joined_again(segments: &[Vec<u8>]) -> u64 {
    let (mut at, mut joined_in_all) = (0, 0);
    while let Some(first) = segments.get(at) {
        let Some(mut run) = Run::begin(first) else {
            at += 1;
            continue;
        };
        let more = segments[at + 1..].iter().take_while(|next| run.extend(first, next)).count();
        let run_of = &segments[at..=at + more];
        assert_eq!(run.count(), run_of.len());
        at += run_of.len();
        let mut whole = vec![0; LONGEST];
        let joined = run.join(first, &mut whole).expect("there is room for headers");
        whole.truncate(joined.headers);
        run_of.iter().for_each(|segment| whole.extend_from_slice(payload(segment)));
        let again = Segments::of(&whole, joined.size).expect("what was joined can be cut");
        assert_eq!(again.count(), run_of.len());
        for (n, segment) in run_of.iter().enumerate() {
            let mut out = vec![0; LONGEST];
            let len = again.write(n, &mut out).expect("as long as before");
            assert_eq!(&out[..len], segment, "segment {n} of {}", run_of.len());
        }
        joined_in_all += run_of.len() as u64;
    }
    joined_in_all
}

/// Applies edits and checks that nothing else has changed. Returns whether the frame has changed.
fn changes_as_said(meta: &PacketMeta, mut frame: Vec<u8>, edits: Edits) -> bool {
    let before = frame.clone();
    edits.apply(&mut frame);
    let after = parse(meta.ingress, &frame);
    let mut expected = meta.clone();
    if let Some(ip) = &mut expected.ip {
        ip.dscp = edits.dscp.unwrap_or(ip.dscp);
        if edits.congestion && ip.ecn != 0 {
            ip.ecn = 3;
        }
        if let (Transport::Tcp(tcp), Some(window)) = (&mut ip.transport, edits.window) {
            assert!(window < tcp.window, "windows are only lowered");
            tcp.window = window;
        }
    }
    assert_eq!(after, expected, "{edits:?}");
    let is_valid = |frame: &[u8]| header_sum(frame).is_none_or(|sum| sum == 0xffff);
    assert!(is_valid(&frame) || !is_valid(&before), "a checksum that was right stays so: {edits:?}");
    frame != before
}

/// The sum of an untagged frame's IPv4 header without options (RFC 1071).
fn header_sum(frame: &[u8]) -> Option<u16> {
    let header = frame.get(14..34).filter(|header| frame[12..14] == [0x08, 0x00] && header[0] == 0x45)?;
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    Some(((sum & 0xffff) + (sum >> 16)) as u16)
}

fn port_of(kind: u8) -> Port {
    if kind & 0x40 == 0 { Port::Wire } else { Port::Wlan }
}

/// One of a few stations.
fn mac(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number % 6])
}

/// A frame of a connection of a station, with a few of its bytes changed.
fn written(input: &mut Input<'_>, port: Port, payload: usize) -> Vec<u8> {
    let (what, station, flow) = (input.byte(), input.byte(), input.byte() % 4);
    let (router, station_mac) = ([2, 0, 0, 0, 9, 9], mac(station).0);
    let (here, there) = ([10, 0, 0, 1 + station % 6], [192, 0, 2, 1]);
    let up = port == Port::Wlan;
    let mut frame = if up { [router, station_mac] } else { [station_mac, router] }.concat();
    if what & 0x40 != 0 {
        frame.extend([0x81, 0x00, 0x00, 1 + station % 3]);
    }
    let ports = [4000 + u16::from(flow), 443];
    let (from, to) = if up { (ports[0], ports[1]) } else { (ports[1], ports[0]) };
    let mut transport = [from.to_be_bytes(), to.to_be_bytes()].concat();
    let is_tcp = what % 4 != 3;
    if is_tcp {
        transport.extend((u32::from(input.number()) * 64).to_be_bytes());
        transport.extend((u32::from(input.number()) * 64).to_be_bytes());
        // Data offset, flags, window, checksum, urgent pointer.
        transport.extend([0x50, if what % 4 == 2 { input.byte() } else { 0x10 }, 0xff, 0xff, 0, 0, 0, 0]);
    } else {
        transport.extend([((payload + 8) >> 8) as u8, (payload + 8) as u8, 0, 0]);
    }
    let (len, protocol) = (transport.len() + payload, if is_tcp { 6 } else { 17 });
    let ecn = what >> 4 & 3;
    if what & 0x80 != 0 {
        let address = |v4: [u8; 4]| [&[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &v4].concat();
        let (from, to) = if up { (here, there) } else { (there, here) };
        frame.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0, (len >> 8) as u8, len as u8, protocol, 64]);
        frame.extend([address(from), address(to)].concat());
    } else {
        let total = len + 20;
        let begin = frame.len() + 2;
        frame.extend([0x08, 0x00, 0x45, ecn, (total >> 8) as u8, total as u8, 0, flow, 0x40, 0, 64, protocol, 0, 0]);
        frame.extend(if up { [here, there] } else { [there, here] }.concat());
        let sum = header_sum(&[&[0; 12], &[0x08, 0x00][..], &frame[begin..]].concat()).expect("a header");
        frame[begin + 10..begin + 12].copy_from_slice(&(!sum).to_be_bytes());
    }
    frame.extend(transport);
    frame.resize(frame.len() + payload, what);
    for _ in 0..input.byte().saturating_sub(200) % 4 {
        let at = usize::from(input.byte()) % frame.len();
        frame[at] = input.byte();
    }
    frame
}
