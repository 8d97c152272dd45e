//! For any input: every packet leaves once, in the order of its flow, or is accounted for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use evenair_manager::controller::{Pi, Published};
use evenair_manager::{
    AccessPoint, Amount, Application, BucketConfig, Charge, Class, ClassId, ClassTree, CodelConfig, Command, Config,
    Controller, Counter, Counters, DelayLaw, Direction, DropReason, LeafRule, Level, LimitRule, Manager, Mode,
    Observation, Output, Place, Policy, ProbeConfig, QueueConfig, RateReport, ReceiverConfig, Rule, Steps, Takes,
    UplinkLimit, VoiceConfig, WanConfig, WindowLaw,
};
use evenair_packet::{
    Claim, Content, Control, FlowKey, MacAddr, PacketMeta, Port, TcpFlags, Timestamps, Transport, Vlan,
};
use evenair_sched::{
    CakeConfig, CodelQueueConfig, Config as Discipline, DeliveryConfig, DrrConfig, Estimator, FqCodelConfig, HtbClass,
    HtbConfig, LasAckConfig, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Dbm, Instant, Limit, Rng, Span, Streams};
use evenair_wifi::Standard;
use proptest::prelude::*;

use crate::world::{Segment, config, mac, packet, rate};

/// MAC address of the box.
const BOX: MacAddr = MacAddr([2, 0, 0, 0, 8, 1]);
const RATES: [u64; 4] = [1_000, 2_000, 5_500, 11_000];

/// A session of random inputs, the same for the same seed.
pub struct Session {
    rng: Rng,
    pub now: Instant,
    next_number: u64,
}

pub enum Step {
    Packet(u64, Box<PacketMeta>),
    Timeout,
    Command(Box<Command>),
    Observation(Observation),
}

impl Session {
    pub fn new(seed: u64) -> Self {
        Self { rng: Streams::new(seed).stream("session"), now: Instant::ZERO, next_number: 0 }
    }

    pub fn config(&mut self) -> Config {
        let mut levels = vec![
            Level::Direction { up: 1 + self.rng.below(5) as u32, down: 1 },
            Level::Class { weights: vec![(ClassId(0), 3), (ClassId(1), 1)], other: 2 },
            Level::Station { time_fair: self.rng.below(2) == 0 },
            Level::Flow,
        ];
        for i in (1..levels.len()).rev() {
            levels.swap(i, self.rng.below(i as u64 + 1) as usize);
        }
        levels.truncate(1 + self.rng.below(4) as usize);
        if self.rng.below(2) == 0 {
            self.classes(&mut levels);
        }
        if !levels.iter().any(|level| matches!(level, Level::Station { .. } | Level::Flow)) {
            levels.push(Level::Flow);
        }
        let strict = CodelConfig { target: Span::from_micros(100), interval: Span::from_millis(1) };
        let aqm = [None, Some(Config::AQM), Some(strict)][self.rng.below(3) as usize];
        let limits = [Limit::Packets(1), Limit::Packets(20), Limit::Bytes(Bytes(9_000)), Limit::Unlimited];
        let fixed = Controller::Fixed(BitRate::from_kbps(3_000));
        let controllers =
            [Controller::default(), Published::default().into(), Pi::default().into(), fixed, Controller::None];
        let rates: Vec<_> = (0..4).map(|_| rate(RATES[self.rng.below(4) as usize])).collect();
        let mut config = Config {
            policy: Policy::of(levels),
            charge: if self.rng.below(2) == 0 { Charge::Airtime } else { Charge::Bits },
            controller: controllers[self.rng.below(5) as usize],
            queue_limit: limits[self.rng.below(4) as usize],
            aqm,
            held_limit: [None, Some(50)][self.rng.below(2) as usize],
            drain_limit: Span::from_millis(1 + self.rng.below(300)),
            infer_rates: self.rng.below(2) == 0,
            voice: (self.rng.below(2) == 0).then(|| VoiceConfig { calls: Some(2), ..VoiceConfig::default() }.into()),
            queue: (self.rng.below(2) == 0).then(|| self.discipline().into()),
            wan: (self.rng.below(2) == 0).then(|| self.link().into()),
            receiver: (self.rng.below(2) == 0).then(|| self.receiver()),
            uplink_limit: (self.rng.below(2) == 0).then(|| self.limit()),
            access_points: self.access_points(),
            probes: Some(ProbeConfig { most_per_second: 100, source: [None, Some(BOX)][self.rng.below(2) as usize] }),
            ..config(&rates)
        };
        if config.check().is_err() && self.rng.below(2) == 0 {
            (config.receiver, config.uplink_limit) = (None, None);
        } else if config.check().is_err() {
            config.access_points.clear();
        }
        config.stations[1].class = Some(ClassId(1));
        config.stations[2].class = Some(ClassId(7));
        config
    }

    /// No access points, or some, of which two may be in one domain; one domain has another standard; a VLAN may
    /// identify one.
    fn access_points(&mut self) -> Vec<AccessPoint> {
        let names = ["a", "b", "c"].map(|name| name.parse().unwrap());
        let mut points: Vec<_> =
            names.map(AccessPoint::new).into_iter().take([0, 0, 2, 3][self.rng.below(4) as usize]).collect();
        let domains = [names[0], names[1], "default".parse().unwrap(), "x".parse().unwrap()];
        for point in &mut points {
            point.domain = domains[self.rng.below(4) as usize];
            point.standard = (point.domain == names[1]).then_some(Standard::Dot11a);
        }
        if let Some(point) = points.first_mut().filter(|_| self.rng.below(3) == 0) {
            point.vlans = vec![1.into()];
        }
        points
    }

    /// A tree of classes with rules, minimums and ceilings, and kinds of traffic below it.
    fn classes(&mut self, levels: &mut Vec<Level>) {
        levels.retain(|level| !matches!(level, Level::Class { .. }));
        let rule = |rule: Rule| Takes::Rules(vec![rule]);
        let label = |text: &str| text.parse().unwrap();
        let takes = [
            rule(Rule { vlans: vec![1.into()], ..Rule::default() }),
            rule(Rule { ports: vec![(441, 443)], protocols: vec![17], ..Rule::default() }),
            rule(Rule { direction: Some(Direction::Up), ..Rule::default() }),
            rule(Rule { dscps: vec![46], ..Rule::default() }),
            rule(Rule { groups: vec![label("staff")], ssids: vec![label("x")], ..Rule::default() }),
            rule(Rule { macs: vec![mac(3)], addresses: vec!["10.0.0.0/30".parse().unwrap()], ..Rule::default() }),
            Takes::Named,
            Takes::Rest,
        ];
        // The amounts of five classes fit below the least ceiling.
        let amounts = [None, Some(Amount::Part(60)), Some(Amount::Rate(BitRate::from_kbps(400)))];
        let mut classes: Vec<Class> = Vec::new();
        for at in 0..1 + self.rng.below(6) {
            let parent = if at > 0 && self.rng.below(2) == 0 { Some(ClassId(self.rng.below(at) as u8)) } else { None };
            let ceilings = [None, None, Some(Amount::Part(300)), Some(Amount::Rate(BitRate::from_kbps(900)))];
            let mut takes = takes[self.rng.below(8) as usize].clone();
            if classes.iter().any(|class| class.parent == parent && class.takes == Takes::Rest) {
                takes = Takes::Named;
            }
            classes.push(Class {
                parent,
                weight: 1 + self.rng.below(20) as u32,
                minimum: amounts[self.rng.below(3) as usize],
                ceiling: ceilings[self.rng.below(4) as usize],
                takes,
            });
        }
        if self.rng.below(2) == 0 {
            let rules = vec![Rule { protocols: vec![6], ..Rule::default() }];
            levels.push(Level::Application { applications: vec![Application { weight: 3, rules }], other: 1 });
        }
        levels.insert(0, Level::Tree(ClassTree { classes, other: 2 }));
    }

    /// A discipline in place of the policy's tree, with little room.
    fn discipline(&mut self) -> QueueConfig {
        let limit = [Limit::Packets(7), Limit::Bytes(Bytes(100_000)), Limit::Unlimited][self.rng.below(3) as usize];
        let strict = CodelConfig { target: Span::from_micros(100), interval: Span::from_millis(1) };
        let codel = CodelQueueConfig { codel: strict, mtu: Bytes(1500), ecn: self.rng.below(2) == 0 };
        let class = HtbClass::new(BitRate::from_kbps(500)).with_ceil(BitRate::from_kbps(900));
        let classes = vec![class.clone(), class.clone().under(0), class.under(0)];
        let discipline = match self.rng.below(9) {
            0 => Discipline::Fifo(limit),
            1 => Discipline::Codel(codel, limit),
            2 => Discipline::Drr(DrrConfig { quantum: Bytes(1500), limit }),
            3 => Discipline::FqCodel(FqCodelConfig { codel, flows: 4, limit, ..FqCodelConfig::default() }),
            n @ (4 | 5) => Discipline::LasAck(LasAckConfig {
                limit,
                floor: Some(3).filter(|_| n == 4),
                connections: 3,
                expire: Span::from_millis(50),
                ..LasAckConfig::default()
            }),
            6 => Discipline::Cake(CakeConfig { codel: strict, queues: 4, limit, ..CakeConfig::default() }),
            n => {
                let leaf = Box::new(Discipline::Fifo(limit));
                let tree = HtbConfig { classes, default: 2, leaf, hysteresis: false, tick: Span::ZERO };
                let estimator = Estimator::Delivery(DeliveryConfig::default());
                if n == 7 { Discipline::Htb(tree) } else { Discipline::Whtb(WhtbConfig { tree, estimator }) }
            }
        };
        let leaves = vec![
            LeafRule { leaf: 1, classes: vec![ClassId(1)], direction: None },
            LeafRule { leaf: 2, classes: vec![], direction: Some(Direction::Up) },
        ];
        QueueConfig {
            discipline,
            by_station: self.rng.below(2) == 0,
            leaves,
            default_leaf: 1,
            noise: Dbm::from_milli(-95_000),
            seed: 5,
        }
    }

    fn receiver(&mut self) -> ReceiverConfig {
        let short = Span::from_millis(1 + self.rng.below(40));
        let windows = [
            None,
            Some(WindowLaw::Fixed(Limit::Packets(3))),
            Some(WindowLaw::ShareOf(Limit::Bytes(Bytes(30_000)))),
            Some(WindowLaw::Target(short)),
        ];
        let window = windows[self.rng.below(4) as usize];
        let aimed = matches!(window, Some(WindowLaw::Target(_)));
        let delays = [DelayLaw::Fixed(short), if aimed { DelayLaw::Fixed(short * 5) } else { DelayLaw::Target(short) }];
        let delay = (window.is_none() || self.rng.below(2) == 0).then(|| delays[self.rng.below(2) as usize]);
        ReceiverConfig { window, delay, uploads: self.rng.below(2) == 0 }
    }

    /// An Internet link, beyond which is all of the wired side, a half, or nothing.
    fn link(&mut self) -> WanConfig {
        let lan = [vec![], vec!["10.9.0.0/25".parse().unwrap()], vec!["10.0.0.0/8".parse().unwrap()]];
        let rates = [1_000, 3_000, 20_000].map(BitRate::from_kbps);
        let aqm = CodelConfig { target: Span::from_millis(5), interval: Span::from_millis(20) };
        let mut rate = || rates[self.rng.below(3) as usize];
        let (down, up) = (rate(), rate());
        WanConfig { down, up, lan: lan[self.rng.below(3) as usize].clone(), lan_permille: 100, aqm, shared: false }
    }

    /// An upload limit that drops some packets.
    fn limit(&mut self) -> UplinkLimit {
        let steps = Steps::PUBLISHED;
        let adaptive = LimitRule::Adaptive { steps, datagrams_permille: 1 + self.rng.below(999) as u32 };
        let rule = [LimitRule::Static, LimitRule::Published(steps), adaptive][self.rng.below(3) as usize];
        let rate = [None, Some(BitRate::from_kbps(500))][self.rng.below(2) as usize];
        let bucket = BucketConfig {
            depth: Bytes(1_500 + self.rng.below(100_000)),
            threshold_permille: self.rng.below(1_001) as u32,
        };
        UplinkLimit { rule, rate, bucket, ..UplinkLimit::default() }
    }

    /// The next step, with the time advanced.
    pub fn step(&mut self) -> Step {
        self.now += Span::from_nanos(self.rng.below(3_000_000));
        match self.rng.below(1000) {
            0 => self.now += Span::from_secs(self.rng.below(200)),
            1..20 => return Step::Command(Box::new(self.command())),
            20..40 => return Step::Observation(self.observation()),
            40..300 => return Step::Timeout,
            _ => {}
        }
        let number = self.next_number;
        self.next_number += 1;
        Step::Packet(number, Box::new(self.packet()))
    }

    fn command(&mut self) -> Command {
        match self.rng.below(10) {
            0..6 => Command::Insert,
            6..9 => Command::Bypass,
            _ => {
                let mut config = self.config();
                if self.rng.below(3) == 0 {
                    config.stations[0].weight = 0;
                }
                Command::Reconfigure(config.into())
            }
        }
    }

    /// A report, plausible or not.
    fn report(&mut self, mac: MacAddr) -> RateReport {
        let mut value = || match self.rng.below(6) {
            0 => None,
            1 => Some(self.rng.next_u64() as i64),
            2 => Some(-(self.rng.below(130) as i64)),
            _ => Some(RATES[self.rng.below(4) as usize] as i64),
        };
        let (transmit_kbps, receive_kbps, signal_dbm) = (value(), value(), value());
        let measured = self.now.saturating_sub(Span::from_millis(self.rng.below(4_000)));
        let source = self.rng.below(6) as u16;
        let valid_for = Span::from_millis(self.rng.below(60_000));
        let mut mode =
            || ["HT MCS 3", "VHT MCS 8, 80 MHz", "HE MCS 11, 2 streams", ""][self.rng.below(4) as usize].parse().ok();
        let (transmit_mode, receive_mode) = (mode(), mode());
        RateReport {
            mac,
            source,
            measured,
            valid_for,
            transmit_kbps,
            receive_kbps,
            signal_dbm,
            transmit_mode,
            receive_mode,
        }
    }

    fn observation(&mut self) -> Observation {
        let mac = mac(self.rng.below(8) as usize);
        let label = [None, Some("staff".parse().unwrap()), Some("x".parse().unwrap())][self.rng.below(3) as usize];
        let at = ["a", "b", "c", "nowhere"][self.rng.below(4) as usize].parse().unwrap();
        match self.rng.below(11) {
            8.. => Observation::StationAt { mac, place: (self.rng.below(8) > 0).then_some(Place::Named(at)) },
            6 => Observation::StationNetwork { mac, ssid: label },
            7 => Observation::StationGroup { mac, group: label },
            0 => Observation::StationGone { mac },
            3 => Observation::RateReport(self.report(mac)),
            4 => Observation::Bridged { carried: Bytes(self.rng.below(1 << 20)), elapsed: Span::from_millis(500) },
            1 => Observation::AccessPointLosses { access_point: mac, total: self.rng.below(100) },
            _ => Observation::StationRate { mac, rate: rate(RATES[self.rng.below(4) as usize]) },
        }
    }

    /// Mostly plausible TCP, with anything mixed in.
    fn packet(&mut self) -> PacketMeta {
        let station = self.rng.below(6) as usize;
        let ingress = if self.rng.below(3) == 0 { Port::Wlan } else { Port::Wire };
        let flags = [TcpFlags::ACK, TcpFlags::ACK, TcpFlags::ACK, TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST];
        let flags =
            flags[self.rng.below(6) as usize].with(if self.rng.below(4) > 0 { TcpFlags::ACK } else { TcpFlags(0) });
        let near = (self.now.as_nanos() / 1_000_000) as u32;
        let wild = self.rng.below(50) == 0;
        let number =
            |rng: &mut Rng| if wild { rng.next_u64() as u32 } else { near.wrapping_add(rng.below(30_000) as u32) };
        let sequence = (number(&mut self.rng), number(&mut self.rng));
        let sizes = [0, 0, 1, 536, 1448, 1448, 60_000];
        let payload = sizes[self.rng.below(7) as usize];
        let mut meta =
            packet(ingress, station, self.rng.below(4) as u16, Segment::new(flags, sequence.0, sequence.1, payload));
        if let Some(ip) = &mut meta.ip {
            ip.ecn = self.rng.below(4) as u8;
            if let Transport::Tcp(tcp) = &mut ip.transport {
                tcp.window = [0, 1, 500, 60_000][self.rng.below(4) as usize];
                if tcp.flags.contains(TcpFlags::SYN) {
                    tcp.window_scale = [None, Some(0), Some(7), Some(200)][self.rng.below(4) as usize];
                    tcp.mss = [None, Some(0), Some(1460)][self.rng.below(3) as usize];
                }
            }
            if let (Transport::Tcp(tcp), true) = (&mut ip.transport, self.rng.below(2) == 0) {
                let mut stamp = || near.wrapping_add(self.rng.below(100) as u32);
                tcp.timestamps = Some(Timestamps { value: stamp(), echo: stamp() });
            }
        }
        match self.rng.below(40) {
            0 | 18 => meta.dst = MacAddr::BROADCAST,
            19 => (meta.ip, meta.ether_type, meta.control) = (None, 0x0806, Some(Control::Arp)),
            20 => {
                meta.dst = MacAddr([1, 0, 0x5e, 1, 1, 1]);
                meta.ip.as_mut().unwrap().dst = IpAddr::from([239, 1, 1, 1]);
            }
            1 => meta.src = MacAddr([1, 0, 0, 0, 0, 0]),
            2 => meta.ip = None,
            3 => meta.ip.as_mut().unwrap().transport = Transport::Other,
            4 => meta.ip.as_mut().unwrap().transport = Transport::Icmp { kind: self.rng.below(200) as u8 },
            7..14 => {
                let (src_port, dst_port) = (440 + self.rng.below(4) as u16, 443);
                let ip = meta.ip.as_mut().unwrap();
                (ip.protocol, ip.transport) = (17, Transport::Udp { src_port, dst_port });
            }
            5 => meta.vlan = Some((1 + self.rng.below(2) as u16).into()),
            14 => meta.ip.as_mut().unwrap().dscp = 46,
            // The connection's station has another address now.
            6 => (meta.src, meta.dst) = (mac(7), mac(7)),
            // Every probed station answers.
            15..18 => {
                (meta.ingress, meta.src, meta.dst) = (Port::Wlan, mac(station), BOX);
                let address = IpAddr::from([10, 0, 0, station as u8]);
                (meta.ether_type, meta.ip) = (0x0806, None);
                meta.content = Content::Claim(Claim { address, mac: mac(station) });
            }
            _ => {}
        }
        meta
    }
}

pub fn apply(manager: &mut Manager<u64>, now: Instant, step: &Step) {
    match step {
        Step::Packet(number, meta) => manager.handle_packet(now, *number, meta),
        Step::Timeout => manager.handle_timeout(now),
        Step::Command(command) => manager.handle_command(now, (**command).clone()),
        Step::Observation(observation) => manager.handle_observation(now, *observation),
    }
}

/// Knowledge about the packets that went in.
#[derive(Default)]
struct Ledger {
    inside: BTreeMap<u64, PacketMeta>,
    /// Number of the packet of each flow and direction that was last released.
    latest: BTreeMap<(Port, Option<Vlan>, FlowKey), u64>,
    released: u64,
    marked: u64,
    lowered: u64,
    dropped: BTreeMap<DropReason, u64>,
    probes: u64,
    consumed: u64,
}

impl Ledger {
    fn note(&mut self, output: Output<u64>) -> Result<(), TestCaseError> {
        match output {
            Output::Release { packet, port, edits } => {
                let meta = self.inside.remove(&packet);
                prop_assert!(meta.is_some(), "packet {} went out that was not in", packet);
                let meta = meta.unwrap();
                prop_assert_eq!(port, meta.ingress.opposite());
                self.released += 1;
                self.marked += u64::from(edits.congestion);
                if let Some(window) = edits.window {
                    self.lowered += 1;
                    prop_assert!((1..meta.tcp().expect("TCP").window).contains(&window));
                }
                prop_assert!(!edits.congestion || meta.ip.as_ref().is_some_and(|ip| ip.ecn != 0));
                if !meta.dst.is_multicast() && !meta.src.is_multicast() {
                    let latest = self.latest.insert((port, meta.vlan, meta.flow().0), packet);
                    prop_assert!(latest < Some(packet), "{:?} passed {:?}", packet, latest);
                }
            }
            Output::Drop { packet, reason } => {
                prop_assert!(self.inside.remove(&packet).is_some());
                *self.dropped.entry(reason).or_default() += 1;
            }
            Output::Consume { packet } => {
                prop_assert!(self.inside.remove(&packet).is_some());
                self.consumed += 1;
            }
            Output::Probe { .. } => self.probes += 1,
            Output::Event(_) => {}
        }
        Ok(())
    }

    fn agrees(&self, counters: Counters, received: u64) -> Result<(), TestCaseError> {
        let dropped = |reason| self.dropped.get(&reason).copied().unwrap_or(0);
        prop_assert_eq!(counters.received, received);
        prop_assert_eq!(counters.received, counters.accounted_for());
        prop_assert_eq!((counters.probes, counters.probe_answers), (self.probes, self.consumed));
        prop_assert_eq!(counters.held, self.inside.len() as u64);
        prop_assert_eq!(counters.released, self.released);
        prop_assert_eq!(counters[Counter::Marked], self.marked);
        prop_assert_eq!(counters[Counter::WindowsLowered], self.lowered);
        for (reason, packets) in counters.drops.iter() {
            prop_assert_eq!(packets, dropped(reason), "{:?}", reason);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn nothing_is_lost_doubled_or_overtaken(seed: u64) {
        let mut session = Session::new(seed);
        let mut manager = Manager::new(session.config(), session.now);
        let mut ledger = Ledger::default();
        let mut received = 0;
        for _ in 0..3000 {
            let step = session.step();
            if let Step::Packet(number, meta) = &step {
                ledger.inside.insert(*number, (**meta).clone());
                received += 1;
            }
            apply(&mut manager, session.now, &step);
            while let Some(output) = manager.poll_output() {
                ledger.note(output)?;
            }
            ledger.agrees(manager.counters(), received)?;
            let (deadline, _) = manager.poll_deadline().unwrap();
            prop_assert!(deadline <= session.now + Span::from_secs(1), "there is always a tick ahead");
        }
        let report = manager.report(session.now);
        let in_line = report.receiver.map_or(0, |receiver| receiver.held);
        let queued = report.queues.iter().map(|q| u64::from(q.packets)).sum::<u64>();
        let to_groups = report.domains.iter().map(|domain| domain.groups.waiting).sum::<u64>();
        prop_assert_eq!(queued + in_line + to_groups, report.counters.held);
        let of_flows = report.flows.iter().map(|flow| u64::from(flow.backlog_packets)).sum::<u64>();
        prop_assert_eq!(of_flows + to_groups, report.counters.held);

        // Bypass empties it within the drain limit.
        manager.handle_command(session.now, Command::Insert);
        manager.handle_command(session.now, Command::Bypass);
        while let Some((deadline, _)) = manager.poll_deadline()
            && manager.counters().held > 0
        {
            prop_assert!(deadline.saturating_since(session.now) <= Span::from_millis(300));
            manager.handle_timeout(deadline);
        }
        while let Some(output) = manager.poll_output() {
            ledger.note(output)?;
        }
        ledger.agrees(manager.counters(), received)?;
        prop_assert!(ledger.inside.is_empty());
        prop_assert_eq!(manager.report(session.now).mode, Mode::Bypassed);
    }
}
