//! Published findings about the box (Hegde et al., IEEE/ACM ToN 21(2), 2013), from the project's scenario files.
//!
//! Windows are limited to 256 kB if the box is evaluated soon after its insertion: with megabytes in the buffers of
//! stations and access point the queue takes long to drain, on real networks as well.

use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::run;

use crate::site::phase;

const CAPPED: [(&str, &str); 1] = [("tcp.receive_buffer", "256 kB")];

fn simulate(file: &str, sets: &[(&str, &str)]) -> RunResult {
    let path = format!("{}/../../scenarios/adwiser/{file}.toml", env!("CARGO_MANIFEST_DIR"));
    run(&Scenario::load_with(path, sets).expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

fn of_flow(phase: &PhaseResult, app: &str) -> f64 {
    phase.flows.iter().find(|flow| flow.app == app).expect("the scenario has the application").ip_mbps
}

/// Checks that the box uses the whole medium, and keeps the access point's queue short.
fn serves_all(phase: &PhaseResult) {
    let capacity = phase.capacity_cstar_mbps.expect("bulk transfers have one");
    assert!(phase.total_ip_mbps >= 0.95 * capacity, "{} of {capacity} Mb/s", phase.total_ip_mbps);
    assert!(phase.ap_queue_mean_packets < 30.0, "{} packets at the access point", phase.ap_queue_mean_packets);
}

fn is(got: f64, expected: f64, permille: f64) {
    assert!((got / expected - 1.0).abs() * 1e3 <= permille, "{got}, expected {expected}");
}

#[test]
fn a2_uploads_starve_downloads() {
    let result = simulate("a02-uploads-starve-downloads", &[]);
    let bypassed = phase(&result, "bypassed");
    assert!(bypassed.directions.up_ip_mbps > 4.5, "{:?}", bypassed.directions);
    assert!(bypassed.directions.down_ip_mbps < 0.1, "{:?}", bypassed.directions);
    assert_eq!(bypassed.service_rate_mbps, None);
    assert_eq!(result.box_counters, None, "nothing asks for a box");
}

#[test]
fn a10_shares_follow_the_stations_capacities() {
    let result = simulate("a10-mixed-rates", &CAPPED);
    let inserted = phase(&result, "inserted");
    serves_all(inserted);
    is(inserted.directions.up_ip_mbps, inserted.directions.down_ip_mbps, 20.0);
    // Ratios of this profile's C(11), C(5.5), C(2); the paper's own are 4.89, 3.33, 1.58.
    is(of_flow(inserted, "upload1") / of_flow(inserted, "upload3"), 4.89 / 1.58, 50.0);
    is(of_flow(inserted, "upload2") / of_flow(inserted, "upload3"), 3.33 / 1.58, 50.0);
}

#[test]
fn a11_the_box_makes_all_flows_equal() {
    let result = simulate("a11-equal-up-and-down", &CAPPED);
    let (bypassed, inserted) = (phase(&result, "bypassed"), phase(&result, "inserted"));
    assert!(bypassed.directions.up_ip_mbps > 5.0 * bypassed.directions.down_ip_mbps, "{:?}", bypassed.directions);
    serves_all(inserted);
    is(inserted.directions.up_ip_mbps, inserted.directions.down_ip_mbps, 50.0);
    inserted.flows.iter().for_each(|flow| is(flow.share, 0.1, 50.0));
    let events: Vec<_> = result.events.iter().map(|event| (event.what.as_str(), event.at_s)).collect();
    assert_eq!(events, [("insert", 20.0), ("inserted", 20.0)]);
    assert!(result.series.service_rate_mbps[..20].iter().all(Option::is_none), "the box managed before its insertion");
}

/// With unlimited windows, seconds of DATA are queued in the stations, too.
#[test]
fn a11_with_large_windows_the_flows_become_equal_in_the_end() {
    let later = [("duration", "310 s"), ("phase.2.from", "200 s"), ("phase.2.to", "300 s")];
    let result = simulate("a11-equal-up-and-down", &later);
    let inserted = phase(&result, "inserted");
    serves_all(inserted);
    assert!(inserted.jain_flows.is_some_and(|index| index > 0.99), "{:?}", inserted.jain_flows);
}

/// As published: 300 s without the box, with a server beyond the Internet, until thousands of ACKs are queued at the access point, and
/// even longer queues of DATA in the stations. Nothing is added to that queue until it has drained.
#[test]
fn an_access_points_queue_of_seconds_drains_at_the_speed_of_the_medium() {
    const AS_PUBLISHED: [(&str, &str); 10] = [
        ("duration", "345 s"),
        ("event.1.at", "300 s"),
        ("phase.bypassed.to", "300 s"),
        ("phase.inserted.from", "340 s"),
        ("phase.inserted.to", "345 s"),
        ("server.server.at", "wan"),
        ("wan.down.rate", "8 Mb/s"),
        ("wan.down.delay", "300 ms"),
        ("wan.up.rate", "8 Mb/s"),
        ("wan.up.delay", "300 ms"),
    ];
    let series = simulate("a11-equal-up-and-down", &[&AS_PUBLISHED[..], &[("seed", "3")]].concat()).series;
    let waiting = series.ap_queue_packets[299];
    let sent: u64 = series.flows.iter().flat_map(|flow| &flow.ack_packets[290..300]).sum();
    let drained = series.ap_queue_packets[300..].iter().position(|&queue| queue < 60.0);
    let allowed = 1.3 * waiting * 10.0 / sent as f64;
    assert!(waiting > 1_500.0, "{waiting} packets");
    assert!(drained.is_some_and(|took| took as f64 <= allowed), "{drained:?} s of {allowed}");
}

#[test]
fn a14_weights_divide_five_to_one() {
    let result = simulate("a14-five-to-one", &CAPPED);
    let inserted = phase(&result, "inserted");
    serves_all(inserted);
    is(of_flow(inserted, "download1") / of_flow(inserted, "download2"), 5.0, 20.0);
}
