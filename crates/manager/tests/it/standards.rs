//! Contention domains of different standards under one manager: each is charged and paced by its own airtime model.

use std::cell::RefCell;
use std::rc::Rc;

use evenair_manager::{
    AccessPoint, Command, Config, ConfigError, Controller, Label, Manager, Observation, Place, RateReport,
    StationReport,
};
use evenair_packet::{IpMeta, MacAddr, PacketMeta, Port, TcpFlags, Transport};
use evenair_recording::{DecisionLog, Player, Recorder, replay};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::{Phy, PhyRate, Standard, TcpShape, adwiser_80211b, tcp_capacity};

use crate::air::{Channels, Formula};
use crate::world::{Segment, World, bits, close, config, mac, packet, rate, sources};

const RTS: Option<Bytes> = Some(Bytes(1000));
const FULL_SIZE: Bytes = Bytes(1500);

fn ofdm(mbps: u64) -> PhyRate {
    Standard::Dot11a.rate(BitRate::from_mbps(mbps)).expect("a rate of 802.11a")
}

fn label(text: &str) -> Label {
    text.parse().expect("a short name")
}

fn phy_a() -> Phy {
    Phy::default_for(Standard::Dot11a)
}

/// Access point b, of the configuration's 802.11b, and a, of 802.11a; stations at these rates.
fn two_standards(rates: &[PhyRate]) -> Config {
    let a = AccessPoint { standard: Some(Standard::Dot11a), ..AccessPoint::new(label("a")) };
    Config { access_points: vec![AccessPoint::new(label("b")), a], ..config(rates) }
}

fn at(station: usize, access_point: &str) -> Observation {
    Observation::StationAt { mac: mac(station), place: Some(Place::Named(label(access_point))) }
}

/// A datagram of a full-size packet to a station.
fn datagram(station: usize) -> PacketMeta {
    let mut meta = packet(Port::Wire, station, 0, Segment::new(TcpFlags::ACK, 1, 1, FULL_SIZE.0 - 52));
    let udp =
        |ip: IpMeta| IpMeta { protocol: 17, transport: Transport::Udp { src_port: 5001, dst_port: 40_000 }, ..ip };
    meta.ip = meta.ip.map(udp);
    meta
}

fn of(manager: &Manager<u64>, station: usize, now: Instant) -> StationReport {
    let stations = manager.report(now).stations;
    stations.into_iter().find(|report| report.mac == mac(station)).expect("a known station")
}

#[test]
fn a_packet_is_charged_the_airtime_of_its_domain() {
    let (b, a) = (rate(11_000), ofdm(54));
    let now = Instant::ZERO;
    let mut manager: Manager<u64> = Manager::new(two_standards(&[b, a]), now);
    manager.handle_command(now, Command::Insert);
    for (station, access_point) in [(0, "b"), (1, "a")] {
        manager.handle_observation(now, at(station, access_point));
        manager.handle_packet(now, station as u64, &datagram(station));
    }
    for (station, rate, phy) in [(0, b, adwiser_80211b()), (1, a, phy_a())] {
        let expected = phy.access_cost(FULL_SIZE, rate, true).0;
        let report = of(&manager, station, now);
        assert_eq!((report.rate, report.airtime), (rate, expected));
        assert_eq!(report.capacity, tcp_capacity(&phy, rate, &TcpShape { rts_threshold: RTS, ..TcpShape::ADWISER }));
        let flows = manager.report(now).flows;
        let flow = flows.iter().find(|flow| flow.station == mac(station)).expect("its flow");
        assert_eq!(flow.charged, expected);
    }
}

#[test]
fn both_domains_carry_their_own_full_rate_at_once() {
    let rates = [rate(11_000), rate(11_000), ofdm(54), ofdm(54)];
    let airs = [adwiser_80211b(), phy_a()].map(|phy| Box::new(Formula::new(phy, RTS)) as Box<dyn crate::air::Air>);
    let air = Channels { airs: airs.into(), channel: Rc::new(RefCell::new(vec![0, 0, 1, 1])) };
    let mut world = World::over(Box::new(air), two_standards(&rates), &rates, sources(&[0, 1, 2], &[3]));
    world.command(Command::Insert);
    for (station, access_point) in [(0, "b"), (1, "b"), (2, "a"), (3, "a")] {
        world.tell(at(station, access_point));
    }
    let interval = Span::from_secs(10);
    world.run(interval);
    let got = bits(&world.run(interval));
    let shape = TcpShape { rts_threshold: RTS, ..TcpShape::ADWISER };
    for (of_domain, phy, rate) in [(0..2, adwiser_80211b(), rates[0]), (2..4, phy_a(), rates[2])] {
        let carried: f64 = got[of_domain].iter().sum::<f64>() / interval.as_secs_f64();
        let full = tcp_capacity(&phy, rate, &shape).as_bps() as f64;
        println!("{rate}: {carried:.0} of {full:.0} b/s");
        assert!(close(carried, full, 20.0), "{rate}: {carried} of {full}");
    }
    assert!(close(got[2], got[3], 30.0), "stations of one domain have equal shares: {got:?}");
    let report = world.manager.report(world.now);
    for (at, rate, phy) in [(1, rates[0], adwiser_80211b()), (2, rates[2], phy_a())] {
        assert_eq!(report.domains[at].capacity, tcp_capacity(&phy, rate, &shape), "C* of its own standard");
    }
}

#[test]
fn a_station_that_roams_is_at_a_rate_of_the_standard_there() {
    let now = Instant::ZERO;
    let mut manager: Manager<u64> = Manager::new(two_standards(&[rate(11_000)]), now);
    let shape = TcpShape { rts_threshold: RTS, ..TcpShape::ADWISER };
    let mut rate_at = |access_point: &str, phy: &Phy, expected: PhyRate| {
        manager.handle_observation(now, at(0, access_point));
        let report = of(&manager, 0, now);
        assert_eq!((report.rate, report.capacity), (expected, tcp_capacity(phy, expected, &shape)), "{access_point}");
    };
    rate_at("a", &phy_a(), ofdm(12));
    rate_at("b", &adwiser_80211b(), rate(11_000));
    // A report is mapped to the rates of the standard where the station is, wherever it was when the report came.
    let report = RateReport {
        mac: mac(0),
        source: 1,
        measured: now,
        valid_for: Span::from_secs(60),
        transmit_kbps: Some(48_000),
        receive_kbps: None,
        signal_dbm: None,
        transmit_mode: None,
        receive_mode: None,
    };
    manager.handle_observation(now, Observation::RateReport(report));
    assert_eq!(of(&manager, 0, now).rate, rate(11_000));
    manager.handle_observation(now, at(0, "a"));
    assert_eq!(of(&manager, 0, now).rate, ofdm(48));
    // A station without any information: the lowest basic rate of each standard.
    for (access_point, lowest) in [("a", ofdm(6)), ("b", adwiser_80211b().lowest_basic())] {
        let mut manager: Manager<u64> = Manager::new(two_standards(&[]), now);
        manager.handle_observation(now, at(0, access_point));
        assert_eq!(of(&manager, 0, now).rate, lowest);
    }
}

#[test]
fn another_standard_is_taken_over() {
    let (now, mut manager) = (Instant::ZERO, Manager::<u64>::new(two_standards(&[ofdm(54)]), Instant::ZERO));
    manager.handle_observation(now, at(0, "a"));
    let shape = TcpShape { rts_threshold: RTS, ..TcpShape::ADWISER };
    // The same rate takes another time by the timing of 802.11g.
    let mut config = two_standards(&[ofdm(54)]);
    for standard in [Standard::Dot11g, Standard::Dot11a] {
        config.access_points[1].standard = Some(standard);
        manager.handle_command(now, Command::Reconfigure(Box::new(config.clone())));
        let expected = tcp_capacity(&Phy::default_for(standard), ofdm(54), &shape);
        let report = of(&manager, 0, now);
        assert_eq!((report.rate, report.capacity), (ofdm(54), expected), "{standard}");
        assert_eq!(manager.report(now).domains[2].capacity, expected);
    }
}

/// Time to release a queue of TCP segments to a station, with or without a broadcast in between. The service rate is C* of an unknown
/// domain.
fn time_to_empty(station: usize, access_point: &str, service_rate: BitRate, broadcast: bool) -> Span {
    let config = Config { controller: Controller::Fixed(service_rate), ..two_standards(&[rate(11_000), ofdm(54)]) };
    let (mut now, mut manager) = (Instant::ZERO, Manager::<u64>::new(config, Instant::ZERO));
    manager.handle_command(now, Command::Insert);
    manager.handle_observation(now, at(station, access_point));
    let data =
        |number: u64| packet(Port::Wire, station, 0, Segment::new(TcpFlags::ACK, 1 + number as u32 * 1448, 1, 1448));
    (0..100).for_each(|number| manager.handle_packet(now, number, &data(number)));
    if broadcast {
        manager.handle_packet(now, 100, &PacketMeta { dst: MacAddr::BROADCAST, ..datagram(0) });
    }
    while manager.counters().held > 0 {
        (now, _) = manager.poll_deadline().expect("there is always one");
        manager.handle_timeout(now);
    }
    now.saturating_since(Instant::ZERO)
}

#[test]
fn a_broadcast_takes_the_time_of_each_standard() {
    let shape = TcpShape { rts_threshold: RTS, ..TcpShape::ADWISER };
    for (station, access_point, phy) in [(0, "b", adwiser_80211b()), (1, "a", phy_a())] {
        let capacity = tcp_capacity(&phy, phy.lowest_basic(), &shape);
        let [without, with] = [false, true].map(|broadcast| time_to_empty(station, access_point, capacity, broadcast));
        let expected = phy.difs() + phy.mean_backoff() + phy.data(FULL_SIZE, phy.lowest_basic());
        let took = (with.saturating_sub(without)).as_secs_f64();
        assert!(close(took, expected.min(Span::from_millis(10)).as_secs_f64(), 10.0), "{access_point}: {took} s");
    }
}

#[test]
fn standards_that_the_models_cannot_represent_are_refused() {
    let with = |change: fn(&mut Config)| {
        let mut config = two_standards(&[rate(11_000), ofdm(54)]);
        change(&mut config);
        config.check().map_err(|error| error.to_string())
    };
    assert_eq!(with(|_| {}), Ok(()));
    let mixed = with(|config| config.access_points[1].domain = label("b")).unwrap_err();
    assert!(mixed.contains("access point a is 802.11a") && mixed.contains("domain b is 802.11b"), "{mixed}");
    let default = with(|config| config.access_points[1].domain = label("default")).unwrap_err();
    assert!(default.contains("domain default is 802.11b"), "{default}");
    let mut alone = two_standards(&[ofdm(54)]);
    alone.access_points.pop();
    assert_eq!(alone.check(), Err(ConfigError::UnknownRate(ofdm(54))), "no domain has the rate");
}

#[test]
fn a_replay_knows_the_standards() {
    let config = two_standards(&[rate(11_000), ofdm(54)]);
    let mut now = Instant::ZERO;
    let (mut manager, mut recorder) = (Manager::<u64>::new(config.clone(), now), Recorder::new(&config, now));
    let mut log = DecisionLog::default();
    recorder.command(now, &Command::Insert);
    manager.handle_command(now, Command::Insert);
    for observation in [at(0, "b"), at(1, "a")] {
        recorder.observation(now, &observation);
        manager.handle_observation(now, observation);
    }
    while let Some(output) = manager.poll_output() {
        log.decision(now, &output, |number| *number);
    }
    for number in 0..400 {
        now += Span::from_micros(100);
        let meta = datagram(number as usize % 2);
        recorder.packet(now, number, &meta);
        manager.handle_packet(now, number, &meta);
        while let Some(output) = manager.poll_output() {
            log.decision(now, &output, |number| *number);
        }
    }
    let bytes = recorder.take();
    assert_eq!(Player::new(&bytes).expect("a recording").config(), &config);
    let (replayed, end) = replay(&bytes).expect("a recording");
    assert_eq!(end, Ok(()));
    assert!(replayed.as_bytes() == log.as_bytes() && log.as_bytes().len() > 1_000);
}
