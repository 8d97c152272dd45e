//! The default manager is fair to stations: each has the same medium time in any direction of traffic, and uploads and
//! downloads of a station share it equally.
//!
//! Shares of stations are computed from the airtime that the medium measured in the phase, and from their traffic: the IP-level
//! rate of a transfer, DATA and ACKs, over the rate that it would have alone. Shares of a station's transfers are computed from
//! the latter, since the medium does not know transfers.

use std::collections::BTreeMap;

use evenair_results::{FlowResult, PhaseResult, StationAirtime};
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, Standard, TcpShape, tcp_capacity};

use crate::site::Site;

/// Tolerance of a share.
const WITHIN: f64 = 0.05;

/// Stations of one kind: number, PHY rate, and directions of their bulk transfers.
struct Group {
    name: &'static str,
    count: u32,
    mbps: u64,
    ways: &'static [&'static str],
}

const fn group(name: &'static str, count: u32, mbps: u64, ways: &'static [&'static str]) -> Group {
    Group { name, count, mbps, ways }
}

/// The phase with the default manager in force, with `rest` added to the scenario.
fn managed(groups: &[Group], rest: &str) -> PhaseResult {
    let mut result = Site::new("fair", 60)
        .radio("802.11g", "ap_buffer = '150 kB'")
        .each(groups, |site, group| site.stations(group.name, group.count, &format!("rate = '{} Mb/s'", group.mbps)))
        .each(groups, |site, Group { name, ways, .. }| {
            let transfers = ways.iter().enumerate();
            site.each(transfers, |site, (number, way)| site.bulk(&format!("{name}-{way}-{number}"), name, way))
        })
        .with(rest)
        .insert(2)
        .phase("managed", 20, 60)
        .run();
    let guard: Vec<_> = result.events.iter().filter(|event| event.what.starts_with("guard")).collect();
    assert!(guard.is_empty(), "the guard against harm was alarmed: {guard:?}");
    result.phases.remove(0)
}

/// Part of the medium's time that a transfer takes.
fn airtime(flow: &FlowResult) -> f64 {
    let phy = Phy::default_for(Standard::Dot11g);
    let rate = phy.standard().rate(BitRate::from_bps((flow.rate_mbps * 1e6) as u64)).expect("a rate of 802.11g");
    let d_milli = (flow.d.unwrap_or(2.0) * 1e3) as u32;
    let shape = TcpShape { data_ip: Bytes(1_500), ack_ip: Bytes(52), d_milli, rts_threshold: None };
    flow.ip_mbps / tcp_capacity(&phy, rate, &shape).as_mbps_f64()
}

/// Each station's computed airtime over the mean.
fn parts(phase: &PhaseResult) -> Vec<(&str, f64)> {
    let mut stations: BTreeMap<&str, f64> = BTreeMap::new();
    for flow in &phase.flows {
        *stations.entry(&flow.station).or_default() += airtime(flow);
    }
    let mean = stations.values().sum::<f64>() / stations.len() as f64;
    stations.into_iter().map(|(station, airtime)| (station, airtime / mean)).collect()
}

/// Each station's measured airtime over the mean.
fn measured_parts(phase: &PhaseResult) -> Vec<(&str, f64)> {
    let measured = phase.measured_airtime.as_ref().expect("it is measured");
    let airtime = |station: &StationAirtime| station.down_share + station.up_share;
    let mean = measured.stations.iter().map(airtime).sum::<f64>() / measured.stations.len() as f64;
    measured.stations.iter().map(|station| (station.station.as_str(), airtime(station) / mean)).collect()
}

/// Checks that every station has the same airtime, computed and measured.
fn is_fair(name: &str, phase: &PhaseResult) {
    is_fair_as_computed(name, phase);
    let measured = measured_parts(phase);
    println!("{name}: measured {measured:.3?}");
    assert_eq!(measured.len(), phase.stations.len(), "{name}: {measured:.3?}");
    assert!(measured.iter().all(|(_, part)| (part - 1.0).abs() < WITHIN), "{name}: measured {measured:.3?}");
}

/// Checks that every station has the same computed airtime.
fn is_fair_as_computed(name: &str, phase: &PhaseResult) {
    let parts = parts(phase);
    println!("{name}: {:.3} Mb/s, {parts:.3?}", phase.total_ip_mbps);
    assert!(parts.iter().all(|(_, part)| (part - 1.0).abs() < WITHIN), "{name}: {parts:.3?}");
}

/// Checks that the transfers of each of these stations have equal airtimes in both directions.
fn is_even_within(name: &str, phase: &PhaseResult, stations: &str) {
    let names: Vec<_> = phase.stations.iter().map(|s| &s.station).filter(|s| s.starts_with(stations)).collect();
    assert!(!names.is_empty());
    for station in names {
        let flows: Vec<_> = phase.flows.iter().filter(|flow| flow.station == *station).map(airtime).collect();
        let mean = flows.iter().sum::<f64>() / flows.len() as f64;
        let parts: Vec<_> = flows.iter().map(|flow| flow / mean).collect();
        println!("{name}: {station} {parts:.3?}");
        assert!(parts.iter().all(|part| (part - 1.0).abs() < WITHIN / 2.0), "{name}: {station} {parts:.3?}");
    }
}

const UP: &[&str] = &["up"];
const DOWN: &[&str] = &["down"];
const BOTH: &[&str] = &["up", "down"];
const FOUR: &[&str] = &["up", "up", "up", "down"];
const NO_TELEMETRY: &str = "[telemetry]\nstations = false\nrates = false";

#[test]
fn each_of_ten_stations_has_a_tenth_for_any_number_of_uploads() {
    for (ups, downs) in [(1, 9), (5, 5), (9, 1)] {
        for (telemetry, rest) in [("with telemetry", ""), ("without telemetry", NO_TELEMETRY)] {
            let phase = managed(&[group("u", ups, 54, UP), group("d", downs, 54, DOWN)], rest);
            is_fair(&format!("{ups} up, {downs} down, {telemetry}"), &phase);
        }
    }
}

/// Canary: with the policy tree of directions above stations the checks fail.
#[test]
fn with_directions_above_stations_one_upload_has_half() {
    let rest = "[manager]\nlevels = ['direction', 'station', 'flow']";
    let phase = managed(&[group("u", 1, 54, UP), group("d", 9, 54, DOWN)], rest);
    let parts = parts(&phase);
    let (_, upload) = parts.iter().find(|(station, _)| station.starts_with('u')).expect("it is there");
    assert!((4.5..5.5).contains(upload), "{parts:.3?}");
    let measured = measured_parts(&phase);
    let (_, upload) = measured.iter().find(|(station, _)| station.starts_with('u')).expect("it is there");
    assert!((4.5..5.5).contains(upload), "measured {measured:.3?}");
}

/// Several connections, or a long path to the server, change no share.
#[test]
fn shares_do_not_depend_on_connections_or_round_trips() {
    let far = "[lan]\ndelay = '40 ms'";
    for (name, rest, ways) in [("four connections", "", FOUR), ("80 ms away", far, UP)] {
        let groups = [group("m", 1, 54, ways), group("u", 2, 54, UP), group("d", 4, 54, DOWN)];
        is_fair(name, &managed(&groups, rest));
    }
}

#[test]
fn a_station_with_both_directions_has_one_share_and_divides_it_evenly() {
    for (ups, downs) in [(3, 3), (1, 5), (5, 1)] {
        let name = format!("one with both, {ups} up, {downs} down");
        let phase = managed(&[group("b", 1, 54, BOTH), group("u", ups, 54, UP), group("d", downs, 54, DOWN)], "");
        is_fair(&name, &phase);
        is_even_within(&name, &phase, "b");
    }
    let phase = managed(&[group("b", 4, 54, BOTH)], "");
    is_fair("all with both", &phase);
    is_even_within("all with both", &phase, "b");
}

#[test]
fn a_slow_station_has_the_same_time_in_both_directions() {
    for slow in [UP, DOWN, BOTH] {
        for (ups, downs) in [(1, 4), (4, 1)] {
            let groups = [group("slow", 1, 6, slow), group("u", ups, 54, UP), group("d", downs, 54, DOWN)];
            let (name, phase) = (format!("{slow:?} at 6 Mb/s, {ups} up and {downs} down at 54"), managed(&groups, ""));
            is_fair_as_computed(&name, &phase);
            // A station's share includes the back-off of its accesses, and its measured airtime does not: little for the few
            // long frames of a slow station, and a fifth for the many short ones of a fast station.
            let measured = measured_parts(&phase);
            println!("{name}: measured {measured:.3?}");
            let (slow, fast): (Vec<_>, Vec<_>) = measured.into_iter().partition(|(name, _)| name.starts_with("slow"));
            let mean = fast.iter().map(|(_, part)| part).sum::<f64>() / fast.len() as f64;
            assert!(fast.iter().all(|(_, part)| (part / mean - 1.0).abs() < WITHIN), "{name}: {fast:.3?}");
            assert!((1.0..1.3).contains(&(slow[0].1 / mean)), "{name}: {slow:.3?}, the others {fast:.3?}");
        }
    }
}
