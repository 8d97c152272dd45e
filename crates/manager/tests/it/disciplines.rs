//! A queue discipline in place of the policy's tree.

use evenair_manager::controller::Published;
use evenair_manager::{
    ClassId, Command, Config, Controller, LeafRule, Manager, Observation, Output, QueueConfig, RateReport,
};
use evenair_packet::{PacketMeta, Port, TcpFlags};
use evenair_sched::{
    ChannelTable, Config as Discipline, DeliveryConfig, DrrConfig, Estimator, HtbClass, HtbConfig, LasAckConfig,
    WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Db, Dbm, Instant, Limit, Span};

use crate::world::{SEGMENT, Segment, config, packet, rate};

const LIMIT: Limit = Limit::Packets(100);

pub fn queue(discipline: Discipline) -> QueueConfig {
    QueueConfig {
        discipline,
        by_station: false,
        leaves: vec![],
        default_leaf: 0,
        noise: Dbm::from_milli(-95_000),
        seed: 0,
    }
}

fn las() -> QueueConfig {
    queue(Discipline::LasAck(LasAckConfig { limit: LIMIT, ..LasAckConfig::default() }))
}

fn with(queue: Option<QueueConfig>) -> Config {
    let mut config = config(&[rate(11_000), rate(11_000), rate(1_000)]);
    config.controller = Controller::Fixed(BitRate::from_mbps(4));
    config.queue = queue.map(Box::new);
    config
}

fn inserted(config: Config) -> Manager<u64> {
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    manager
}

fn data(station: usize, flow: u16, segment: u32) -> PacketMeta {
    packet(Port::Wire, station, flow, Segment::new(TcpFlags::ACK, 1 + segment * SEGMENT as u32, 1, SEGMENT))
}

/// The released packets until the deadlines have passed `until`.
fn released(manager: &mut Manager<u64>, until: Instant) -> Vec<u64> {
    let mut released = Vec::new();
    let mut drain = |manager: &mut Manager<u64>| {
        while let Some(output) = manager.poll_output() {
            if let Output::Release { packet, .. } = output {
                released.push(packet);
            }
        }
    };
    drain(manager);
    while let Some((deadline, _)) = manager.poll_deadline().filter(|(deadline, _)| *deadline <= until) {
        manager.handle_timeout(deadline);
        drain(manager);
    }
    released
}

/// Thirty packets of one connection, then three of another: the numbers of the latter are 100 and more.
fn long_then_short(queue: Option<QueueConfig>) -> Vec<u64> {
    let mut config = with(queue);
    config.sparse_first = false;
    let mut manager = inserted(config);
    (0..30).for_each(|n| manager.handle_packet(Instant::ZERO, n, &data(0, 1, n as u32)));
    (0..3).for_each(|n| manager.handle_packet(Instant::ZERO, 100 + n, &data(1, 2, n as u32)));
    released(&mut manager, Instant::ZERO + Span::from_secs(1))
}

/// Packets of the long connection before the last one of the short one.
fn waited_for(order: &[u64]) -> usize {
    assert_eq!(order.len(), 33, "nothing is lost: {order:?}");
    order.iter().position(|&packet| packet == 102).unwrap() - 2
}

#[test]
fn the_discipline_decides_the_order() {
    assert_eq!(waited_for(&long_then_short(Some(queue(Discipline::Fifo(LIMIT))))), 30);
    // Packets that came before their connection had moved more go first: the first three of the long one.
    assert_eq!(waited_for(&long_then_short(Some(las()))), 3);
    let drr = DrrConfig { quantum: Bytes(1500), limit: LIMIT };
    assert!((3..=4).contains(&waited_for(&long_then_short(Some(queue(Discipline::Drr(drr)))))));
}

#[test]
fn a_tree_of_classes_shapes_by_class_of_station_and_tells_when_to_come_back() {
    let class = |kbps| HtbClass::new(BitRate::from_kbps(kbps));
    let classes = vec![class(2_000), class(1_600).under(0), class(400).under(0)];
    let leaf = Box::new(Discipline::Fifo(Limit::Packets(1000)));
    let htb = HtbConfig { classes, default: 2, leaf, hysteresis: false, tick: Span::ZERO };
    let leaves = vec![LeafRule { leaf: 1, classes: vec![ClassId(3)], direction: None }];
    let mut config = with(Some(QueueConfig { leaves, default_leaf: 2, ..queue(Discipline::Htb(htb)) }));
    config.controller = Controller::None;
    config.stations[1].class = Some(ClassId(3));
    let mut manager = inserted(config);
    for n in 0..900 {
        manager.handle_packet(Instant::ZERO, n, &data(0, 1, n as u32));
        manager.handle_packet(Instant::ZERO, 1000 + n, &data(1, 2, n as u32));
    }
    let order = released(&mut manager, Instant::ZERO + Span::from_secs(4));
    // With an ACK of 52 bytes for every other segment.
    let bits = |of: fn(&u64) -> bool| order.iter().copied().filter(of).count() as u64 * (SEGMENT + 40 + 26) * 8;
    let (other, gold) = (bits(|&n| n < 1000), bits(|&n| n >= 1000));
    // Four seconds at 0.4 and 1.6 Mb/s, with a burst each.
    assert!(other.abs_diff(1_600_000) < 60_000 && gold.abs_diff(6_400_000) < 100_000, "{other} {gold}");
}

/// Two classes of 1 Mb/s, one for each of the first two stations, that share by channel capacity.
fn channel_aware(estimator: Estimator) -> Config {
    let class = || HtbClass::new(BitRate::from_mbps(1));
    let leaf = Box::new(Discipline::Fifo(Limit::Packets(2_000)));
    let tree = HtbConfig { classes: vec![class(), class()], default: 0, leaf, hysteresis: false, tick: Span::ZERO };
    let leaves = vec![LeafRule { leaf: 1, classes: vec![ClassId(3)], direction: None }];
    let whtb = Discipline::Whtb(WhtbConfig { tree, estimator });
    let mut config = with(Some(QueueConfig { leaves, ..queue(whtb) }));
    config.controller = Controller::None;
    config.stations[1].class = Some(ClassId(3));
    config
}

/// The part of its class's rate that each station gets in four seconds, with more traffic than that.
fn shares(mut manager: Manager<u64>, before: impl Fn(&mut Manager<u64>, Instant)) -> [f64; 2] {
    for n in 0..400 {
        manager.handle_packet(Instant::ZERO, n, &data(0, 1, n as u32));
        manager.handle_packet(Instant::ZERO, 1000 + n, &data(1, 2, n as u32));
    }
    let mut order = Vec::new();
    for second in 0..4 {
        let now = Instant::ZERO + Span::from_secs(second);
        before(&mut manager, now);
        order.extend(released(&mut manager, now + Span::from_secs(1)));
    }
    let bits = |of: fn(&u64) -> bool| order.iter().copied().filter(of).count() as u64 * (SEGMENT + 40) * 8;
    [bits(|&n| n < 1000), bits(|&n| n >= 1000)].map(|bits| bits as f64 / 4e6)
}

#[test]
fn a_reported_signal_raises_the_charge_over_a_poor_channel() {
    let point = |db, mbps| (Db::from_milli(db * 1000), BitRate::from_mbps(mbps));
    let table = ChannelTable::new(vec![point(10, 1), point(30, 5)]).expect("it rises");
    let tell = |signals: [i64; 2]| {
        move |manager: &mut Manager<u64>, now: Instant| {
            for (station, signal) in signals.into_iter().enumerate() {
                let report = RateReport {
                    mac: data(station, 1, 0).dst,
                    source: 0,
                    measured: now,
                    valid_for: Span::from_secs(3),
                    transmit_kbps: None,
                    receive_kbps: None,
                    signal_dbm: Some(signal),
                    transmit_mode: None,
                    receive_mode: None,
                };
                manager.handle_observation(now, Observation::RateReport(report));
            }
        }
    };
    // Over -95 dBm of noise 30 and 10 dB: the second station's packets count five times.
    let [good, poor] = shares(inserted(channel_aware(Estimator::Signal(table.clone()))), tell([-65, -85]));
    assert!((0.97..1.06).contains(&good) && (0.19..0.24).contains(&poor), "{good} {poor}");
    let [good, better] = shares(inserted(channel_aware(Estimator::Signal(table.clone()))), tell([-65, -40]));
    assert!((0.97..1.06).contains(&good) && (0.97..1.06).contains(&better), "{good} {better}");
    // An impossible signal is ignored.
    let [good, absurd] = shares(inserted(channel_aware(Estimator::Signal(table))), tell([-65, -400]));
    assert!((0.97..1.06).contains(&good) && (0.97..1.06).contains(&absurd), "{good} {absurd}");
}

#[test]
fn without_signals_a_packet_is_charged_its_airtime_at_its_stations_rate() {
    let estimator = || Estimator::Delivery(DeliveryConfig::default());
    let [first, second] = shares(inserted(channel_aware(estimator())), |_, _| ());
    assert!((0.97..1.06).contains(&first) && (0.97..1.06).contains(&second), "{first} {second}");
    let mut slow = channel_aware(estimator());
    slow.stations[1].rate = rate(2_000);
    let [fast, slow] = shares(inserted(slow), |_, _| ());
    // 1500 bytes at 2 Mb/s take 6.9 ms with everything they cause, at 11 Mb/s 2.1 ms.
    assert!((0.97..1.06).contains(&fast) && (0.25..0.38).contains(&slow), "{fast} {slow}");
}

#[test]
fn another_discipline_takes_over_held_packets_in_order() {
    let fifo = || queue(Discipline::Fifo(LIMIT));
    for (before, after) in
        [(None, Some(las())), (Some(las()), None), (Some(fifo()), Some(las())), (Some(las()), Some(las()))]
    {
        let mut manager = inserted(with(before));
        for n in 0..20 {
            manager.handle_packet(Instant::ZERO, n, &data(n as usize % 2, (n % 2) as u16, n as u32 / 2));
        }
        manager.handle_command(Instant::ZERO, Command::Reconfigure(with(after).into()));
        let order = released(&mut manager, Instant::ZERO + Span::from_secs(1));
        for flow in 0..2 {
            let own: Vec<_> = order.iter().filter(|&n| n % 2 == flow).collect();
            assert!(own.len() == 10 && own.is_sorted(), "{order:?}");
        }
    }
}

#[test]
fn a_station_that_changes_does_not_make_a_connection_overtake_itself() {
    let drr = Discipline::Drr(DrrConfig { quantum: Bytes(1500), limit: LIMIT });
    let mut manager = inserted(with(Some(QueueConfig { by_station: true, ..queue(drr) })));
    for n in 0..10 {
        manager.handle_packet(Instant::ZERO, n, &data(0, 1, n as u32));
    }
    for n in 10..20 {
        // The same connection, now toward another address.
        let mut meta = data(0, 1, n as u32);
        meta.dst = data(1, 1, 0).dst;
        manager.handle_packet(Instant::ZERO, n, &meta);
    }
    assert_eq!(released(&mut manager, Instant::ZERO + Span::from_secs(1)), (0..20).collect::<Vec<_>>());
}

#[test]
fn held_packets_leave_in_order_when_the_drain_limit_ends() {
    let class = HtbClass::new(BitRate::from_bps(1_000));
    let leaf = Box::new(Discipline::Fifo(LIMIT));
    let htb = HtbConfig { classes: vec![class], default: 0, leaf, hysteresis: false, tick: Span::ZERO };
    let mut manager = inserted(with(Some(queue(Discipline::Htb(htb)))));
    (0..20).for_each(|n| manager.handle_packet(Instant::ZERO, n, &data(0, 1, n as u32)));
    manager.handle_command(Instant::ZERO, Command::Bypass);
    let limit = Instant::ZERO + with(None).drain_limit;
    assert_eq!(released(&mut manager, limit), (0..20).collect::<Vec<_>>());
    assert_eq!(manager.counters().held, 0);
}

#[test]
fn the_service_rate_follows_the_served_stations() {
    let mut config = with(Some(queue(Discipline::Fifo(LIMIT))));
    config.controller = Published::default().into();
    let mut manager = inserted(config);
    let slow = Observation::StationRate { mac: data(0, 1, 0).dst, rate: rate(1_000) };
    let fast = manager.report(Instant::ZERO).capacity;
    manager.handle_observation(Instant::ZERO, slow);
    for n in 0..400 {
        let now = Instant::ZERO + Span::from_millis(10 * n);
        manager.handle_packet(now, n, &data(0, 1, n as u32));
        manager.handle_timeout(now);
    }
    assert!(manager.report(Instant::ZERO).capacity.as_bps() * 2 < fast.as_bps());
}
