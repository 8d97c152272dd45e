//! The operator's tree of classes: who is in which class, and the medium time of each.

use evenair_manager::{
    Amount, Application, Class, ClassId, ClassReport, ClassTree, Command, Config, Direction, Label, Level, Manager,
    Observation, Output, Policy, Rule, Takes,
};
use evenair_packet::{PacketMeta, Port, TcpFlags, Vlan};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::{PhyRate, adwiser_80211b};

use crate::air::Dcf;
use crate::world::{Segment, Tally, World, close, config, mac, packet, rate, sources};

const MINUTE: Span = Span::from_secs(60);

fn class(parent: Option<u8>, weight: u32, takes: Takes) -> Class {
    Class { parent: parent.map(ClassId), weight, minimum: None, ceiling: None, takes }
}

fn of_stations(stations: &[usize]) -> Takes {
    Takes::Rules(vec![Rule { macs: stations.iter().map(|&station| mac(station)).collect(), ..Rule::default() }])
}

fn going(direction: Direction) -> Takes {
    Takes::Rules(vec![Rule { direction: Some(direction), ..Rule::default() }])
}

fn policy(classes: Vec<Class>) -> Policy {
    let names = (0..classes.len()).map(|at| format!("c{at}")).collect();
    let tree = Level::Tree(ClassTree { classes, other: 1 });
    Policy { levels: vec![tree, Level::Station { time_fair: true }, Level::Flow], names }
}

fn with(rates: &[PhyRate], policy: Policy) -> Config {
    Config { policy, ..config(rates) }
}

/// A managed world after it has settled.
fn settled(mut world: World) -> World {
    world.command(Command::Insert);
    world.run(Span::from_secs(20));
    world
}

/// The part of a minute of medium time that each flow used, by the formulas: its data, and an ACK for two of them.
fn airtime(world: &World, tallies: &[Tally]) -> Vec<f64> {
    let phy = adwiser_80211b();
    let part = |(flow, tally): (usize, &Tally)| {
        let rate = world.rates[world.sources[flow].station];
        let cost = |bytes, rts| phy.access_cost(Bytes(bytes), rate, rts).0.as_secs_f64();
        tally.data_segments as f64 * (cost(1500, true) + cost(52, false) / 2.0) / MINUTE.as_secs_f64()
    };
    tallies.iter().enumerate().map(part).collect()
}

/// The part of the next minute that each flow gets.
fn minute(world: &mut World) -> Vec<f64> {
    let tallies = world.run(MINUTE);
    airtime(world, &tallies)
}

fn assert_shares(got: &[f64], expected: &[f64], permille: f64) {
    let (sum, of): (f64, f64) = (got.iter().sum(), expected.iter().sum());
    let fits = got.iter().zip(expected).all(|(got, expected)| close(got / sum, expected / of, permille));
    assert!(fits, "{got:?} are not as {expected:?}");
    assert!(close(sum, 1.0, 25.0), "{sum} of the medium is used");
}

#[test]
fn shares_of_the_medium_follow_the_weights_at_every_level() {
    // root: staff 3 (teachers 2, office 1), pupils 1, others 1; rates from 1 to 11 Mb/s, up and down mixed.
    let rates = [11_000, 1_000, 5_500, 2_000, 11_000, 1_000].map(rate);
    let classes = vec![
        class(None, 3, Takes::Named),
        class(Some(0), 2, of_stations(&[0, 1])),
        class(Some(0), 1, of_stations(&[2])),
        class(None, 1, of_stations(&[3, 4])),
    ];
    let world = World::new(with(&rates, policy(classes)), &rates, sources(&[0, 2, 4], &[1, 3, 5]));
    let mut world = settled(world);
    let got = world.run(MINUTE);
    // In the order of the flows: stations 0, 2, 4 and 1, 3, 5.
    let expected = [0.2, 0.2, 0.1, 0.2, 0.1, 0.2];
    assert_shares(&airtime(&world, &got), &expected, 20.0);
}

#[test]
fn ratios_of_twenty_to_one_hold_between_classes_and_between_directions() {
    let rates = [11_000, 2_000, 11_000, 2_000].map(rate);
    for classes in [
        vec![class(None, 20, of_stations(&[0, 2])), class(None, 1, Takes::Rest)],
        vec![class(None, 20, going(Direction::Down)), class(None, 1, going(Direction::Up))],
    ] {
        let by_direction = classes[1].takes != Takes::Rest;
        let mut world = settled(World::new(with(&rates, policy(classes)), &rates, sources(&[0, 1], &[2, 3])));
        let got = world.run(MINUTE);
        let got = airtime(&world, &got);
        let large = if by_direction { got[0] + got[1] } else { got[0] + got[2] };
        let small = got.iter().sum::<f64>() - large;
        assert!(close(large / small, 20.0, 30.0), "{} of {got:?}, {by_direction}", large / small);
    }
}

#[test]
fn a_ceiling_holds_and_the_others_use_the_rest() {
    let rates = [11_000, 11_000, 5_500].map(rate);
    for ceiling in [Amount::Part(200), Amount::Rate(BitRate::from_kbps(1_000))] {
        let limited = Class { ceiling: Some(ceiling), ..class(None, 9, of_stations(&[0, 1])) };
        let config = with(&rates, policy(vec![limited]));
        let mut world = settled(World::new(config, &rates, sources(&[0, 2], &[1])));
        let tallies = world.run(MINUTE);
        let got = airtime(&world, &tallies);
        match ceiling {
            Amount::Part(permille) => assert!(close(got[0] + got[2], f64::from(permille) / 1e3, 20.0), "{got:?}"),
            Amount::Rate(rate) => {
                let bits = (tallies[0].ip_bits + tallies[2].ip_bits) as f64 / 60.0;
                assert!(close(bits, rate.as_bps() as f64, 20.0), "{bits} b/s");
            }
        }
        assert!(close(got[0], got[2], 20.0), "equal parts in it: {got:?}");
        assert!(close(got.iter().sum(), 1.0, 25.0), "{got:?}");
        let report = &world.manager.report(world.now).classes[0];
        assert!(report.held > 0 && report.name == "c0", "{report:?}");
        // Alone it gets no more, and the medium is idle at times.
        world.sources[1].window = 0;
        world.run(Span::from_secs(2));
        let alone = minute(&mut world);
        assert!(close(alone[0] + alone[2], got[0] + got[2], 20.0), "{alone:?} after {got:?}");
    }
}

#[test]
fn a_ceiling_bounds_the_classes_below_it() {
    let rates = [11_000; 3].map(rate);
    let classes = vec![
        Class { ceiling: Some(Amount::Part(300)), ..class(None, 9, Takes::Named) },
        class(Some(0), 2, of_stations(&[0])),
        class(Some(0), 1, of_stations(&[1])),
    ];
    let mut world = settled(World::new(with(&rates, policy(classes)), &rates, sources(&[0, 1, 2], &[])));
    let got = minute(&mut world);
    assert_shares(&got, &[0.2, 0.1, 0.7], 20.0);
}

#[test]
fn a_minimum_holds_under_overload_and_is_part_of_the_share() {
    let rates = [11_000, 11_000, 5_500].map(rate);
    let minimum = |amount| Class { minimum: Some(amount), ..class(None, 1, of_stations(&[0])) };
    for (amount, weight, expected) in [
        // Beside others of weight 9 its share is a tenth.
        (Amount::Part(300), 9, 0.3),
        // Here its share is a half, which is more.
        (Amount::Part(300), 1, 0.5),
    ] {
        let classes = vec![minimum(amount), class(None, weight, Takes::Rest)];
        let mut world = settled(World::new(with(&rates, policy(classes)), &rates, sources(&[0, 1, 2], &[])));
        let got = minute(&mut world);
        // As a part of what is used: behind a slow packet the medium waits for an acknowledgment now and then, with and
        // without classes.
        let used: f64 = got.iter().sum();
        assert!(used > 0.95 && close(got[0] / used, expected, 20.0), "{got:?}, {expected} expected");
    }
    let classes = vec![minimum(Amount::Rate(BitRate::from_kbps(1_500))), class(None, 9, Takes::Rest)];
    let mut world = settled(World::new(with(&rates, policy(classes)), &rates, sources(&[0, 1, 2], &[])));
    let bits = world.run(MINUTE)[0].ip_bits as f64 / 60.0;
    assert!(close(bits, 1.5e6, 20.0), "{bits} b/s");
}

#[test]
fn after_a_minimum_above_its_share_a_class_does_not_wait() {
    // While station 1 is present, class 0 gets 40 % although its share is a tenth; then station 2 replaces it, with the
    // same small weight as class 0: each gets a half, at once.
    let rates = [11_000; 3].map(rate);
    let classes = vec![
        Class { minimum: Some(Amount::Part(400)), ..class(None, 1, of_stations(&[0])) },
        class(None, 9, of_stations(&[1])),
        class(None, 1, of_stations(&[2])),
    ];
    let mut flows = sources(&[0, 1, 2], &[]);
    flows[2].start = Span::from_secs(21);
    let mut world = settled(World::new(with(&rates, policy(classes)), &rates, flows));
    world.run(Span::from_secs(2));
    world.sources[1].window = 0;
    world.run(Span::from_millis(500));
    let got = world.run(Span::from_secs(2));
    assert!(close(got[0].ip_bits as f64, got[2].ip_bits as f64, 30.0), "{got:?}");
}

#[test]
fn a_class_with_nothing_to_send_costs_nothing() {
    let rates = [11_000; 4].map(rate);
    let classes = vec![
        Class { minimum: Some(Amount::Part(500)), ..class(None, 20, of_stations(&[0])) },
        class(None, 1, of_stations(&[1])),
        class(None, 1, Takes::Rest),
    ];
    let mut world = settled(World::new(with(&rates, policy(classes)), &rates, sources(&[1, 2], &[3])));
    let got = minute(&mut world);
    assert_shares(&got, &[0.5, 0.25, 0.25], 20.0);
}

#[test]
fn on_a_medium_with_collisions_shares_and_ceilings_hold() {
    let rates = [11_000, 5_500, 11_000, 2_000].map(rate);
    let classes = vec![
        class(None, 3, of_stations(&[0, 1])),
        Class { ceiling: Some(Amount::Rate(BitRate::from_kbps(300))), ..class(None, 1, of_stations(&[2])) },
        class(None, 1, Takes::Rest),
    ];
    let config = with(&rates, policy(classes));
    let air = Box::new(Dcf::new(config.phy.clone(), config.rts_threshold, rates.len()));
    let mut world = settled(World::over(air, config, &rates, sources(&[0, 2], &[1, 3])));
    let tallies = world.run(MINUTE);
    let got = airtime(&world, &tallies);
    assert!(close((got[0] + got[2]) / got[3], 3.0, 30.0), "{got:?}");
    assert!(close(tallies[1].ip_bits as f64 / 60.0, 300e3, 20.0), "{tallies:?}");
}

#[test]
fn another_tree_under_load_loses_nothing_and_keeps_the_order() {
    let rates = [11_000; 4].map(rate);
    let first = vec![class(None, 5, of_stations(&[0, 1])), class(None, 1, Takes::Rest)];
    let second = vec![
        class(None, 1, Takes::Named),
        class(Some(0), 4, going(Direction::Down)),
        Class { ceiling: Some(Amount::Part(50)), ..class(None, 1, of_stations(&[3])) },
    ];
    let (first, second) = (with(&rates, policy(first)), with(&rates, policy(second)));
    let plain = config(&rates);
    let mut world = settled(World::new(first.clone(), &rates, sources(&[0, 2], &[1, 3])));
    for config in [&second, &plain, &second, &first] {
        let held = world.manager.counters().held;
        assert!(held > 50, "{held}");
        world.command(Command::Reconfigure(config.clone().into()));
        world.run(Span::from_millis(700));
    }
    let counters = world.manager.counters();
    assert_eq!((counters.dropped(), counters.received), (0, counters.released + counters.held));
    assert!(world.released.iter().all(|numbers| numbers.is_sorted() && !numbers.is_empty()));
    world.run(Span::from_secs(20));
    let got = minute(&mut world);
    assert_shares(&[got[0] + got[2], got[1] + got[3]], &[5.0, 1.0], 20.0);
    // Counted by name: "c0" existed all the time.
    let report = world.manager.report(world.now);
    let released: u64 = report.classes.iter().map(|class| class.released.0).sum();
    assert_eq!(released, report.flows.iter().map(|flow| flow.released.0).sum::<u64>());
}

#[test]
fn kinds_of_traffic_share_within_their_station() {
    // Connections of port 40000 and 40001 of station 0, of station 1 another: port 40000 has four times the weight of all
    // else in a station, and stations are equal.
    let rates = [11_000; 2].map(rate);
    let rules = vec![Rule { ports: vec![(40_000, 40_000)], protocols: vec![6], ..Rule::default() }];
    let levels = vec![
        Level::Station { time_fair: true },
        Level::Application { applications: vec![Application { weight: 4, rules }], other: 1 },
        Level::Flow,
    ];
    let config = with(&rates, Policy::of(levels));
    let mut world = settled(World::new(config, &rates, sources(&[0, 0, 1], &[])));
    let got = minute(&mut world);
    assert_shares(&got, &[0.4, 0.1, 0.5], 20.0);
}

/// The classes in which a packet toward a station is counted, after `reports`.
fn classes_of(policy: &Policy, meta: &PacketMeta, reports: &[Observation]) -> Vec<String> {
    let mut manager = Manager::new(with(&[rate(11_000); 4], policy.clone()), Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    reports.iter().for_each(|report| manager.handle_observation(Instant::ZERO, *report));
    manager.handle_packet(Instant::ZERO, 1, meta);
    let had = |class: &ClassReport| class.released > Bytes(0) || class.held > 0;
    let report = manager.report(Instant::ZERO);
    report.classes.into_iter().filter(had).map(|class| class.name).collect()
}

#[test]
fn the_first_matching_rule_decides() {
    let rule = |rule| Takes::Rules(vec![rule]);
    let label = |text: &str| text.parse::<Label>().unwrap();
    let subnets = |text: &str| vec![text.parse().unwrap()];
    let policy = policy(vec![
        class(None, 1, rule(Rule { vlans: vec![20.into(), Vlan { id: 7, inner: Some(30) }], ..Rule::default() })),
        class(Some(0), 1, rule(Rule { ports: vec![(5_000, 5_010)], protocols: vec![6], ..Rule::default() })),
        class(None, 1, rule(Rule { groups: vec![label("staff")], ..Rule::default() })),
        class(None, 1, rule(Rule { ssids: vec![label("Guests")], ..Rule::default() })),
        class(None, 1, rule(Rule { dscps: vec![8, 46], ..Rule::default() })),
        class(
            None,
            1,
            rule(Rule { addresses: subnets("10.0.0.2/31"), peers: subnets("10.9.0.0/16"), ..Rule::default() }),
        ),
        class(None, 1, Takes::Named),
        class(Some(6), 1, rule(Rule { macs: vec![mac(1)], ..Rule::default() })),
        class(None, 1, Takes::Named),
    ]);
    let plain = |station| packet(Port::Wire, station, 0, Segment::new(TcpFlags::ACK, 1, 1, 1448));
    let vlan = |vlan: Vlan| PacketMeta { vlan: Some(vlan), ..plain(0) };
    let marked = |dscp| {
        let mut meta = plain(0);
        meta.ip.as_mut().unwrap().dscp = dscp;
        meta
    };
    let group = Observation::StationGroup { mac: mac(0), group: Some(label("staff")) };
    let guest = Observation::StationNetwork { mac: mac(0), ssid: Some(label("Guests")) };
    let left = Observation::StationGroup { mac: mac(0), group: None };
    for (meta, reports, expected) in [
        (plain(0), &[][..], &["other"][..]),
        (vlan(20.into()), &[], &["c0", "c1"]),
        (vlan(Vlan { id: 20, inner: Some(5) }), &[], &["c0", "c1"]),
        (vlan(Vlan { id: 7, inner: Some(30) }), &[], &["c0", "c1"]),
        (vlan(7.into()), &[], &["other"]),
        (vlan(20.into()), &[group], &["c0", "c1"]),
        (plain(0), &[guest, group], &["c2"]),
        (plain(0), &[guest, group, left], &["c3"]),
        (marked(46), &[], &["c4"]),
        (marked(46), &[guest], &["c3"]),
        (marked(0), &[], &["other"]),
        (plain(2), &[], &["c5"]),
        (plain(3), &[], &["c5"]),
        (plain(1), &[], &["c6", "c7"]),
    ] {
        assert_eq!(classes_of(&policy, &meta, reports), expected, "{meta:?} {reports:?}");
    }
}

#[test]
fn a_station_assigned_to_a_class_is_classified_from_there() {
    let policy = policy(vec![
        class(None, 1, of_stations(&[0])),
        class(None, 1, Takes::Named),
        class(Some(1), 1, going(Direction::Up)),
        class(Some(1), 1, Takes::Rest),
    ]);
    let mut config = with(&[rate(11_000); 2], policy);
    config.stations[0].class = Some(ClassId(1));
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_packet(Instant::ZERO, 1, &packet(Port::Wire, 0, 0, Segment::new(TcpFlags::ACK, 1, 1, 1448)));
    manager.handle_packet(Instant::ZERO, 2, &packet(Port::Wire, 0, 1, Segment::new(TcpFlags::ACK, 1, 1, 0)));
    let released: Vec<u64> = manager.report(Instant::ZERO).classes.iter().map(|class| class.released.0).collect();
    assert_eq!(released, [0, 1552, 52, 1500, 0], "a pure ACK toward a station is of an upload");
}

#[test]
fn a_new_group_moves_held_packets_and_a_new_code_point_later_ones() {
    let label = "staff".parse::<Label>().unwrap();
    let rule = |rule| Takes::Rules(vec![rule]);
    let policy = policy(vec![
        class(None, 1, rule(Rule { groups: vec![label], ..Rule::default() })),
        class(None, 1, rule(Rule { dscps: vec![46], ..Rule::default() })),
    ]);
    let mut manager = Manager::new(with(&[rate(11_000); 2], policy), Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    let mut number = 0;
    let mut send = |manager: &mut Manager<u64>, dscp| {
        let mut meta = packet(Port::Wire, 0, 0, Segment::new(TcpFlags::ACK, 1 + 1448 * number, 1, 1448));
        meta.ip.as_mut().unwrap().dscp = dscp;
        number += 1;
        manager.handle_packet(Instant::ZERO, number.into(), &meta);
        let held = manager.report(Instant::ZERO).classes;
        held.iter().map(|class| class.held).collect::<Vec<_>>()
    };
    while send(&mut manager, 0)[2] < 5 {}
    assert_eq!(send(&mut manager, 46), [0, 0, 6], "held packets are not moved by a mark");
    manager.handle_observation(Instant::ZERO, Observation::StationGroup { mac: mac(0), group: Some(label) });
    assert_eq!(send(&mut manager, 46), [7, 0, 0]);
    manager.handle_observation(Instant::ZERO, Observation::StationGroup { mac: mac(0), group: None });
    // Still by the code point that it had when packets came to be held.
    assert_eq!(send(&mut manager, 46), [0, 0, 8]);
    let (mut numbers, mut now) = (Vec::new(), Instant::ZERO);
    while manager.counters().held > 0 {
        now = manager.poll_deadline().expect("a deadline").0;
        manager.handle_timeout(now);
    }
    while let Some(output) = manager.poll_output() {
        if let Output::Release { packet, .. } = output {
            numbers.push(packet);
        }
    }
    assert!(numbers.is_sorted() && numbers.len() as u32 == number, "{numbers:?}");
    let mut meta = packet(Port::Wire, 0, 0, Segment::new(TcpFlags::ACK, 1 + 1448 * number, 1, 1448));
    meta.ip.as_mut().unwrap().dscp = 46;
    manager.handle_packet(now, 99, &meta);
    assert!(manager.report(now).classes[1].released + Bytes(manager.report(now).classes[1].held_bytes.0) > Bytes(0));
}
