//! Traffic that does not show the progress of the access point's queue: QUIC, and TCP uploads without timestamps. The box
//! probes the stations, and keeps the queue as short as with other traffic.

use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::run;

/// Four stations at 54 Mb/s, and an access point with one queue for all.
fn site(traffic: &str, rest: &str) -> String {
    format!(
        r#"version = 1
name = "probes"
duration = "30 s"
[radio]
standard = "802.11g"
ap_buffer = "150 kB"
[telemetry]
stations = false
rates = false
[[station]]
name = "s"
count = 4
rate = "54 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "t"
stations = ["s"]
server = "server"
{traffic}
[[phase]]
name = "judged"
from = "10 s"
to = "30 s"
{rest}
"#
    )
}

const INSERT: &str = "[[event]]\nat = \"2 s\"\ndo = \"insert\"\n";
const NO_PROBES: &str = "[manager]\nprobes_per_second = 0\n";
const QUIC: &str = "tool = \"quic\"";

fn simulate(text: &str, seed: u64) -> RunResult {
    let text = text.replacen('\n', &format!("\nseed = {seed}\n"), 1);
    run(&Scenario::parse(&text, "probes.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

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
    let direction = format!("direction = \"{direction}\"\n");
    for seed in 1..=3 {
        let (usual, _) = figures(&simulate(&format!("{}{INSERT}", site(&direction, "")), seed));
        let text = format!("{}{INSERT}", site(&format!("{direction}{tool}"), rest));
        let (goodput, p95) = figures(&simulate(&text, seed));
        let (_, unprobed) = figures(&simulate(&format!("{text}{NO_PROBES}"), seed));
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
    is_short_and_busy("no timestamps", "up", "", "[tcp]\ntimestamps = false\n", 7.5);
}

/// The number of packets that an acknowledgment allows a station to send is known on average only, so that the queue is a little longer.
#[test]
fn uploads_over_quic() {
    is_short_and_busy("up", "up", QUIC, "", 18.0);
}

#[test]
fn a_long_path_is_not_taken_for_a_queue() {
    let path = "[ap_path.up]\ndelay = \"10 ms\"\n[ap_path.down]\ndelay = \"10 ms\"\n";
    is_short_and_busy("20 ms away", "down", QUIC, path, 7.5);
}

/// A lone packet hardly waits there, so that probes show little. They do no harm.
#[test]
fn an_access_point_with_a_queue_for_each_flow() {
    let text = site(&format!("direction = \"down\"\n{QUIC}"), "")
        .replace("ap_buffer = \"150 kB\"", "ap_queue = { discipline = \"fq-codel\" }");
    let (without, _) = figures(&simulate(&text, 1));
    let (goodput, _) = figures(&simulate(&format!("{text}{INSERT}"), 1));
    assert!(goodput >= 0.95 * without, "{goodput} of {without} Mb/s");
}
