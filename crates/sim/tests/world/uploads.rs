//! Uploads alone: the box releases only their ACKs, and only these wait in the access point.

use evenair_scenario::Scenario;

/// Uploads of 802.11ax with reported rates: 95th percentile of the ACKs' time in the access point in ms, and their total IP-level
/// rate in Mb/s.
fn uploads(count: u32, inserted: bool) -> (f64, f64) {
    let insert = if inserted { "[[event]]\nat = \"2 s\"\ndo = \"insert\"\n" } else { "" };
    let text = format!(
        r#"version = 1
name = "uploads"
seed = 1
duration = "12 s"
[radio]
standard = "802.11ax"
ap_buffer = "1000 packets"
[[station]]
name = "near"
count = {count}
mcs = 7
[[server]]
name = "server"
[[bulk]]
name = "up"
stations = ["near"]
server = "server"
direction = "up"
{insert}
[[phase]]
name = "steady"
from = "5 s"
to = "12 s"
"#
    );
    let scenario = Scenario::parse(&text, "uploads.toml").unwrap_or_else(|error| panic!("{error}"));
    let result = evenair_sim::run(&scenario, |_| ()).unwrap();
    let phase = &result.phases[0];
    let ap = phase.nodes.iter().find(|node| node.node == "ap").expect("the access point is a node");
    (ap.sojourn.as_ref().expect("it sends").p95_ms, phase.total_ip_mbps)
}

/// An ACK of a continuing upload is in flight until DATA shows that it has arrived. Otherwise ACKs would count as completed at once,
/// and all of them would wait in the access point as without the box.
#[test]
fn acks_of_uploads_wait_in_the_box() {
    for count in [5, 20] {
        let (before_ms, before) = uploads(count, false);
        let (after_ms, after) = uploads(count, true);
        println!(
            "{count} uploads: {before_ms:.1} ms and {before:.1} Mb/s, with the box {after_ms:.1} ms and {after:.1} Mb/s"
        );
        assert!(before_ms > 100.0, "{before_ms}");
        assert!(after_ms < 20.0, "{after_ms}");
        assert!(after > 0.95 * before, "{after} of {before}");
    }
}

/// At the insertion the stations hold seconds of DATA. A loss among these brings hundreds of duplicate ACKs: each an access of its own, they
/// took a third of the medium from the DATA for four seconds, and the guard bypassed the box.
#[test]
fn a_loss_among_seconds_of_waiting_data_costs_the_uploads_little() {
    let run = |seed: u32, insert: &str| {
        let text = format!(
            r#"version = 1
name = "recovery"
seed = {seed}
duration = "20 s"
[radio]
standard = "802.11b"
ap_buffer = "20 packets"
[[station]]
name = "s"
count = 4
rate = "11 Mb/s"
[tcp]
congestion_control = "reno"
[wan.down]
rate = "1 Gb/s"
delay = "25 ms"
[wan.up]
rate = "1 Gb/s"
delay = "25 ms"
[telemetry]
stations = false
rates = false
[[server]]
name = "server"
at = "wan"
[[bulk]]
name = "up"
stations = ["s"]
server = "server"
direction = "up"
{insert}
[[phase]]
name = "recovery"
from = "10 s"
to = "16 s"
"#
        );
        let scenario = Scenario::parse(&text, "recovery.toml").unwrap_or_else(|error| panic!("{error}"));
        evenair_sim::run(&scenario, |_| ()).unwrap()
    };
    for seed in 1..=3 {
        let without = run(seed, "").phases[0].total_ip_mbps;
        let with = run(seed, "[[event]]\nat = \"5 s\"\ndo = \"insert\"\n");
        println!("seed {seed}: {without:.2} Mb/s, with the box {:.2}", with.phases[0].total_ip_mbps);
        assert!(with.events.iter().all(|event| !event.what.starts_with("guard")), "{:?}", with.events);
        assert!(with.phases[0].total_ip_mbps > 0.9 * without);
    }
}
