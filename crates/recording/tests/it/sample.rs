//! A configuration with every setting, queue disciplines of every kind, and inputs of every kind; deterministic.

use std::net::IpAddr;

use evenair_manager::controller::{Pi, Published};
use evenair_manager::{
    AccessPoint, Amount, Application, BucketConfig, Charge, Class, ClassId, ClassTree, Codec, CodelConfig, Combination,
    Command, Config, Controller, DelayLaw, Direction, GroupShare, GuardConfig, Hop, LeafRule, Lease, Level, LimitRule,
    MacPrefix, Observation, Place, Policy, ProbeConfig, QueueConfig, RateReport, ReceiverConfig, ReleaseLimits,
    RssiClass, RssiConfig, Rule, StationConfig, Steps, Takes, UplinkLimit, VoiceConfig, WanConfig, WindowLaw, Without,
};
use evenair_packet::{
    Claim, Content, Control, Encapsulation, Encoding, HostName, MacAddr, Membership, PacketMeta, Port, RtpMeta,
    SdpStream, SipMeta, SipStep, TcpFlags, Timestamps, Transport, Vlan,
};
use evenair_recording::Input;
use evenair_sched::{
    CakeConfig, CbqClass, CbqConfig, ChannelTable, CodelQueueConfig, Config as Discipline, DeliveryConfig, DrrConfig,
    Estimator, FqCodelConfig, HtbClass, HtbConfig, LasAckConfig, Overflow, Sharing, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Db, Dbm, Instant, Limit, Rng, Span, Streams};
use evenair_wifi::{Phy, Preamble, Standard};

use crate::packets::{Segment, mac, packet, rate};

fn label(text: &str) -> evenair_manager::Label {
    text.parse().expect("a short name")
}

/// Every setting except the queue discipline.
pub fn config() -> Config {
    let station = |n, class| StationConfig { mac: mac(n), rate: rate(11_000), weight: 5, class };
    Config {
        phy: Phy::new(Standard::Dot11b, Preamble::Short, &Standard::Dot11b.rates()[..2]).expect("it can be"),
        rts_threshold: Some(Bytes(1000)),
        policy: Policy {
            levels: vec![
                Level::Tree(tree()),
                Level::Application { applications: vec![Application { weight: 3, rules: vec![rule()] }], other: 4 },
                Level::Station { time_fair: true },
                Level::Direction { up: 2, down: 7 },
                Level::Host,
                Level::Flow,
            ],
            names: ["staff", "caf\u{e9}", ""].map(Into::into).into(),
        },
        charge: Charge::Airtime,
        controller: Controller::default(),
        stations: vec![station(1, None), station(2, Some(ClassId(2)))],
        default_rate: rate(2_000),
        queue_limit: Limit::Bytes(Bytes(150_000)),
        aqm: Some(Config::AQM),
        sparse_first: true,
        held_limit: Some(14_336),
        flow_limit: 77_000,
        queue: None,
        wan: Some(Box::new(link())),
        voice: Some(Box::new(VoiceConfig {
            calls: Some(12),
            codecs: vec![(Codec::G711, 10), (Codec::G729, 3), (Codec::Other, 1)],
            data_permille: 400,
            dscp: 44,
            combinations: vec![Combination { g711: 10, g729: 1, other: 1 }, Combination { g711: 8, g729: 3, other: 0 }],
        })),
        receiver: Some(ReceiverConfig {
            window: Some(WindowLaw::ShareOf(Limit::Packets(90))),
            delay: Some(DelayLaw::Fixed(Span::from_millis(5))),
            uploads: true,
        }),
        uplink_limit: Some(uplink()),
        access_points: vec![hall(), AccessPoint::new(label("yard"))],
        pacing_slack: Span::from_millis(3),
        drain_limit: Span::from_millis(700),
        infer_rates: true,
        probes: Some(ProbeConfig { most_per_second: 33, source: Some(mac(9)) }),
        rssi: Some(Box::new(RssiConfig {
            classes: vec![
                RssiClass { above: Some(Dbm::from_milli(-65_000)), rate: rate(11_000) },
                RssiClass { above: None, rate: rate(2_000) },
            ],
            hysteresis: RssiConfig::HYSTERESIS,
            before_rates: true,
        })),
        group_share: GroupShare { multicast_permille: 500, other_permille: 70 },
        release_limits: ReleaseLimits {
            run: Span::from_millis(2),
            run_frames: Some(16),
            in_flight: Some(Span::from_millis(8)),
        },
        guard: GuardConfig { measure_at_start: true, suspicious_permille: 600 },
        // Set, it would make this manager another one; a recording without it has none.
        without: Without::NOTHING,
    }
}

fn uplink() -> UplinkLimit {
    UplinkLimit {
        rule: LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille: 300 },
        rate: Some(BitRate::from_kbps(2_300)),
        split_permille: 400,
        bucket: BucketConfig { depth: Bytes(90_000), threshold_permille: 800 },
        memory: Span::from_millis(600),
    }
}

fn link() -> WanConfig {
    WanConfig {
        down: BitRate::from_kbps(7_200),
        up: BitRate::from_kbps(900),
        lan: ["192.168.0.0/16", "fd00::/8"].map(|text| text.parse().expect("a network")).into(),
        lan_permille: 250,
        aqm: WanConfig::AQM,
        shared: true,
    }
}

fn hall() -> AccessPoint {
    AccessPoint {
        name: label("hall"),
        domain: label("east"),
        vlans: vec![Vlan { id: 7, inner: Some(20) }],
        radios: vec![MacPrefix { mac: MacAddr([2, 0, 0, 0, 0, 9]), bits: 44 }],
        aliases: vec![label("ap-1")],
        standard: Some(Standard::Dot11a),
    }
}

/// Every kind of condition.
fn rule() -> Rule {
    Rule {
        macs: vec![mac(3)],
        addresses: vec!["10.0.0.0/16".parse().expect("a network"), "fd00::/8".parse().expect("a network")],
        peers: vec!["192.0.2.7".parse().expect("a network")],
        vlans: vec![Vlan::from(20), Vlan { id: 7, inner: Some(20) }],
        dscps: vec![0, 46],
        protocols: vec![6, 17],
        ports: vec![(443, 443), (8_000, 8_100)],
        direction: Some(Direction::Up),
        ssids: vec![label("Guests")],
        groups: vec![label("staff"), label("x")],
    }
}

fn tree() -> ClassTree {
    let class = |parent: Option<u8>, minimum, ceiling, takes| Class {
        parent: parent.map(ClassId),
        weight: 5,
        minimum,
        ceiling,
        takes,
    };
    let amount = Some(Amount::Rate(BitRate::from_kbps(300)));
    let down = Rule { direction: Some(Direction::Down), protocols: vec![17], ..Rule::default() };
    let classes = vec![
        class(None, Some(Amount::Part(200)), None, Takes::Named),
        class(Some(0), amount, Some(Amount::Part(900)), Takes::Rules(vec![rule(), down])),
        class(Some(0), None, amount, Takes::Rest),
    ];
    ClassTree { classes, other: 2 }
}

/// Queue disciplines of every kind.
fn disciplines() -> Vec<QueueConfig> {
    let limit = Limit::Packets(300);
    let codel = CodelQueueConfig { codel: CodelConfig::RFC, mtu: Bytes(1500), ecn: true };
    let rate = BitRate::from_mbps(1);
    let classes = vec![HtbClass::new(rate), HtbClass::new(rate).under(0), HtbClass::new(rate).under(0)];
    let leaf = || Box::new(Discipline::Fifo(limit));
    let htb = HtbConfig { classes, default: 2, leaf: leaf(), hysteresis: true, tick: Span::from_millis(10) };
    let table = ChannelTable::new(vec![(Db::from_milli(-500), rate), (Db::from_milli(900), rate)]);
    let signal = Estimator::Signal(table.expect("it rises"));
    let delivery = Estimator::Delivery(DeliveryConfig { dead_permille: 30, pause: Span::from_millis(700) });
    let whtb = |estimator| Discipline::Whtb(WhtbConfig { tree: htb.clone(), estimator });
    let root = CbqClass {
        parent: None,
        rate,
        quantum: Bytes(700),
        priority: 3,
        borrows: false,
        isolated: false,
        max_idle: Span::from_micros(90),
        min_idle: Some(Span::from_micros(80)),
        extra_delay: None,
    };
    let child = CbqClass { parent: Some(0), borrows: true, extra_delay: Some(Span::from_micros(70)), ..root };
    let cbq =
        |sharing| Discipline::Cbq(CbqConfig { classes: vec![root, child], default: 1, leaf: leaf(), gain: 4, sharing });
    let las = |overflow| LasAckConfig { limit, overflow, floor: Some(8), expire: Span::from_secs(9), connections: 70 };
    let disciplines = vec![
        Discipline::Fifo(Limit::Unlimited),
        Discipline::Codel(codel, limit),
        Discipline::Drr(DrrConfig { quantum: Bytes(1514), limit }),
        Discipline::FqCodel(FqCodelConfig { codel, limit, flows: 64, ..FqCodelConfig::default() }),
        Discipline::Cake(CakeConfig { queues: 77, limit, seed: 5, ..CakeConfig::default() }),
        Discipline::LasAck(las(Overflow::TailDrop)),
        Discipline::LasAck(las(Overflow::MostServed)),
        whtb(signal),
        whtb(delivery),
        cbq(Sharing::Formal),
        cbq(Sharing::AncestorsOnly),
        cbq(Sharing::TopLevel),
        Discipline::Htb(htb),
    ];
    let leaves = vec![LeafRule { leaf: 1, classes: vec![ClassId(0), ClassId(4)], direction: Some(Direction::Up) }];
    let queue = |discipline| QueueConfig {
        discipline,
        by_station: true,
        leaves: leaves.clone(),
        default_leaf: 1,
        noise: Dbm::from_milli(-93_500),
        seed: 77,
    };
    disciplines.into_iter().map(queue).collect()
}

/// Configurations that together have every variant of every setting.
pub fn configs() -> Vec<Config> {
    let plain = || Config::new(Phy::default_for(Standard::Dot11b));
    let weights = vec![(ClassId(1), 4), (ClassId(2), 1)];
    let mut configs = vec![
        config(),
        plain(),
        Config::new(Phy::default_for(Standard::Dot11a)),
        Config::new(Phy::default_for(Standard::Dot11g)),
        Config { policy: Policy::of([Level::Class { weights, other: 3 }, Level::Flow]), ..plain() },
        Config { charge: Charge::Bits, aqm: None, controller: Published::default().into(), ..plain() },
        Config { controller: Controller::Fixed(BitRate::from_kbps(4_890)), ..plain() },
        Config { controller: Pi::default().into(), ..plain() },
        Config { controller: Controller::Knee { target: Span::from_millis(3) }, ..plain() },
        Config { controller: Controller::None, ..plain() },
    ];
    configs.extend(
        [LimitRule::Static, LimitRule::Published(Steps { ceiling: Some(BitRate::from_mbps(5)), ..Steps::PUBLISHED })]
            .map(|rule| Config { uplink_limit: Some(UplinkLimit { rule, rate: None, ..uplink() }), ..plain() }),
    );
    let millis = Span::from_millis;
    let laws = [
        (Some(WindowLaw::Fixed(Limit::Packets(5))), Some(DelayLaw::Fixed(millis(50)))),
        (Some(WindowLaw::Target(millis(100))), None),
        (None, Some(DelayLaw::Target(millis(100)))),
    ];
    configs.extend(laws.map(|(window, delay)| Config {
        receiver: Some(ReceiverConfig { window, delay, uploads: window.is_some() }),
        ..plain()
    }));
    configs.extend(disciplines().into_iter().map(|queue| Config { queue: Some(Box::new(queue)), ..plain() }));
    configs
}

/// Inputs of every kind, with the time since the previous one.
pub fn inputs(start: Instant) -> Vec<(Span, Input)> {
    let mut rng = Streams::new(15).stream("recording");
    let mut inputs = vec![Input::Command(Command::Insert)];
    inputs.extend(
        [Hop::InternetDown, Hop::InternetUp]
            .map(|hop| Input::Lease(hop, Lease { from: start, until: start + Span::from_secs(1) })),
    );
    inputs.extend(observations(start).map(Input::Observation));
    let mut packets = (0..).map(|number| Input::Packet(number, tcp(&mut rng, number)));
    inputs.extend(packets.by_ref().take(24));
    drop(packets);
    inputs.extend(others().into_iter().zip(24..).map(|(meta, number)| Input::Packet(number, meta)));
    // The last configurations are the queue disciplines: packets wait in each.
    for (config, number) in configs().into_iter().skip(1).zip(100..) {
        inputs.push(Input::Command(Command::Reconfigure(config.into())));
        inputs.push(Input::Packet(number, tcp(&mut rng, number)));
        inputs.push(Input::Timeout);
    }
    inputs.push(Input::Observation(Observation::StationGone { mac: mac(2) }));
    inputs.push(Input::Command(Command::Bypass));
    inputs.push(Input::Timeout);
    let elapsed = Span::from_millis(500);
    inputs.push(Input::Observation(Observation::Bridged { carried: Bytes(120_000), elapsed }));
    inputs.into_iter().map(|input| (Span::from_nanos(200_000 + rng.below(3_000_000)), input)).collect()
}

fn observations(now: Instant) -> [Observation; 9] {
    let (radio, mhz) = (MacAddr([2, 0, 0, 0, 0, 9]), 5180);
    let report = RateReport {
        mac: mac(1),
        source: 3,
        measured: now,
        valid_for: Span::from_secs(60),
        transmit_kbps: Some(5_500),
        receive_kbps: Some(11_000),
        signal_dbm: Some(-61),
        transmit_mode: "VHT MCS 8, 80 MHz, 2 streams, GI 0.4 us".parse().ok(),
        receive_mode: "HE MCS 11, 2 streams, GI 3.2 us".parse().ok(),
    };
    [
        Observation::StationRate { mac: mac(2), rate: rate(5_500) },
        Observation::AccessPointLosses { access_point: radio, total: 17 },
        Observation::RateReport(report),
        Observation::StationNetwork { mac: mac(1), ssid: Some(label("Guests")) },
        Observation::StationGroup { mac: mac(1), group: Some(label("staff")) },
        Observation::StationAt { mac: mac(1), place: Some(Place::Named(label("hall"))) },
        Observation::StationAt { mac: mac(2), place: Some(Place::Radio(radio)) },
        Observation::StationAt { mac: mac(3), place: Some(Place::Tuned { radio, mhz }) },
        Observation::StationAt { mac: mac(3), place: None },
    ]
}

/// DATA and ACKs of three connections, from their start on.
fn tcp(rng: &mut Rng, number: u64) -> PacketMeta {
    let station = 1 + number as usize % 3;
    let (ingress, payload) = if rng.below(3) == 0 { (Port::Wlan, 0) } else { (Port::Wire, 1448) };
    let flags = if number < 3 { TcpFlags::SYN } else { TcpFlags::ACK };
    let (sent, acked) = (number as u32 / 3 * 1448, number as u32 / 6 * 1448);
    let payload = if number < 3 { 0 } else { payload };
    let mut meta = packet(ingress, station, 0, Segment::new(flags, sent, acked, payload));
    if let Some(Transport::Tcp(tcp)) = meta.ip.as_mut().map(|ip| &mut ip.transport) {
        let value = rng.below(1 << 32) as u32;
        tcp.timestamps = (station != 3).then_some(Timestamps { value, echo: value / 2 });
        tcp.sacked_to = (station == 3).then_some(value / 2);
        (tcp.window_scale, tcp.mss) = if number < 3 { (Some(7), Some(1460)) } else { (None, None) };
    }
    meta
}

/// Packets other than those of TCP.
fn others() -> Vec<PacketMeta> {
    let plain = packet(Port::Wlan, 1, 0, Segment::new(TcpFlags::ACK, 0, 0, 0));
    let with = |protocol, transport, content| {
        let mut meta = PacketMeta { content, ..plain.clone() };
        let ip = meta.ip.as_mut().expect("IP");
        (ip.protocol, ip.transport) = (protocol, transport);
        meta
    };
    let udp = |src_port, dst_port, content| with(17, Transport::Udp { src_port, dst_port }, content);
    let rtp = RtpMeta { payload_type: 8, marker: true, sequence: 0x1234, timestamp: 10_000, source: 0xdead_beef };
    let address = IpAddr::from([10, 9, 0, 1]);
    let stream =
        SdpStream { address, port: 4000, payload_type: 8, encoding: Encoding::G711, clock_hz: 8_000, packet_ms: 20 };
    let sip = |step, streams| Content::Sip(SipMeta { call: 0x1234_5678_9abc_def0, step, streams }.into());
    let lease = evenair_packet::Lease {
        mac: mac(1),
        granted: Some([10, 0, 0, 1].into()),
        seconds: 3_600,
        name: HostName::new(b"phone"),
    };
    let claim = Claim { address: [10, 0, 0, 1].into(), mac: mac(1) };
    let mut v6 = udp(4_000, 443, Content::Opaque);
    let ip = v6.ip.as_mut().expect("IP");
    (ip.src, ip.dst) = ("fd00::7".parse().expect("an address"), "2001:db8::1".parse().expect("an address"));
    (ip.dscp, ip.ecn) = (46, 2);
    let fragment = with(17, Transport::Other, Content::Opaque);
    let report = Membership::Report { joined: [[239, 1, 1, 1].into()].into(), left: [[239, 1, 1, 2].into()].into() };
    let igmp = |message: Membership| with(2, Transport::Other, Content::Membership(message.into()));
    vec![
        udp(4_000, 443, Content::Opaque),
        udp(5_004, 4_000, Content::Rtp(rtp)),
        udp(5_060, 5_060, sip(SipStep::Offer, vec![stream])),
        udp(5_060, 5_060, sip(SipStep::Answer, vec![stream, SdpStream { encoding: Encoding::Other, ..stream }])),
        udp(5_060, 5_060, sip(SipStep::End, vec![])),
        udp(67, 68, Content::Lease(lease.into())),
        PacketMeta { ether_type: 0x0806, ip: None, content: Content::Claim(claim), ..plain.clone() },
        PacketMeta { ether_type: 0x88cc, ip: None, dst: MacAddr::BROADCAST, ..plain.clone() },
        with(1, Transport::Icmp { kind: 8 }, Content::Opaque),
        PacketMeta { vlan: Some(Vlan { id: 7, inner: Some(20) }), ..fragment.clone() },
        PacketMeta { vlan: Some(Vlan::from(20)), ..v6.clone() },
        v6,
        PacketMeta { control: Some(Control::Membership), ..igmp(report) },
        igmp(Membership::Query),
        PacketMeta { control: Some(Control::Arp), ether_type: 0x0806, ip: None, ..plain.clone() },
        PacketMeta { encapsulation: Some(Encapsulation::Pppoe), ..udp(4_000, 443, Content::Opaque) },
    ]
}
