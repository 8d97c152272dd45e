//! Non-TCP traffic at the box: transfers over QUIC, unacknowledged floods, and the rest that they leave to others.

use evenair_results::{PhaseResult, RunResult};

use crate::site::Site;

/// Stations at 11 Mb/s, the box inserted after two seconds; evaluated from the tenth on.
fn site(stations: &[(&str, u32)]) -> Site {
    Site::new("datagrams", 70)
        .radio("802.11b", "preamble = 'short'\nbasic_rates = ['1 Mb/s', '2 Mb/s']")
        .and("rts_threshold = '500 bytes'\nap_buffer = '150 kB'")
        .each(stations, |site, (name, count)| site.stations(name, count, "rate = '11 Mb/s'"))
        .insert(2)
        .phase("managed", 10, 70)
}

/// A transfer of the stations `name`.
fn bulk(site: Site, name: &str, direction: &str) -> Site {
    site.bulk(&format!("{name}-{direction}"), name, direction)
}

fn quic(site: Site, direction: &str) -> Site {
    bulk(site, "q", direction).and("tool = 'quic'")
}

fn flood(site: Site, direction: &str, rate: &str) -> Site {
    site.udp("flood", "x", direction, rate)
}

/// Payload of a large datagram of a flood.
const LARGE: &str = "payload = '1400 bytes'";

fn managed(result: &RunResult) -> &PhaseResult {
    result.phases.iter().find(|phase| phase.name == "managed").expect("the scenario has the phase")
}

/// Rates of the applications whose names begin with `name`.
fn rates(phase: &PhaseResult, name: &str) -> Vec<f64> {
    let rates: Vec<f64> = phase.flows.iter().filter(|f| f.app.starts_with(name)).map(|f| f.ip_mbps).collect();
    assert!(!rates.is_empty(), "{name} is there");
    rates
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

fn are_equal(what: &str, rates: &[f64]) {
    let mean = mean(rates);
    assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{what}: {rates:?}");
}

/// 95th percentile of the time in the access point, in ms.
fn sojourn(phase: &PhaseResult) -> f64 {
    let ap = phase.nodes.iter().find(|node| node.node == "ap").expect("the access point is a node");
    ap.sojourn.as_ref().expect("it sends").p95_ms
}

fn idle(phase: &PhaseResult) -> f64 {
    phase.medium.as_ref().expect("the simulator watches it").idle_share
}

#[test]
fn an_upload_over_quic_gets_its_share() {
    // Beside uploads, and beside downloads, each time with as many of the other kind.
    for (name, tcp) in [("uploads", "up"), ("downloads", "down")] {
        let result = bulk(quic(site(&[("q", 1), ("t", 4)]), "up"), "t", tcp).run();
        let phase = managed(&result);
        let (quic, others) = (rates(phase, "q"), rates(phase, "t"));
        println!(
            "among {name}: QUIC {:.3} Mb/s, TCP {others:.3?}, idle {:.3}, sojourn p95 {:.1} ms",
            quic[0],
            idle(phase),
            sojourn(phase)
        );
        are_equal(name, &[quic[0], mean(&others)]);
        are_equal(name, &others);
        assert!(sojourn(phase) < 15.0, "{}", sojourn(phase));
    }
}

#[test]
fn a_download_over_quic_has_its_share_and_no_more() {
    let result = bulk(quic(site(&[("q", 2), ("t", 3)]), "down"), "t", "down").run();
    let phase = managed(&result);
    println!("{:.3?} {:.3?}, idle {:.3}", rates(phase, "q"), rates(phase, "t"), idle(phase));
    are_equal("downloads", &[rates(phase, "q"), rates(phase, "t")].concat());
    assert!(idle(phase) < 0.05 && sojourn(phase) < 15.0, "{} {}", idle(phase), sojourn(phase));
}

/// The medium is not left idle, even without acknowledgments that the box can see and with unreported rates.
#[test]
fn quic_alone_uses_the_whole_medium() {
    let site = quic(site(&[("q", 3)]), "down");
    let bare = site.clone().event(3, "bypass").run();
    let alone = site.without_telemetry().run();
    let (got, most) = (managed(&alone).total_ip_mbps, managed(&bare).total_ip_mbps);
    println!("{got:.3} of {most:.3} Mb/s");
    assert!(got > 0.9 * most, "{got} of {most} Mb/s");
}

#[test]
fn a_flood_from_a_station_is_paid_for_by_its_station_and_reported() {
    let site = flood(site(&[("x", 1), ("u", 3), ("d", 3)]), "up", "4 Mb/s").and(LARGE);
    let transfers = [("x", "down"), ("u", "up"), ("d", "down")];
    let result = site.each(transfers, |site, (name, direction)| bulk(site, name, direction)).run();
    let phase = managed(&result);
    let (ups, downs, own) = (rates(phase, "u-"), rates(phase, "d-"), rates(phase, "x-"));
    println!(
        "flood {:.3}, its download {:.3}, uploads {ups:.3?}, downloads {downs:.3?}, idle {:.3}, sojourn p95 {:.1} ms",
        rates(phase, "flood")[0],
        own[0],
        idle(phase),
        sojourn(phase)
    );
    are_equal("the others", &[ups, downs.clone()].concat());
    assert!(own[0] < 0.5 * mean(&downs), "its own traffic pays: {own:?} against {downs:?}");
    assert!(own[0] > 0.02 * mean(&downs), "and is not starved: {own:?}");
    assert!(sojourn(phase) < 16.0, "{}", sojourn(phase));
    let over: Vec<_> = result.events.iter().filter(|event| event.what == "over its share").collect();
    assert!(over.len() == 1 && over[0].detail == "x1", "{:?}", result.events);
    assert!(over[0].at_s < 10.0, "{over:?}");
}

#[test]
fn a_flood_toward_a_station_has_its_share_and_no_more() {
    let result = bulk(flood(site(&[("x", 1), ("d", 4)]), "down", "6 Mb/s").and(LARGE), "d", "down").run();
    let phase = managed(&result);
    let (flood, downs) = (rates(phase, "flood")[0], rates(phase, "d-"));
    println!("flood {flood:.3}, downloads {downs:.3?}, idle {:.3}, sojourn {:.1}", idle(phase), sojourn(phase));
    are_equal("downloads", &downs);
    // The flood has no ACKs, which cost airtime and count as bits.
    assert!(flood < 1.25 * mean(&downs), "{flood} against {downs:?}");
    assert!(idle(phase) < 0.05 && sojourn(phase) < 15.0, "{} {}", idle(phase), sojourn(phase));
    assert!(
        result.events.iter().all(|event| event.what != "over its share"),
        "it can be controlled: {:?}",
        result.events
    );
}

/// A small packet takes nearly as much airtime as a large one, which its sender's station is charged.
#[test]
fn floods_of_small_and_large_datagrams_leave_others_the_same() {
    let left = |payload: &str, rate: &str| {
        let site = flood(bulk(site(&[("d", 2), ("x", 1)]), "d", "down"), "down", rate);
        let result = site.and(&format!("payload = '{payload}'")).run();
        let downloads = rates(managed(&result), "d-down");
        println!("{payload}: {downloads:?}, idle {:.3}", idle(managed(&result)));
        mean(&downloads)
    };
    let (beside_large, beside_small) = (left("1400 bytes", "20 Mb/s"), left("18 bytes", "2 Mb/s"));
    assert!(beside_small > 0.9 * beside_large, "{beside_small} Mb/s each, beside large ones {beside_large}");
}

/// The bridge has carried far more of the flood than any access point holds; most of it was dropped.
#[test]
fn a_box_inserted_during_a_flood_does_not_stall() {
    let result = Site::new("flooded", 8)
        .seed(3)
        .radio("802.11n", "ap_buffer = '1000 packets'")
        .without_telemetry()
        .stations("d", 2, "mcs = 7")
        .station("x", "mcs = 7")
        .bulk("down", "d", "down")
        .udp("flood", "x", "down", "300 Mb/s")
        .and(LARGE)
        .insert(2)
        .phase("managed", 4, 8)
        .run();
    let (downloads, idle) = (rates(managed(&result), "down"), idle(managed(&result)));
    println!("{downloads:?} Mb/s, idle {idle:.3}");
    assert!(downloads.iter().all(|rate| *rate > 12.0) && idle < 0.15, "{downloads:?} Mb/s, idle {idle}");
}
