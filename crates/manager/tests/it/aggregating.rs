//! Contention domains of 802.11n and later: a station is charged at its reported rate, with the part of an access that
//! each of its packets has; one that sends single frames is charged a whole access for each.

use evenair_manager::{Command, Config, Controller, Manager, Observation, Output, RateReport, StationReport};
use evenair_packet::{IpMeta, PacketMeta, Port, TcpFlags, Transport};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::{AggregateLimits, AggregateSender, AggregateTcp, Format, Phy, PhyMode, PhyRate, Standard, TcpShape};

use crate::world::{Segment, mac, packet};

const FULL_SIZE: Bytes = Bytes(1_500);

fn report(station: usize, now: Instant, kbps: i64) -> Observation {
    Observation::RateReport(RateReport {
        mac: mac(station),
        source: 1,
        measured: now,
        valid_for: Span::from_secs(60),
        transmit_kbps: Some(kbps),
        receive_kbps: None,
        signal_dbm: None,
        transmit_mode: None,
        receive_mode: None,
    })
}

/// A report with a mode, and the bit rate of another one.
fn report_of_mode(station: usize, now: Instant, mode: &str) -> Observation {
    let Observation::RateReport(report) = report(station, now, 6_000) else { unreachable!() };
    let mode = mode.parse().unwrap_or_else(|error| panic!("{mode}: {error}"));
    Observation::RateReport(RateReport { transmit_mode: Some(mode), ..report })
}

/// A datagram to a station.
fn datagram(station: usize) -> PacketMeta {
    let mut meta = packet(Port::Wire, station, 0, Segment::new(TcpFlags::ACK, 1, 1, FULL_SIZE.0 - 52));
    let udp =
        |ip: IpMeta| IpMeta { protocol: 17, transport: Transport::Udp { src_port: 5001, dst_port: 40_000 }, ..ip };
    meta.ip = meta.ip.map(udp);
    meta
}

/// A manager of this standard, with stations of these reported rates, after a datagram to each.
fn manager(standard: Standard, kbps: &[i64]) -> Manager<u64> {
    let now = Instant::ZERO;
    manager_with(standard, kbps.iter().enumerate().map(|(station, &kbps)| report(station, now, kbps)).collect())
}

/// The same with any reports, one for each station.
fn manager_with(standard: Standard, reports: Vec<Observation>) -> Manager<u64> {
    let config = Config::new(Phy::default_for(standard));
    assert_eq!(config.check(), Ok(()));
    let now = Instant::ZERO;
    let mut manager = Manager::new(config, now);
    manager.handle_command(now, Command::Insert);
    for (station, report) in reports.into_iter().enumerate() {
        manager.handle_observation(now, report);
        manager.handle_packet(now, station as u64, &datagram(station));
    }
    while manager.counters().held > 0 {
        let (deadline, _) = manager.poll_deadline().expect("there is always one");
        manager.handle_timeout(deadline);
    }
    manager
}

fn of(manager: &Manager<u64>, station: usize) -> StationReport {
    let stations = manager.report(Instant::ZERO).stations;
    stations.into_iter().find(|report| report.mac == mac(station)).expect("a known station")
}

/// Airtime of a full-size packet at a rate, in an access with as many as it carries.
fn part_of_an_access(phy: &Phy, rate: PhyRate) -> f64 {
    let sender = AggregateSender { phy, rate, limits: AggregateLimits::of_rate(rate), rts_threshold: None };
    let n = sender.full(FULL_SIZE);
    sender.cycle(n, FULL_SIZE).as_secs_f64() / f64::from(n)
}

#[test]
fn stations_are_charged_at_reported_rates_by_the_closed_forms() {
    for (standard, format, reported) in [
        (Standard::Dot11n, Format::Ht, &[6_500, 65_000, 300_000, 54_000, 6_000][..]),
        (Standard::Dot11ac, Format::Vht, &[6_500, 390_000, 780_000, 3_466_700, 54_000, 24_000]),
        (Standard::Dot11ax, Format::He, &[8_600, 86_000, 143_400, 1_201_000, 2_402_000, 54_000]),
    ] {
        let phy = Phy::default_for(standard);
        let manager = manager(standard, reported);
        for (station, &kbps) in reported.iter().enumerate() {
            let report = of(&manager, station);
            let mbps = report.rate.bit_rate().as_mbps_f64();
            let is_single = [6_000, 24_000, 54_000].contains(&kbps);
            assert_eq!(report.rate.mode().map(|mode| mode.format()), (!is_single).then_some(format), "{kbps} kb/s");
            assert!((mbps * 1e3 / kbps as f64 - 1.0).abs() < 0.02, "{kbps} kb/s count as {}", report.rate);
            let ratio = report.airtime.as_secs_f64() / part_of_an_access(&phy, report.rate);
            assert!((ratio - 1.0).abs() < 1e-3, "{standard}, {kbps} kb/s: {} is {ratio} times as much", report.airtime);
            let reported = report.reported.expect("it is reported");
            assert_eq!((reported.class, reported.set_aside), (Some(report.rate), false));
        }
    }
}

#[test]
fn modes_of_the_same_bit_rate_are_charged_by_mode() {
    for (standard, modes, mbps) in [
        (Standard::Dot11n, ["HT MCS 5", "HT MCS 11", "HT MCS 25"], 52),
        (
            Standard::Dot11ac,
            [
                "VHT MCS 9, 160 MHz",
                "VHT MCS 8, 80 MHz, 2 streams, GI 0.4 us",
                "VHT MCS 4, 80 MHz, 4 streams, GI 0.4 us",
            ],
            780,
        ),
        (Standard::Dot11ax, ["HT MCS 3, 40 MHz", "VHT MCS 1, 40 MHz, 2 streams", "VHT MCS 3, 40 MHz"], 54),
    ] {
        let phy = Phy::default_for(standard);
        let reports = modes.iter().enumerate().map(|(station, mode)| report_of_mode(station, Instant::ZERO, mode));
        let manager = manager_with(standard, reports.collect());
        let mut charged = Vec::new();
        for (station, mode) in modes.iter().enumerate() {
            let report = of(&manager, station);
            assert_eq!(report.rate.mode().map(|mode| mode.to_string()).as_deref(), Some(&*full(mode)), "{standard}");
            assert_eq!(report.rate.bit_rate(), BitRate::from_mbps(mbps));
            let ratio = report.airtime.as_secs_f64() / part_of_an_access(&phy, report.rate);
            assert!((ratio - 1.0).abs() < 1e-3, "{standard}, {mode}: {} is {ratio} times as much", report.airtime);
            charged.push(report.airtime);
        }
        assert!(charged.windows(2).all(|two| two[0] != two[1]), "{standard}: {charged:?}");
    }
}

/// The text of a mode with all its parts.
fn full(mode: &str) -> String {
    mode.parse::<PhyMode>().expect("a mode").to_string()
}

/// A packet takes 19 us at 780 Mb/s, 64 in an access; 407 us at 54 Mb/s, alone; and 2018 us at 6.5 Mb/s, two in an access.
#[test]
fn a_fast_station_is_not_charged_as_the_fastest_of_ofdm() {
    let manager = manager(Standard::Dot11ac, &[780_000, 54_000, 6_500]);
    let [fast, single, slow] = [0, 1, 2].map(|station| of(&manager, station));
    assert_eq!(fast.rate.bit_rate(), BitRate::from_mbps(780));
    assert_eq!((single.rate.bit_rate(), single.rate.mode()), (BitRate::from_mbps(54), None));
    for (station, micros) in [(&fast, 18.98), (&single, 406.5), (&slow, 2_017.0)] {
        let airtime = station.airtime.as_secs_f64() * 1e6;
        assert!((airtime / micros - 1.0).abs() < 0.01, "{}: {airtime} us", station.rate);
    }
    // C_i follows: for each packet with half an ACK.
    let phy = Phy::default_for(Standard::Dot11ac);
    let shape = TcpShape { rts_threshold: None, ..TcpShape::ADWISER };
    let tcp = AggregateTcp { shape, acks: None, collision_millionths: 0 };
    for station in [fast, single, slow] {
        let limits = AggregateLimits::of_rate(station.rate);
        let sender = AggregateSender { phy: &phy, rate: station.rate, limits, rts_threshold: None };
        assert_eq!(station.capacity, sender.tcp_capacity(sender.full(FULL_SIZE), &tcp));
    }
}

/// With packets always waiting, both get the same time: packets in the inverse ratio of their cost.
#[test]
fn fast_and_slow_stations_share_the_time_of_the_medium() {
    let config = Config {
        aqm: None,
        controller: Controller::Fixed(BitRate::from_mbps(50)),
        ..Config::new(Phy::default_for(Standard::Dot11ac))
    };
    let (mut now, mut manager) = (Instant::ZERO, Manager::<u64>::new(config, Instant::ZERO));
    manager.handle_command(now, Command::Insert);
    let reported = [780_000, 54_000];
    for (station, kbps) in reported.into_iter().enumerate() {
        manager.handle_observation(now, report(station, now, kbps));
        (0..50).for_each(|_| manager.handle_packet(now, station as u64, &datagram(station)));
    }
    let mut released = [0_u32; 2];
    while released.iter().sum::<u32>() < 10_000 {
        (now, _) = manager.poll_deadline().expect("there is always one");
        manager.handle_timeout(now);
        while let Some(output) = manager.poll_output() {
            let Output::Release { packet, .. } = output else { continue };
            released[packet as usize] += 1;
            manager.handle_packet(now, packet, &datagram(packet as usize));
        }
    }
    let phy = Phy::default_for(Standard::Dot11ac);
    let [fast, single] = [0, 1].map(|station| part_of_an_access(&phy, of(&manager, station).rate));
    let ratio = f64::from(released[0]) / f64::from(released[1]);
    assert!((ratio / (single / fast) - 1.0).abs() < 0.05, "{released:?}: {ratio} and not {}", single / fast);
}

#[test]
fn a_station_without_information_is_at_the_default_rate() {
    let manager = manager(Standard::Dot11ax, &[0]);
    let report = of(&manager, 0);
    assert_eq!((report.rate.bit_rate(), report.rate.mode()), (BitRate::from_mbps(6), None));
}
