//! A small made-up run for tests.

use evenair_scenario::Scenario;
use evenair_workload::Direction;

use super::{FlowSeries, PhaseResult, RunResult, Series, Transfers};

const FILE: &str = r#"
version = 1
name = "sample"
title = "One up, one down"
duration = "10 s"
[radio]
standard = "802.11b"
[[station]]
name = "u"
rate = "11 Mb/s"
[[station]]
name = "d"
rate = "11 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "upload"
stations = ["u"]
server = "server"
direction = "up"
[[bulk]]
name = "download"
stations = ["d"]
server = "server"
direction = "down"
[[event]]
at = "5 s"
do = "insert"
[[phase]]
name = "bypassed"
from = "0 s"
to = "5 s"
[[phase]]
name = "inserted"
from = "5 s"
to = "10 s"
[[published]]
what = "finding"
phase = "bypassed"
note = "Uploads win."
[[published]]
what = "up"
phase = "inserted"
value = "2.4 Mb/s"
note = "Half."
[[published]]
what = "flow.download.ip_mbps"
phase = "bypassed"
value = "0.4 Mb/s"
note = "One measure of all."
"#;

/// An upload and a download: 4.0 and 0.5 Mb/s for five seconds, 2.0 each for the next five.
pub(crate) fn two_flows() -> (Scenario, RunResult) {
    let scenario = Scenario::parse(FILE, "sample.toml").unwrap();
    let flow = |app: &str, station: &str, direction, before: f64| {
        let ip_mbps: Vec<_> = (0..10).map(|k| if k < 5 { before } else { 2.0 }).collect();
        FlowSeries {
            app: app.into(),
            station: station.into(),
            direction,
            class: None,
            rate_mbps: 11.0,
            goodput_mbps: ip_mbps.iter().map(|x| x * 0.95).collect(),
            ip_mbps,
            data_packets: vec![200; 10],
            ack_packets: vec![100; 10],
            cwnd_segments: vec![Some(10.0); 10],
            rtt_ms: vec![None; 10],
            retransmits: vec![1; 10],
            sent_packets: vec![],
            received_packets: vec![],
        }
    };
    let series = Series {
        interval_s: 1.0,
        flows: vec![flow("upload", "u", Direction::Up, 4.0), flow("download", "d", Direction::Down, 0.5)],
        ap_queue_packets: (0..10).map(|k| if k < 5 { 90.0 } else { 3.0 }).collect(),
        service_rate_mbps: (0..10).map(|k| (k >= 5).then_some(4.6)).collect(),
        ..Series::default()
    };
    let phases = scenario.measure.phases.iter();
    let run = RunResult {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        seed: scenario.seed,
        engine: "sim".into(),
        version: "0.0.0".into(),
        valid: true,
        invalid_because: vec![],
        box_faults: vec![],
        duration_s: 10.0,
        phases: phases.map(|phase| PhaseResult::average(&scenario, &series, &[], phase)).collect(),
        series,
        lateness: None,
        box_counters: None,
        box_hops: Vec::new(),
        events: vec![],
        medium: None,
        losses: vec![],
        pages: vec![],
        page_times: vec![],
        calls: vec![],
        transfers: Transfers::default(),
        echoes: vec![],
        published: scenario.published.clone(),
        left_out: scenario.left_out.clone(),
    };
    (scenario, run)
}
