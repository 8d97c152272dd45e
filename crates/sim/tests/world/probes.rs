//! Traffic that does not show the progress of the access point's queue: QUIC, and TCP uploads without timestamps. The box
//! probes the stations, and keeps the queue as short as with other traffic.

use evenair_results::{PhaseResult, RunResult};

use crate::site::Site;

/// Transfers of four stations at 54 Mb/s, in this direction and with further keys.
fn site(direction: &str, keys: &str) -> Site {
    Site::new("probes", 30)
        .without_telemetry()
        .stations("s", 4, "rate = '54 Mb/s'")
        .bulk("t", "s", direction)
        .and(keys)
        .phase("judged", 10, 30)
        .radio("802.11g", "")
}

/// The same with one queue at the access point for all.
fn fifo(direction: &str, keys: &str) -> Site {
    site(direction, keys).and("ap_buffer = '150 kB'")
}

const QUIC: &str = "tool = 'quic'";

/// Goodput in Mb/s, and the 95th percentile of the time in the access point in ms.
fn figures(result: &RunResult) -> (f64, f64) {
    let phase: &PhaseResult = &result.phases[0];
    let ap = phase.nodes.iter().find(|node| node.node == "ap").expect("the access point is a node");
    let goodput = phase.flows.iter().map(|flow| flow.goodput_mbps).sum();
    (goodput, ap.sojourn.as_ref().expect("it sends").p95_ms)
}

/// Checks that the box carries nearly as much as of TCP with timestamps, whose acknowledgments and echoes need no probes, and whose
/// duplicate ACKs the box can merge, with packets in the access point for no longer. Canary: without probes they stay there for much longer.
fn is_short_and_busy(name: &str, direction: &str, tool: &str, rest: &str, p95_ms: f64) {
    for seed in 1..=3 {
        let (usual, _) = figures(&fifo(direction, "").insert(2).seed(seed).run());
        let site = fifo(direction, tool).with(rest).insert(2).seed(seed);
        let (goodput, p95) = figures(&site.run());
        let (_, unprobed) = figures(&site.with("[manager]\nprobes_per_second = 0").run());
        println!("{name}: {goodput:.2} of {usual:.2} Mb/s, p95 {p95:.1} ms, without probes {unprobed:.1} ms");
        assert!(goodput >= 0.94 * usual, "{name}: {goodput} of {usual} Mb/s");
        assert!(p95 <= p95_ms, "{name}: {p95} ms in the access point");
        assert!(unprobed > 5.0 * p95, "{name}: {unprobed} ms without probes");
    }
}

#[test]
fn downloads_over_quic() {
    is_short_and_busy("down", "down", QUIC, "", 7.5);
}

#[test]
fn uploads_without_timestamps() {
    is_short_and_busy("no timestamps", "up", "", "[tcp]\ntimestamps = false", 7.5);
}

/// The number of packets that an acknowledgment allows a station to send is known on average only, so that the queue is a little longer.
#[test]
fn uploads_over_quic() {
    is_short_and_busy("up", "up", QUIC, "", 18.0);
}

#[test]
fn a_long_path_is_not_taken_for_a_queue() {
    let path = "[ap_path]\nup.delay = '10 ms'\ndown.delay = '10 ms'";
    is_short_and_busy("20 ms away", "down", QUIC, path, 7.5);
}

/// A lone packet hardly waits there, so that probes show little. They do no harm.
#[test]
fn an_access_point_with_a_queue_for_each_flow() {
    let site = site("down", QUIC).and("ap_queue = { discipline = 'fq-codel' }").seed(1);
    let (without, _) = figures(&site.run());
    let (goodput, _) = figures(&site.insert(2).run());
    assert!(goodput >= 0.95 * without, "{goodput} of {without} Mb/s");
}
